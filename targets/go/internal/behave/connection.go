package behave

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

const (
	pieces   = 10
	pieceGap = 5 * time.Millisecond
	// chunkBytes splits a chunked body into several chunks.
	chunkBytes = 400
)

// connection is served by one goroutine, one request after the other.
type connection struct {
	server *Server
	socket *socket
	number uint64
}

// asked is what matters of a request.
type asked struct {
	method string
	// isLast means that the client wants the connection closed.
	isLast bool
}

var errUnfit = errors.New("not a request that this server takes")

func (c *connection) serve() {
	defer c.socket.Close()
	in := bufio.NewReader(c.socket)
	for taken := uint64(1); ; taken++ {
		asked, err := read(in, c.server.behaviour.Method)
		if errors.Is(err, errUnfit) {
			c.refuse()
		}
		if err != nil {
			return
		}
		if c.answer(asked, taken) != keeps {
			return
		}
	}
}

// read reads the head of a request. This server reads no bodies, and accepts them only where its
// behaviour is to leave them.
func read(in *bufio.Reader, wanted string) (asked, error) {
	first, err := in.ReadString('\n')
	if err != nil {
		return asked{}, err
	}
	words := strings.Fields(first)
	if len(words) != 3 || !strings.HasPrefix(words[2], "HTTP/1.") {
		return asked{}, errUnfit
	}
	request := asked{method: words[0], isLast: words[2] == "HTTP/1.0"}
	for {
		field, err := in.ReadString('\n')
		if err != nil {
			return asked{}, err
		}
		field = strings.TrimSpace(field)
		if field == "" {
			return request, nil
		}
		name, value, _ := strings.Cut(strings.ToLower(field), ":")
		value = strings.TrimSpace(value)
		hasBody := name == "transfer-encoding" || (name == "content-length" && value != "0")
		if hasBody && wanted != http.MethodPost {
			return asked{}, errUnfit
		}
		if name == "connection" {
			request.isLast = value == "close"
		}
	}
}

func (c *connection) refuse() {
	refusal := []byte("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
	c.socket.Write(refusal)
	c.server.truth.add(line{connection: c.number, received: c.socket.received,
		arrival: c.socket.received, done: now(),
		status: http.StatusBadRequest, fate: Refused})
}

// answer executes the plan of the behaviour, and logs the outcome.
func (c *connection) answer(asked asked, taken uint64) ending {
	number, arrival, plan := c.server.plan(c.number, taken)
	entry := line{number: number, connection: c.number, received: c.socket.received,
		arrival: arrival}
	sleepUntil(plan.due, c.server.over)
	ended := c.server.whyEnded()
	switch {
	case ended != "":
		entry.fate, plan.ending = ended, resets
	case plan.ending == resets:
		c.reset()
		entry.fate = Reset
	case plan.ending == drops:
		entry.fate = Dropped
	default:
		if asked.isLast {
			plan.ending = closes
		}
		entry.status, entry.stray, entry.fate = plan.status, len(plan.stray), Answered
		if err := c.send(asked.method, plan); err != nil {
			entry.fate, plan.ending = c.whoLeft(), resets
		}
		if plan.ending == leaves {
			entry.fate = Unread
		}
	}
	entry.done = now()
	c.server.truth.add(entry)
	return plan.ending
}

func (c *connection) whoLeft() Fate {
	if ended := c.server.whyEnded(); ended != "" {
		return ended
	}
	return Gone
}

// reset makes the kernel send a reset instead of an orderly close.
func (c *connection) reset() {
	// A closed socket has nothing to reset.
	_ = c.socket.SetLinger(0)
	_ = c.socket.Close()
}

func (c *connection) send(method string, plan plan) error {
	var out bytes.Buffer
	fmt.Fprintf(&out, "HTTP/1.1 %d %s\r\n", plan.status, http.StatusText(plan.status))
	switch plan.shape {
	case empty:
	case chunked:
		out.WriteString("Transfer-Encoding: chunked\r\n")
	default:
		fmt.Fprintf(&out, "Content-Length: %d\r\n", len(plan.body))
	}
	if plan.ending == closes {
		out.WriteString("Connection: close\r\n")
	}
	out.WriteString("\r\n")
	if method != http.MethodHead {
		writeBody(&out, plan)
	}
	out.Write(plan.stray)
	if plan.shape == inPieces {
		return c.sendInPieces(out.Bytes(), plan.due)
	}
	_, err := c.socket.Write(out.Bytes())
	return err
}

func writeBody(out *bytes.Buffer, plan plan) {
	if plan.shape != chunked {
		out.Write(plan.body)
		return
	}
	for from := 0; from < len(plan.body); from += chunkBytes {
		chunk := plan.body[from:min(from+chunkBytes, len(plan.body))]
		fmt.Fprintf(out, "%x\r\n%s\r\n", len(chunk), chunk)
	}
	out.WriteString("0\r\n\r\n")
}

// sendInPieces sends the first piece now, and each other piece a gap after the previous one was
// due.
func (c *connection) sendInPieces(all []byte, due instant) error {
	size := (len(all) + pieces - 1) / pieces
	for from := 0; from < len(all); from += size {
		sleepUntil(due, c.server.over)
		if _, err := c.socket.Write(all[from:min(from+size, len(all))]); err != nil {
			return err
		}
		due = due.after(pieceGap)
	}
	return nil
}
