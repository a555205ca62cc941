package database

import "sync"

// gathering lets many requests share one trip to the database. The first to arrive leads: it waits
// for its turn, then takes along all that have arrived meanwhile. A single request does not wait,
// and there is no extra goroutine between a request and the database.
type gathering[T any] struct {
	mutex   sync.Mutex
	waiting []T
	led     bool
}

// join reports whether the caller leads. A leader must call leave.
func (g *gathering[T]) join(request T) (leads bool) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.waiting = append(g.waiting, request)
	leads = !g.led
	g.led = true
	return leads
}

// leave returns the group. Requests that arrive later have another leader.
func (g *gathering[T]) leave() []T {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	group := g.waiting
	g.waiting, g.led = nil, false
	return group
}
