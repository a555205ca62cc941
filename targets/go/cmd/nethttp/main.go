// Command nethttp is the target that serves with net/http of the standard library.
package main

import (
	"bytes"
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"slices"

	"ceiling.dev/targets/internal/contract"
	"ceiling.dev/targets/internal/prefork"
	"ceiling.dev/targets/internal/spectrum"
)

func main() {
	contract.Main(contract.Program{
		Name:  "nethttp",
		Flags: slices.Concat(contract.ServerFlags, contract.SocketFlags, contract.PreforkFlags),
		Parts: spectrum.Parts(),
		Build: newServer,
		Run:   prefork.Run,
	})
}

// newServer returns a plain http.Server, which has the two methods of contract.Server.
func newServer(catalog *contract.Catalog, more []contract.Route) contract.Server {
	return &http.Server{
		Handler:     counted(newMux(routes{catalog}, more)),
		ConnContext: withConn,
		ErrorLog:    log.New(quiet{log.Writer()}, log.Prefix(), 0),
	}
}

// quiet drops net/http's messages about single handshakes: under load they would be a system call
// per refused connection. Handshakes are counted instead.
type quiet struct{ out io.Writer }

var handshakeError = []byte("http: TLS handshake error")

func (q quiet) Write(line []byte) (int, error) {
	if bytes.Contains(line, handshakeError) {
		return len(line), nil
	}
	return q.out.Write(line)
}

// connKey is the key under which the context of a request has its connection.
type connKey struct{}

func withConn(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, contract.Tracked(conn))
}

func counted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Context().Value(connKey{}).(*contract.Conn).CountRequest()
		next.ServeHTTP(w, r)
	})
}
