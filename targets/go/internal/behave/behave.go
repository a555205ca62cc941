// Package behave is a server that misbehaves in one chosen way, and writes down what it did. Load
// generators are tried on it: what they print is compared with what this server counted.
//
// A behaviour is one row of the registry. It decides, from the arrival alone, when and how a
// request gets its response; draws depend on the seed and on the number of the request, so that two
// runs that ask the same get the same.
package behave

import (
	"time"

	"golang.org/x/sys/unix"
)

// Behaviour is one way to treat requests.
type Behaviour struct {
	// Name is how the command line calls it.
	Name string `json:"name"`
	// What it does, in one line.
	What string `json:"what"`
	// Method is what a client should send.
	Method string `json:"method"`
	// CapacityPerS is how many good responses a second the construction allows; 0 means that only
	// the CPU bounds them.
	CapacityPerS float64 `json:"capacity_per_s"`
	// Begin makes what plans the requests of one run.
	begin func(seed uint64) planner
}

// planner decides what becomes of requests. It is called in the order of their numbers, by one
// goroutine at a time.
type planner func(request) plan

// request is what a planner may look at.
type request struct {
	// number counts the requests of the server from 1.
	number uint64
	// onConnection counts those of the connection from 1.
	onConnection uint64
	arrival      instant
	// sinceFirst is the time since the first request of the run.
	sinceFirst time.Duration
}

// ending is what becomes of the connection after a response.
type ending uint8

const (
	keeps ending = iota
	// closes says so in the response, and then does.
	closes
	// resets sends a reset instead of a response.
	resets
)

// shape is how the bytes of a response are sent.
type shape uint8

const (
	whole shape = iota
	chunked
	inPieces
	empty
)

// plan is what becomes of one request.
type plan struct {
	due    instant
	status int
	ending ending
	shape  shape
	// body is sent as it is, or chunked, or in pieces.
	body []byte
	// stray follows the response, outside of it.
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

// sleepUntil returns at once when it is late.
func sleepUntil(due instant) {
	if wait := due - now(); wait > 0 {
		time.Sleep(time.Duration(wait))
	}
}
