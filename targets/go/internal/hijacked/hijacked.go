// Package hijacked streams responses from fasthttp, and so from Fiber.
//
// Both can send a body that is made while it is sent, by SetBodyStreamWriter: through a pipe, to a
// second goroutine that copies and frames it. That costs two wake-ups for each piece, and a client
// that leaves is noticed only when it is written to. Here the connection is taken over instead: the
// head is the library's, each piece is one write, and reading tells when the client leaves.
package hijacked

import (
	"net"

	"github.com/valyala/fasthttp"

	"ceiling.dev/targets/internal/contract"
	"ceiling.dev/targets/internal/stream"
)

// In the model of fasthttp: a body of unknown length in chunks, and one that the close ends.
const (
	lengthChunked  = -1
	lengthIdentity = -2
)

// Send responds with a stream, and closes the connection after it.
func Send(ctx *fasthttp.RequestCtx, answer contract.Response) {
	header := &ctx.Response.Header
	header.SetStatusCode(answer.Status)
	header.SetContentType(answer.Type)
	header.Set(fasthttp.HeaderCacheControl, contract.CacheStream)
	header.SetConnectionClose()
	length, framing := lengthChunked, stream.Chunked
	if !ctx.Request.Header.IsHTTP11() {
		length, framing = lengthIdentity, stream.UntilClose
	}
	header.SetContentLength(length)
	if ctx.IsHead() {
		answer.Stream.Leave()
		ctx.Response.SkipBody = true
		return
	}
	head := header.AppendBytes(nil)
	// fasthttp would send the head itself, but not hand over a connection that shall be closed.
	ctx.HijackSetNoResponse(true)
	// The connection itself: the one that fasthttp hands over is given to the next after this one,
	// while leaveWith may still read from it.
	conn := ctx.Conn()
	ctx.Hijack(func(net.Conn) { stream.Send(conn, head, answer.Stream, framing) })
}

// HandOver gives the connection to another process, which responses, and lets go of it.
func HandOver(ctx *fasthttp.RequestCtx, answer contract.Response) {
	ctx.SetConnectionClose()
	ctx.HijackSetNoResponse(true)
	conn := ctx.Conn()
	ctx.Hijack(func(net.Conn) { answer.HandOver(conn) })
}
