// Command grpc serves a small service of gRPC on loopback, describes itself, and counts how its
// calls ended.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"slices"

	"ceiling.dev/targets/internal/command"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
)

const usage = `target-grpc: a server of gRPC with the service shop.Catalog.

  --port N           default 0: any free port; always on 127.0.0.1
  --fail STATUS      each call that is one in --every ends with this code, such as 8
  --every N          default 0: none
  --streams N        streams that a connection may have at once; default 0: any number
  --reflection WHICH both (default), v1alpha or off: how it describes itself
  --tls-cert FILE, --tls-key FILE
  --version

Stopped by SIGTERM or SIGINT; its last line on standard output says how many calls ended with
which status, and how many messages streamed to it and from it.
`

var version = "dev"

// stopped is the last line.
type stopped struct {
	Event    string            `json:"event"`
	Target   string            `json:"target"`
	Statuses map[string]uint64 `json:"statuses"`
	Received uint64            `json:"received"`
	Streamed uint64            `json:"streamed"`
}

// options are the command line.
type options struct {
	port       uint
	fail       uint
	every      uint64
	streams    uint
	reflection string
	cert, key  string
}

func main() {
	command.Run("target-grpc", parse, serve)
}

func parse(args []string, out io.Writer) (options, error) {
	var parsed options
	flags := flag.NewFlagSet("target-grpc", flag.ContinueOnError)
	flags.UintVar(&parsed.fail, "fail", uint(codes.ResourceExhausted), "")
	flags.Uint64Var(&parsed.every, "every", 0, "")
	flags.UintVar(&parsed.streams, "streams", 0, "")
	flags.StringVar(&parsed.reflection, "reflection", "both", "")
	flags.StringVar(&parsed.cert, "tls-cert", "", "")
	flags.StringVar(&parsed.key, "tls-key", "", "")
	var err error
	versions := fmt.Sprint(version, " grpc-go ", grpc.Version)
	parsed.port, err = command.Parse(flags, usage, versions, args, out)
	switch {
	case err != nil:
		return options{}, err
	case parsed.fail > uint(codes.Unauthenticated):
		return options{}, fmt.Errorf("--fail takes a code from 0 to 16, not %d", parsed.fail)
	case !slices.Contains([]string{"both", "v1alpha", "off"}, parsed.reflection):
		return options{}, fmt.Errorf("--reflection takes both, v1alpha or off")
	case (parsed.cert == "") != (parsed.key == ""):
		return options{}, errors.New("--tls-cert and --tls-key belong together")
	}
	return parsed, nil
}

func serve(options options) error {
	counts := &counts{}
	more := []grpc.ServerOption{grpc.StatsHandler(counts)}
	if options.streams > 0 {
		more = append(more, grpc.MaxConcurrentStreams(uint32(options.streams)))
	}
	if options.cert != "" {
		secured, err := credentials.NewServerTLSFromFile(options.cert, options.key)
		if err != nil {
			return err
		}
		more = append(more, grpc.Creds(secured))
	}
	server := grpc.NewServer(more...)
	catalog := &catalog{fail: codes.Code(options.fail), every: options.every}
	server.RegisterService(&service, catalog)
	switch options.reflection {
	case "both":
		reflection.Register(server)
	case "v1alpha":
		described := reflection.NewServer(reflection.ServerOptions{Services: server})
		grpc_reflection_v1alpha.RegisterServerReflectionServer(server, described)
	}
	return command.Serve("grpc", options.port, func(listener net.Listener) (command.Server, error) {
		return command.Server{
			Serve: func() error { return server.Serve(listener) },
			Stop: func() (any, error) {
				server.Stop()
				return stopped{
					Event: "stopped", Target: "grpc", Statuses: counts.byName(),
					Received: catalog.received.Load(), Streamed: catalog.streamed.Load(),
				}, nil
			},
		}, nil
	})
}
