// Command behave serves one behaviour of a registry on loopback, and logs each request with its
// outcome. The reports of load generators are compared with its log.
package main

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

	"ceiling.dev/targets/internal/behave"
	"ceiling.dev/targets/internal/command"
)

const usage = `target-behave: a server that misbehaves in one chosen way, and counts what it did.

  --behaviour NAME   one of --list
  --port N           default 0: any free port; always on 127.0.0.1
  --seed N           default 1: seed of all random numbers
  --log FILE         one line for each request, written at the end
  --list             the behaviours as JSON
  --version

Stopped by SIGTERM or SIGINT; its last line on standard output has the totals of the log.
`

var version = "dev"

// listening is the first line.
type listening struct {
	Event     string `json:"event"`
	Target    string `json:"target"`
	Addr      string `json:"addr"`
	PID       int    `json:"pid"`
	Behaviour string `json:"behaviour"`
	Seed      uint64 `json:"seed"`
}

// options are the command line.
type options struct {
	behaviour behave.Behaviour
	port      uint
	seed      uint64
	log       string
}

func main() {
	command.Run("target-behave", parse, serve)
}

func parse(args []string, out io.Writer) (options, error) {
	var parsed options
	flags := flag.NewFlagSet("target-behave", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	name := flags.String("behaviour", "", "")
	flags.UintVar(&parsed.port, "port", 0, "")
	flags.Uint64Var(&parsed.seed, "seed", 1, "")
	flags.StringVar(&parsed.log, "log", "", "")
	list := flags.Bool("list", false, "")
	showVersion := flags.Bool("version", false, "")
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(out, usage)
		return options{}, command.ErrDone
	case err != nil:
		return options{}, err
	case flags.NArg() > 0:
		return options{}, fmt.Errorf("%q is not a flag; --help lists them", flags.Arg(0))
	case *showVersion:
		fmt.Fprintln(out, "target-behave", version)
		return options{}, command.ErrDone
	case *list:
		if err := json.NewEncoder(out).Encode(behave.All); err != nil {
			return options{}, err
		}
		return options{}, command.ErrDone
	}
	var found bool
	if parsed.behaviour, found = behave.Named(*name); !found {
		return options{}, fmt.Errorf("--behaviour %q is none of --list", *name)
	}
	if parsed.port > 65535 {
		return options{}, fmt.Errorf("--port takes a number from 0 to 65535, not %d", parsed.port)
	}
	return parsed, nil
}

func serve(options options) error {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	var log *os.File
	if options.log != "" {
		var err error
		if log, err = os.Create(options.log); err != nil {
			return err
		}
		defer log.Close()
	}
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", options.port))
	if err != nil {
		return err
	}
	server := behave.New(options.behaviour, options.seed, listener)
	output := json.NewEncoder(os.Stdout)
	first := listening{
		Event: "listening", Target: "behave", Addr: listener.Addr().String(), PID: os.Getpid(),
		Behaviour: options.behaviour.Name, Seed: options.seed,
	}
	if err := output.Encode(first); err != nil {
		return err
	}
	go server.Serve()
	<-stop
	var writer io.Writer
	if log != nil {
		writer = log
	}
	summary, err := server.Stop(writer)
	if err != nil {
		return err
	}
	return output.Encode(summary)
}
