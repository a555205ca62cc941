// Package flaky is the part of the spectrum that waits for another server, which fails and slows
// down on command: what a failed call costs the caller, and how retries, a retry budget, a circuit
// breaker and a fallback change that.
//
// The other server is a target too: with --serve-downstream it is the one that fails.
package flaky

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"

	"github.com/sony/gobreaker/v2"

	"ceiling.dev/targets/internal/contract"
)

const (
	// callLimit is how long one call may take.
	callLimit = time.Second
	// attemptsMax counts the first call and its retries. The pause before retry n is drawn from
	// zero to pauseFirst times two to the n.
	attemptsMax = 4
	pauseFirst  = 10 * time.Millisecond
	// The breaker opens when half of at least tripCalls calls of the last tripWindow have failed,
	// and lets one call try again after openFor.
	tripCalls  = 20
	tripWindow = 10 * time.Second
	openFor    = time.Second
	// idleMax connections are kept, so that calls of many requests at once need no new ones.
	idleMax = 1024
)

// bodyFallback is the response when the downstream has failed and there is a fallback.
var bodyFallback = []byte(`{"message":"from the fallback"}`)

// Flaky is the part. Without --downstream it makes no calls, without --serve-downstream it serves
// none.
type Flaky struct {
	url        string
	client     http.Client
	budget     budget
	breaker    *gobreaker.CircuitBreaker[[]byte]
	counts     map[string]*counts
	downstream *downstream
}

// New is a part that no flag has set up yet.
func New() *Flaky { return &Flaky{} }

// Flags make the target a caller or a downstream.
func (f *Flaky) Flags() []contract.Flag {
	return []contract.Flag{
		{
			Name: "downstream", Takes: "the URL of a page of another server",
			Example: "--downstream http://127.0.0.1:9000/downstream",
			Help:    "serve /flaky, which calls this page (default off)", Set: f.setURL,
		},
		{
			Name: "serve-downstream", Example: "--serve-downstream",
			Help: "serve /downstream, which fails and slows down on command (default off)",
			Set: func(*contract.Options, string) error {
				f.downstream = &downstream{}
				return nil
			},
		},
	}
}

func (f *Flaky) setURL(_ *contract.Options, value string) error {
	parsed, err := url.Parse(value)
	if err != nil || parsed.Scheme != "http" || parsed.Host == "" {
		return errors.New("not a URL of http")
	}
	f.url = value
	return nil
}

// Open checks that the downstream exists. A failed call is not an error: failing is its purpose.
func (f *Flaky) Open(ctx context.Context) ([]contract.Route, error) {
	var routes []contract.Route
	if f.downstream != nil {
		routes = f.downstream.routes()
	}
	if f.url == "" {
		return routes, nil
	}
	f.client = http.Client{
		Timeout:   callLimit,
		Transport: &http.Transport{MaxIdleConns: idleMax, MaxIdleConnsPerHost: idleMax},
	}
	if err := f.reach(ctx); err != nil {
		return nil, fmt.Errorf("--downstream: %w; \"bin/target-nethttp --serve-downstream --port "+
			"9000\" serves http://127.0.0.1:9000/downstream", err)
	}
	f.breaker = gobreaker.NewCircuitBreaker[[]byte](gobreaker.Settings{
		Interval: tripWindow, BucketPeriod: tripWindow / 10, Timeout: openFor,
		ReadyToTrip: func(seen gobreaker.Counts) bool {
			return seen.Requests >= tripCalls && seen.TotalFailures*2 >= seen.Requests
		},
	})
	f.counts = make(map[string]*counts)
	for _, variant := range []struct {
		path string
		try  func(*counts) ([]byte, error)
	}{
		{"/flaky", f.call},
		{"/flaky/retry", f.retry},
		{"/flaky/budget", f.retryInBudget},
		{"/flaky/breaker", f.guarded},
		{"/flaky/fallback", f.orFallback},
	} {
		counts := &counts{}
		f.counts[variant.path] = counts
		routes = append(routes, contract.Route{
			Method: http.MethodGet, Path: variant.path,
			Handle: func(contract.Call) contract.Response { return answer(counts, variant.try) },
		})
	}
	stats := contract.Route{Method: http.MethodGet, Path: "/flaky/stats", Handle: f.stats}
	return append(routes, stats), nil
}

