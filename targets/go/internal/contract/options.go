package contract

import (
	"net"
	"net/netip"
	"strconv"
	"time"
)

// Options is the parsed command line. It is read-only after parsing.
type Options struct {
	Addr     netip.Addr
	Port     uint16
	PoolSeed uint64
	// Debug is where profiles are served; the zero value switches them off.
	Debug netip.AddrPort
	// Listeners share the port. Each has an accept queue of its own.
	Listeners int
	// Backlog is the length of the accept queue; 0 means the system limit.
	Backlog int
	// AcceptDelay is the sleep before each accept of each listener.
	AcceptDelay time.Duration
	// Socket has the options of sockets that were given, by the names of their flags.
	Socket map[string]int
	// NoDelay is TCP_NODELAY of each connection.
	NoDelay Switch
	// Unix is the path of a socket that replaces Addr and Port; empty means none.
	Unix string
	// TLSCert and TLSKey are files; empty means plain HTTP, and then the next two are ignored.
	TLSCert, TLSKey string
	TLSTickets      Switch
	// ClientCA is a file with the authority of client certificates; empty requires none.
	ClientCA string
	// Prefork and Workers belong to targets that list PreforkFlags.
	Prefork bool
	Workers int
	// PartArgs are the flags of parts as given. The parts have already read them.
	PartArgs []string
}

// Switch is a flag that can be switched off as well as on.
type Switch string

// The two positions of a Switch.
const (
	On  Switch = "on"
	Off Switch = "off"
)

func defaultOptions() Options {
	return Options{
		Addr: netip.AddrFrom4([4]byte{127, 0, 0, 1}), Port: 8083, PoolSeed: 1,
		Listeners: 1, NoDelay: On, TLSTickets: On,
	}
}

// Address is where to listen, in the form of package net.
func (o Options) Address() string {
	if o.Unix != "" {
		return o.Unix
	}
	return net.JoinHostPort(o.Addr.String(), strconv.Itoa(int(o.Port)))
}

// Network names one IP version. "tcp" would make 0.0.0.0 a dual-stack socket in one target and a
// plain one in another, because Fiber and SO_REUSEPORT listen on "tcp4" or "tcp6" only.
func (o Options) Network() string {
	if o.Unix != "" {
		return "unix"
	}
	if o.Addr.Is4() {
		return "tcp4"
	}
	return "tcp6"
}

// WorkerArgs is the command line of prefork worker number index: the same options without prefork.
// Profiles are per process, so each worker serves its own on the next port; with port 0 each picks
// a free one.
func (o Options) WorkerArgs(index int) []string {
	args := []string{
		"--addr", o.Addr.String(),
		"--port", strconv.Itoa(int(o.Port)),
		"--pool-seed", strconv.FormatUint(o.PoolSeed, 10),
		"--accept-delay", o.AcceptDelay.String(),
	}
	args = append(args, o.socketArgs()...)
	if o.Backlog > 0 {
		args = append(args, "--backlog", strconv.Itoa(o.Backlog))
	}
	if o.TLSCert != "" {
		args = append(args, "--tls-cert", o.TLSCert, "--tls-key", o.TLSKey,
			"--tls-tickets", string(o.TLSTickets))
	}
	if o.ClientCA != "" {
		args = append(args, "--client-ca", o.ClientCA)
	}
	if o.Debug.IsValid() {
		port := o.Debug.Port()
		if port != 0 {
			port += uint16(index)
		}
		args = append(args, "--debug-addr", netip.AddrPortFrom(o.Debug.Addr(), port).String())
	}
	return append(args, o.PartArgs...)
}
