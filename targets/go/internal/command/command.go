// Package command is what the programs have in common whose command line is their own.
package command

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"
)

const (
	exitInternal = 1
	exitUsage    = 2
)

// ErrDone says that the command line asked for a text, and that it was printed.
var ErrDone = errors.New("nothing to serve")

// Listening is the first line on standard output; a program may add to it.
type Listening struct {
	Event  string `json:"event"`
	Target string `json:"target"`
	Addr   string `json:"addr"`
	PID    int    `json:"pid"`
}

// Server is what listens, until Stop ends it and gives the last line on standard output.
type Server struct {
	// First is the first line; if nil, Listening alone.
	First func(Listening) any
	Serve func() error
	Stop  func() (any, error)
}

// Parse reads flags with --port, --help and --version, and gives the port.
func Parse(flags *flag.FlagSet, usage, version string, args []string, out io.Writer) (uint, error) {
	flags.SetOutput(io.Discard)
	port := flags.Uint("port", 0, "")
	showVersion := flags.Bool("version", false, "")
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(out, usage)
		return 0, ErrDone
	case err != nil:
		return 0, err
	case flags.NArg() > 0:
		return 0, fmt.Errorf("%q is not a flag; --help lists them", flags.Arg(0))
	case *showVersion:
		fmt.Fprintln(out, flags.Name(), version)
		return 0, ErrDone
	case *port > 65535:
		return 0, fmt.Errorf("--port takes a number from 0 to 65535, not %d", *port)
	}
	return *port, nil
}

// Serve listens on loopback, says so, and serves until a signal.
func Serve(target string, port uint, start func(net.Listener) (Server, error)) error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return err
	}
	server, err := start(listener)
	if err != nil {
		return err
	}
	output := json.NewEncoder(os.Stdout)
	listening := Listening{
		Event: "listening", Target: target, Addr: listener.Addr().String(), PID: os.Getpid(),
	}
	var first any = listening
	if server.First != nil {
		first = server.First(listening)
	}
	if err := output.Encode(first); err != nil {
		return err
	}
	failed := make(chan error, 1)
	go func() {
		// A server that closed its port by itself still has a last line.
		if err := server.Serve(); err != nil {
			failed <- err
		}
	}()
	select {
	case err := <-failed:
		return err
	case <-signals:
	}
	last, err := server.Stop()
	if err != nil {
		return err
	}
	return output.Encode(last)
}

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
