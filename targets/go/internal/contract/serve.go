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

// Server is what a target builds from its library.
type Server interface {
	// Serve serves connections until Shutdown. After Shutdown its error is ignored. With several
	// listeners it runs once for each, concurrently.
	Serve(listener net.Listener) error
	// Shutdown stops accepting, lets started requests finish and returns when the context ends at
	// the latest.
	Shutdown(ctx context.Context) error
}

// drainLimit is how long the stop waits for started requests. Connections that are busy for longer
// are closed: a load generator that never pauses must not keep its target alive.
const drainLimit = time.Second

// StopContext ends at the first SIGTERM or SIGINT. A second one ends the process as usual.
func StopContext() context.Context {
	ctx, restore := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	context.AfterFunc(ctx, restore)
	return ctx
}

// Serve runs a target in this process until it gets a signal to stop.
func Serve(program Program, options Options) error {
	return ServeUntil(StopContext(), program, options, listen)
}

// ServeUntil runs a target until the context ends. The pool is built before the socket is opened:
// until a target can respond, connecting to it must fail.
func ServeUntil(
	stop context.Context, program Program, options Options, listen ListenFunc,
) error {
	catalog, err := NewCatalog(options.PoolSeed)
	if err != nil {
		return err
	}
	routes, err := openParts(stop, program.Parts)
	if err != nil {
		return err
	}
	defer closeParts(program.Parts)
	// Garbage from building the pool must not be collected while serving.
	runtime.GC()
	secure, err := options.TLSConfig()
	if err != nil {
		return err
	}
	listeners, err := open(options, listen)
	if err != nil {
		return err
	}
	if err := serveProfiles(options.Debug); err != nil {
		return err
	}
	ledger := NewLedger()
	server := program.Build(catalog, routes)
	failed := make(chan error, len(listeners))
	for _, listener := range listeners {
		tracking := newListener(listener, ledger, options, secure)
		go func() { failed <- server.Serve(tracking) }()
	}

	meter, err := StartMeter()
	if err != nil {
		return err
	}
	err = WriteLine(os.Stdout, Listening{
		Event: EventListening, Target: program.Name, Addr: listeners[0].Addr().String(),
		Pid: os.Getpid(), Workers: 1, Network: options.Network(), Listeners: len(listeners),
		Backlog: effectiveBacklog(listeners[0]), TLS: options.security(),
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
	// Also after a failure: what was counted until then is still true.
	stopped := Stopped{
		Event: EventStopped, Target: program.Name, Workers: 1, Parts: countParts(program.Parts),
	}
	if secure != nil {
		stopped.Handshakes = new(ledger.Handshakes())
	}
	return errors.Join(failure, reportStop(stopped, meter, ledger))
}

// open opens the sockets and sets their options and their backlog.
func open(options Options, listen ListenFunc) ([]net.Listener, error) {
	listeners, err := listen(options)
	if err != nil {
		return nil, err
	}
	err = setSocketOptions(listeners, options)
	if err == nil && options.Backlog != 0 {
		err = setBacklogs(listeners, options.Backlog)
	}
	if err != nil {
		closeAll(listeners)
		return nil, err
	}
	return listeners, nil
}

func drain(server Server, ledger *Ledger) {
	ctx, cancel := context.WithTimeout(context.Background(), drainLimit)
	defer cancel()
	// An error here means that connections are left; they are closed next. Without an error there
	// may still be streams on hijacked connections, which the library no longer tracks.
	if err := server.Shutdown(ctx); err == nil {
		ledger.wait(ctx)
	}
	ledger.CloseAll()
}

func reportStop(stopped Stopped, meter Meter, ledger *Ledger) error {
	usage, uptime, err := meter.Read()
	if err != nil {
		return err
	}
	stopped.ConnectionsAccepted = ledger.Accepted()
	stopped.RequestsServed, stopped.ResponsesBytes = ledger.Totals()
	stopped.Usage, stopped.UptimeNs = usage, uptime.Nanoseconds()
	return WriteLine(os.Stdout, stopped)
}
