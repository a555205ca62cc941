package behave

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// socket reads a connection and keeps the kernel's arrival time of the last bytes read. On a busy
// host this program reads them milliseconds later, but the client's wait starts at the arrival.
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

// stamp is the kernel's time of arrival, converted from its clock to CLOCK_MONOTONIC.
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
			// A step of the wall clock in between would make the time wrong.
			return min(read, read-instant(ago))
		}
	}
	return read
}
