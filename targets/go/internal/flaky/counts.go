package flaky

import "sync/atomic"

// counts are those of one route.
type counts struct {
	// Requests received, calls made for them, and calls that failed.
	Requests, Calls, Failures atomic.Uint64
	// Retries are calls after the first one of a request.
	Retries atomic.Uint64
	// Broken requests made no call, because the breaker was open.
	Broken atomic.Uint64
	// Fallbacks were sent in place of a failed call's response.
	Fallbacks atomic.Uint64
}

// figures are counts at one moment.
type figures struct {
	Requests  uint64 `json:"requests"`
	Calls     uint64 `json:"calls"`
	Failures  uint64 `json:"failures"`
	Retries   uint64 `json:"retries"`
	Broken    uint64 `json:"broken"`
	Fallbacks uint64 `json:"fallbacks"`
}

func (c *counts) read() figures {
	return figures{
		Requests: c.Requests.Load(), Calls: c.Calls.Load(), Failures: c.Failures.Load(),
		Retries: c.Retries.Load(), Broken: c.Broken.Load(), Fallbacks: c.Fallbacks.Load(),
	}
}

const (
	// retryCost in units of what a request earns: one retry per ten requests.
	retryCost = 10
	// savingsMax is what can be spent at once when failures follow a good period.
	savingsMax = 100 * retryCost
)

// budget bounds retries to a share of requests.
type budget struct{ savings atomic.Int64 }

func (b *budget) earn() {
	if b.savings.Add(1) > savingsMax {
		b.savings.Add(-1)
	}
}

// spend pays for a retry, if there is enough.
func (b *budget) spend() bool {
	if b.savings.Add(-retryCost) < 0 {
		b.savings.Add(retryCost)
		return false
	}
	return true
}
