// Command behave serves one behaviour of a registry on loopback, and logs each request with its
// outcome. The reports of load generators are compared with its log.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"os"

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
	command.Listening
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
	name := flags.String("behaviour", "", "")
	flags.Uint64Var(&parsed.seed, "seed", 1, "")
	flags.StringVar(&parsed.log, "log", "", "")
	list := flags.Bool("list", false, "")
	var err error
	parsed.port, err = command.Parse(flags, usage, version, args, out)
	switch {
	case err != nil:
		return options{}, err
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
	return parsed, nil
}

func serve(options options) error {
	var log *os.File
	if options.log != "" {
		var err error
		if log, err = os.Create(options.log); err != nil {
			return err
		}
		defer log.Close()
	}
	start := func(listener net.Listener) (command.Server, error) {
		server := behave.New(options.behaviour, options.seed, listener)
		return command.Server{
			First: func(common command.Listening) any {
				return listening{common, options.behaviour.Name, options.seed}
			},
			Serve: server.Serve,
			Stop: func() (any, error) {
				if log == nil {
					return server.Stop(nil)
				}
				return server.Stop(log)
			},
		}, nil
	}
	return command.Serve("behave", options.port, start)
}
