// Package hijacked streams answers from fasthttp, and so from Fiber.
//
// Both can send a body that is made while it is sent, by SetBodyStreamWriter: through a pipe, to a
// second goroutine that copies and frames it. That costs two wake-ups for each piece, and a client
// that leaves is noticed only when it is written to. Here the connection is taken over instead: the
// head is the library's, each piece is one write, and reading tells when the client leaves.
package hijacked

import (
	"io"
	"net"
	"strconv"

	"github.com/valyala/fasthttp"

	"ceiling.dev/targets/internal/contract"
)

// headerRoom is what the size of a chunk may take: 16 digits and an end of line.
const headerRoom = 18

// In the model of fasthttp: a body of unknown length in chunks, and one that the close ends.
const (
	lengthChunked  = -1
	lengthIdentity = -2
)

// Send answers with a stream, and closes the connection after it.
func Send(ctx *fasthttp.RequestCtx, answer contract.Answer) {
	header := &ctx.Response.Header
	header.SetStatusCode(answer.Status)
	header.SetContentType(answer.Type)
	header.Set(fasthttp.HeaderCacheControl, contract.CacheStream)
	header.SetConnectionClose()
	length, body := lengthChunked, framed
	if !ctx.Request.Header.IsHTTP11() {
		length, body = lengthIdentity, plain
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
	ctx.Hijack(func(net.Conn) {
		if _, err := conn.Write(head); err == nil {
			go leaveWith(conn, answer.Stream)
			body(conn, answer.Stream)
		}
		answer.Stream.Leave()
	})
}

// leaveWith ends a stream when its client ends the connection, and ends with the connection. What
// the client still sends is of no use, so the buffer is small: there is one for each subscriber.
func leaveWith(conn net.Conn, stream contract.Stream) {
	buffer := make([]byte, 64)
	for err := error(nil); err == nil; {
		_, err = conn.Read(buffer)
	}
	stream.Leave()
}

// framed sends each piece as one chunk, and the last chunk at the end.
func framed(conn net.Conn, stream contract.Stream) {
	var room [headerRoom]byte
	buffer := room[:]
	for {
		var more bool
		if buffer, more = stream.Next(buffer[:headerRoom]); !more {
			_, _ = io.WriteString(conn, "0\r\n\r\n")
			return
		}
		buffer = append(buffer, '\r', '\n')
		if _, err := conn.Write(withSize(buffer)); err != nil {
			return
		}
	}
}

// withSize writes the size of a chunk in front of it, into the room that was left for that. What
// follows the chunk is its end of line.
func withSize(buffer []byte) []byte {
	var digits [headerRoom]byte
	size := strconv.AppendInt(digits[:0], int64(len(buffer)-headerRoom-2), 16)
	size = append(size, '\r', '\n')
	begin := headerRoom - len(size)
	copy(buffer[begin:], size)
	return buffer[begin:]
}

// plain is for HTTP/1.0, which has no chunks: the close is the end.
func plain(conn net.Conn, stream contract.Stream) {
	var piece []byte
	for more := true; more; {
		if piece, more = stream.Next(piece[:0]); more {
			if _, err := conn.Write(piece); err != nil {
				return
			}
		}
	}
}
