package contract

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

// Server is what a target makes of its library.
type Server interface {
	// Serve answers connections until Shutdown. After Shutdown its error is not looked at.
	Serve(listener net.Listener) error
	// Shutdown stops accepting, lets started requests finish and returns at the latest when the
	// context ends.
	Shutdown(ctx context.Context) error
}

// drainLimit is how long the stop waits for started requests. Connections that are busy for longer
// are closed: a load generator which never pauses must not keep its target alive.
const drainLimit = time.Second

// StopContext ends at the first SIGTERM or SIGINT. A second one ends the process as usual.
func StopContext() context.Context {
	ctx, restore := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	context.AfterFunc(ctx, restore)
	return ctx
}

// Serve runs a target in this process until it is told to stop.
func Serve(program Program, options Options) error {
	return ServeUntil(StopContext(), program, options, listen)
}

// ListenFunc opens the socket of a target.
type ListenFunc func(options Options) (net.Listener, error)

func listen(options Options) (net.Listener, error) {
	return net.Listen(options.Network(), options.Address())
}

// ServeUntil runs a target until the context ends. The pool is built before the socket is opened:
// until a target can answer, connecting to it must fail.
func ServeUntil(
	stop context.Context, program Program, options Options, listen ListenFunc,
) error {
	catalog, err := NewCatalog(options.PoolSeed)
	if err != nil {
		return err
	}
	// What building the pool left behind must not be collected, and paid for, while serving.
	runtime.GC()
	listener, err := listen(options)
	if err != nil {
		return ExplainListen(options.Address(), err)
	}
	if err := serveProfiles(options.Debug); err != nil {
		return err
	}
	ledger := NewLedger()
	server := program.Build(catalog)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(Listener{listener, ledger}) }()

	meter, err := StartMeter()
	if err != nil {
		return err
	}
	err = WriteLine(os.Stdout, Listening{
		Event: EventListening, Target: program.Name, Addr: listener.Addr().String(),
		Pid: os.Getpid(), Workers: 1,
	})
	if err != nil {
		return err
	}
	var failure error
	select {
	case err := <-failed:
		failure = fmt.Errorf("stopped serving without being told to: %v", err)
	case <-stop.Done():
	}
	drain(server, ledger)
	// After a failure too: what was counted until then is still true.
	return errors.Join(failure, reportStop(program, meter, ledger))
}

func drain(server Server, ledger *Ledger) {
	ctx, cancel := context.WithTimeout(context.Background(), drainLimit)
	defer cancel()
	// An error here means that connections are left over; they are closed next.
	_ = server.Shutdown(ctx)
	ledger.CloseAll()
}

func reportStop(program Program, meter Meter, ledger *Ledger) error {
	usage, uptime, err := meter.Read()
	if err != nil {
		return err
	}
	requests, bytes := ledger.Totals()
	return WriteLine(os.Stdout, Stopped{
		Event: EventStopped, Target: program.Name, Workers: 1,
		RequestsServed: requests, ResponsesBytes: bytes,
		Usage: usage, UptimeNs: uptime.Nanoseconds(),
	})
}

// ExplainListen turns the error of a listen into what the reader can do about it.
func ExplainListen(address string, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%s is in use by another process; stop that process or choose "+
			"another port, for example --port 0", address)
	}
	return fmt.Errorf("listen on %s: %w", address, err)
}
