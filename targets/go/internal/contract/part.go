package contract

import (
	"context"
	"net"
	"net/http"
	"slices"
	"strings"
)

// Part is a part of the spectrum that needs more than memory, for instance a database. Its routes
// are written once, independent of a library, and each target serves them with its library.
//
// A part that was not requested has no routes, so that a target can run alone.
type Part interface {
	// Flags configure the part, which keeps what they set.
	Flags() []Flag
	// Open connects to what the part needs and returns its routes, none if no flag asked for it. It
	// is called once, in the process that serves; the context ends when the target gets a signal to
	// stop, and streams must end then. The error fits on one line: what is missing, and how to get
	// it.
	Open(ctx context.Context) ([]Route, error)
	// Close is called after the last request.
	Close()
}

// Checker is a part that refuses flags that cannot be combined.
type Checker interface {
	// Check is called when all flags are set. Its error is a usage error and fits on one line.
	Check(options Options) error
}

// Counter is a part with counters of its own for the last line.
type Counter interface {
	// Counters is called after the last request, and returns nil if the part was not requested.
	Counters() (part string, counters map[string]uint64)
}

// Route is one route of a part.
type Route struct {
	Method string
	// Path ends in a slash if it is a prefix; what follows is Call.Name.
	Path   string
	Handle func(call Call) Response
}

// Call is a request as a part sees it. Its bytes and strings are valid until the handler returns.
// It has no context: fasthttp does not report when a client disconnects, so no target stops its
// work then.
type Call struct {
	// Name is what follows a Path that ends in a slash.
	Name  string
	Query func(name string) string
	Body  []byte
}

// Response is a whole response. Its body is sent after the handler has returned and must not
// change.
type Response struct {
	Status int
	Type   string
	Body   []byte
	// Stream replaces Body; its chunks must not be kept.
	Stream Stream
	// HandOver replaces both: it gets the connection, on which nothing was written, and when it
	// returns the target closes its side. It is for plain HTTP/1.1 only.
	HandOver func(conn net.Conn)
}

// Stream is a body that is sent while it is made. A target sends the head at once, then each piece
// in one write, as far as its library allows. The target pulls pieces, so that data is gathered
// while the connection is busy.
type Stream interface {
	// Next waits for the next piece, appends it to the buffer, and says whether there was one.
	// The buffer may be reused for the next piece.
	Next(buffer []byte) (piece []byte, more bool)
	// Leave ends Next: the client has gone. It may be called at any time, and more than once.
	Leave()
}

// Good is a 200 response with JSON.
func Good(body []byte) Response {
	return Response{Status: http.StatusOK, Type: TypeJSON, Body: body}
}

// Failed is a response whose body says what went wrong.
func Failed(status int, err error) Response {
	return Response{Status: status, Type: TypeText, Body: []byte(OneLine(err) + "\n")}
}

// OneLine returns the text of an error without repetitions: libraries that try several ways have a
// line for each.
func OneLine(err error) string {
	var lines []string
	for line := range strings.Lines(err.Error()) {
		line = strings.TrimSpace(line)
		if line != "" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, " ")
}

// openParts opens the parts of a program. If one fails, those opened before it are closed.
func openParts(ctx context.Context, parts []Part) ([]Route, error) {
	var routes []Route
	for i, part := range parts {
		opened, err := part.Open(ctx)
		if err != nil {
			closeParts(parts[:i])
			return nil, err
		}
		routes = append(routes, opened...)
	}
	return routes, nil
}

// checkByParts runs the checks of all parts that are Checkers.
func checkByParts(parts []Part, options Options) error {
	for _, part := range parts {
		if checker, ok := part.(Checker); ok {
			if err := checker.Check(options); err != nil {
				return err
			}
		}
	}
	return nil
}

// countParts collects what parts counted.
func countParts(parts []Part) Counters {
	var all Counters
	for _, part := range parts {
		if counter, ok := part.(Counter); ok {
			name, counters := counter.Counters()
			all = all.Add(Counters{name: counters})
		}
	}
	return all
}

func closeParts(parts []Part) {
	for _, part := range parts {
		part.Close()
	}
}

// partFlags are the flags of parts. Given flags are kept as typed, for prefork workers.
func partFlags(parts []Part) []Flag {
	var flags []Flag
	for _, part := range parts {
		for _, flag := range part.Flags() {
			set := flag.Set
			flag.Set = func(options *Options, value string) error {
				given := "--" + flag.Name
				if !flag.isSwitch() {
					given += "=" + value
				}
				options.PartArgs = append(options.PartArgs, given)
				return set(options, value)
			}
			flags = append(flags, flag)
		}
	}
	return flags
}

// Number sets a whole number of a part, from lowest to highest.
func Number(number *int, lowest, highest int) func(*Options, string) error {
	return func(_ *Options, value string) error {
		return setNumber(number, value, lowest, highest)
	}
}

// Position sets a switch of a part.
func Position(position *Switch) func(*Options, string) error {
	return func(_ *Options, value string) error { return setSwitch(position, value) }
}
