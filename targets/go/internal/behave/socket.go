package behave

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// socket reads a connection, and knows when the kernel had what it read last. That is earlier than
// the moment at which this program got to it, which on a busy host may take milliseconds: a client
// waits from then on.
type socket struct {
	*net.TCPConn
	raw      syscall.RawConn
	received instant
}

func newSocket(connection *net.TCPConn) (*socket, error) {
	raw, err := connection.SyscallConn()
	if err != nil {
		return nil, err
	}
	failed := raw.Control(func(descriptor uintptr) {
		err = unix.SetsockoptInt(int(descriptor), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
	})
	return &socket{TCPConn: connection, raw: raw}, errors.Join(failed, err)
}

func (s *socket) Read(into []byte) (int, error) {
	var control [64]byte
	var count, controls int
	var failed error
	err := s.raw.Read(func(descriptor uintptr) bool {
		count, controls, _, _, failed = unix.Recvmsg(int(descriptor), into, control[:], 0)
		return !errors.Is(failed, unix.EAGAIN)
	})
	switch {
	case err != nil:
		return 0, err
	case failed != nil:
		return 0, failed
	case count == 0:
		return 0, io.EOF
	}
	s.received = stamp(control[:controls])
	return count, nil
}

// stamp is the kernel's time of arrival, carried from the clock that it uses to ours.
func stamp(control []byte) instant {
	read := now()
	var wall unix.Timespec
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil || unix.ClockGettime(unix.CLOCK_REALTIME, &wall) != nil {
		return read
	}
	for _, message := range messages {
		isStamp := message.Header.Level == unix.SOL_SOCKET &&
			message.Header.Type == unix.SCM_TIMESTAMPNS
		if isStamp && len(message.Data) >= 16 {
			seconds := int64(binary.NativeEndian.Uint64(message.Data))
			nanoseconds := int64(binary.NativeEndian.Uint64(message.Data[8:]))
			ago := wall.Nano() - (seconds*1e9 + nanoseconds)
			// A step of the wall clock between the two would make nonsense of it.
			return min(read, read-instant(ago))
		}
	}
	return read
}
