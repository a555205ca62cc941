// Command fasthttp is the target that serves with github.com/valyala/fasthttp.
package main

import (
	"context"
	"net"
	"slices"

	"github.com/valyala/fasthttp"

	"ceiling.dev/targets/internal/contract"
	"ceiling.dev/targets/internal/prefork"
	"ceiling.dev/targets/internal/spectrum"
)

func main() {
	contract.Main(contract.Program{
		Name:    "fasthttp",
		Modules: []string{"github.com/valyala/fasthttp"},
		Flags:   slices.Concat(contract.ServerFlags, contract.SocketFlags, contract.PreforkFlags),
		Parts:   spectrum.Parts(),
		Build:   newServer,
		Run:     prefork.Run,
	})
}

// silent drops fasthttp's messages about single connections, as Fiber does: under load they would
// be a system call per broken connection. Errors that end the server are returned by Serve.
type silent struct{}

func (silent) Printf(string, ...any) {}

type server struct{ fasthttp *fasthttp.Server }

func newServer(catalog *contract.Catalog, more []contract.Route) contract.Server {
	return server{&fasthttp.Server{
		Handler:            counted(routes{catalog, more}.handle),
		MaxRequestBodySize: contract.BodyLimitBytes,
		ErrorHandler:       handleError,
		Logger:             silent{},
		// A form is echoed unchanged; parsing it first would rewrite it.
		DisablePreParseMultipartForm: true,
	}}
}

func (s server) Serve(listener net.Listener) error { return s.fasthttp.Serve(listener) }

func (s server) Shutdown(ctx context.Context) error { return s.fasthttp.ShutdownWithContext(ctx) }

func counted(next fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		contract.Tracked(ctx.Conn()).CountRequest()
		next(ctx)
	}
}
