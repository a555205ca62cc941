// Package prefork serves one target from several processes that share a port by SO_REUSEPORT.
//
// Fiber has its own prefork. It is not used, because it cannot fulfil the contract: its master
// starts children without a channel to them, so it can neither wait until all of them listen nor
// collect what they counted; when the first child ends it kills the others; children notice a dead
// master only if they are re-parented to process 1; with port 0 each child would get a different
// port; and the listener is made inside, out of reach of the byte counter. The library's choices
// for performance are kept exactly: the same listener (SO_REUSEPORT, TCP_DEFER_ACCEPT,
// TCP_FASTOPEN), GOMAXPROCS(1) in each child, and GOMAXPROCS children by default.
//
// A worker is the same program with the same options. Its standard output is a pipe on which the
// supervisor reads the two lines of the contract, and its standard input is a pipe on which
// nothing is ever written: when it closes, the worker stops. The supervisor closes it to stop, and
// the kernel closes it if the supervisor dies, so no worker outlives its supervisor.
package prefork

import (
	"os"
	"runtime"

	"ceiling.dev/targets/internal/contract"
)

// workerEnv tells a process that it is a worker.
const workerEnv = "CEILING_TARGET_WORKER"

// Run serves from this process, or from several with --prefork.
func Run(program contract.Program, options contract.Options) error {
	if os.Getenv(workerEnv) != "" {
		return runWorker(program, options)
	}
	if !options.Prefork {
		return contract.Serve(program, options)
	}
	if options.Workers == 0 {
		options.Workers = runtime.GOMAXPROCS(0)
	}
	return supervise(program, options)
}
