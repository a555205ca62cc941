package behave

import (
	"slices"
	"time"
)

// crew is a number of servers that take a fixed time for each request, first come first served.
// When a request is done follows from the arrivals alone: a late response does not reduce the
// capacity.
type crew struct {
	each   time.Duration
	freeAt []instant
}

func newCrew(servers int, each time.Duration) *crew {
	return &crew{each: each, freeAt: make([]instant, servers)}
}

func (c *crew) hasFree(at instant) bool { return slices.Min(c.freeAt) <= at }

// serve returns when a request that arrives now is done.
func (c *crew) serve(arrival instant) instant {
	next := slices.Index(c.freeAt, slices.Min(c.freeAt))
	done := max(arrival, c.freeAt[next]).after(c.each)
	c.freeAt[next] = done
	return done
}

// bucket is a token bucket: a rate of requests and a burst.
type bucket struct {
	gap, saved time.Duration
	// next is when the next request is admitted if all of the burst is used.
	next instant
}

func newBucket(perSecond, burst int) *bucket {
	gap := time.Second / time.Duration(perSecond)
	return &bucket{gap: gap, saved: gap * time.Duration(burst-1)}
}

func (b *bucket) admit(at instant) bool {
	turn := max(b.next, at.after(-b.saved))
	if turn > at {
		return false
	}
	b.next = turn.after(b.gap)
	return true
}

// unit returns a number in [0, 1) that depends only on the seed and the request: one step of
// splitmix64.
func unit(seed, number uint64) float64 {
	mixed := seed*0x9e3779b97f4a7c15 + number*0xd1342543de82ef95
	mixed = (mixed ^ mixed>>30) * 0xbf58476d1ce4e5b9
	mixed = (mixed ^ mixed>>27) * 0x94d049bb133111eb
	mixed ^= mixed >> 31
	return float64(mixed>>11) / (1 << 53)
}
