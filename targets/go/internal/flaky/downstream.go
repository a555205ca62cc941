package flaky

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"ceiling.dev/targets/internal/contract"
)

// delayMax is the longest delay of a call.
const delayMax = time.Minute

var bodyGood = []byte(`{"message":"from the downstream"}`)

// downstream is a server that fails as often, and is as slow, as last configured.
type downstream struct {
	behaviour     atomic.Pointer[behaviour]
	calls, failed atomic.Uint64
}

type behaviour struct {
	// fail is the share of calls that get 500.
	fail float64
	// delay is the sleep before each response, good or bad.
	delay time.Duration
}

func (d *downstream) routes() []contract.Route {
	d.behaviour.Store(&behaviour{})
	const control = "/downstream/control"
	return []contract.Route{
		{Method: http.MethodGet, Path: "/downstream", Handle: d.serve},
		{Method: http.MethodGet, Path: control, Handle: d.report},
		{Method: http.MethodPost, Path: control, Handle: d.obey},
	}
}

// serve behaves as configured, or as the query of the call says.
func (d *downstream) serve(call contract.Call) contract.Response {
	behaviour, err := d.behaviour.Load().with(call)
	if err != nil {
		return contract.Failed(http.StatusBadRequest, err)
	}
	d.calls.Add(1)
	time.Sleep(behaviour.delay)
	if rand.Float64() < behaviour.fail {
		d.failed.Add(1)
		return contract.Failed(http.StatusInternalServerError, errors.New("failed as told"))
	}
	return contract.Good(bodyGood)
}

// obey changes the given settings and keeps the others.
func (d *downstream) obey(call contract.Call) contract.Response {
	next, err := d.behaviour.Load().with(call)
	if err != nil {
		return contract.Failed(http.StatusBadRequest, err)
	}
	d.behaviour.Store(&next)
	return d.report(call)
}

// with returns the behaviour as changed by the query of a call.
func (b behaviour) with(call contract.Call) (behaviour, error) {
	var err error
	if value := call.Query("fail"); value != "" {
		b.fail, err = strconv.ParseFloat(value, 64)
		if err != nil || !(b.fail >= 0 && b.fail <= 1) {
			return b, refused("fail", "a share from 0 to 1", value)
		}
	}
	if value := call.Query("delay"); value != "" {
		b.delay, err = time.ParseDuration(value)
		if err != nil || b.delay < 0 || b.delay > delayMax {
			return b, refused("delay", "a time from 0 to 1m", value)
		}
	}
	return b, nil
}

func refused(name, takes, value string) error {
	return fmt.Errorf(
		"%s takes %s, not %q, for example POST /downstream/control?fail=0.3&delay=50ms",
		name, takes, value)
}

func (d *downstream) report(contract.Call) contract.Response {
	behaviour := d.behaviour.Load()
	body, err := json.Marshal(struct {
		Fail    float64 `json:"fail"`
		DelayNs int64   `json:"delay_ns"`
		Calls   uint64  `json:"calls"`
		Failed  uint64  `json:"failed"`
	}{behaviour.fail, behaviour.delay.Nanoseconds(), d.calls.Load(), d.failed.Load()})
	if err != nil {
		return contract.Failed(http.StatusInternalServerError, err)
	}
	return contract.Good(body)
}
