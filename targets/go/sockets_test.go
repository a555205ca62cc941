package targets_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"ceiling.dev/targets/internal/contract"
)

// visit opens a connection, sends one request and closes.
func visit(t *testing.T, client *client) net.Conn {
	t.Helper()
	conn, err := client.dial()
	check(t, err)
	defer conn.Close()
	request := "GET " + contract.PathSimple + " HTTP/1.1\r\nHost: target\r\n\r\n"
	_, err = io.WriteString(conn, request)
	check(t, err)
	// With TLS, reading also processes the tickets, which come after the handshake.
	buffer := make([]byte, 1024)
	count, err := conn.Read(buffer)
	check(t, err)
	if !strings.HasPrefix(string(buffer[:count]), "HTTP/1.1 200 OK\r\n") {
		t.Errorf("answer %q", buffer[:count])
	}
	return conn
}

// A generator of connections checks its own count against this one.
func TestCountsConnections(t *testing.T) {
	eachTarget(t, func(t *testing.T, variant variant) {
		process := start(t, variant)
		client := process.client(t)
		for range 20 {
			visit(t, client)
		}
		if stopped := process.stopCleanly(t); stopped.ConnectionsAccepted != 20 {
			t.Errorf("%d connections accepted, the client opened 20", stopped.ConnectionsAccepted)
		}
	})
}

func TestListenersShareThePort(t *testing.T) {
	for _, target := range []string{"nethttp", "fasthttp", "fiber"} {
		t.Run(target, func(t *testing.T) {
			t.Parallel()
			sharing := variant{target: target, args: []string{"--listeners", "4"}, workers: 1}
			process := start(t, sharing)
			_, port, err := net.SplitHostPort(process.listening.Addr)
			check(t, err)
			if got := listeners(t, port); got != 4 || process.listening.Listeners != 4 {
				t.Errorf("%d sockets listen, the target says %d", got, process.listening.Listeners)
			}
			// Each listener is served: with this many connections none gets none.
			client := process.client(t)
			for range 64 {
				visit(t, client)
			}
			// Two servers would otherwise share the port, each with a part of the load.
			expectBusy(t, sharing, process.listening.Addr)
			if stopped := process.stopCleanly(t); stopped.RequestsServed != 64 {
				t.Errorf("%d requests served, want 64", stopped.RequestsServed)
			}
		})
	}
}

func TestBacklog(t *testing.T) {
	for _, way := range []variant{
		{name: "one", target: "nethttp", workers: 1},
		{name: "shared", target: "fasthttp", args: []string{"--listeners", "2"}, workers: 1},
		{name: "prefork", target: "fiber", args: prefork3, workers: 3},
	} {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			process := start(t, way, "--backlog", "8")
			if got := process.listening.Backlog; got == nil || *got != 8 {
				t.Errorf("the listening line says %v, want 8", got)
			}
			process.stopCleanly(t)
			process = start(t, way)
			limit := somaxconn(t)
			if got := process.listening.Backlog; got == nil || *got != limit {
				t.Errorf("the listening line says %v, want %d of the system", got, limit)
			}
			process.stopCleanly(t)
		})
	}
}

// One process and several differ in this option too, unless it is asked for.
func TestConnectionsThatSendNothing(t *testing.T) {
	prefork1 := []string{"--prefork", "--workers", "1"}
	for _, way := range []variant{
		{name: "one", target: "fiber", workers: 1},
		{name: "prefork", target: "fiber", args: prefork1, workers: 1},
	} {
		for seconds, accepted := range map[string]uint64{"0": 2, "30": 1} {
			t.Run(way.name+" "+seconds, func(t *testing.T) {
				t.Parallel()
				process := start(t, way, "--defer-accept", seconds)
				client := process.client(t)
				silent, err := client.dial()
				check(t, err)
				defer silent.Close()
				// It is accepted after the silent one.
				visit(t, client)
				if got := process.stopCleanly(t).ConnectionsAccepted; got != accepted {
					t.Errorf("%d connections accepted, want %d", got, accepted)
				}
			})
		}
	}
}

func somaxconn(t *testing.T) int {
	t.Helper()
	content, err := os.ReadFile("/proc/sys/net/core/somaxconn")
	check(t, err)
	var limit int
	_, err = fmt.Sscan(string(content), &limit)
	check(t, err)
	return limit
}

// With a slow acceptor the kernel accepts the backlog and one more; then connecting hangs. The two
// flags exist for this scenario.
func TestSlowAcceptorFillsTheQueue(t *testing.T) {
	t.Parallel()
	process := start(t, variant{target: "nethttp", workers: 1},
		"--backlog", "2", "--accept-delay", "1m")
	opened := 0
	for range 6 {
		conn, err := net.DialTimeout("tcp", process.listening.Addr, connectLimit)
		if err != nil {
			break
		}
		defer conn.Close()
		opened++
	}
	if opened != 3 {
		t.Errorf("%d connections were opened, want the backlog and one", opened)
	}
	if stopped := process.stopCleanly(t); stopped.ConnectionsAccepted != 0 {
		t.Errorf("%d connections accepted while asleep", stopped.ConnectionsAccepted)
	}
}

// connectLimit is much longer than a connect on loopback takes, and shorter than the wait before
// the kernel's first SYN retry.
const connectLimit = 900 * time.Millisecond

func TestAcceptDelayIsSleptForEach(t *testing.T) {
	for _, way := range variants[:4] {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			const delay, visits = 20 * time.Millisecond, 5
			process := start(t, way, "--accept-delay", delay.String())
			client := process.client(t)
			began := time.Now()
			for range visits {
				visit(t, client)
			}
			// The first sleep may have started before, and each worker sleeps independently.
			least := delay * time.Duration((visits-1)/way.workers)
			if took := time.Since(began); took < least {
				t.Errorf("%d connections took %v, want at least %v", visits, took, least)
			}
			process.stopCleanly(t)
		})
	}
}

func TestUnixSocketFile(t *testing.T) {
	t.Parallel()
	path := freeSocket()
	way := variant{target: "fasthttp", workers: 1, args: []string{"--unix", path}}
	process := start(t, way)
	if process.listening.Addr != path || process.listening.Network != "unix" {
		t.Errorf("listening line is %+v", process.listening)
	}
	// A second target must not take it away.
	_, message, code := runToEnd(t, way.target, way.line()...)
	if code != 1 || strings.Count(message, "\n") != 1 || !strings.Contains(message, "in use") {
		t.Errorf("exit code %d, message %q", code, message)
	}
	visit(t, process.client(t))
	process.signal(syscall.SIGKILL)
	_ = process.command.Wait()
	// The socket file of a killed target is replaced.
	process = start(t, way)
	visit(t, process.client(t))
	process.stopCleanly(t)
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("the socket file is still there: %v", err)
	}
	check(t, os.WriteFile(path, []byte("mine"), 0o600))
	_, message, code = runToEnd(t, way.target, way.line()...)
	if content, err := os.ReadFile(path); code != 1 || err != nil || string(content) != "mine" {
		t.Errorf("exit code %d, message %q, file %q, %v", code, message, content, err)
	}
}
