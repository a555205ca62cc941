package hub

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"ceiling.dev/targets/internal/contract"
	"ceiling.dev/targets/internal/stream"
)

// adoptedHead is the head of the response to a subscriber whose request another process has read.
const adoptedHead = "HTTP/1.1 200 OK\r\nContent-Type: " + contract.TypeEvents +
	"\r\nCache-Control: " + contract.CacheStream +
	"\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"

// endLimit is how long the stop waits for adopted streams to send their last chunk.
const endLimit = time.Second

// adoption takes subscribers over from processes that forward their likes.
type adoption struct {
	door    *net.UnixListener
	streams sync.WaitGroup
	// adopted counts the connections that came through the door.
	adopted atomic.Uint64
}

// openDoor listens on an abstract Unix socket.
func (h *Hub) openDoor() error {
	name := fmt.Sprintf("@ceiling-hub-%d", os.Getpid())
	door, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: name, Net: "unixpacket"})
	if err != nil {
		return fmt.Errorf("--hub-adopt: %w", err)
	}
	h.adoption.door = door
	go func() {
		for {
			conn, err := door.AcceptUnix()
			if err != nil {
				return
			}
			go h.adoptFrom(conn)
		}
	}()
	return nil
}

// doorName is the name of the door, empty without one.
func (h *Hub) doorName() string {
	if h.adoption.door == nil {
		return ""
	}
	return h.adoption.door.Addr().String()
}

// adoptFrom serves the subscribers that one process passes on, until it ends.
func (h *Hub) adoptFrom(other *net.UnixConn) {
	defer other.Close()
	name, rights := make([]byte, nameMaxBytes+1), make([]byte, unix.CmsgSpace(4))
	for {
		length, rightsLength, _, _, err := other.ReadMsgUnix(name, rights)
		if err != nil || length == 0 {
			return
		}
		conn, err := received(rights[:rightsLength])
		if err != nil {
			continue
		}
		h.adoption.adopted.Add(1)
		post := string(name[:length])
		h.adoption.streams.Go(func() {
			defer conn.Close()
			answer := h.handleEvents(contract.Call{Name: post})
			if answer.Stream == nil {
				refuse(conn, answer)
				return
			}
			stream.Send(conn, []byte(adoptedHead), answer.Stream, stream.Chunked)
		})
	}
}

// received makes a connection from a descriptor that came with a message.
func received(rights []byte) (net.Conn, error) {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil {
		return nil, err
	}
	if len(messages) != 1 {
		return nil, errors.New("not one descriptor")
	}
	descriptors, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(descriptors) != 1 {
		return nil, errors.Join(err, errors.New("not one descriptor"))
	}
	// net.FileConn duplicates the descriptor.
	file := os.NewFile(uintptr(descriptors[0]), "adopted")
	defer file.Close()
	return net.FileConn(file)
}

// close accepts no more subscribers and waits for the last chunks of the others.
func (a *adoption) close() {
	if a.door == nil {
		return
	}
	a.door.Close()
	ended := make(chan struct{})
	go func() {
		a.streams.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(endLimit):
	}
}
