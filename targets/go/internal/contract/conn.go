package contract

import (
	"crypto/tls"
	"net"
	"sync/atomic"
)

// Conn counts what one connection did. The counters belong to the connection because one
// goroutine serves it at a time: an increment touches a cache line that its core already owns,
// while a counter shared by all connections would move between cores at every request.
type Conn struct {
	net.Conn
	requests atomic.Uint64
	bytes    atomic.Uint64
	closed   atomic.Bool
	shard    *shard
	// secure is the TLS connection above this one, if there is one.
	secure *tls.Conn
	// Fills a 64-byte cache line, so that two connections never share one.
	_ [8]byte
}

// Tracked returns the Conn of a connection that a Listener accepted.
func Tracked(conn net.Conn) *Conn {
	if tracked, ok := conn.(*Conn); ok {
		return tracked
	}
	return conn.(*tls.Conn).NetConn().(*Conn)
}

// CountRequest is called by a target once for each request that reaches its handler.
func (c *Conn) CountRequest() { c.requests.Add(1) }

// Write counts the bytes that the kernel accepted. Only the embedded interface is visible to the
// libraries, so there is no ReadFrom and no writev through which bytes could pass uncounted.
func (c *Conn) Write(content []byte) (int, error) {
	written, err := c.Conn.Write(content)
	c.bytes.Add(uint64(written))
	if c.closed.Load() {
		// A forced close at the stop overtook this write and has already read the counters.
		c.shard.retire(c)
	}
	return written, err
}

// CloseWrite keeps the half-close that net/http uses to end a connection without a reset.
func (c *Conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// Close closes the connection and adds its counters to the ledger.
func (c *Conn) Close() error {
	err := c.Conn.Close()
	if c.closed.CompareAndSwap(false, true) {
		c.shard.retire(c)
		if c.secure != nil {
			// An unfinished handshake fails now, so this does not wait for bytes.
			c.shard.countHandshake(c.secure.ConnectionState())
		}
	}
	return err
}
