package contract

import (
	"net"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// option reads an option of a socket.
func option(t *testing.T, socket any, level, option int) (value int) {
	t.Helper()
	conn, err := socket.(syscall.Conn).SyscallConn()
	if err == nil {
		err = onDescriptor(conn, func(fd int) (err error) {
			value, err = unix.GetsockoptInt(fd, level, option)
			return err
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func TestOptionsOfSockets(t *testing.T) {
	asked := map[string]int{
		"defer-accept": 1, "fastopen": 8, "receive-buffer": 8192, "send-buffer": 16384,
	}
	for _, count := range []int{1, 2} {
		options := defaultOptions()
		options.Port, options.Listeners, options.Socket = 0, count, asked
		listeners, err := open(options, listen)
		if err != nil {
			t.Fatal(err)
		}
		defer closeAll(listeners)
		for _, listener := range listeners {
			// The kernel doubles the size of a buffer, for what it keeps beside the bytes.
			for _, want := range []struct{ level, option, value int }{
				{unix.IPPROTO_TCP, unix.TCP_DEFER_ACCEPT, 1},
				{unix.IPPROTO_TCP, unix.TCP_FASTOPEN, 8},
				{unix.SOL_SOCKET, unix.SO_RCVBUF, 16384},
				{unix.SOL_SOCKET, unix.SO_SNDBUF, 32768},
			} {
				if got := option(t, listener, want.level, want.option); got != want.value {
					t.Errorf("option %d of %d listeners: %d", want.option, count, got)
				}
			}
		}
	}
}

func TestAcceptedConnectionsDelayOrNot(t *testing.T) {
	for position, want := range map[Switch]int{On: 1, Off: 0} {
		options := defaultOptions()
		options.Port, options.NoDelay = 0, position
		listeners, err := open(options, listen)
		if err != nil {
			t.Fatal(err)
		}
		tracking := newListener(listeners[0], NewLedger(), options, nil)
		client, err := net.Dial("tcp", listeners[0].Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		conn, err := tracking.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if got := option(t, Tracked(conn).Conn, unix.IPPROTO_TCP, unix.TCP_NODELAY); got != want {
			t.Errorf("--nodelay %s: %d, want %d", position, got, want)
		}
		conn.Close()
		client.Close()
		tracking.Close()
	}
}
