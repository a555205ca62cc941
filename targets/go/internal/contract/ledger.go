package contract

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// ledgerShards keeps accepts and closes of different connections from contending for one lock under
// churn.
const ledgerShards = 64

// Ledger has every open connection and the totals of the closed ones. Nothing is shared between
// connections while they serve; the ledger is touched at accept, at close and at the report.
type Ledger struct {
	shards [ledgerShards]shard
	// accepted also selects the next shard in turn.
	accepted atomic.Uint64
}

type shard struct {
	mu       sync.Mutex
	conns    map[*Conn]struct{}
	requests uint64
	bytes    uint64
	secured  Handshakes
	// Keeps the locks of neighbours on different cache lines.
	_ [8]byte
}

// NewLedger returns an empty ledger.
func NewLedger() *Ledger {
	ledger := &Ledger{}
	for i := range ledger.shards {
		ledger.shards[i].conns = make(map[*Conn]struct{})
	}
	return ledger
}

// Track makes a connection countable.
func (l *Ledger) Track(conn net.Conn) *Conn {
	tracked := l.newConn(conn)
	tracked.shard.open(tracked)
	return tracked
}

// TrackTLS makes a connection countable and puts TLS on top. The bytes on the wire are counted:
// records and handshakes too.
func (l *Ledger) TrackTLS(conn net.Conn, config *tls.Config) *tls.Conn {
	tracked := l.newConn(conn)
	tracked.secure = tls.Server(tracked, config)
	tracked.shard.open(tracked)
	return tracked.secure
}

func (l *Ledger) newConn(conn net.Conn) *Conn {
	return &Conn{Conn: conn, shard: &l.shards[l.accepted.Add(1)%ledgerShards]}
}

// Accepted is the number of connections that were tracked.
func (l *Ledger) Accepted() uint64 { return l.accepted.Load() }

// Handshakes adds up the closed connections that had TLS.
func (l *Ledger) Handshakes() Handshakes {
	var total Handshakes
	for i := range l.shards {
		shard := &l.shards[i]
		shard.mu.Lock()
		total = total.Add(shard.secured)
		shard.mu.Unlock()
	}
	return total
}

// Totals adds up closed and open connections.
func (l *Ledger) Totals() (requests, bytes uint64) {
	for i := range l.shards {
		shard := &l.shards[i]
		shard.mu.Lock()
		requests += shard.requests
		bytes += shard.bytes
		for conn := range shard.conns {
			requests += conn.requests.Load()
			bytes += conn.bytes.Load()
		}
		shard.mu.Unlock()
	}
	return requests, bytes
}

// wait returns when no connection is open, or when the context ends.
func (l *Ledger) wait(ctx context.Context) {
	const pause = 2 * time.Millisecond
	for l.open() > 0 && ctx.Err() == nil {
		time.Sleep(pause)
	}
}

func (l *Ledger) open() int {
	open := 0
	for i := range l.shards {
		shard := &l.shards[i]
		shard.mu.Lock()
		open += len(shard.conns)
		shard.mu.Unlock()
	}
	return open
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
	conns := make([]*Conn, 0, len(s.conns))
	for conn := range s.conns {
		conns = append(conns, conn)
	}
	return conns
}

func (s *shard) open(conn *Conn) {
	s.mu.Lock()
	s.conns[conn] = struct{}{}
	s.mu.Unlock()
}

func (s *shard) countHandshake(state tls.ConnectionState) {
	s.mu.Lock()
	s.secured.count(state)
	s.mu.Unlock()
}

// retire moves the counters of a closed connection into the totals. It may be called again.
func (s *shard) retire(conn *Conn) {
	s.mu.Lock()
	delete(s.conns, conn)
	s.requests += conn.requests.Swap(0)
	s.bytes += conn.bytes.Swap(0)
	s.mu.Unlock()
}
