package behave

import (
	"bytes"
	"fmt"
	"math"
	"net/http"
	"time"
)

// Parameters of behaviours with a capacity.
const (
	servers      = 8
	serverTime   = 20 * time.Millisecond
	largeServers = 4
	limitPerS    = 500
	limitBurst   = 10
)

var (
	small = []byte("{\"message\":\"hi\"}")
	page  = bytes.Repeat([]byte("0123456789abcdef"), 64)
	large = bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	stray = []byte("\r\nnot asked for\r\n")
)

// All are the behaviours, in the order of the table.
var All = []Behaviour{
	{Name: "slow-constant", What: "every response takes 50 ms", Method: http.MethodGet,
		begin: constant(50 * time.Millisecond)},
	{Name: "exponential", What: "exponential service time, mean 20 ms", Method: http.MethodGet,
		begin: exponential},
	{Name: "bimodal", What: "5 ms, and 50 ms for one in ten", Method: http.MethodGet,
		begin: bimodal},
	{Name: "heavy-tail", What: "Pareto from 3 ms with exponent 1.5, at most 2 s",
		Method: http.MethodGet, begin: heavyTail},
	{Name: "shedding-fast", What: "8 at a time for 20 ms each; 503 at once for the others",
		Method: http.MethodGet, CapacityPerS: rateOf(servers, serverTime), begin: sheddingFast},
	{Name: "failing-late", What: "10 ms; every tenth is a 500 after 200 ms",
		Method: http.MethodGet, begin: failingLate},
	{Name: "resetting", What: "10 ms; every twentieth is a reset instead of a response",
		Method: http.MethodGet, begin: resetting},
	{Name: "closing", What: "20 ms, and every response closes its connection",
		Method: http.MethodGet, begin: closing},
	{Name: "stray-bytes", What: "10 ms; every tenth response is followed by stray bytes",
		Method: http.MethodGet, begin: strayBytes},
	{Name: doubleAnswer, What: "10 ms; every response is sent twice",
		Method: http.MethodGet, begin: answerTwice},
	{Name: earlyAnswer, What: "200 from the head of an upload, whose body is not read",
		Method: http.MethodPost, begin: answerEarly},
	{Name: "chunked", What: "5 ms, then 1 KiB in chunks", Method: http.MethodGet,
		begin: shaped(5*time.Millisecond, http.StatusOK, chunked, page)},
	{Name: "no-content", What: "5 ms, then 204 without a body", Method: http.MethodGet,
		begin: shaped(5*time.Millisecond, http.StatusNoContent, empty, nil)},
	{Name: "head", What: "5 ms; responses to HEAD have a length and no body",
		Method: http.MethodHead, begin: shaped(5*time.Millisecond, http.StatusOK, whole, page)},
	{Name: "large-bodies", What: "1 MiB each, 4 at a time for 20 ms", Method: http.MethodGet,
		CapacityPerS: rateOf(largeServers, serverTime), begin: largeBodies},
	{Name: "slow-bytes", What: "the response comes in 10 pieces over 50 ms",
		Method: http.MethodGet, begin: shaped(5*time.Millisecond, http.StatusOK, inPieces, page)},
	{Name: "stalls", What: "5 ms, but nothing leaves for 300 ms of every second",
		Method: http.MethodGet, begin: stalls},
	{Name: "slow-start", What: "100 ms at first, 10 ms from one second on",
		Method: http.MethodGet, begin: slowStart},
	{Name: "pool", What: "8 at a time for 20 ms each; the others wait their turn",
		Method: http.MethodGet, CapacityPerS: rateOf(servers, serverTime), begin: pool},
	{Name: "rate-limit", What: "500/s with a burst of 10; 429 after 2 ms above",
		Method: http.MethodGet, CapacityPerS: limitPerS, begin: rateLimit},
	{Name: "keep-alive-cap", What: "10 ms; the 50th response of a connection closes it",
		Method: http.MethodGet, begin: keepAliveCap},
	{Name: "idle-close", What: "10 ms; the 20th request of a connection finds it closed",
		Method: http.MethodGet, begin: idleClose},
	{Name: "reload", What: "10 ms; each second all connections are closed as a request arrives",
		Method: http.MethodGet, begin: reload},
	{Name: "paused", What: "10 ms; nothing leaves for 400 ms, once, after two seconds",
		Method: http.MethodGet, begin: paused},
	{Name: "hung", What: "10 ms; two seconds after the first request it answers nothing more",
		Method: http.MethodGet, begin: hung},
	{Name: dead, What: "10 ms; everything is closed for good two seconds after the first request",
		Method: http.MethodGet, begin: constant(10 * time.Millisecond)},
}

// The time of the first fault of a server that goes on to accept.
const faultAfter = 2 * time.Second

// dead is the behaviour that the server itself implements.
const (
	doubleAnswer = "double-answer"
	earlyAnswer  = "early-answer"

	dead      = "dead"
	deadAfter = 2 * time.Second
)

// Named returns the behaviour with that name.
func Named(name string) (Behaviour, bool) {
	for _, behaviour := range All {
		if behaviour.Name == name {
			return behaviour, true
		}
	}
	return Behaviour{}, false
}

func rateOf(servers int, each time.Duration) float64 {
	return float64(servers) / each.Seconds()
}

// good is a small complete response after some time.
func good(request request, wait time.Duration) plan {
	return plan{due: request.arrival.after(wait), status: http.StatusOK, body: small}
}

func constant(wait time.Duration) func(uint64) planner {
	return shaped(wait, http.StatusOK, whole, small)
}

