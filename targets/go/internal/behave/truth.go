package behave

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// Fate is the outcome of a request on the server's side.
type Fate string

const (
	// Answered means that the kernel took the last byte of the response.
	Answered Fate = "answered"
	// Reset means that the server sent a reset instead.
	Reset Fate = "reset"
	// Dropped means that the server closed the connection without a byte.
	Dropped Fate = "dropped"
	// Died means that the server was dead before it responded.
	Died Fate = "died"
	// Stopped means that the server got a signal to end before it responded; this is not part of
	// the behaviour.
	Stopped Fate = "stopped"
	// Gone means that the client left first.
	Gone Fate = "gone"
	// Unread means that the request had its response before it was read.
	Unread Fate = "unread"
	// Refused means that the bytes were not a request that this server accepts.
	Refused Fate = "refused"
)

// line is one request.
type line struct {
	number, connection uint64
	// received is when the kernel had the request, arrival when this program planned it.
	received, arrival, done instant
	status                  int
	fate                    Fate
	stray                   int
}

func (l line) isGood() bool { return l.fate == Answered && l.status < 400 }

// truth has every request, so that the comparison can choose its window.
type truth struct {
	mu          sync.Mutex
	lines       []line
	connections uint64
}

func (t *truth) add(one line) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, one)
}

func (t *truth) accepted() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.connections++
	return t.connections
}

// Columns are those of the log.
const Columns = "number\tconnection\treceived_ns\tarrival_ns\tdone_ns\tstatus\tfate\tstray_bytes\n"

// write prints one line per request, in the order in which they ended.
func (t *truth) write(out io.Writer) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	buffered := bufio.NewWriter(out)
	buffered.WriteString(Columns)
	for _, l := range t.lines {
		fmt.Fprintf(buffered, "%d\t%d\t%d\t%d\t%d\t%d\t%s\t%d\n", l.number, l.connection,
			l.received, l.arrival, l.done, l.status, l.fate, l.stray)
	}
	return buffered.Flush()
}

// Summary is the last line of the program.
type Summary struct {
	Event       string          `json:"event"`
	Target      string          `json:"target"`
	Behaviour   string          `json:"behaviour"`
	Connections uint64          `json:"connections_accepted"`
	Requests    uint64          `json:"requests"`
	Good        uint64          `json:"good"`
	Statuses    map[int]uint64  `json:"statuses"`
	Fates       map[Fate]uint64 `json:"fates"`
	StrayBytes  int             `json:"stray_bytes"`
	// PerSecond counts good responses by the second since the first arrival.
	PerSecond []uint64 `json:"good_per_second"`
	// ServiceNS is the service time of good responses, from the request in the kernel to the last
	// byte passed to the kernel.
	ServiceNS map[string]int64 `json:"good_service_ns"`
}

func (t *truth) summary(behaviour string) Summary {
	t.mu.Lock()
	defer t.mu.Unlock()
	sum := Summary{
		Event: "stopped", Target: "behave", Behaviour: behaviour,
		Connections: t.connections, Requests: uint64(len(t.lines)),
		Statuses: map[int]uint64{}, Fates: map[Fate]uint64{},
		PerSecond: []uint64{}, ServiceNS: map[string]int64{},
	}
	var services []int64
	var first instant
	for i, l := range t.lines {
		if i == 0 || l.arrival < first {
			first = l.arrival
		}
	}
	for _, l := range t.lines {
		sum.Fates[l.fate]++
		sum.StrayBytes += l.stray
		if l.fate == Answered {
			sum.Statuses[l.status]++
		}
		if !l.isGood() {
			continue
		}
		sum.Good++
		services = append(services, int64(l.done-l.received))
		second := int(time.Duration(l.done-first) / time.Second)
		for len(sum.PerSecond) <= second {
			sum.PerSecond = append(sum.PerSecond, 0)
		}
		sum.PerSecond[second]++
	}
	slices.Sort(services)
	for name, share := range map[string]float64{"p50": 0.5, "p99": 0.99} {
		if len(services) > 0 {
			sum.ServiceNS[name] = services[int(share*float64(len(services)-1))]
		}
	}
	return sum
}
