package contract

import (
	"net"
	"net/netip"
	"strconv"
)

// Options is what a command line resolved to. After parsing it is only read.
type Options struct {
	Addr     netip.Addr
	Port     uint16
	PoolSeed uint64
	// Debug is where profiles are served; the zero value means nowhere.
	Debug netip.AddrPort
	// Prefork and Workers belong to targets that list PreforkFlags.
	Prefork bool
	Workers int
}

func defaultOptions() Options {
	return Options{Addr: netip.AddrFrom4([4]byte{127, 0, 0, 1}), Port: 8083, PoolSeed: 1}
}

// Address is where to listen, in the form that package net takes.
func (o Options) Address() string {
	return net.JoinHostPort(o.Addr.String(), strconv.Itoa(int(o.Port)))
}

// Network names one IP version. "tcp" would make 0.0.0.0 a dual-stack socket in one target and a
// plain one in another, because Fiber and SO_REUSEPORT listen on "tcp4" or "tcp6" only.
func (o Options) Network() string {
	if o.Addr.Is4() {
		return "tcp4"
	}
	return "tcp6"
}

// WorkerArgs is the command line of prefork worker number index: the same options without prefork.
// Profiles are per process, so each worker serves its own on the next port.
func (o Options) WorkerArgs(index int) []string {
	args := []string{
		"--addr", o.Addr.String(),
		"--port", strconv.Itoa(int(o.Port)),
		"--pool-seed", strconv.FormatUint(o.PoolSeed, 10),
	}
	if o.Debug.IsValid() {
		port := o.Debug.Port() + uint16(index)
		args = append(args, "--debug-addr", netip.AddrPortFrom(o.Debug.Addr(), port).String())
	}
	return args
}
