package targets_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"ceiling.dev/targets/internal/contract"
)

func TestStopsWithOpenConnections(t *testing.T) {
	eachTarget(t, func(t *testing.T, variant variant) {
		process := start(t, variant)
		client := process.client(t)
		// One connection that has served and is kept alive, one that never sends anything.
		client.get(t, contract.PathSimple)
		silent, err := client.dial()
		check(t, err)
		defer silent.Close()
		if stopped := process.stopCleanly(t); stopped.RequestsServed != 1 {
			t.Errorf("%d requests served, want 1", stopped.RequestsServed)
		}
	})
}

func TestStopsUnderLoad(t *testing.T) {
	eachTarget(t, func(t *testing.T, variant variant) {
		process := start(t, variant)
		conn, err := process.client(t).dial()
		check(t, err)
		defer conn.Close()
		go func() {
			request := "GET " + contract.PathSimple + " HTTP/1.1\r\nHost: target\r\n\r\n"
			for err := error(nil); err == nil; {
				_, err = io.WriteString(conn, strings.Repeat(request, 100))
			}
		}()
		reader := bufio.NewReader(conn)
		for range 1000 {
			response, err := http.ReadResponse(reader, nil)
			check(t, err)
			_, err = read(response)
			check(t, err)
		}
		go io.Copy(io.Discard, reader)
		if stopped := process.stopCleanly(t); stopped.RequestsServed < 1000 {
			t.Errorf("%d requests served, the client saw 1000", stopped.RequestsServed)
		}
	})
}

// A terminal sends SIGINT to the whole group, so that workers get it as early as their parent.
func TestInterruptOfTheGroup(t *testing.T) {
	eachTarget(t, func(t *testing.T, variant variant) {
		process := start(t, variant)
		process.client(t).get(t, contract.PathSimple)
		process.signalGroup(syscall.SIGINT)
		stopped, code := process.end(t)
		if code != 0 || stopped.RequestsServed != 1 || stopped.WorkersLost != 0 {
			t.Errorf("exit code %d, %+v; standard error: %s", code, stopped, &process.errors)
		}
	})
}

func TestBusyPort(t *testing.T) {
	eachTarget(t, func(t *testing.T, variant variant) {
		if variant.has("--unix") {
			t.Skip("a unix socket has no port")
		}
		listener, err := net.Listen("tcp4", "127.0.0.1:0")
		check(t, err)
		defer listener.Close()
		address := listener.Addr().String()
		expectBusy(t, variant, address)
	})
}

func expectBusy(t *testing.T, variant variant, address string) {
	t.Helper()
	_, port, err := net.SplitHostPort(address)
	check(t, err)
	output, message, code := runToEnd(t, variant.target, variant.line("--port", port)...)
	if code != 1 || output != "" {
		t.Errorf("exit code %d, standard output %q; want 1 and nothing", code, output)
	}
	if strings.Count(message, "\n") != 1 || !strings.Contains(message, address+" is in use") {
		t.Errorf("standard error is %q", message)
	}
}

// A declared length above the limit is refused before the body arrives.
func TestBodyLimit(t *testing.T) {
	eachVariant(t, func(t *testing.T, variant variant) {
		process := start(t, variant)
		conn, err := process.client(t).dial()
		check(t, err)
		defer conn.Close()
		_, err = io.WriteString(conn,
			"POST /echo HTTP/1.1\r\nHost: target\r\nContent-Length: 4194305\r\n\r\n")
		check(t, err)
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		check(t, err)
		if response.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("status %d, want 413", response.StatusCode)
		}
		process.stopCleanly(t)
	})
}

// Every process that serves logs the address of its profiles.
func TestProfiles(t *testing.T) {
	// A picked port has at least four digits; the port after 0 would be 1.
	place := regexp.MustCompile(`profiles at (http://127\.0\.0\.1:\d{4,5}/debug/)pprof/`)
	eachVariant(t, func(t *testing.T, variant variant) {
		process := start(t, variant, "--debug-addr", "127.0.0.1:0")
		places := make(map[string]bool)
		for deadline := time.Now().Add(hangLimit); len(places) < variant.workers; {
			for _, found := range place.FindAllStringSubmatch(process.errors.String(), -1) {
				places[found[1]] = true
			}
			if time.Now().After(deadline) {
				t.Fatalf("profiles of %d workers at %v", variant.workers, places)
			}
			time.Sleep(time.Millisecond)
		}
		for place := range places {
			checkProfiles(t, variant, place)
		}
		process.signal(syscall.SIGTERM)
		_, code := process.end(t)
		found := len(place.FindAllString(process.errors.String(), -1))
		if code != 0 || found != variant.workers || len(places) != found {
			t.Errorf("exit code %d, %d addresses, %v; want one per worker", code, found, places)
		}
	})
}

// checkProfiles expects each kind of profile, of a process that is a worker.
func checkProfiles(t *testing.T, variant variant, place string) {
	t.Helper()
	for _, kind := range []string{"heap", "mutex", "block", "goroutine"} {
		response, err := http.Get(place + "pprof/" + kind)
		check(t, err)
		got, err := read(response)
		check(t, err)
		packed := bytes.HasPrefix(got.body, []byte{0x1f, 0x8b})
		if got.status != http.StatusOK || !packed {
			t.Errorf("%s of %s: status %d, %d bytes", kind, place, got.status, len(got.body))
		}
	}
	response, err := http.Get(place + "runtime")
	check(t, err)
	got, err := read(response)
	check(t, err)
	var figures map[string]float64
	check(t, json.Unmarshal(got.body, &figures))
	if variant.workers > 1 && figures["gomaxprocs"] != 1 {
		t.Errorf("%s has GOMAXPROCS %v, a worker has 1", place, figures["gomaxprocs"])
	}
}

// runToEnd runs a target that is expected to end by itself.
func runToEnd(t *testing.T, target string, args ...string) (output, message string, code int) {
	t.Helper()
	command := command(target, args...)
	var out, errs bytes.Buffer
	command.Stdout, command.Stderr = &out, &errs
	check(t, command.Start())
	killer := time.AfterFunc(hangLimit, func() { _ = command.Process.Kill() })
	defer killer.Stop()
	err := command.Wait()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatal(err)
	}
	return out.String(), errs.String(), command.ProcessState.ExitCode()
}
