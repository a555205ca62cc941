package contract

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// ListenFunc opens the sockets of a target. Its error is shown to the user and fits on one line.
type ListenFunc func(options Options) ([]net.Listener, error)

// listen opens what the options say: one unix socket, one listener, or several that share a port.
func listen(options Options) ([]net.Listener, error) {
	if options.Unix != "" {
		return listenUnix(options.Unix)
	}
	if options.Listeners > 1 {
		return listenShared(options)
	}
	listener, err := net.Listen(options.Network(), options.Address())
	if err != nil {
		return nil, ExplainListen(options.Address(), err)
	}
	return []net.Listener{listener}, nil
}

// listenShared opens several listeners with SO_REUSEPORT: the kernel spreads connections over them
// by the hash of their addresses, and each has a queue and a lock of its own.
func listenShared(options Options) ([]net.Listener, error) {
	claim, err := ClaimPort(options)
	if err != nil {
		return nil, err
	}
	defer claim.Release()
	options.Port = claim.Port
	config := net.ListenConfig{Control: reusePort}
	listeners := make([]net.Listener, 0, options.Listeners)
	for range options.Listeners {
		listener, err := config.Listen(context.Background(), options.Network(), options.Address())
		if err != nil {
			closeAll(listeners)
			return nil, ExplainListen(options.Address(), err)
		}
		listeners = append(listeners, listener)
	}
	return listeners, nil
}

func reusePort(_, _ string, socket syscall.RawConn) error {
	return onDescriptor(socket, func(fd int) error {
		return os.NewSyscallError("setsockopt",
			unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1))
	})
}

// listenUnix replaces a socket file that a killed target left behind, which refuses connections.
// Any other file is left alone.
func listenUnix(path string) ([]net.Listener, error) {
	listener, err := net.Listen("unix", path)
	if errors.Is(err, syscall.EADDRINUSE) && isAbandoned(path) {
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("--unix: %w", err)
		}
		listener, err = net.Listen("unix", path)
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s exists or is in use by another process; choose another "+
			"path, for example --unix /tmp/target-2.sock", path)
	}
	if err != nil {
		return nil, fmt.Errorf("--unix: %w", err)
	}
	return []net.Listener{listener}, nil
}

func isAbandoned(path string) bool {
	// Connecting to a file that is not a socket is refused in the same way.
	if file, err := os.Lstat(path); err != nil || file.Mode().Type() != os.ModeSocket {
		return false
	}
	conn, err := net.Dial("unix", path)
	if err == nil {
		conn.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

// setBacklogs changes the length of the accept queues. Package net always uses the system limit,
// but a second listen(2) on a listening socket sets a new one.
func setBacklogs(listeners []net.Listener, backlog int) error {
	for _, listener := range listeners {
		socket, err := descriptor(listener)
		if err != nil {
			return fmt.Errorf("--backlog: %w", err)
		}
		err = onDescriptor(socket, func(fd int) error {
			return os.NewSyscallError("listen", unix.Listen(fd, backlog))
		})
		if err != nil {
			return fmt.Errorf("--backlog: %w", err)
		}
	}
	return nil
}

// effectiveBacklog asks the kernel for the length that it enforces, which net.core.somaxconn may
// have cut. The kernel does not report it for a unix socket.
func effectiveBacklog(listener net.Listener) *int {
	socket, err := descriptor(listener)
	if err != nil {
		return nil
	}
	var backlog int
	err = onDescriptor(socket, func(fd int) error {
		info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
		if err == nil {
			// For a listening socket the kernel puts the limit of the accept queue here.
			backlog = int(info.Sacked)
		}
		return err
	})
	if err != nil {
		return nil
	}
	return &backlog
}

func descriptor(listener net.Listener) (syscall.RawConn, error) {
	socket, ok := listener.(syscall.Conn)
	if !ok {
		return nil, fmt.Errorf("a %T has no descriptor", listener)
	}
	return socket.SyscallConn()
}

func onDescriptor(socket syscall.RawConn, act func(fd int) error) error {
	var failure error
	err := socket.Control(func(fd uintptr) { failure = act(int(fd)) })
	return errors.Join(err, failure)
}

func closeAll(listeners []net.Listener) {
	for _, listener := range listeners {
		listener.Close()
	}
}

// ExplainListen turns the error of a listen into advice for the user.
func ExplainListen(address string, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%s is in use by another process; stop that process or choose "+
			"another port, for example --port 0", address)
	}
	return fmt.Errorf("listen on %s: %w", address, err)
}
