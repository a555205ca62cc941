// Command shop serves a small shop on loopback, whose pages depend on each other: a customer logs
// in, browses, fills a basket and checks out. It counts what it answered, by step and status.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"ceiling.dev/targets/internal/command"
)

const usage = `target-shop: a shop whose pages depend on each other.

  --port N             default 0: any free port; always on 127.0.0.1
  --token-for T        how long a login is good; default 1m
  --fail STEP          this step fails for one customer in --every, such as checkout
  --every N            default 0: never
  --slow STEP          this step takes --for longer, such as basket
  --for T              default 0
  --checkouts N        checkouts at the same time; others wait; default 0: any number
  --freeze-after T, --freeze-for T
                       nothing is answered for a while, once, counted from the first request
  --idle T             a connection without requests for so long is closed; default 0: never
  --tls-cert FILE, --tls-key FILE
  --version

Steps are login, page, products, basket, show and checkout. It speaks HTTP/1.1 and HTTP/2, also in
plain text. Stopped by SIGTERM or SIGINT; its last line on standard output says how many requests
of each step ended with which status.
`

var version = "dev"

// stopped is the last line.
type stopped struct {
	Event       string                       `json:"event"`
	Target      string                       `json:"target"`
	Connections uint64                       `json:"connections"`
	Steps       map[string]map[string]uint64 `json:"steps"`
}

// options are the command line.
type options struct {
	port                   uint
	tokenFor               time.Duration
	fail, slow             string
	every                  uint64
	slowFor                time.Duration
	checkouts              uint
	freezeAfter, freezeFor time.Duration
	idle                   time.Duration
	cert, key              string
}

func main() {
	command.Run("target-shop", parse, serve)
}

func parse(args []string, out io.Writer) (options, error) {
	var parsed options
	flags := flag.NewFlagSet("target-shop", flag.ContinueOnError)
	flags.DurationVar(&parsed.tokenFor, "token-for", time.Minute, "")
	flags.StringVar(&parsed.fail, "fail", "", "")
	flags.Uint64Var(&parsed.every, "every", 0, "")
	flags.StringVar(&parsed.slow, "slow", "", "")
	flags.DurationVar(&parsed.slowFor, "for", 0, "")
	flags.UintVar(&parsed.checkouts, "checkouts", 0, "")
	flags.DurationVar(&parsed.freezeAfter, "freeze-after", 0, "")
	flags.DurationVar(&parsed.freezeFor, "freeze-for", 0, "")
	flags.DurationVar(&parsed.idle, "idle", 0, "")
	flags.StringVar(&parsed.cert, "tls-cert", "", "")
	flags.StringVar(&parsed.key, "tls-key", "", "")
	var err error
	parsed.port, err = command.Parse(flags, usage, version, args, out)
	switch {
	case err != nil:
		return options{}, err
	case (parsed.cert == "") != (parsed.key == ""):
		return options{}, errors.New("--tls-cert and --tls-key belong together")
	}
	for _, step := range []string{parsed.fail, parsed.slow} {
		if step != "" && !isStep(step) {
			return options{}, fmt.Errorf("%q is no step; accepted are %v", step, steps)
		}
	}
	return parsed, nil
}

func serve(options options) error {
	shop := newShop(options)
	server := &http.Server{
		Handler: shop.routes(), ConnState: shop.connection, IdleTimeout: options.idle,
	}
	server.Protocols = new(http.Protocols)
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetHTTP2(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	return command.Serve("shop", options.port, func(listener net.Listener) (command.Server, error) {
		return command.Server{
			Serve: func() error {
				if options.cert != "" {
					return server.ServeTLS(listener, options.cert, options.key)
				}
				return server.Serve(listener)
			},
			Stop: func() (any, error) {
				err := server.Close()
				return stopped{
					Event: "stopped", Target: "shop", Connections: shop.connections.Load(),
					Steps: shop.counted(),
				}, err
			},
		}, nil
	})
}
