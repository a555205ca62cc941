package main

import (
	"strings"

	"github.com/gofiber/fiber/v3"

	"ceiling.dev/targets/internal/contract"
	"ceiling.dev/targets/internal/hijacked"
)

// mount serves the routes of parts.
func mount(app *fiber.App, routes []contract.Route) {
	for _, route := range routes {
		path := route.Path
		if strings.HasSuffix(path, "/") {
			path += "*"
		}
		app.Add([]string{route.Method}, path, serve(route))
	}
}

func serve(route contract.Route) fiber.Handler {
	return func(c fiber.Ctx) error {
		answer := route.Handle(contract.Call{
			Name:  c.Params("*"),
			Query: func(name string) string { return c.Query(name) },
			Body:  c.BodyRaw(),
		})
		if answer.HandOver != nil && c.Method() != fiber.MethodHead {
			hijacked.HandOver(c.RequestCtx(), answer)
			return nil
		}
		if answer.Stream != nil {
			hijacked.Send(c.RequestCtx(), answer)
			return nil
		}
		c.Response().Header.SetContentType(answer.Type)
		return c.Status(answer.Status).Send(answer.Body)
	}
}
