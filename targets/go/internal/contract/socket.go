package contract

import (
	"fmt"
	"net"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// socketOption is an option of a listening socket, which its connections inherit. Without its flag
// it is as the way to listen chooses: the library of --prefork switches the first two on.
type socketOption struct {
	name          string
	level, option int
	most          int
	help          string
}

var socketOptions = []socketOption{
	{"defer-accept", unix.IPPROTO_TCP, unix.TCP_DEFER_ACCEPT, 60,
		"seconds that a connection may wait for its first bytes unaccepted, 0 is off " +
			"(default 0, with --prefork 1)"},
	{"fastopen", unix.IPPROTO_TCP, unix.TCP_FASTOPEN, 65535,
		"connections that may wait with bytes in their SYN, 0 is off " +
			"(default 0, with --prefork 16384)"},
	{"receive-buffer", unix.SOL_SOCKET, unix.SO_RCVBUF, 1 << 30,
		"bytes of the receive buffer of a connection (default the system's, which grows)"},
	{"send-buffer", unix.SOL_SOCKET, unix.SO_SNDBUF, 1 << 30,
		"bytes of the send buffer of a connection (default the system's, which grows)"},
}

// SocketFlags are the flags for options of sockets, of targets that open them by ListenFunc.
var SocketFlags = append(optionFlags(), Flag{
	Name: "nodelay", Takes: "on or off", Example: "--nodelay off",
	Help: "send small segments at once (default on)", Set: setNoDelay,
})

func optionFlags() (flags []Flag) {
	for _, of := range socketOptions {
		flags = append(flags, Flag{
			Name: of.name, Takes: fmt.Sprintf("a number from 0 to %d", of.most),
			Example: "--" + of.name + " 1", Help: of.help, Set: of.set,
		})
	}
	return flags
}

func (of socketOption) set(options *Options, value string) error {
	var number int
	if err := setNumber(&number, value, 0, of.most); err != nil {
		return err
	}
	if options.Socket == nil {
		options.Socket = make(map[string]int)
	}
	options.Socket[of.name] = number
	return nil
}

func setNoDelay(options *Options, value string) error { return setSwitch(&options.NoDelay, value) }

// socketArgs is the part of a worker's command line about its sockets.
func (o Options) socketArgs() []string {
	args := []string{"--nodelay", string(o.NoDelay)}
	for _, of := range socketOptions {
		if value, given := o.Socket[of.name]; given {
			args = append(args, "--"+of.name, strconv.Itoa(value))
		}
	}
	return args
}

// setSocketOptions sets what the user asked for, whatever the way to listen has set.
func setSocketOptions(listeners []net.Listener, options Options) error {
	for _, of := range socketOptions {
		value, given := options.Socket[of.name]
		if !given {
			continue
		}
		for _, listener := range listeners {
			socket, err := descriptor(listener)
			if err == nil {
				err = onDescriptor(socket, func(fd int) error {
					return os.NewSyscallError("setsockopt",
						unix.SetsockoptInt(fd, of.level, of.option, value))
				})
			}
			if err != nil {
				return fmt.Errorf("--%s: %w", of.name, err)
			}
		}
	}
	return nil
}
