// Package behave is a server that misbehaves in one chosen way, and logs what it did. It tests load
// generators: what they print is compared with what this server counted.
//
// A behaviour is one row of the registry. It decides, from the arrival alone, when and how a
// request gets its response; random values depend on the seed and the number of the request, so
// that two runs with the same requests get the same responses.
package behave

import (
	"time"

	"golang.org/x/sys/unix"
)

// Behaviour is one way to treat requests.
type Behaviour struct {
	// Name is its name on the command line.
	Name string `json:"name"`
	// What it does, in one line.
	What string `json:"what"`
	// Method is what a client should send.
	Method string `json:"method"`
	// CapacityPerS is how many good responses per second the construction allows; 0 means that only
	// the CPU bounds them.
	CapacityPerS float64 `json:"capacity_per_s"`
	// begin makes the planner of one run.
	begin func(seed uint64) planner
}

// planner decides how requests are treated. It is called in the order of their numbers, by one
// goroutine at a time.
type planner func(request) plan

// request is what a planner can use.
type request struct {
	// number counts the requests of the server from 1.
	number uint64
	// onConnection counts those of the connection from 1.
	onConnection uint64
	// connection counts the connections of the server from 1, in the order of their accepts.
	connection uint64
	arrival    instant
	// sinceFirst is the time since the first request of the run.
	sinceFirst time.Duration
}

// ending is what happens to the connection after a response.
type ending uint8

const (
	keeps ending = iota
	// closes announces the close in the response, and then closes.
	closes
	// resets sends a reset instead of a response.
	resets
	// leaves closes after the response without reading the rest of the request.
	leaves
	// drops closes without a byte, as if the close and the request had crossed each other.
	drops
)

// shape is how the bytes of a response are sent.
type shape uint8

const (
	whole shape = iota
	chunked
	inPieces
	empty
)

// plan is how one request is treated.
type plan struct {
	due    instant
	status int
	ending ending
	shape  shape
	// body is sent whole, chunked, or in pieces.
	body []byte
	// stray is sent after the response and is not part of it.
	stray []byte
}

// instant is a reading of CLOCK_MONOTONIC, which other processes of this host share.
type instant int64

func now() instant {
	var reading unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &reading); err != nil {
		panic("this kernel has no monotonic clock: " + err.Error())
	}
	return instant(reading.Nano())
}

func (at instant) after(wait time.Duration) instant { return at + instant(wait) }

// sleepUntil returns at once when due has passed, and early when the server is over.
func sleepUntil(due instant, over <-chan struct{}) {
	wait := due - now()
	if wait <= 0 {
		return
	}
	timer := time.NewTimer(time.Duration(wait))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-over:
	}
}
