package contract

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// Flag is one command-line flag, and the single source for parsing, error texts and help.
type Flag struct {
	Name    string
	Takes   string
	Example string
	Help    string
	// Set gets the value as typed. Its error says only that the value is invalid; Takes and Example
	// say what is valid.
	Set func(options *Options, value string) error
}

// isSwitch reports whether the flag has no value.
func (f Flag) isSwitch() bool { return f.Takes == "" }

// ServerFlags are the flags that every target has.
var ServerFlags = []Flag{
	{
		Name: "addr", Takes: "an IP address", Example: "--addr 127.0.0.1",
		Help: "listen on this address (default 127.0.0.1)", Set: setAddr,
	},
	{
		Name: "port", Takes: "a number from 0 to 65535", Example: "--port 8083",
		Help: "listen on this port, 0 picks a free one (default 8083)", Set: setPort,
	},
	{
		Name: "pool-seed", Takes: "a whole number from 0", Example: "--pool-seed 1",
		Help: "seed of the product pool (default 1)", Set: setPoolSeed,
	},
	{
		Name: "debug-addr", Takes: "a loopback address with a port",
		Example: "--debug-addr 127.0.0.1:6060",
		Help:    "serve /debug/pprof/ and /debug/runtime there (default off)", Set: setDebug,
	},
	{
		Name: "listeners", Takes: "a number from 1 to 1024", Example: "--listeners 4",
		Help: "listen with this many sockets that share the port (default 1)", Set: setListeners,
	},
	{
		Name: "backlog", Takes: "a number from 1 to 65535", Example: "--backlog 8",
		Help: "length of each accept queue (default the system limit)", Set: setBacklog,
	},
	{
		Name: "accept-delay", Takes: "a time from 0 to 1m", Example: "--accept-delay 10ms",
		Help: "sleep before each accept of a listener (default 0)", Set: setAcceptDelay,
	},
	{
		Name: "unix", Takes: "a path of at most 107 bytes", Example: "--unix /tmp/target.sock",
		Help: "listen on this unix socket instead of an address and a port", Set: setUnix,
	},
	{
		Name: "tls-cert", Takes: "a file of certificates in PEM",
		Example: "--tls-cert server.pem --tls-key server.key",
		Help:    "serve HTTPS with this chain", Set: setTLSCert,
	},
	{
		Name: "tls-key", Takes: "a file with a private key in PEM",
		Example: "--tls-cert server.pem --tls-key server.key",
		Help:    "the key of the first certificate", Set: setTLSKey,
	},
	{
		Name: "tls-tickets", Takes: "on or off",
		Example: "--tls-cert server.pem --tls-key server.key --tls-tickets off",
		Help:    "let clients resume their sessions (default on)", Set: setTLSTickets,
	},
	{
		Name: "client-ca", Takes: "a file of certificates in PEM",
		Example: "--tls-cert server.pem --tls-key server.key --client-ca ca.pem",
		Help:    "require client certificates of this authority", Set: setClientCA,
	},
}

// PreforkFlags are the flags of a target that can serve from several processes.
var PreforkFlags = []Flag{
	{
		Name: "prefork", Example: "--prefork",
		Help: "serve from one process per worker, each with SO_REUSEPORT", Set: setPrefork,
	},
	{
		Name: "workers", Takes: "a number from 0 to 4096", Example: "--prefork --workers 4",
		Help: "number of prefork workers, 0 means GOMAXPROCS (default 0)", Set: setWorkers,
	},
}

const (
	workersMax     = 4096
	listenersMax   = 1024
	backlogMax     = 65535
	acceptDelayMax = time.Minute
	// unixPathMaxBytes is the room in sockaddr_un without the final NUL.
	unixPathMaxBytes = 107
)

// errUnfit is what Flag.Set returns for a value outside Flag.Takes.
var errUnfit = errors.New("unfit value")

