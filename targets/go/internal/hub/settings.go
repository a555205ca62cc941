package hub

import (
	"errors"
	"runtime"
	"strconv"
	"time"

	"ceiling.dev/targets/internal/contract"
)

// Kind is how events are fanned out.
type Kind string

// The kinds.
const (
	// One goroutine delivers the events of all likes.
	One Kind = "one"
	// Sharded has several, each for a part of the subscribers.
	Sharded Kind = "sharded"
	// Aggregated is One with one event per tick and post.
	Aggregated Kind = "aggregated"
)

const (
	shardsMax     = 1024
	bufferMax     = 65536
	bufferDefault = 64
	tickMin       = time.Millisecond
	tickMax       = time.Minute
	tickDefault   = 100 * time.Millisecond
)

// settings are what the flags of the part set.
type settings struct {
	// kind is empty without a hub.
	kind Kind
	// shards is the requested number, 0 without one; Check sets the actual number.
	shards int
	// buffer is the length of the queue of each subscriber, in events.
	buffer int
	tick   time.Duration
	// given are the flags on the command line.
	given map[string]bool
}

func defaultSettings() settings {
	return settings{buffer: bufferDefault, tick: tickDefault, given: make(map[string]bool)}
}

// resolve sets the number of shards once, from GOMAXPROCS if it was not given.
func (s *settings) resolve() {
	switch {
	case s.kind != Sharded:
		s.shards = 1
	case s.shards == 0:
		s.shards = runtime.GOMAXPROCS(0)
	}
}

var errUnfit = errors.New("unfit value")

// Flags of the part.
func (h *Hub) Flags() []contract.Flag {
	settings := &h.settings
	flags := []contract.Flag{
		{
			Name: "hub", Takes: "one, sharded or aggregated", Example: "--hub one",
			Help: "serve /like/POST, /events/POST and /hub/stats (default off)",
			Set: func(_ *contract.Options, value string) error {
				return setKind(&settings.kind, value)
			},
		},
		{
			Name: "hub-shards", Takes: "a number from 2 to 1024",
			Example: "--hub sharded --hub-shards 4",
			Help:    "goroutines that deliver events (default GOMAXPROCS)",
			Set: func(_ *contract.Options, value string) error {
				return setNumber(&settings.shards, value, 2, shardsMax)
			},
		},
		{
			Name: "hub-buffer", Takes: "a number from 1 to 65536",
			Example: "--hub one --hub-buffer 8",
			Help:    "events that can wait for a subscriber (default 64)",
			Set: func(_ *contract.Options, value string) error {
				return setNumber(&settings.buffer, value, 1, bufferMax)
			},
		},
		{
			Name: "hub-tick", Takes: "a time from 1ms to 1m",
			Example: "--hub aggregated --hub-tick 100ms",
			Help:    "time between two events of a post (default 100ms)",
			Set: func(_ *contract.Options, value string) error {
				return setTick(&settings.tick, value)
			},
		},
		{
			Name: "hub-forward", Takes: "the URL of another target with a hub",
			Example: "--hub-forward http://127.0.0.1:8084",
			Help:    "pass likes and subscribers to that hub (default off)",
			Set:     h.forward.setURL,
		},
		{
			Name: "hub-adopt", Example: "--hub one --hub-adopt",
			Help: "accept subscribers from targets that forward (default off)",
			Set:  func(*contract.Options, string) error { return nil },
		},
	}
	for i := range flags {
		name, set := flags[i].Name, flags[i].Set
		flags[i].Set = func(options *contract.Options, value string) error {
			settings.given[name] = true
			return set(options, value)
		}
	}
	return flags
}

// Check refuses flags that would have no effect or a misleading one.
func (h *Hub) Check(options contract.Options) error {
	settings := &h.settings
	settings.resolve()
	switch {
	case settings.kind != "" && options.Prefork:
		return errors.New("--hub and --prefork exclude each other: each worker would have a hub " +
			"of its own, and a like reach the subscribers of one worker; for example --hub one")
	case h.forward.url != "" && settings.kind != "":
		return errors.New("--hub-forward and --hub exclude each other: the hub is the other " +
			"target's; for example --hub-forward http://127.0.0.1:8084")
	case h.forward.url != "" && (options.Prefork || options.TLSCert != ""):
		return errors.New("--hub-forward hands connections of one plain process over: it goes " +
			"with neither --prefork nor --tls-cert; for example " +
			"--hub-forward http://127.0.0.1:8084")
	case settings.given["hub-adopt"] && settings.kind == "":
		return errors.New("--hub-adopt takes effect only together with --hub, " +
			"for example --hub one --hub-adopt")
	case settings.given["hub-shards"] && settings.kind != Sharded:
		return errors.New("--hub-shards takes effect only together with --hub sharded, " +
			"for example --hub sharded --hub-shards 4")
	case settings.kind == Sharded && settings.shards == 1:
		return errors.New("--hub sharded has as many shards as GOMAXPROCS, which is 1 here: that " +
			"is --hub one by another name; say how many, for example --hub sharded --hub-shards 4")
	case settings.given["hub-tick"] && settings.kind != Aggregated:
		return errors.New("--hub-tick takes effect only together with --hub aggregated, " +
			"for example --hub aggregated --hub-tick 100ms")
	case settings.given["hub-buffer"] && settings.kind == "":
		return errors.New("--hub-buffer takes effect only together with --hub, " +
			"for example --hub one --hub-buffer 8")
	default:
		return nil
	}
}

func setKind(kind *Kind, value string) error {
	switch Kind(value) {
	case One, Sharded, Aggregated:
		*kind = Kind(value)
		return nil
	default:
		return errUnfit
	}
}

func setNumber(number *int, value string, lowest, highest int) (err error) {
	*number, err = strconv.Atoi(value)
	if err == nil && (*number < lowest || *number > highest) {
		return errUnfit
	}
	return err
}

func setTick(tick *time.Duration, value string) (err error) {
	*tick, err = time.ParseDuration(value)
	if err == nil && (*tick < tickMin || *tick > tickMax) {
		return errUnfit
	}
	return err
}
