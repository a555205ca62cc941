package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"ceiling.dev/targets/internal/contract"
)

const (
	// readyLimit is how long nginx may take until its first response.
	readyLimit = 30 * time.Second
	// readyPause is the sleep between two checks whether it responds.
	readyPause = 5 * time.Millisecond
	// answerLimit is how long nginx may take to send its counters.
	answerLimit = time.Second
	// endLimit is far longer than the second that the configuration gives started requests.
	endLimit = 5 * time.Second
)

// master is a running nginx.
type master struct {
	command *exec.Cmd
	folder  string
	// ended is closed when the process and its standard error have ended.
	ended chan struct{}
	// failure is how it ended; read it only after ended is closed.
	failure error
	// lost gets a value for each worker that died.
	lost chan struct{}
	// statuses counts our own connections, each with one request.
	statuses uint64
}

// start runs nginx in a process group of its own, so that a terminal's SIGINT reaches only this
// process, which must read the counters before nginx ends. If this process is killed, nginx is
// killed too.
func start(path, folder string) (*master, error) {
	// The child is killed when the thread that started it ends.
	runtime.LockOSThread()
	command := exec.Command(path, "-p", folder, "-e", "stderr", "-c", folder+"/nginx.conf")
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	errorLog, err := command.StderrPipe()
	if err != nil {
		return nil, fmt.Errorf("start nginx: %w", err)
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start nginx: %w; run make build-nginx", err)
	}
	master := &master{
		command: command, folder: folder,
		ended: make(chan struct{}), lost: make(chan struct{}, workersMax),
	}
	go master.watch(errorLog)
	return master, master.ready()
}

// watch forwards nginx's error messages, and notes workers that died.
func (m *master) watch(errorLog io.Reader) {
	lines := bufio.NewScanner(errorLog)
	for lines.Scan() {
		log.Print(lines.Text())
		if strings.Contains(lines.Text(), "exited on signal") {
			m.lost <- struct{}{}
		}
	}
	m.failure = m.command.Wait()
	close(m.ended)
}

// ready waits until nginx responds.
func (m *master) ready() error {
	deadline := time.After(readyLimit)
	for {
		if _, err := m.status(); err == nil {
			return nil
		}
		select {
		case <-m.ended:
			return fmt.Errorf("nginx did not start: %w", m.failure)
		case <-deadline:
			m.end()
			return fmt.Errorf("nginx does not respond within %v", readyLimit)
		case <-time.After(readyPause):
		}
	}
}

// counters are what nginx counts, without our own status requests.
type counters struct{ accepted, requests uint64 }

// status asks nginx, on a connection of its own.
func (m *master) status() (counters, error) {
	conn, err := net.Dial("unix", filepath.Join(m.folder, "status"))
	if err != nil {
		return counters{}, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(answerLimit)); err != nil {
		return counters{}, err
	}
	m.statuses++
	if _, err := io.WriteString(conn, "GET /status HTTP/1.0\r\n\r\n"); err != nil {
		return counters{}, err
	}
	answer, err := io.ReadAll(conn)
	if err != nil {
		return counters{}, err
	}
	_, text, _ := strings.Cut(string(answer), "server accepts handled requests")
	var accepts, handled, requests uint64
	if _, err := fmt.Sscan(text, &accepts, &handled, &requests); err != nil {
		return counters{}, fmt.Errorf("read the status of nginx: %w", err)
	}
	return counters{accepts - m.statuses, requests - m.statuses}, nil
}

// stopped is the last line. What nginx does not report is null.
type stopped struct {
	contract.Stopped
	ConnectionsAccepted *uint64 `json:"connections_accepted"`
	RequestsServed      *uint64 `json:"requests_served"`
	ResponsesBytes      *uint64 `json:"responses_bytes"`
	GCCycles            *int64  `json:"gc_cycles"`
	GCPauseNs           *int64  `json:"gc_pause_ns"`
}

// follow writes the two lines, and between them waits for the stop or for a worker to die: with a
// worker less it would be a different target.
func (m *master) follow(options contract.Options) error {
	stop := contract.StopContext()
	began := time.Now()
	listeners := 1
	if options.Prefork {
		listeners = options.Workers
	}
	err := contract.WriteLine(os.Stdout, contract.Listening{
		Event: contract.EventListening, Target: "nginx", Addr: options.Address(),
		Pid: m.command.Process.Pid, Workers: options.Workers, Network: options.Network(),
		Listeners: listeners, Backlog: backlog(options),
	})
	if err != nil {
		m.end()
		return err
	}
	last := stopped{Stopped: contract.Stopped{
		Event: contract.EventStopped, Target: "nginx", Workers: options.Workers,
	}}
	var failure error
	select {
	case <-stop.Done():
	case <-m.lost:
		last.WorkersLost = 1
		failure = errors.New("a worker of nginx died")
	case <-m.ended:
		return fmt.Errorf("nginx stopped serving without being told to: %w", m.failure)
	}
	if counted, err := m.status(); err == nil {
		last.ConnectionsAccepted, last.RequestsServed = &counted.accepted, &counted.requests
	}
	m.end()
	last.UptimeNs = time.Since(began).Nanoseconds()
	last.CPUUserNs, last.CPUSystemNs = m.cpu()
	return errors.Join(failure, contract.WriteLine(os.Stdout, last))
}

// end stops nginx: gracefully first, then with SIGKILL.
func (m *master) end() {
	ctx, cancel := context.WithTimeout(context.Background(), endLimit)
	defer cancel()
	_ = m.command.Process.Signal(syscall.SIGQUIT)
	select {
	case <-m.ended:
	case <-ctx.Done():
		_ = m.command.Process.Signal(syscall.SIGTERM)
		<-m.ended
	}
}

// cpu is the CPU time of the master and of its workers, which it has waited for.
func (m *master) cpu() (userNs, systemNs int64) {
	state := m.command.ProcessState
	return state.UserTime().Nanoseconds(), state.SystemTime().Nanoseconds()
}
