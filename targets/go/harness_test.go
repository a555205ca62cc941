// Package targets_test holds every target to the contract of targets/README.md. It builds the real
// programs, starts them as processes and talks to them over real sockets, so that the tests cover
// targets exactly as they are run.
package targets_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"ceiling.dev/targets/internal/contract"
)

// hangLimit only turns a hang into a failure. No test asserts how long something takes.
const hangLimit = 2 * time.Minute

// poolSeed differs from the default, so that a target which ignores --pool-seed fails.
const poolSeed = 7

// variant is one way to run one target.
type variant struct {
	name    string
	target  string
	args    []string
	workers int
}

var (
	prefork3 = []string{"--prefork", "--workers", "3"}
	shared3  = []string{"--listeners", "3"}
	withTLS  = []string{"--tls-cert", "{certs}/server.pem", "--tls-key", "{certs}/server.key"}
)

var variants = []variant{
	{name: "nethttp", target: "nethttp", workers: 1},
	{name: "fasthttp", target: "fasthttp", workers: 1},
	{name: "fiber", target: "fiber", workers: 1},
	{name: "fiber prefork", target: "fiber", args: prefork3, workers: 3},
	{name: "nethttp prefork", target: "nethttp", args: prefork3, workers: 3},
	{name: "fasthttp prefork", target: "fasthttp", args: prefork3, workers: 3},
	{name: "nethttp tls", target: "nethttp", args: withTLS, workers: 1},
	{name: "fasthttp tls", target: "fasthttp", args: withTLS, workers: 1},
	{
		name: "fiber prefork tls", target: "fiber",
		args: slices.Concat(prefork3, withTLS), workers: 3,
	},
	{name: "nethttp listeners", target: "nethttp", args: shared3, workers: 1},
	{name: "fasthttp listeners", target: "fasthttp", args: shared3, workers: 1},
	{
		name: "fiber listeners tls", target: "fiber",
		args: slices.Concat(shared3, withTLS), workers: 1,
	},
	{name: "nethttp unix", target: "nethttp", args: []string{"--unix", "{unix}"}, workers: 1},
	{name: "fiber unix", target: "fiber", args: []string{"--unix", "{unix}"}, workers: 1},
}

// outside are the targets whose server is not a Go library; they implement only a part of the
// contract.
var outside = []variant{
	{name: "ranch", target: "ranch", workers: 1},
	{name: "ranch one supervisor", target: "ranch", args: []string{"--supervisors", "1"},
		workers: 1},
	{name: "ranch listeners", target: "ranch", args: shared3, workers: 1},
	{name: "ranch tls", target: "ranch", args: withTLS, workers: 1},
	{name: "nginx", target: "nginx", args: []string{"--workers", "2"}, workers: 2},
	{name: "nginx reuseport", target: "nginx", args: []string{"--workers", "3", "--reuseport"},
		workers: 3},
}

// has reports whether a variant is run with a flag.
func (v variant) has(flag string) bool { return slices.Contains(v.args, flag) }

// line is a command line with a free port or path. Words in braces stand for values known only when
// tests run.
func (v variant) line(more ...string) []string {
	args := slices.Concat(v.args, more)
	if !v.has("--unix") {
		args = append([]string{"--port", "0"}, args...)
	}
	place := strings.NewReplacer("{certs}", certificates, "{unix}", freeSocket())
	for i := range args {
		args[i] = place.Replace(args[i])
	}
	return args
}

var sockets atomic.Uint64

// freeSocket is a path short enough for a socket, which that of t.TempDir may not be.
func freeSocket() string {
	return filepath.Join(binaries, fmt.Sprintf("%d.sock", sockets.Add(1)))
}

func eachVariant(t *testing.T, test func(t *testing.T, variant variant)) {
	each(t, variants, test)
}

// eachTarget is for what every target must do.
func eachTarget(t *testing.T, test func(t *testing.T, variant variant)) {
	each(t, slices.Concat(variants, outside), test)
}

func each(t *testing.T, variants []variant, test func(t *testing.T, variant variant)) {
	for _, variant := range variants {
		t.Run(variant.name, func(t *testing.T) {
			t.Parallel()
			test(t, variant)
		})
	}
}

// binaries and certificates are directories.
var binaries, certificates string