func (f *Flaky) reach(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, f.url, nil)
	if err != nil {
		return err
	}
	response, err := f.client.Do(request)
	if err != nil {
		return err
	}
	response.Body.Close()
	if response.StatusCode == http.StatusNotFound {
		return fmt.Errorf("%s has no such page", f.url)
	}
	return nil
}

// Close does nothing: connections end with the process.
func (f *Flaky) Close() {}

// answer turns the result of a variant into a response. Without a result it is 503 if no call was
// made, else 502.
func answer(counts *counts, try func(*counts) ([]byte, error)) contract.Response {
	counts.Requests.Add(1)
	body, err := try(counts)
	switch {
	case err == nil:
		return contract.Good(body)
	case errors.Is(err, gobreaker.ErrOpenState), errors.Is(err, gobreaker.ErrTooManyRequests):
		counts.Broken.Add(1)
		return contract.Failed(http.StatusServiceUnavailable, err)
	default:
		return contract.Failed(http.StatusBadGateway, err)
	}
}

// call makes one call. A status from 500 is a failure, as is no response.
func (f *Flaky) call(counts *counts) (body []byte, err error) {
	counts.Calls.Add(1)
	defer func() {
		if err != nil {
			counts.Failures.Add(1)
		}
	}()
	response, err := f.client.Get(f.url)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err = io.ReadAll(response.Body)
	if err == nil && response.StatusCode >= http.StatusInternalServerError {
		err = fmt.Errorf("downstream: %s", response.Status)
	}
	return body, err
}

// retry retries after growing pauses. They are random, so that requests that failed together do not
// come back together.
func (f *Flaky) retry(counts *counts) ([]byte, error) {
	return f.persist(counts, func() bool { return true })
}

// retryInBudget retries only while retries are few compared with requests. Otherwise, when
// everything fails, retries would multiply the load of an overloaded server.
func (f *Flaky) retryInBudget(counts *counts) ([]byte, error) {
	f.budget.earn()
	return f.persist(counts, f.budget.spend)
}

func (f *Flaky) persist(counts *counts, may func() bool) (body []byte, err error) {
	for attempt := range attemptsMax {
		if attempt > 0 {
			if !may() {
				return nil, err
			}
			time.Sleep(rand.N(pauseFirst << attempt))
			counts.Retries.Add(1)
		}
		if body, err = f.call(counts); err == nil {
			return body, nil
		}
	}
	return nil, err
}

// guarded makes no call while the breaker is open.
func (f *Flaky) guarded(counts *counts) ([]byte, error) {
	return f.breaker.Execute(func() ([]byte, error) { return f.call(counts) })
}

// orFallback never fails; it responds with a prepared body when the call fails.
func (f *Flaky) orFallback(counts *counts) ([]byte, error) {
	body, err := f.call(counts)
	if err != nil {
		counts.Fallbacks.Add(1)
		return bodyFallback, nil
	}
	return body, nil
}

// stats reports what each variant did. The difference of two readings gives the CPU time of a
// failed call.
func (f *Flaky) stats(contract.Call) contract.Response {
	usage, err := contract.ReadUsage()
	if err != nil {
		return contract.Failed(http.StatusInternalServerError, err)
	}
	routes := make(map[string]figures)
	for path, counts := range f.counts {
		routes[path] = counts.read()
	}
	body, err := json.Marshal(struct {
		Routes      map[string]figures `json:"routes"`
		Breaker     string             `json:"breaker"`
		CPUUserNs   int64              `json:"cpu_user_ns"`
		CPUSystemNs int64              `json:"cpu_system_ns"`
	}{routes, f.breaker.State().String(), usage.CPUUserNs, usage.CPUSystemNs})
	if err != nil {
		return contract.Failed(http.StatusInternalServerError, err)
	}
	return contract.Good(body)
}
