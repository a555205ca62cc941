package database

import "sync"

// gathering lets many requests share one trip to the database. The first to come leads: it waits
// for its turn, then takes along all that have come meanwhile. A lone request does not wait, and no
// goroutine stands between a request and the database.
type gathering[T any] struct {
	mutex   sync.Mutex
	waiting []T
	led     bool
}

// join tells the caller if it leads. Then it must call leave.
func (g *gathering[T]) join(request T) (leads bool) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.waiting = append(g.waiting, request)
	leads = !g.led
	g.led = true
	return leads
}

// leave returns who goes along. Who comes later has another leader.
func (g *gathering[T]) leave() []T {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	group := g.waiting
	g.waiting, g.led = nil, false
	return group
}
