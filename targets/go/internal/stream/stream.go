// Package stream sends a stream on a connection that has been taken over from its library: each
// piece is one write, and reading tells when the client leaves.
package stream

import (
	"io"
	"net"
	"strconv"

	"ceiling.dev/targets/internal/contract"
)

// Framing is how a client knows where a stream ends.
type Framing int

// The framings.
const (
	// Chunked has a last chunk.
	Chunked Framing = iota
	// UntilClose is for HTTP/1.0, which has no chunks: the close is the end.
	UntilClose
)

// Send writes the head and then the stream, until either side leaves. It does not close.
func Send(conn net.Conn, head []byte, source contract.Stream, framing Framing) {
	if _, err := conn.Write(head); err == nil {
		go leaveWith(conn, source)
		if framing == Chunked {
			framed(conn, source)
		} else {
			plain(conn, source)
		}
	}
	source.Leave()
}

// headerRoom is what the size of a chunk may take: 16 digits and an end of line.
const headerRoom = 18

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
