package behave

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// Server shows one behaviour to all clients.
type Server struct {
	behaviour Behaviour
	listener  net.Listener
	truth     truth

	planning sync.Mutex
	planner  planner
	requests uint64
	first    instant

	mu          sync.Mutex
	connections map[*connection]struct{}
	// ended is the fate of requests without a response once the server stops or dies; empty while
	// it serves.
	ended Fate
	// over is closed with it.
	over    chan struct{}
	serving sync.WaitGroup
}

// New makes a server of a behaviour, whose random values depend on the seed.
func New(behaviour Behaviour, seed uint64, listener net.Listener) *Server {
	return &Server{
		behaviour:   behaviour,
		listener:    listener,
		planner:     behaviour.begin(seed),
		connections: map[*connection]struct{}{},
		over:        make(chan struct{}),
	}
}

// Serve accepts until the server is stopped, or dead.
func (s *Server) Serve() error {
	for {
		accepted, err := s.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			// Out of descriptors, for example; open connections continue.
			time.Sleep(time.Millisecond)
			continue
		}
		stamped, err := newSocket(accepted.(*net.TCPConn))
		if err != nil {
			return err
		}
		one := &connection{server: s, socket: stamped, number: s.truth.accepted()}
		if !s.enter(one) {
			one.reset()
			continue
		}
		go func() {
			defer s.leave(one)
			one.serve()
		}()
	}
}

// Stop closes everything, waits until all requests have a fate, writes the log and returns the
// summary.
func (s *Server) Stop(log io.Writer) (Summary, error) {
	s.end(Stopped)
	s.serving.Wait()
	if log != nil {
		if err := s.truth.write(log); err != nil {
			return Summary{}, err
		}
	}
	return s.truth.summary(s.behaviour.Name), nil
}

// end resets every connection and accepts no more. Only the first reason is kept.
func (s *Server) end(reason Fate) {
	s.listener.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended == "" {
		s.ended = reason
		close(s.over)
	}
	for one := range s.connections {
		one.reset()
	}
}

// whyEnded is empty while the server runs.
func (s *Server) whyEnded() Fate {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

func (s *Server) enter(one *connection) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended != "" {
		return false
	}
	s.connections[one] = struct{}{}
	s.serving.Add(1)
	return true
}

func (s *Server) leave(one *connection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.connections, one)
	s.serving.Done()
}

// plan gives a request its number and its plan.
func (s *Server) plan(connection, onConnection uint64) (uint64, instant, plan) {
	s.planning.Lock()
	defer s.planning.Unlock()
	// Read under the lock, so that numbers and arrivals have one order.
	arrival := now()
	s.requests++
	if s.requests == 1 {
		s.first = arrival
		if s.behaviour.Name == dead {
			time.AfterFunc(deadAfter, func() { s.end(Died) })
		}
	}
	asked := request{
		number: s.requests, onConnection: onConnection, connection: connection, arrival: arrival,
		sinceFirst: time.Duration(arrival - s.first),
	}
	return s.requests, arrival, s.planner(asked)
}