func shaped(wait time.Duration, status int, shape shape, body []byte) func(uint64) planner {
	return func(uint64) planner {
		return func(request request) plan {
			due := request.arrival.after(wait)
			return plan{due: due, status: status, shape: shape, body: body}
		}
	}
}

func exponential(seed uint64) planner {
	const mean = 20 * time.Millisecond
	return func(request request) plan {
		return good(request, time.Duration(-math.Log(1-unit(seed, request.number))*float64(mean)))
	}
}

func bimodal(seed uint64) planner {
	const usual, other, otherShare = 5 * time.Millisecond, 50 * time.Millisecond, 0.1
	return func(request request) plan {
		if unit(seed, request.number) < otherShare {
			return good(request, other)
		}
		return good(request, usual)
	}
}

func heavyTail(seed uint64) planner {
	const least, most, exponent = 3 * time.Millisecond, 2 * time.Second, 1.5
	return func(request request) plan {
		times := math.Pow(1-unit(seed, request.number), -1/exponent)
		return good(request, min(most, time.Duration(times*float64(least))))
	}
}

func sheddingFast(uint64) planner {
	crew := newCrew(servers, serverTime)
	return func(request request) plan {
		if !crew.hasFree(request.arrival) {
			shed := good(request, 0)
			shed.status = http.StatusServiceUnavailable
			return shed
		}
		return plan{due: crew.serve(request.arrival), status: http.StatusOK, body: small}
	}
}

func failingLate(uint64) planner {
	return func(request request) plan {
		if request.number%10 != 0 {
			return good(request, 10*time.Millisecond)
		}
		failed := good(request, 200*time.Millisecond)
		failed.status = http.StatusInternalServerError
		return failed
	}
}

func resetting(uint64) planner {
	return func(request request) plan {
		answer := good(request, 10*time.Millisecond)
		if request.number%20 == 0 {
			answer.ending, answer.status = resets, 0
		}
		return answer
	}
}

func closing(uint64) planner {
	return func(request request) plan {
		answer := good(request, 20*time.Millisecond)
		answer.ending = closes
		return answer
	}
}

func strayBytes(uint64) planner {
	return func(request request) plan {
		answer := good(request, 10*time.Millisecond)
		if request.number%10 == 0 {
			answer.stray = stray
		}
		return answer
	}
}

func answerTwice(uint64) planner {
	again := fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(small), small)
	return func(request request) plan {
		answer := good(request, 10*time.Millisecond)
		answer.stray = again
		return answer
	}
}

func answerEarly(uint64) planner {
	return func(request request) plan {
		answer := good(request, 0)
		answer.ending = leaves
		return answer
	}
}

func largeBodies(uint64) planner {
	crew := newCrew(largeServers, serverTime)
	return func(request request) plan {
		return plan{due: crew.serve(request.arrival), status: http.StatusOK, body: large}
	}
}

func stalls(uint64) planner {
	// The stall is in the middle of each second, so that a run neither starts nor ends with one.
	const usual, period = 5 * time.Millisecond, time.Second
	const begin, end = 400 * time.Millisecond, 700 * time.Millisecond
	return func(request request) plan {
		into := (request.sinceFirst + usual) % period
		if into >= begin && into < end {
			return good(request, usual+end-into)
		}
		return good(request, usual)
	}
}

func slowStart(uint64) planner {
	const first, usual, over = 100 * time.Millisecond, 10 * time.Millisecond, time.Second
	return func(request request) plan {
		left := max(0, 1-request.sinceFirst.Seconds()/over.Seconds())
		return good(request, usual+time.Duration(left*float64(first-usual)))
	}
}

func pool(uint64) planner {
	crew := newCrew(servers, serverTime)
	return func(request request) plan {
		return plan{due: crew.serve(request.arrival), status: http.StatusOK, body: small}
	}
}

func rateLimit(uint64) planner {
	bucket := newBucket(limitPerS, limitBurst)
	return func(request request) plan {
		answer := good(request, 2*time.Millisecond)
		if !bucket.admit(request.arrival) {
			answer.status = http.StatusTooManyRequests
		}
		return answer
	}
}

func keepAliveCap(uint64) planner {
	return func(request request) plan {
		answer := good(request, 10*time.Millisecond)
		if request.onConnection >= 50 {
			answer.ending = closes
		}
		return answer
	}
}

func idleClose(uint64) planner {
	return func(request request) plan {
		answer := good(request, 10*time.Millisecond)
		if request.onConnection >= 20 {
			answer.due, answer.ending, answer.status = request.arrival, drops, 0
		}
		return answer
	}
}

// reload closes the connections of each earlier second, as processes do that replace each other.
func reload(uint64) planner {
	var newest, before uint64
	var second time.Duration
	return func(request request) plan {
		if now := request.sinceFirst / time.Second; now > second {
			second, before = now, newest
		}
		newest = max(newest, request.connection)
		answer := good(request, 10*time.Millisecond)
		if request.connection <= before {
			answer.due, answer.ending, answer.status = request.arrival, drops, 0
		}
		return answer
	}
}

func paused(uint64) planner {
	const usual, end = 10 * time.Millisecond, faultAfter + 400*time.Millisecond
	return func(request request) plan {
		done := request.sinceFirst + usual
		if done >= faultAfter && done < end {
			return good(request, end-request.sinceFirst)
		}
		return good(request, usual)
	}
}

func hung(uint64) planner {
	const usual, never = 10 * time.Millisecond, time.Hour
	return func(request request) plan {
		if request.sinceFirst+usual >= faultAfter {
			return good(request, never)
		}
		return good(request, usual)
	}
}
