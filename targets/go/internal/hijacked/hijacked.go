// Package hijacked streams responses from fasthttp, and so from Fiber.
//
// Both can send a body that is made while it is sent, by SetBodyStreamWriter: through a pipe, to a
// second goroutine that copies and frames it. That costs two wake-ups for each piece, and a
// disconnected client is noticed only at the next write. Here the connection is hijacked instead:
// the head is the library's, each piece is one write, and a reader notices when the client
// disconnects.
package hijacked

import (
	"net"

	"github.com/valyala/fasthttp"

	"ceiling.dev/targets/internal/contract"
	"ceiling.dev/targets/internal/stream"
)

// fasthttp's values for a chunked body of unknown length, and for one that the close ends.
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
	// fasthttp would send the head itself, but it does not hijack a connection that is to be
	// closed.
	ctx.HijackSetNoResponse(true)
	// The connection itself: fasthttp reuses its hijacked wrapper for the next one while leaveWith
	// may still read from it.
	conn := ctx.Conn()
	ctx.Hijack(func(net.Conn) { stream.Send(conn, head, answer.Stream, framing) })
}

// HandOver passes the connection to another process, which responds, and closes it here.
func HandOver(ctx *fasthttp.RequestCtx, answer contract.Response) {
	ctx.SetConnectionClose()
	ctx.HijackSetNoResponse(true)
	conn := ctx.Conn()
	ctx.Hijack(func(net.Conn) { answer.HandOver(conn) })
}
