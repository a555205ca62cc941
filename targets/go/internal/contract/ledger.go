package contract

import (
	"net"
	"sync"
	"sync/atomic"
)

// ledgerShards keeps accept and close of different connections off one lock under churn.
const ledgerShards = 64

// Ledger knows every open connection and the totals of the closed ones. Nothing is shared between
// connections while they serve; the ledger is touched at accept, at close and at the report.
type Ledger struct {
	shards [ledgerShards]shard
	next   atomic.Uint64
}

type shard struct {
	mu       sync.Mutex
	open     map[*Conn]struct{}
	requests uint64
	bytes    uint64
	// Keeps the locks of neighbours on different cache lines.
	_ [32]byte
}

// NewLedger returns an empty ledger.
func NewLedger() *Ledger {
	ledger := &Ledger{}
	for i := range ledger.shards {
		ledger.shards[i].open = make(map[*Conn]struct{})
	}
	return ledger
}

// Track makes a connection countable.
func (l *Ledger) Track(conn net.Conn) *Conn {
	shard := &l.shards[l.next.Add(1)%ledgerShards]
	tracked := &Conn{Conn: conn, shard: shard}
	shard.mu.Lock()
	shard.open[tracked] = struct{}{}
	shard.mu.Unlock()
	return tracked
}

// Totals adds up closed and open connections.
func (l *Ledger) Totals() (requests, bytes uint64) {
	for i := range l.shards {
		shard := &l.shards[i]
		shard.mu.Lock()
		requests += shard.requests
		bytes += shard.bytes
		for conn := range shard.open {
			requests += conn.requests.Load()
			bytes += conn.bytes.Load()
		}
		shard.mu.Unlock()
	}
	return requests, bytes
}

// CloseAll closes whatever is still open.
func (l *Ledger) CloseAll() {
	for i := range l.shards {
		for _, conn := range l.shards[i].snapshot() {
			conn.Close()
		}
	}
}

// snapshot copies the open connections, because closing one takes the same lock.
func (s *shard) snapshot() []*Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	conns := make([]*Conn, 0, len(s.open))
	for conn := range s.open {
		conns = append(conns, conn)
	}
	return conns
}

// retire moves the counters of a closed connection into the totals. It may be called again.
func (s *shard) retire(conn *Conn) {
	s.mu.Lock()
	delete(s.open, conn)
	s.requests += conn.requests.Swap(0)
	s.bytes += conn.bytes.Swap(0)
	s.mu.Unlock()
}

// Listener hands out tracked connections.
type Listener struct {
	net.Listener
	ledger *Ledger
}

// Accept waits for the next connection and tracks it.
func (l Listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.ledger.Track(conn), nil
}
