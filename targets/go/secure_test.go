package targets_test

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ceiling.dev/targets/internal/contract"
)

var (
	tlsVariants = []variant{
		{name: "nethttp", target: "nethttp", args: withTLS, workers: 1},
		{name: "fasthttp", target: "fasthttp", args: withTLS, workers: 1},
		{name: "fiber", target: "fiber", args: withTLS, workers: 1},
		{
			name: "fiber prefork", target: "fiber",
			args: slices.Concat(prefork3, withTLS), workers: 3,
		},
	}
	noTickets = []string{"--tls-tickets", "off"}
	clientCA  = []string{"--client-ca", "{certs}/ca.pem"}
)

func eachTLSVariant(t *testing.T, test func(t *testing.T, variant variant)) {
	for _, variant := range tlsVariants {
		t.Run(variant.name, func(t *testing.T) {
			t.Parallel()
			test(t, variant)
		})
	}
}

// trusting returns a client configuration with the targets' authority.
func trusting(t *testing.T) *tls.Config {
	t.Helper()
	return &tls.Config{RootCAs: pool(t, "ca.pem"), ServerName: "localhost"}
}

func pool(t *testing.T, name string) *x509.CertPool {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(certificates, name))
	check(t, err)
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(content) {
		t.Fatalf("no certificate in %s", name)
	}
	return pool
}

func visitTLS(t *testing.T, client *client) tls.ConnectionState {
	t.Helper()
	return visit(t, client).(*tls.Conn).ConnectionState()
}

func expectHandshakes(t *testing.T, got contract.Stopped, want contract.Handshakes) {
	t.Helper()
	if got.Handshakes == nil || *got.Handshakes != want {
		t.Errorf("handshakes %+v, want %+v", got.Handshakes, want)
	}
	if sum := want.Completed + want.Unfinished; got.ConnectionsAccepted != sum {
		t.Errorf("%d connections accepted, want %d", got.ConnectionsAccepted, sum)
	}
}

func TestResumption(t *testing.T) {
	eachTLSVariant(t, func(t *testing.T, variant variant) {
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			process := start(t, variant)
			client := process.client(t)
			client.secure.ClientSessionCache = tls.NewLRUClientSessionCache(1)
			client.secure.MaxVersion = version
			var resumed []bool
			for range 3 {
				resumed = append(resumed, visitTLS(t, client).DidResume)
			}
			// Each prefork worker has its own ticket keys, so a connection to another one starts a
			// new session; the counts of both sides must still agree.
			if variant.workers == 1 && !slices.Equal(resumed, []bool{false, true, true}) {
				t.Errorf("version %x: resumed %v", version, resumed)
			}
			count := uint64(0)
			for _, one := range resumed {
				if one {
					count++
				}
			}
			expectHandshakes(t, process.stopCleanly(t),
				contract.Handshakes{Completed: 3, Resumed: count})
		}
	})
}

func TestWithoutTickets(t *testing.T) {
	eachTLSVariant(t, func(t *testing.T, variant variant) {
		process := start(t, variant, noTickets...)
		if got := process.listening.TLS; got == nil || got.Tickets != contract.Off {
			t.Errorf("listening line says %+v of TLS", got)
		}
		client := process.client(t)
		client.secure.ClientSessionCache = tls.NewLRUClientSessionCache(1)
		for range 2 {
			if visitTLS(t, client).DidResume {
				t.Error("resumed without tickets")
			}
		}
		expectHandshakes(t, process.stopCleanly(t), contract.Handshakes{Completed: 2})
	})
}

func TestProtocolIsHTTP11(t *testing.T) {
	eachTLSVariant(t, func(t *testing.T, variant variant) {
		process := start(t, variant)
		client := process.client(t)
		client.secure.NextProtos = []string{"h2", "http/1.1"}
		if got := visitTLS(t, client).NegotiatedProtocol; got != "http/1.1" {
			t.Errorf("protocol %q", got)
		}
		client.secure.NextProtos = []string{"h2"}
		if _, err := client.dial(); err == nil {
			t.Error("a client that knows only h2 was let in")
		}
		expectHandshakes(t, process.stopCleanly(t),
			contract.Handshakes{Completed: 1, Unfinished: 1})
	})
}

