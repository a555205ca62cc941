package contract

import (
	"fmt"
	"runtime"
	"syscall"
)

// Usage is what a process has consumed since it started.
type Usage struct {
	CPUUserNs   int64 `json:"cpu_user_ns"`
	CPUSystemNs int64 `json:"cpu_system_ns"`
	GCCycles    int64 `json:"gc_cycles"`
	GCPauseNs   int64 `json:"gc_pause_ns"`
}

// ReadUsage reads the counters of this process. It stops the world for a moment, so it is called
// only around the measured time.
func ReadUsage() (Usage, error) {
	var rusage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &rusage); err != nil {
		return Usage{}, fmt.Errorf("read own CPU time: %w", err)
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return Usage{
		CPUUserNs:   rusage.Utime.Nano(),
		CPUSystemNs: rusage.Stime.Nano(),
		GCCycles:    int64(memory.NumGC),
		GCPauseNs:   int64(memory.PauseTotalNs),
	}, nil
}

// Add returns the sum of two usages.
func (u Usage) Add(other Usage) Usage {
	return Usage{
		CPUUserNs:   u.CPUUserNs + other.CPUUserNs,
		CPUSystemNs: u.CPUSystemNs + other.CPUSystemNs,
		GCCycles:    u.GCCycles + other.GCCycles,
		GCPauseNs:   u.GCPauseNs + other.GCPauseNs,
	}
}

// Sub returns what was consumed between an earlier reading and this one.
func (u Usage) Sub(earlier Usage) Usage {
	return Usage{
		CPUUserNs:   u.CPUUserNs - earlier.CPUUserNs,
		CPUSystemNs: u.CPUSystemNs - earlier.CPUSystemNs,
		GCCycles:    u.GCCycles - earlier.GCCycles,
		GCPauseNs:   u.GCPauseNs - earlier.GCPauseNs,
	}
}
