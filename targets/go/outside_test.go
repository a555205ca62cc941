package targets_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ceiling.dev/targets/internal/contract"
)

// outsideChecks are the part of the contract for targets with only /simple and /healthz.
var outsideChecks = []struct {
	name string
	run  func(t *testing.T, scene scene)
}{
	{"simple is the fixed body", checkSimple},
	{"healthz is ok", checkHealthz},
	{"unknown routes are 404", checkNotFound},
	{"wrong methods are 405", checkPostSimple},
	{"HEAD has the length and no body", checkHeadSimple},
	{"pipelined answers come in order", checkSimplePipelining},
	{"many connections at once", checkSimpleConcurrency},
}

func TestOutsideContract(t *testing.T) {
	each(t, outside, func(t *testing.T, variant variant) {
		process := start(t, variant)
		checkOutsideListening(t, variant, process)
		client := process.client(t)
		for _, check := range outsideChecks {
			t.Run(check.name, func(t *testing.T) { check.run(t, scene{client, nil}) })
		}
		checkOutsideStopped(t, variant, client, process.stopCleanly(t))
	})
}

func checkOutsideListening(t *testing.T, variant variant, process *process) {
	t.Helper()
	got := process.listening
	want := contract.Listening{
		Event: contract.EventListening, Target: variant.target, Addr: got.Addr, Pid: got.Pid,
		Workers: variant.workers, Network: "tcp4", Listeners: 1, Backlog: new(1024),
	}
	if variant.target == "nginx" {
		want.Backlog = new(511)
	}
	if variant.target == "ranch" {
		want.Acceptors, want.Supervisors = 10, 10
	}
	if variant.has("--supervisors") {
		want.Supervisors = 1
	}
	if variant.has("--listeners") || variant.has("--reuseport") {
		want.Listeners = 3
	}
	if variant.has("--tls-cert") {
		want.TLS = &contract.Security{Tickets: contract.Off, ClientCertificates: "none"}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("first line is %+v, want %+v", got, want)
	}
	// The process that serves is not the one that was started, but it exists.
	if err := syscall.Kill(got.Pid, 0); err != nil {
		t.Errorf("process %d: %v", got.Pid, err)
	}
	_, port, err := net.SplitHostPort(got.Addr)
	check(t, err)
	if count := listeners(t, port); count != want.Listeners {
		t.Errorf("%d sockets listen, want %d", count, want.Listeners)
	}
}

func checkOutsideStopped(t *testing.T, variant variant, client *client, got contract.Stopped) {
	t.Helper()
	if got.Target != variant.target || got.Workers != variant.workers || got.WorkersLost != 0 {
		t.Errorf("last line is %+v", got)
	}
	if want := client.requests.Load(); got.RequestsServed != want {
		t.Errorf("%d requests served, the client sent %d", got.RequestsServed, want)
	}
	opened := client.connections.Load()
	if got.ConnectionsAccepted == 0 || got.ConnectionsAccepted > opened {
		t.Errorf("%d connections accepted, the client opened %d", got.ConnectionsAccepted, opened)
	}
	// nginx does not report bytes, and Ranch does not with TLS.
	received := client.bytes.Load()
	if client.secure == nil && variant.target == "ranch" && got.ResponsesBytes != received {
		t.Errorf("%d bytes written, the client received %d", got.ResponsesBytes, received)
	}
	if got.UptimeNs <= 0 || got.CPUUserNs < 0 || got.CPUSystemNs < 0 {
		t.Errorf("last line is %+v", got)
	}
}

func checkPostSimple(t *testing.T, scene scene) {
	for _, body := range []string{"", "a body that nobody wants"} {
		got := scene.client.do(t, http.MethodPost, contract.PathSimple, nil,
			strings.NewReader(body))
		if got.status != http.StatusMethodNotAllowed {
			t.Errorf("POST /simple is %d, want 405", got.status)
		}
	}
}

func checkHeadSimple(t *testing.T, scene scene) {
	for path, length := range map[string]int64{contract.PathSimple: 16, contract.PathHealthz: 2} {
		got := scene.client.do(t, http.MethodHead, path, nil, nil)
		if got.status != http.StatusOK || len(got.body) != 0 || got.length != length {
			t.Errorf("HEAD %s: status %d, length %d, body %q",
				path, got.status, got.length, got.body)
		}
	}
}