func TestClientCertificates(t *testing.T) {
	eachTLSVariant(t, func(t *testing.T, variant variant) {
		process := start(t, variant, clientCA...)
		if got := process.listening.TLS; got == nil || got.ClientCertificates != "required" {
			t.Errorf("listening line says %+v of TLS", got)
		}
		client := process.client(t)
		// In TLS 1.3 the client finishes its handshake before it learns that it was refused.
		conn, err := client.dial()
		if err == nil {
			if _, err = conn.Read(make([]byte, 1)); err == nil {
				t.Error("a client without a certificate was let in")
			}
			conn.Close()
		}
		pair, err := tls.LoadX509KeyPair(
			filepath.Join(certificates, "client.pem"), filepath.Join(certificates, "client.key"))
		check(t, err)
		client.secure.Certificates = []tls.Certificate{pair}
		visit(t, client)
		expectHandshakes(t, process.stopCleanly(t),
			contract.Handshakes{Completed: 1, Unfinished: 1})
	})
}

// A client can refuse each certificate, which is wrong in exactly one way.
func TestWrongCertificates(t *testing.T) {
	for _, wrong := range []struct {
		name, certificate, authority, says string
	}{
		{"good", "server", "ca.pem", ""},
		{"expired", "expired", "ca.pem", "expired"},
		{"wrong name", "wrongname", "ca.pem", "not localhost"},
		{"wrong authority", "server", "other-ca.pem", "unknown authority"},
	} {
		t.Run(wrong.name, func(t *testing.T) {
			t.Parallel()
			process := start(t, variant{target: "nethttp", workers: 1, args: []string{
				"--tls-cert", "{certs}/" + wrong.certificate + ".pem",
				"--tls-key", "{certs}/" + wrong.certificate + ".key",
			}})
			client := process.client(t)
			client.secure.RootCAs = pool(t, wrong.authority)
			want := contract.Handshakes{Unfinished: 1}
			if wrong.says == "" {
				visit(t, client)
				want = contract.Handshakes{Completed: 1}
			} else if _, err := client.dial(); err == nil ||
				!strings.Contains(err.Error(), wrong.says) {
				t.Errorf("%v, want %q", err, wrong.says)
			}
			expectHandshakes(t, process.stopCleanly(t), want)
		})
	}
}

// Neither a client without TLS nor one that disconnects may stop the target or make it log.
func TestUnfinishedHandshakes(t *testing.T) {
	eachTLSVariant(t, func(t *testing.T, variant variant) {
		process := start(t, variant)
		client := process.client(t)
		plain := newClient(t, contract.Listening{Network: "tcp4", Addr: process.listening.Addr})
		for range 2 {
			conn, err := plain.dial()
			check(t, err)
			_, err = conn.Write([]byte("GET / HTTP/1.1\r\nHost: target\r\n\r\n"))
			check(t, err)
			// Whatever the response is, it ends.
			for err == nil {
				_, err = conn.Read(make([]byte, 1024))
			}
			conn.Close()
		}
		visit(t, client)
		expectHandshakes(t, process.stopCleanly(t),
			contract.Handshakes{Completed: 1, Unfinished: 2})
	})
}

func TestWrongTLSFiles(t *testing.T) {
	key := filepath.Join(certificates, "server.key")
	for _, wrong := range []struct {
		name, args, mention string
	}{
		{"no file", "--tls-cert /none.pem --tls-key /none.key", "bin/target-certs --out DIR"},
		{"another key", "--tls-cert {certs}/server.pem --tls-key {certs}/client.key", "match"},
		{"no authority", "--tls-cert {certs}/server.pem --tls-key " + key +
			" --client-ca " + key, "no certificate in"},
	} {
		for _, more := range [][]string{nil, prefork3} {
			t.Run(wrong.name+strings.Join(more, " "), func(t *testing.T) {
				t.Parallel()
				variant := variant{args: slices.Concat(more, strings.Fields(wrong.args))}
				output, message, code := runToEnd(t, "fiber", variant.line()...)
				if code != 1 || output != "" || strings.Count(message, "\n") != 1 {
					t.Errorf("exit code %d, output %q, message %q", code, output, message)
				}
				if !strings.Contains(message, wrong.mention) {
					t.Errorf("%q does not mention %q", message, wrong.mention)
				}
			})
		}
	}
}
