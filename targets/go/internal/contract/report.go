package contract

import (
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// The events on standard output: one line each, and nothing else.
const (
	EventListening = "listening"
	EventStopped   = "stopped"
)

// Listening is the line which says that the target serves requests from now on.
type Listening struct {
	Event   string `json:"event"`
	Target  string `json:"target"`
	Addr    string `json:"addr"`
	Pid     int    `json:"pid"`
	Workers int    `json:"workers"`
	// Network is tcp4, tcp6 or unix; with unix, Addr is a path.
	Network string `json:"network"`
	// Listeners is the number of listening sockets, those of all workers together.
	Listeners int `json:"listeners"`
	// Backlog is the length of each accept queue that the kernel enforces, or null if the kernel
	// does not report it.
	Backlog *int `json:"backlog"`
	// TLS is null for plain HTTP.
	TLS *Security `json:"tls"`
	// Acceptors and Supervisors are those of Ranch; other targets have none.
	Acceptors   int `json:"acceptors,omitempty"`
	Supervisors int `json:"supervisors,omitempty"`
}

// Stopped is the last line. Its counters cover the time from the listening line to the stop, so
// that building the pool is not charged to the requests.
type Stopped struct {
	Event   string `json:"event"`
	Target  string `json:"target"`
	Workers int    `json:"workers"`
	// WorkersLost died without a report. If it is not zero, the counters are lower bounds.
	WorkersLost         int    `json:"workers_lost"`
	ConnectionsAccepted uint64 `json:"connections_accepted"`
	RequestsServed      uint64 `json:"requests_served"`
	ResponsesBytes      uint64 `json:"responses_bytes"`
	// Without TLS the line has none.
	*Handshakes
	// Parts is left out when none has counters.
	Parts Counters `json:"parts,omitempty"`
	Usage
	UptimeNs int64 `json:"uptime_ns"`
}

// Counters are those of parts, by the name of the part.
type Counters map[string]map[string]uint64

// Add returns the sum of both. Parts without counters are left out.
func (c Counters) Add(other Counters) Counters {
	sum := Counters{}
	for _, one := range []Counters{c, other} {
		for part, counters := range one {
			for name, count := range counters {
				if sum[part] == nil {
					sum[part] = make(map[string]uint64)
				}
				sum[part][name] += count
			}
		}
	}
	return sum
}

// Meter measures one process from the moment it listens.
type Meter struct {
	since time.Time
	start Usage
}

// StartMeter starts the measured time.
func StartMeter() (Meter, error) {
	usage, err := ReadUsage()
	return Meter{since: time.Now(), start: usage}, err
}

// Read returns what the process has consumed since StartMeter, and for how long.
func (m Meter) Read() (Usage, time.Duration, error) {
	usage, err := ReadUsage()
	return usage.Sub(m.start), time.Since(m.since), err
}

// WriteLine writes one event.
func WriteLine(out io.Writer, event any) error {
	line, err := json.Marshal(event)
	if err != nil {
		return fmt.Errorf("serialise the report: %w", err)
	}
	if _, err := out.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}
