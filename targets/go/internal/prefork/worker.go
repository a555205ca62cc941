package prefork

import (
	"context"
	"io"
	"net"
	"os"
	"runtime"

	"github.com/valyala/fasthttp/reuseport"

	"ceiling.dev/targets/internal/contract"
)

func runWorker(program contract.Program, options contract.Options) error {
	runtime.GOMAXPROCS(1)
	stop, cancel := context.WithCancel(contract.StopContext())
	go func() {
		// Returns when the supervisor closes the pipe or dies.
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	return contract.ServeUntil(stop, program, options, listenShared)
}

func listenShared(options contract.Options) ([]net.Listener, error) {
	listener, err := reuseport.Listen(options.Network(), options.Address())
	if err != nil {
		return nil, contract.ExplainListen(options.Address(), err)
	}
	return []net.Listener{listener}, nil
}
