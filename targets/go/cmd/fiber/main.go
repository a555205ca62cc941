// Command fiber is the target that serves with github.com/gofiber/fiber.
package main

import (
	"context"
	"net"
	"slices"

	"github.com/gofiber/fiber/v3"
	"github.com/valyala/fasthttp"

	"ceiling.dev/targets/internal/contract"
	"ceiling.dev/targets/internal/prefork"
	"ceiling.dev/targets/internal/spectrum"
)

func main() {
	contract.Main(contract.Program{
		Name:    "fiber",
		Modules: []string{"github.com/gofiber/fiber/v3", "github.com/valyala/fasthttp"},
		Flags:   slices.Concat(contract.ServerFlags, contract.SocketFlags, contract.PreforkFlags),
		Parts:   spectrum.Parts(),
		Build:   newServer,
		Run:     prefork.Run,
	})
}

type server struct{ app *fiber.App }

func newServer(catalog *contract.Catalog, more []contract.Route) contract.Server {
	app := fiber.New(fiber.Config{
		BodyLimit: contract.BodyLimitBytes,
		// A form is echoed unchanged; parsing it first would rewrite it.
		DisablePreParseMultipartForm: true,
	})
	routes{catalog}.register(app)
	mount(app, more)
	// Count around the whole app: a middleware would add a step to Fiber's own chain and miss
	// requests that the router refuses.
	app.Server().Handler = counted(app.Server().Handler)
	return server{app}
}

func (s server) Serve(listener net.Listener) error {
	return s.app.Listener(listener, fiber.ListenConfig{DisableStartupMessage: true})
}

func (s server) Shutdown(ctx context.Context) error { return s.app.ShutdownWithContext(ctx) }

func counted(next fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		contract.Tracked(ctx.Conn()).CountRequest()
		next(ctx)
	}
}