func checkSimplePipelining(t *testing.T, scene scene) {
	var paths []string
	for range 100 {
		paths = append(paths, contract.PathSimple, contract.PathHealthz, "/nothing")
	}
	want := map[string]string{contract.PathSimple: `{"message":"hi"}`, contract.PathHealthz: "ok"}
	for i, got := range scene.client.pipeline(t, paths) {
		body, exists := want[paths[i]]
		if exists && string(got.body) != body || !exists && got.status != http.StatusNotFound {
			t.Fatalf("answer %d to %s is %d %q", i, paths[i], got.status, got.body)
		}
	}
}

func checkSimpleConcurrency(t *testing.T, scene scene) {
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			for range 10 {
				got, err := scene.client.ask(http.MethodGet, contract.PathSimple, nil, nil)
				if err != nil || got.status != http.StatusOK {
					t.Errorf("status %d, %v", got.status, err)
				}
			}
		})
	}
	group.Wait()
}

// The two files of nginx have the sizes of the contract: 16 bytes, and one product.
func TestNginxServesAProduct(t *testing.T) {
	t.Parallel()
	process := start(t, variant{target: "nginx", workers: 1, args: []string{"--workers", "1"}})
	pool, err := contract.NewCatalog(poolSeed)
	check(t, err)
	got := process.client(t).get(t, contract.PathRead)
	expect(t, got, http.StatusOK, contract.TypeJSON)
	if index := indexIn(t, pool.Plain, got.body); index != 0 {
		t.Errorf("product %d, want the first", index)
	}
	process.stopCleanly(t)
}

// Losing a worker ends the target, where nginx alone would start a new one.
func TestNginxEndsWithAWorker(t *testing.T) {
	t.Parallel()
	process := start(t, variant{target: "nginx", workers: 2, args: []string{"--workers", "2"}})
	worker := children(t, process.listening.Pid)[0]
	check(t, syscall.Kill(worker, syscall.SIGKILL))
	stopped, code := process.end(t)
	if code != 1 || stopped.WorkersLost != 1 ||
		!strings.Contains(process.errors.String(), "a worker of nginx died") {
		t.Errorf("exit code %d, %+v; standard error: %s", code, stopped, &process.errors)
	}
}

func children(t *testing.T, pid int) []int {
	t.Helper()
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	check(t, err)
	var found []int
	for _, word := range strings.Fields(string(content)) {
		var child int
		_, err := fmt.Sscan(word, &child)
		check(t, err)
		found = append(found, child)
	}
	return found
}

// A test harness kills what it started, and must not leave the server behind.
func TestServersEndWithTheirLauncher(t *testing.T) {
	for _, way := range []variant{{target: "ranch"}, {target: "nginx"}} {
		t.Run(way.target, func(t *testing.T) {
			t.Parallel()
			process := start(t, way)
			process.signal(syscall.SIGKILL)
			_ = process.command.Wait()
			deadline := time.Now().Add(hangLimit)
			for {
				conn, err := net.Dial("tcp", process.listening.Addr)
				if err != nil {
					return
				}
				conn.Close()
				if time.Now().After(deadline) {
					t.Fatal("the server still accepts")
				}
				time.Sleep(10 * time.Millisecond)
			}
		})
	}
}

func TestOutsideBacklog(t *testing.T) {
	for _, target := range []string{"ranch", "nginx"} {
		process := start(t, variant{target: target}, "--backlog", "8")
		if got := process.listening.Backlog; got == nil || *got != 8 {
			t.Errorf("%s says %v, want 8", target, got)
		}
		process.stopCleanly(t)
	}
}

// There are at least as many acceptors as supervisors and listeners, which would be idle without
// one. The line has what Ranch started.
func TestRanchHasTheProcessesItWasAskedFor(t *testing.T) {
	for _, way := range []struct {
		args                   string
		acceptors, supervisors int
	}{
		{"", 10, 10},
		{"--supervisors 1", 10, 1},
		{"--supervisors 16", 16, 16},
		{"--supervisors 16 --listeners 2", 16, 16},
		{"--listeners 24", 24, 24},
		{"--supervisors 3 --acceptors 4", 4, 3},
	} {
		t.Run(way.args, func(t *testing.T) {
			t.Parallel()
			process := start(t, variant{target: "ranch", args: strings.Fields(way.args)})
			got := process.listening
			if got.Acceptors != way.acceptors || got.Supervisors != way.supervisors {
				t.Errorf("%d acceptors and %d supervisors, want %d and %d", got.Acceptors,
					got.Supervisors, way.acceptors, way.supervisors)
			}
			want := map[string]uint64{
				"acceptors": uint64(way.acceptors), "supervisors": uint64(way.supervisors),
			}
			if stopped := process.stopCleanly(t); !maps.Equal(stopped.Parts["ranch"], want) {
				t.Errorf("last line has %v, want %v", stopped.Parts, want)
			}
		})
	}
}

