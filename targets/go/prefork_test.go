package targets_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ceiling.dev/targets/internal/contract"
)

var prefork = variant{target: "fiber", args: prefork3, workers: 3}

// workerLimit is far longer than the second in which a worker drains, and short enough that a test
// fails before go test itself gives up.
const workerLimit = hangLimit / 2

func TestEachWorkerHasItsOwnListener(t *testing.T) {
	t.Parallel()
	process := start(t, prefork)
	_, port, err := net.SplitHostPort(process.listening.Addr)
	check(t, err)
	if got := listeners(t, port); got != prefork.workers {
		t.Errorf("%d sockets listen on port %s, want %d", got, port, prefork.workers)
	}
	process.stopCleanly(t)
}

// Two preforking servers could share a port without an error, and each would get a part of the
// load.
func TestPreforkRefusesThePortOfAnother(t *testing.T) {
	t.Parallel()
	process := start(t, prefork)
	expectBusy(t, prefork, process.listening.Addr)
	process.stopCleanly(t)
}

func TestWorkersDefaultToGOMAXPROCS(t *testing.T) {
	t.Setenv("GOMAXPROCS", "2")
	process := start(t, variant{target: prefork.target, args: []string{"--prefork"}})
	if process.listening.Workers != 2 || len(workers(t, process)) != 2 {
		t.Errorf("%+v with %d workers, want 2", process.listening, len(workers(t, process)))
	}
	process.stopCleanly(t)
}

func TestKilledWorkerEndsTheTarget(t *testing.T) {
	t.Parallel()
	process := start(t, prefork)
	client := process.client(t)
	for range 10 {
		client.get(t, contract.PathSimple)
	}
	check(t, syscall.Kill(workers(t, process)[1], syscall.SIGKILL))
	stopped, code := process.end(t)
	if code != 1 || stopped.WorkersLost != 1 || stopped.Workers != prefork.workers {
		t.Errorf("exit code %d, %+v; want 1 and one lost worker", code, stopped)
	}
	if !strings.Contains(process.errors.String(), "ended without a report: signal: killed") {
		t.Errorf("standard error is %q", &process.errors)
	}
}

func TestStoppedWorkerEndsTheTarget(t *testing.T) {
	t.Parallel()
	process := start(t, prefork)
	check(t, syscall.Kill(workers(t, process)[0], syscall.SIGTERM))
	stopped, code := process.end(t)
	if code != 0 || stopped.WorkersLost != 0 {
		t.Errorf("exit code %d, %+v; want a complete report", code, stopped)
	}
}

func TestHangingWorkerIsKilledAtTheStop(t *testing.T) {
	t.Parallel()
	process := start(t, prefork)
	worker := workers(t, process)[0]
	check(t, syscall.Kill(worker, syscall.SIGSTOP))
	// The kernel stops its threads one by one; until the last one has stopped it may still handle
	// the signal.
	for deadline := time.Now().Add(workerLimit); !stopped(t, worker); {
		if time.Now().After(deadline) {
			t.Fatalf("worker %d does not stop", worker)
		}
		time.Sleep(time.Millisecond)
	}
	process.signal(syscall.SIGTERM)
	report, code := process.end(t)
	if code != 1 || report.WorkersLost != 1 {
		t.Errorf("exit code %d, %+v; want 1 and one lost worker", code, report)
	}
}

func TestWorkersEndWithTheirParent(t *testing.T) {
	t.Parallel()
	process := start(t, prefork)
	pids := workers(t, process)
	// The timer would kill the workers under test, and they would seem to end by themselves.
	process.killer.Stop()
	deadline := time.Now().Add(workerLimit)
	process.signal(syscall.SIGKILL)
	// Only the process: command.Wait also waits for the end of standard error, which the workers
	// have inherited, so it would not return while one of them lives.
	_, _ = process.command.Process.Wait()
	for _, pid := range pids {
		for alive(pid) {
			if time.Now().After(deadline) {
				t.Fatalf("worker %d outlived its parent", pid)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// workers lists the child processes of a target and expects one per worker.
func workers(t *testing.T, process *process) []int {
	t.Helper()
	var pids []int
	paths, err := filepath.Glob("/proc/[0-9]*/stat")
	check(t, err)
	for _, path := range paths {
		if status, ok := readStat(path); ok && status.parent == process.command.Process.Pid {
			pids = append(pids, status.pid)
		}
	}
	if len(pids) != process.listening.Workers {
		t.Fatalf("%d child processes, want %d", len(pids), process.listening.Workers)
	}
	return pids
}

func alive(pid int) bool {
	status, ok := readStat(fmt.Sprintf("/proc/%d/stat", pid))
	return ok && status.state != "Z"
}

// stopped reports whether all threads of a process are stopped.
func stopped(t *testing.T, pid int) bool {
	t.Helper()
	paths, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	check(t, err)
	for _, path := range paths {
		if status, ok := readStat(path); ok && status.state != "T" {
			return false
		}
	}
	return len(paths) > 0
}

type procStat struct {
	pid, parent int
	state       string
}

// readStat returns false if the process has gone.
func readStat(path string) (status procStat, ok bool) {
	content, err := os.ReadFile(path)
	if err != nil {
		return procStat{}, false
	}
	// The name in parentheses may contain anything, so the fields are counted from its end.
	head, tail, found := strings.Cut(string(content), " (")
	end := strings.LastIndex(tail, ") ")
	if !found || end < 0 {
		return procStat{}, false
	}
	status.pid, err = strconv.Atoi(head)
	if err != nil {
		return procStat{}, false
	}
	_, err = fmt.Sscan(tail[end+2:], &status.state, &status.parent)
	return status, err == nil
}

// listeners counts the sockets that listen on a port of 127.0.0.1.
func listeners(t *testing.T, port string) int {
	t.Helper()
	number, err := strconv.Atoi(port)
	check(t, err)
	content, err := os.ReadFile("/proc/net/tcp")
	check(t, err)
	const listening = "0A"
	local := fmt.Sprintf("0100007F:%04X", number)
	count := 0
	for line := range strings.Lines(string(content)) {
		fields := strings.Fields(line)
		if len(fields) > 3 && fields[1] == local && fields[3] == listening {
			count++
		}
	}
	return count
}
