package prefork

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"

	"ceiling.dev/targets/internal/contract"
)

// crew is the set of running workers. Everything that happens to them arrives on events, so the
// supervisor needs no lock and handles one event at a time.
type crew struct {
	members []member
	events  chan event
}

type member struct {
	command *exec.Cmd
	// lifeline is the worker's standard input.
	lifeline io.Closer
}

// event says that a worker listens, or that it has ended and was reaped.
type event struct {
	worker int
	// listening is the first line of a worker, nil when it has ended.
	listening *contract.Listening
	// report is nil if the worker ended without one.
	report *contract.Stopped
	err    error
}

// startCrew starts the workers. If one cannot be started the others are still returned, with the
// error, because they must be stopped and reaped.
func startCrew(options contract.Options) (*crew, error) {
	// Each worker sends at most two events, so sending never blocks.
	crew := &crew{events: make(chan event, 2*options.Workers)}
	executable, err := os.Executable()
	if err != nil {
		return crew, fmt.Errorf("find own executable: %w", err)
	}
	for index := range options.Workers {
		if err := crew.start(executable, options.WorkerArgs(index)); err != nil {
			return crew, fmt.Errorf("start worker %d: %w", index, err)
		}
	}
	return crew, nil
}

func (c *crew) start(executable string, args []string) error {
	command := exec.Command(executable, args...)
	command.Env = append(os.Environ(), workerEnv+"=1")
	command.Stderr = os.Stderr
	lifeline, err := command.StdinPipe()
	if err != nil {
		return err
	}
	lines, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	index := len(c.members)
	c.members = append(c.members, member{command, lifeline})
	go c.watch(index, command, lines)
	return nil
}

// watch follows one worker to its end. The pipe closes whenever the worker ends, so this never
// waits for a dead one.
func (c *crew) watch(index int, command *exec.Cmd, lines io.Reader) {
	decoder := json.NewDecoder(lines)
	if listening := new(contract.Listening); decoder.Decode(listening) == nil {
		c.events <- event{worker: index, listening: listening}
	}
	var report *contract.Stopped
	if stopped := new(contract.Stopped); decoder.Decode(stopped) == nil {
		report = stopped
	}
	c.events <- event{worker: index, report: report, err: command.Wait()}
}

// stop tells every worker to drain, report and exit. It may be called again.
func (c *crew) stop() {
	for _, member := range c.members {
		_ = member.lifeline.Close()
	}
}

// kill kills the remaining workers. A worker that has already ended is not an error.
func (c *crew) kill() {
	for _, member := range c.members {
		_ = member.command.Process.Kill()
	}
}
