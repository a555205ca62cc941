package contract

import (
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"
)

// Listener accepts tracked connections.
type Listener struct {
	net.Listener
	ledger *Ledger
	// delay is the sleep before each accept.
	delay time.Duration
	// secure is nil for plain HTTP.
	secure *tls.Config
	// noDelay is Off where small segments wait for acknowledgements; Go switches that off.
	noDelay Switch
	// closed ends a sleep, because a library's shutdown waits for pending calls of Accept.
	closed chan struct{}
	once   sync.Once
}

func newListener(
	listener net.Listener, ledger *Ledger, options Options, secure *tls.Config,
) *Listener {
	return &Listener{
		Listener: listener, ledger: ledger, delay: options.AcceptDelay, secure: secure,
		noDelay: options.NoDelay, closed: make(chan struct{}),
	}
}

// Accept sleeps for the delay, waits for the next connection and tracks it.
func (l *Listener) Accept() (net.Conn, error) {
	if l.delay > 0 {
		select {
		case <-time.After(l.delay):
		case <-l.closed:
		}
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if plain, ok := conn.(*net.TCPConn); ok && l.noDelay == Off {
		if err := plain.SetNoDelay(false); err != nil {
			return nil, errors.Join(err, plain.Close())
		}
	}
	if l.secure != nil {
		return l.ledger.TrackTLS(conn, l.secure), nil
	}
	return l.ledger.Track(conn), nil
}

// Close stops listening. It may be called again.
func (l *Listener) Close() error {
	err := l.Listener.Close()
	l.once.Do(func() { close(l.closed) })
	return err
}
