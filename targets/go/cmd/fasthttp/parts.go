package main

import (
	"strings"

	"github.com/valyala/fasthttp"

	"ceiling.dev/targets/internal/contract"
	"ceiling.dev/targets/internal/hijacked"
)

// router finds the routes of parts by linear search: there are about a dozen.
type router []contract.Route

// handle responds with 405 to a path that is served for another method, and with 404 for any other.
func (r router) handle(ctx *fasthttp.RequestCtx) {
	path, method := string(ctx.Path()), string(ctx.Method())
	var allowed []string
	for _, route := range r {
		name, found := match(route.Path, path)
		if !found {
			continue
		}
		if method == route.Method || ctx.IsHead() && route.Method == fasthttp.MethodGet {
			serve(ctx, route, name)
			return
		}
		allowed = append(allowed, route.Method)
	}
	if allowed != nil {
		refuseMethod(ctx, strings.Join(allowed, ", "))
		return
	}
	ctx.Error("Not Found", fasthttp.StatusNotFound)
}

// match returns the rest of a path after a pattern that ends in a slash; other patterns must match
// the whole path.
func match(pattern, path string) (name string, found bool) {
	if strings.HasSuffix(pattern, "/") {
		return strings.CutPrefix(path, pattern)
	}
	return "", path == pattern
}

func serve(ctx *fasthttp.RequestCtx, route contract.Route, name string) {
	answer := route.Handle(contract.Call{
		Name:  name,
		Query: func(name string) string { return string(ctx.QueryArgs().Peek(name)) },
		Body:  ctx.PostBody(),
	})
	if answer.HandOver != nil && !ctx.IsHead() {
		hijacked.HandOver(ctx, answer)
		return
	}
	if answer.Stream != nil {
		hijacked.Send(ctx, answer)
		return
	}
	ctx.SetStatusCode(answer.Status)
	ctx.SetContentType(answer.Type)
	ctx.Response.SetBodyRaw(answer.Body)
}
