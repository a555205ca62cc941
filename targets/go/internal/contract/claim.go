package contract

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Claim is a socket that is bound and never listens. Binding without SO_REUSEPORT detects a busy
// port: listeners that share it would join those of another server without an error. Holding it
// keeps a port that the kernel chose for --port 0 from being given to another process before they
// listen. The kernel sends connections to listening sockets only, so the claim takes none.
type Claim struct {
	fd int
	// Port is the claimed port.
	Port uint16
}

// ClaimPort claims the port of the options. Its error fits on one line and is shown to the user.
func ClaimPort(options Options) (Claim, error) {
	domain, address := socketAddress(options)
	fd, err := unix.Socket(domain, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return Claim{}, fmt.Errorf("open a socket: %w", os.NewSyscallError("socket", err))
	}
	port, err := bindExclusive(fd, address)
	if err != nil {
		unix.Close(fd)
		return Claim{}, ExplainListen(options.Address(), err)
	}
	return Claim{fd: fd, Port: port}, nil
}

// Release frees the port.
func (c Claim) Release() { unix.Close(c.fd) }

// bindExclusive sets SO_REUSEADDR so that connections in TIME_WAIT from an earlier run do not count
// as a busy port; a listening socket still does.
func bindExclusive(fd int, address unix.Sockaddr) (port uint16, err error) {
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
		return 0, os.NewSyscallError("setsockopt", err)
	}
	if err := unix.Bind(fd, address); err != nil {
		return 0, os.NewSyscallError("bind", err)
	}
	bound, err := unix.Getsockname(fd)
	if err != nil {
		return 0, os.NewSyscallError("getsockname", err)
	}
	if v4, ok := bound.(*unix.SockaddrInet4); ok {
		return uint16(v4.Port), nil
	}
	return uint16(bound.(*unix.SockaddrInet6).Port), nil
}

func socketAddress(options Options) (domain int, address unix.Sockaddr) {
	port := int(options.Port)
	if options.Addr.Is4() {
		return unix.AF_INET, &unix.SockaddrInet4{Port: port, Addr: options.Addr.As4()}
	}
	return unix.AF_INET6, &unix.SockaddrInet6{Port: port, Addr: options.Addr.As16()}
}
