package hub

import (
	"errors"
	"runtime"
	"strconv"
	"time"

	"ceiling.dev/targets/internal/contract"
)

// Kind is how likes are fanned out.
type Kind string

// The kinds.
const (
	// One goroutine hands out the events of all likes.
	One Kind = "one"
	// Sharded has several, each for a part of the subscribers.
	Sharded Kind = "sharded"
	// Aggregated is one again, with one event per tick and post.
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
	// kind is empty if no hub was asked for.
	kind Kind
	// shards is 0 for one per GOMAXPROCS.
	shards int
	// buffer is the length of the queue of each subscriber, in events.
	buffer int
	tick   time.Duration
	// given are the flags that were there.
	given map[string]bool
}

func defaultSettings() settings {
	return settings{buffer: bufferDefault, tick: tickDefault, given: make(map[string]bool)}
}

func (s *settings) shardCount() int {
	switch {
	case s.kind != Sharded:
		return 1
	case s.shards == 0:
		return runtime.GOMAXPROCS(0)
	default:
		return s.shards
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
			Name: "hub-shards", Takes: "a number from 1 to 1024",
			Example: "--hub sharded --hub-shards 4",
			Help:    "goroutines that hand out events (default GOMAXPROCS)",
			Set: func(_ *contract.Options, value string) error {
				return setNumber(&settings.shards, value, shardsMax)
			},
		},
		{
			Name: "hub-buffer", Takes: "a number from 1 to 65536",
			Example: "--hub one --hub-buffer 8",
			Help:    "events that may wait for a subscriber (default 64)",
			Set: func(_ *contract.Options, value string) error {
				return setNumber(&settings.buffer, value, bufferMax)
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

// Check refuses what would do nothing, and what would do something else than it says.
func (h *Hub) Check(options contract.Options) error {
	settings := &h.settings
	switch {
	case settings.kind != "" && options.Prefork:
		return errors.New("--hub and --prefork exclude each other: each worker would have a hub " +
			"of its own, and a like reach the subscribers of one worker; for example --hub one")
	case settings.given["hub-shards"] && settings.kind != Sharded:
		return errors.New("--hub-shards takes effect only together with --hub sharded, " +
			"for example --hub sharded --hub-shards 4")
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

func setNumber(number *int, value string, highest int) (err error) {
	*number, err = strconv.Atoi(value)
	if err == nil && (*number < 1 || *number > highest) {
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
