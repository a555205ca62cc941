package contract

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Security is what the listening line says about TLS.
type Security struct {
	// Tickets says whether a client can resume a session: "on" or "off".
	Tickets Switch `json:"tickets"`
	// ClientCertificates are "required" or "none".
	ClientCertificates string `json:"client_certificates"`
}

func (o Options) security() *Security {
	if o.TLSCert == "" {
		return nil
	}
	security := &Security{Tickets: o.TLSTickets, ClientCertificates: "none"}
	if o.ClientCA != "" {
		security.ClientCertificates = "required"
	}
	return security
}

// TLSConfig reads the files that the options name. Without TLS it is nil.
func (o Options) TLSConfig() (*tls.Config, error) {
	if o.TLSCert == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(o.TLSCert, o.TLSKey)
	if err != nil {
		return nil, explainFile(fmt.Sprintf("--tls-cert %s --tls-key %s", o.TLSCert, o.TLSKey), err)
	}
	config := &tls.Config{
		Certificates: []tls.Certificate{pair},
		// The targets serve HTTP/1.1. A client that offers only h2 is refused.
		NextProtos:             []string{"http/1.1"},
		SessionTicketsDisabled: o.TLSTickets == Off,
	}
	if o.ClientCA == "" {
		return config, nil
	}
	content, err := os.ReadFile(o.ClientCA)
	if err != nil {
		return nil, explainFile("--client-ca", err)
	}
	config.ClientCAs = x509.NewCertPool()
	if !config.ClientCAs.AppendCertsFromPEM(content) {
		return nil, fmt.Errorf("--client-ca: no certificate in %s, which must be PEM", o.ClientCA)
	}
	config.ClientAuth = tls.RequireAndVerifyClientCert
	return config, nil
}

func explainFile(flag string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w; bin/target-certs --out DIR makes test certificates", flag, err)
	}
	return fmt.Errorf("%s: %w", flag, err)
}

// Handshakes counts the handshakes of connections with TLS. Completed and Unfinished add up to the
// accepted connections that have ended.
type Handshakes struct {
	// Completed counts completed handshakes, including resumed ones.
	Completed uint64 `json:"tls_handshakes"`
	// Resumed counts handshakes that resumed an earlier session.
	Resumed uint64 `json:"tls_resumed"`
	// Unfinished counts connections that ended before their handshake was completed: refused or
	// closed by either side.
	Unfinished uint64 `json:"tls_unfinished"`
}

// Add returns the sum of two counts.
func (h Handshakes) Add(other Handshakes) Handshakes {
	return Handshakes{
		Completed:  h.Completed + other.Completed,
		Resumed:    h.Resumed + other.Resumed,
		Unfinished: h.Unfinished + other.Unfinished,
	}
}

// count adds the handshake of one connection.
func (h *Handshakes) count(state tls.ConnectionState) {
	switch {
	case !state.HandshakeComplete:
		h.Unfinished++
	case state.DidResume:
		h.Completed++
		h.Resumed++
	default:
		h.Completed++
	}
}
