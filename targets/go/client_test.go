package targets_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ceiling.dev/targets/internal/contract"
)

// client counts its requests and the bytes it receives, to compare them with the target's counters.
type client struct {
	network string
	address string
	// secure is nil for plain HTTP.
	secure   *tls.Config
	http     *http.Client
	requests atomic.Uint64
	bytes    atomic.Uint64
	// connections counts opened ones; with TLS including those whose handshake failed.
	connections atomic.Uint64
}

// newClient makes a client from the first line of a target.
func newClient(t *testing.T, listening contract.Listening) *client {
	t.Helper()
	client := &client{network: listening.Network, address: listening.Addr}
	if listening.TLS != nil {
		client.secure = trusting(t)
	}
	client.http = &http.Client{
		Timeout: hangLimit,
		Transport: &http.Transport{
			DialContext: func(context.Context, string, string) (net.Conn, error) {
				return client.dial()
			},
			DialTLSContext: func(context.Context, string, string) (net.Conn, error) {
				return client.dial()
			},
			// The tests check bodies as they were sent.
			DisableCompression: true,
		},
	}
	return client
}

type countingConn struct {
	net.Conn
	bytes *atomic.Uint64
}

func (c countingConn) Read(buffer []byte) (int, error) {
	read, err := c.Conn.Read(buffer)
	c.bytes.Add(uint64(read))
	return read, err
}

// dial connects and, with TLS, shakes hands.
func (c *client) dial() (net.Conn, error) {
	conn, err := net.Dial(c.network, c.address)
	if err != nil {
		return nil, err
	}
	c.connections.Add(1)
	counting := countingConn{conn, &c.bytes}
	if c.secure == nil {
		return counting, nil
	}
	secure := tls.Client(counting, c.secure)
	if err := secure.Handshake(); err != nil {
		conn.Close()
		return nil, err
	}
	return secure, nil
}

func (c *client) url(path string) string {
	scheme, host := "http", c.address
	if c.secure != nil {
		scheme = "https"
	}
	if c.network == "unix" {
		host = "target"
	}
	return scheme + "://" + host + path
}

// answer is a response whose body was read to its end.
type answer struct {
	status int
	header http.Header
	length int64
	body   []byte
}

func (c *client) do(t *testing.T, method, path string, header http.Header, body io.Reader) answer {
	t.Helper()
	got, err := c.ask(method, path, header, body)
	check(t, err)
	return got
}

// ask is like do, for goroutines, which must not call t.Fatal.
func (c *client) ask(method, path string, header http.Header, body io.Reader) (answer, error) {
	request, err := http.NewRequest(method, c.url(path), body)
	if err != nil {
		return answer{}, err
	}
	for name, values := range header {
		request.Header[name] = values
	}
	c.requests.Add(1)
	response, err := c.http.Do(request)
	if err != nil {
		return answer{}, err
	}
	return read(response)
}

func (c *client) get(t *testing.T, path string) answer {
	t.Helper()
	return c.do(t, http.MethodGet, path, nil, nil)
}

// pipeline sends GET requests for all paths in one write, before it reads the first response.
func (c *client) pipeline(t *testing.T, paths []string) []answer {
	t.Helper()
	conn, err := c.dial()
	check(t, err)
	defer conn.Close()
	check(t, conn.SetDeadline(time.Now().Add(hangLimit)))
	var requests strings.Builder
	for _, path := range paths {
		requests.WriteString("GET " + path + " HTTP/1.1\r\nHost: target\r\n\r\n")
	}
	c.requests.Add(uint64(len(paths)))
	_, err = io.WriteString(conn, requests.String())
	check(t, err)
	answers := make([]answer, len(paths))
	reader := bufio.NewReader(conn)
	for i := range answers {
		response, err := http.ReadResponse(reader, nil)
		check(t, err)
		answers[i], err = read(response)
		check(t, err)
	}
	return answers
}

func read(response *http.Response) (answer, error) {
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header, response.ContentLength, body}, err
}
