// Package stream sends a stream on a hijacked connection: each piece is one write, and a reader
// notices when the client disconnects.
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
	// UntilClose is for HTTP/1.0, which has no chunks: the close ends the body.
	UntilClose
)

// Send writes the head and then the stream, until either side ends it. It does not close the
// connection.
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

// headerRoom is the room for the size of a chunk: 16 digits and an end of line.
const headerRoom = 18

// leaveWith ends the stream when the client closes the connection, and returns when the connection
// ends. Bytes from the client are discarded, so the buffer is small: there is one for each
// subscriber.
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

// withSize writes the size of a chunk into the room in front of it, and appends the end of line.
func withSize(buffer []byte) []byte {
	var digits [headerRoom]byte
	size := strconv.AppendInt(digits[:0], int64(len(buffer)-headerRoom-2), 16)
	size = append(size, '\r', '\n')
	begin := headerRoom - len(size)
	copy(buffer[begin:], size)
	return buffer[begin:]
}

// plain sends the stream without framing, for HTTP/1.0: the close ends the body.
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
