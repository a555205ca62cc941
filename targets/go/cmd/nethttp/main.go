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
		Flags: slices.Concat(contract.ServerFlags, contract.PreforkFlags),
		Parts: spectrum.Parts(),
		Build: newServer,
		Run:   prefork.Run,
	})
}

// server is an http.Server as it is: it has the two methods of contract.Server.
func newServer(catalog *contract.Catalog, more []contract.Route) contract.Server {
	return &http.Server{
		Handler:     counted(newMux(routes{catalog}, more)),
		ConnContext: withConn,
		ErrorLog:    log.New(quiet{log.Writer()}, log.Prefix(), 0),
	}
}

// quiet drops what net/http says of single handshakes: under load that is a system call per
// refused connection. They are counted instead.
type quiet struct{ out io.Writer }

var handshakeError = []byte("http: TLS handshake error")

func (q quiet) Write(line []byte) (int, error) {
	if bytes.Contains(line, handshakeError) {
		return len(line), nil
	}
	return q.out.Write(line)
}

// connKey finds the connection of a request in its context, where net/http offers to keep it.
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