// One supervisor sets up one connection after the other: the last of ten waits for all of them.
func TestRanchSetsUpConnectionsInItsSupervisor(t *testing.T) {
	t.Parallel()
	process := start(t, variant{
		target: "ranch", args: []string{"--supervisors", "1", "--setup", "20"},
	})
	begin := time.Now()
	var group sync.WaitGroup
	for range 10 {
		group.Go(func() {
			conn, err := net.Dial("tcp", process.listening.Addr)
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			_, _ = io.WriteString(conn, "GET /simple HTTP/1.1\r\nConnection: close\r\n\r\n")
			if answer, err := io.ReadAll(conn); err != nil || len(answer) == 0 {
				t.Errorf("%q, %v", answer, err)
			}
		})
	}
	group.Wait()
	if took := time.Since(begin); took < 200*time.Millisecond {
		t.Errorf("ten connections were set up in %v", took)
	}
	process.stopCleanly(t)
}

// Bytes that are not HTTP end only their connection; a request may arrive in any pieces.
func TestRanchTakesAnyBytes(t *testing.T) {
	t.Parallel()
	process := start(t, variant{target: "ranch", workers: 1})
	for _, bytes := range []string{
		"\r\n\r\n", "GET\r\n\r\n", "\x00\xff\x16\x03\x01\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n",
		strings.Repeat("x", 100_000),
		"GET /simple HTTP/1.1\r\nX: " + strings.Repeat("y", 100_000),
	} {
		conn, err := net.Dial("tcp", process.listening.Addr)
		check(t, err)
		check(t, conn.SetDeadline(time.Now().Add(hangLimit/4)))
		_, _ = io.WriteString(conn, bytes)
		answer, err := io.ReadAll(conn)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%.20q is not answered", bytes)
		}
		if !strings.HasPrefix(string(answer), "HTTP/1.1 4") && len(answer) > 0 {
			t.Errorf("%.20q is answered with %q", bytes, answer)
		}
		conn.Close()
	}
	conn, err := net.Dial("tcp", process.listening.Addr)
	check(t, err)
	defer conn.Close()
	for _, piece := range "GET /simple?a=b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" {
		_, err := io.WriteString(conn, string(piece))
		check(t, err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	check(t, err)
	if got, err := read(response); err != nil || string(got.body) != `{"message":"hi"}` {
		t.Errorf("%q, %v", got.body, err)
	}
	if stopped := process.stopCleanly(t); stopped.RequestsServed != 1 {
		t.Errorf("%d requests served, want 1", stopped.RequestsServed)
	}
}

func TestRanchTLS(t *testing.T) {
	t.Parallel()
	process := start(t, variant{target: "ranch", args: withTLS, workers: 1})
	client := process.client(t)
	client.secure.NextProtos = []string{"h2", "http/1.1"}
	if got := visitTLS(t, client).NegotiatedProtocol; got != "http/1.1" {
		t.Errorf("protocol %q", got)
	}
	client.secure.NextProtos = []string{"h2"}
	if _, err := client.dial(); err == nil {
		t.Error("a client that knows only h2 was let in")
	}
	expectHandshakes(t, process.stopCleanly(t), contract.Handshakes{Completed: 1, Unfinished: 1})
}

func TestRanchWrongTLSFiles(t *testing.T) {
	file := func(name string) string { return filepath.Join(certificates, name) }
	for mention, files := range map[string][2]string{
		"bin/target-certs --out DIR": {"/none.pem", "/none.key"},
		"is not the RSA or ECDSA":    {file("server.pem"), file("client.key")},
		"no certificate in":          {file("server.key"), file("server.key")},
		"no private key in":          {file("server.pem"), file("server.pem")},
	} {
		output, message, code := runToEnd(t, "ranch", "--port", "0", "--tls-cert", files[0],
			"--tls-key", files[1])
		if code != 1 || output != "" || strings.Count(message, "\n") != 1 ||
			!strings.Contains(message, mention) {
			t.Errorf("exit code %d, output %q, message %q", code, output, message)
		}
	}
}