// ParseOptions reads a command line. Its errors are usage errors and fit on one line.
func ParseOptions(flags []Flag, args []string) (Options, error) {
	options := defaultOptions()
	given := make(map[string]struct{})
	for len(args) > 0 {
		name, value, inline, err := splitArgument(flags, args[0])
		if err != nil {
			return Options{}, err
		}
		args = args[1:]
		flag, err := findFlag(flags, name)
		if err != nil {
			return Options{}, err
		}
		switch {
		case flag.isSwitch() && inline:
			return Options{}, fmt.Errorf("--%s takes no value, for example %s", name, flag.Example)
		case !flag.isSwitch() && !inline:
			if len(args) == 0 {
				return Options{}, fmt.Errorf("--%s takes %s, for example %s",
					name, flag.Takes, flag.Example)
			}
			value, args = args[0], args[1:]
		}
		if err := flag.Set(&options, value); err != nil {
			return Options{}, fmt.Errorf("--%s takes %s, not %q, for example %s",
				name, flag.Takes, value, flag.Example)
		}
		given[name] = struct{}{}
	}
	if err := checkTogether(flags, given); err != nil {
		return Options{}, err
	}
	return options, nil
}

// splitArgument parses --name and --name=value; one dash is accepted too.
func splitArgument(flags []Flag, argument string) (name, value string, inline bool, err error) {
	name, value, inline = strings.Cut(argument, "=")
	trimmed := strings.TrimPrefix(strings.TrimPrefix(name, "-"), "-")
	if trimmed == name || trimmed == "" {
		return "", "", false, fmt.Errorf("unexpected argument %q; accepted are %s; for example %s",
			argument, flagNames(flags), flags[0].Example)
	}
	return trimmed, value, inline, nil
}

func findFlag(flags []Flag, name string) (Flag, error) {
	for _, flag := range flags {
		if flag.Name == name {
			return flag, nil
		}
	}
	return Flag{}, fmt.Errorf("unknown flag --%s; accepted are %s; for example %s",
		name, flagNames(flags), flags[0].Example)
}

func flagNames(flags []Flag) string {
	names := make([]string, len(flags))
	for i, flag := range flags {
		names[i] = "--" + flag.Name
	}
	return strings.Join(names, ", ")
}

func setAddr(options *Options, value string) error {
	addr, err := netip.ParseAddr(value)
	options.Addr = addr.Unmap()
	return err
}

func setPort(options *Options, value string) error {
	port, err := strconv.ParseUint(value, 10, 16)
	options.Port = uint16(port)
	return err
}

func setPoolSeed(options *Options, value string) (err error) {
	options.PoolSeed, err = strconv.ParseUint(value, 10, 64)
	return err
}

// setDebug refuses any address that another machine could reach: profiles reveal too much, and
// taking one can stall the server.
func setDebug(options *Options, value string) (err error) {
	options.Debug, err = netip.ParseAddrPort(value)
	if err == nil && !options.Debug.Addr().IsLoopback() {
		return errUnfit
	}
	return err
}

func setPrefork(options *Options, _ string) error {
	options.Prefork = true
	return nil
}

func setWorkers(options *Options, value string) error {
	return setNumber(&options.Workers, value, 0, workersMax)
}

func setListeners(options *Options, value string) error {
	return setNumber(&options.Listeners, value, 1, listenersMax)
}

func setBacklog(options *Options, value string) error {
	return setNumber(&options.Backlog, value, 1, backlogMax)
}

func setNumber(number *int, value string, lowest, highest int) (err error) {
	*number, err = strconv.Atoi(value)
	if err == nil && (*number < lowest || *number > highest) {
		return errUnfit
	}
	return err
}

func setAcceptDelay(options *Options, value string) (err error) {
	options.AcceptDelay, err = time.ParseDuration(value)
	if err == nil && (options.AcceptDelay < 0 || options.AcceptDelay > acceptDelayMax) {
		return errUnfit
	}
	return err
}

func setUnix(options *Options, value string) error {
	// A leading @ would make an abstract socket, which other programs spell differently.
	if value == "" || value[0] == '@' || len(value) > unixPathMaxBytes {
		return errUnfit
	}
	options.Unix = value
	return nil
}

func setTLSCert(options *Options, value string) error { return setPath(&options.TLSCert, value) }

func setTLSKey(options *Options, value string) error { return setPath(&options.TLSKey, value) }

func setClientCA(options *Options, value string) error { return setPath(&options.ClientCA, value) }

func setPath(path *string, value string) error {
	if value == "" {
		return errUnfit
	}
	*path = value
	return nil
}

func setTLSTickets(options *Options, value string) error {
	return setSwitch(&options.TLSTickets, value)
}

func setSwitch(position *Switch, value string) error {
	switch Switch(value) {
	case On, Off:
		*position = Switch(value)
		return nil
	default:
		return errUnfit
	}
}
