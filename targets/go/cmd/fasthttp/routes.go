package main

import (
	"errors"

	"github.com/valyala/fasthttp"

	"ceiling.dev/targets/internal/contract"
)

type routes struct {
	catalog *contract.Catalog
	more    router
}

// handle is the router: fasthttp has none, and its users write a switch.
func (r routes) handle(ctx *fasthttp.RequestCtx) {
	switch string(ctx.Path()) {
	case contract.PathSimple:
		onRead(ctx, simple)
	case contract.PathRead:
		onRead(ctx, r.read)
	case contract.PathReadLocked:
		onRead(ctx, r.readLocked)
	case contract.PathReadTable:
		onRead(ctx, r.readTable)
	case contract.PathReadGz:
		onRead(ctx, r.readGz)
	case contract.PathList:
		onRead(ctx, r.list)
	case contract.PathCompute:
		onRead(ctx, r.compute)
	case contract.PathHealthz:
		onRead(ctx, healthz)
	case contract.PathEcho:
		echo(ctx)
	default:
		r.more.handle(ctx)
	}
}

func onRead(ctx *fasthttp.RequestCtx, handle fasthttp.RequestHandler) {
	if !ctx.IsGet() && !ctx.IsHead() {
		refuseMethod(ctx, contract.AllowRead)
		return
	}
	handle(ctx)
}

func refuseMethod(ctx *fasthttp.RequestCtx, allow string) {
	ctx.Error("Method Not Allowed", fasthttp.StatusMethodNotAllowed)
	ctx.Response.Header.Set(fasthttp.HeaderAllow, allow)
}

func simple(ctx *fasthttp.RequestCtx) {
	ctx.SetContentType(contract.TypeJSON)
	ctx.Response.SetBodyRaw(contract.BodySimple)
}

func healthz(ctx *fasthttp.RequestCtx) {
	ctx.SetContentType(contract.TypeText)
	ctx.Response.SetBodyRaw(contract.BodyHealthz)
}

func (r routes) read(ctx *fasthttp.RequestCtx) {
	ctx.SetContentType(contract.TypeJSON)
	ctx.Response.SetBodyRaw(r.catalog.Read().Bytes)
}

func (r routes) readLocked(ctx *fasthttp.RequestCtx) {
	ctx.SetContentType(contract.TypeJSON)
	ctx.Response.SetBodyRaw(r.catalog.ReadLocked().Bytes)
}

func (r routes) readTable(ctx *fasthttp.RequestCtx) {
	ctx.SetContentType(contract.TypeJSON)
	ctx.Response.SetBodyRaw(r.catalog.ReadTable().Bytes)
}

func (r routes) readGz(ctx *fasthttp.RequestCtx) {
	ctx.SetContentType(contract.TypeJSON)
	ctx.Response.Header.SetContentEncoding(contract.EncodingGzip)
	ctx.Response.Header.Set(fasthttp.HeaderVary, contract.VaryEncoding)
	ctx.Response.SetBodyRaw(r.catalog.ReadGz().Bytes)
}

func (r routes) list(ctx *fasthttp.RequestCtx) {
	ctx.SetContentType(contract.TypeJSON)
	batch := r.catalog.List()
	for piece := range batch.Pieces() {
		ctx.Response.AppendBody(piece)
	}
}

func (r routes) compute(ctx *fasthttp.RequestCtx) {
	body, err := r.catalog.Compute()
	if err != nil {
		ctx.Error(err.Error(), fasthttp.StatusInternalServerError)
		return
	}
	ctx.SetContentType(contract.TypeJSON)
	ctx.Response.SetBodyRaw(body)
}

func echo(ctx *fasthttp.RequestCtx) {
	if !ctx.IsPost() {
		refuseMethod(ctx, contract.AllowEcho)
		return
	}
	contentType := ctx.Request.Header.ContentType()
	if len(contentType) == 0 {
		contentType = []byte(contract.TypeBinary)
	}
	ctx.Response.Header.SetContentTypeBytes(contentType)
	ctx.Response.SetBodyRaw(ctx.PostBody())
}

// handleError responds to requests that could not be read. The default of fasthttp calls a body
// above the limit a bad request.
func handleError(ctx *fasthttp.RequestCtx, err error) {
	var headerTooLarge *fasthttp.ErrSmallBuffer
	switch {
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		ctx.Error("Request Entity Too Large", fasthttp.StatusRequestEntityTooLarge)
	case errors.As(err, &headerTooLarge):
		ctx.Error("Request Header Fields Too Large", fasthttp.StatusRequestHeaderFieldsTooLarge)
	default:
		ctx.Error("Bad Request", fasthttp.StatusBadRequest)
	}
}
