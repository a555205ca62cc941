// Package command is what the programs have in common whose command line is their own.
package command

import (
	"errors"
	"fmt"
	"io"
	"os"
)

const (
	exitInternal = 1
	exitUsage    = 2
)

// ErrDone says that the command line asked for a text, and that it was printed.
var ErrDone = errors.New("nothing to serve")

// Run reads the command line and serves. It ends the process if that fails.
func Run[O any](name string, parse func([]string, io.Writer) (O, error), serve func(O) error) {
	options, err := parse(os.Args[1:], os.Stdout)
	switch {
	case errors.Is(err, ErrDone):
		return
	case err != nil:
		end(name, err, exitUsage)
	}
	if err := serve(options); err != nil {
		end(name, err, exitInternal)
	}
}

func end(name string, err error, code int) {
	fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
	os.Exit(code)
}
