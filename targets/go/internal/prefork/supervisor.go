package prefork

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"ceiling.dev/targets/internal/contract"
)

// graceLimit is how long workers may take to drain and report before they are killed.
const graceLimit = 5 * time.Second

func supervise(program contract.Program, options contract.Options) error {
	stop := contract.StopContext()
	// Each worker reads the files too; checking here reports a wrong one only once.
	if _, err := options.TLSConfig(); err != nil {
		return err
	}
	claim, err := contract.ClaimPort(options)
	if err != nil {
		return err
	}
	defer claim.Release()
	options.Port = claim.Port

	crew, err := startCrew(options)
	supervisor := &supervisor{
		options: options,
		crew:    crew,
		running: len(crew.members),
		total: contract.Stopped{
			Event: contract.EventStopped, Target: program.Name, Workers: options.Workers,
		},
	}
	if err != nil {
		supervisor.fail(err)
	}
	supervisor.follow(stop)
	return supervisor.report()
}

// supervisor follows its workers and adds up what they report.
type supervisor struct {
	options contract.Options
	crew    *crew
	running int
	ready   int
	// announced is set with the listening line; without it there is nothing to report.
	announced bool
	meter     contract.Meter
	total     contract.Stopped
	secured   contract.Handshakes
	// grace is set when the stop starts and fires when it takes too long.
	grace <-chan time.Time
	// failure is the first thing that went wrong.
	failure error
}

// follow returns when every worker has ended and was reaped.
func (s *supervisor) follow(stop context.Context) {
	stopping := stop.Done()
	for s.running > 0 {
		select {
		case <-stopping:
			stopping = nil
			s.stop()
		case <-s.grace:
			s.crew.kill()
		case event := <-s.crew.events:
			s.handle(event)
		}
	}
}

func (s *supervisor) handle(event event) {
	if event.listening != nil {
		s.ready++
		if s.ready == s.options.Workers && s.grace == nil {
			s.announce(*event.listening)
		}
		return
	}
	s.running--
	if event.report == nil {
		s.total.WorkersLost++
		s.fail(fmt.Errorf("worker %d ended without a report: %v", event.worker, event.err))
		return
	}
	s.total.ConnectionsAccepted += event.report.ConnectionsAccepted
	s.total.RequestsServed += event.report.RequestsServed
	s.total.ResponsesBytes += event.report.ResponsesBytes
	if event.report.Handshakes != nil {
		s.secured = s.secured.Add(*event.report.Handshakes)
		s.total.Handshakes = &s.secured
	}
	s.total.Parts = s.total.Parts.Add(event.report.Parts)
	s.total.Usage = s.total.Usage.Add(event.report.Usage)
	switch {
	case event.err != nil:
		s.fail(fmt.Errorf("worker %d: %w", event.worker, event.err))
	case s.grace == nil:
		log.Printf("another process stopped worker %d, stopping the others", event.worker)
		s.stop()
	}
}

// announce prints for all workers the line of one: they have the same options.
func (s *supervisor) announce(line contract.Listening) {
	var err error
	if s.meter, err = contract.StartMeter(); err != nil {
		s.fail(err)
		return
	}
	s.announced = true
	line.Pid, line.Workers, line.Listeners = os.Getpid(), s.options.Workers, s.options.Workers
	if err := contract.WriteLine(os.Stdout, line); err != nil {
		s.fail(err)
	}
}

// fail stops the whole crew. With a worker less it would be a different target than the one
// requested.
func (s *supervisor) fail(err error) {
	if s.failure == nil {
		s.failure = err
	}
	s.stop()
}

// stop can be called more than once.
func (s *supervisor) stop() {
	if s.grace == nil {
		s.grace = time.After(graceLimit)
		s.crew.stop()
	}
}

// report writes the one line for all workers. It is written after a failure too, because what the
// other workers counted is still true.
func (s *supervisor) report() error {
	if !s.announced {
		return cmp.Or(s.failure, errors.New("stopped before all workers listened"))
	}
	usage, uptime, err := s.meter.Read()
	if err != nil {
		return errors.Join(s.failure, err)
	}
	s.total.Usage = s.total.Usage.Add(usage)
	s.total.UptimeNs = uptime.Nanoseconds()
	return errors.Join(s.failure, contract.WriteLine(os.Stdout, s.total))
}