func TestMain(m *testing.M) {
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	directory, err := os.MkdirTemp("", "ceiling-targets-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	binaries = directory
	// Temporary files of a killed target are removed with this folder.
	os.Setenv("TMPDIR", directory)
	// What a user may have set for other Go programs changes how these run.
	for _, name := range []string{"GOMAXPROCS", "GOGC", "GOMEMLIMIT", "GODEBUG", "GOTRACEBACK"} {
		os.Unsetenv(name)
	}
	defer cleanUpAfterwards()()
	args := append([]string{"build", "-o", directory}, buildFlags...)
	build := exec.Command("go", append(args, "./cmd/...")...)
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "build the targets:", err)
		return 1
	}
	certificates = filepath.Join(directory, "certificates")
	if output, err := command("certs", "--out", certificates).CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "make certificates: %v: %s", err, output)
		return 1
	}
	// make build-nginx unpacks it; without it target-nginx says what is missing.
	if unpacked, err := filepath.Abs("../../.cache/nginx/usr/sbin/nginx"); err == nil {
		os.Setenv("TARGET_NGINX", unpacked)
	}
	return m.Run()
}

func command(target string, args ...string) *exec.Cmd {
	if target == "ranch" {
		// Not written in Go: make build-ranch builds it.
		return exec.Command("../../bin/target-ranch", args...)
	}
	return exec.Command(filepath.Join(binaries, target), args...)
}

// process is a running target.
type process struct {
	command   *exec.Cmd
	output    *bufio.Reader
	errors    notes
	listening contract.Listening
	// killer kills the group when a test hangs.
	killer *time.Timer
}

// notes is the standard error of a process, which can be read while it still writes.
type notes struct {
	mu      sync.Mutex
	content bytes.Buffer
}

func (n *notes) Write(content []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.content.Write(content)
}

func (n *notes) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.content.String()
}

// start runs a target on a free port and waits for its first line.
func start(t testing.TB, variant variant, more ...string) *process {
	t.Helper()
	if variant.target != "ranch" {
		more = append(more, "--pool-seed", fmt.Sprint(poolSeed))
	}
	args := variant.line(more...)
	process := &process{command: command(variant.target, args...)}
	process.command.Stderr = &process.errors
	// Its own process group, so that a test can signal target and workers together.
	process.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	output, err := process.command.StdoutPipe()
	check(t, err)
	check(t, process.command.Start())
	process.killer = time.AfterFunc(hangLimit, func() { process.signalGroup(syscall.SIGKILL) })
	t.Cleanup(func() {
		process.killer.Stop()
		process.signalGroup(syscall.SIGKILL)
	})
	process.output = bufio.NewReader(output)
	line, err := process.output.ReadBytes('\n')
	if err != nil {
		_ = process.command.Wait()
		t.Fatalf("no first line: %v; standard error: %s", err, &process.errors)
	}
	decodeStrict(t, line, &process.listening)
	return process
}

// client is for one test: it counts what that test did.
func (p *process) client(t *testing.T) *client { return newClient(t, p.listening) }

func (p *process) signal(signal syscall.Signal) { _ = p.command.Process.Signal(signal) }

func (p *process) signalGroup(signal syscall.Signal) {
	_ = syscall.Kill(-p.command.Process.Pid, signal)
}

// end waits for the process and returns what it still wrote and its exit code.
func (p *process) end(t testing.TB) (stopped contract.Stopped, code int) {
	t.Helper()
	var rest bytes.Buffer
	_, err := rest.ReadFrom(p.output)
	check(t, err)
	_ = p.command.Wait()
	if lines := strings.Count(rest.String(), "\n"); lines != 1 {
		t.Fatalf("wrote %d lines after the first one, want 1: %q; standard error: %s",
			lines, &rest, &p.errors)
	}
	decodeStrict(t, rest.Bytes(), &stopped)
	if stopped.Event != contract.EventStopped {
		t.Errorf("event is %q, want %q", stopped.Event, contract.EventStopped)
	}
	return stopped, p.command.ProcessState.ExitCode()
}

// stopCleanly sends SIGTERM and expects the clean end.
func (p *process) stopCleanly(t *testing.T) contract.Stopped {
	t.Helper()
	p.signal(syscall.SIGTERM)
	stopped, code := p.end(t)
	if code != 0 || p.errors.String() != "" {
		t.Errorf("exit code %d, want 0; standard error: %s", code, &p.errors)
	}
	return stopped
}

func decodeStrict(t testing.TB, line []byte, into any) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		t.Fatalf("%v in %q", err, line)
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
