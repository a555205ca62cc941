// Package hub is the part of the spectrum that fans out: a like is one request, and each client
// that watches its post is sent an event.
//
// A request that likes never waits: the event is offered to the queue of each shard, and a shard, a
// goroutine, offers it to the queue of each of its subscribers. What finds a queue full is dropped
// and counted. Each subscriber has a goroutine that takes what waits in its queue and sends it in
// one write. The three kinds differ in two numbers: one shard or several, and an event for each
// like or for all likes of a tick.
package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ceiling.dev/targets/internal/contract"
)

// The routes. Those that end in a slash are followed by the name of a post.
const (
	PathLike   = "/like/"
	PathEvents = "/events/"
	PathStats  = "/hub/stats"
)

const (
	// postsMax bounds what names that nobody chose can take of the memory.
	postsMax     = 1 << 16
	nameMaxBytes = 64
	// shardQueue is how many events may wait for a shard.
	shardQueue = 1024
	// pingEvery is how long a connection may be without a sign of life, give or take.
	pingEvery = 15 * time.Second
)

var (
	errName  = fmt.Errorf("a post is named by 1 to %d letters, digits, - and _", nameMaxBytes)
	errPosts = fmt.Errorf("there are %d posts, which is the limit", postsMax)
	errStop  = errors.New("the target stops")
)

// Hub is the part. Its zero value has no routes.
type Hub struct {
	settings settings
	stop     context.Context
	// closed ends the goroutines of the hub.
	closed chan struct{}
	shards []*shard
	// turn says which shard the next subscriber belongs to.
	turn  atomic.Uint64
	posts sync.Map // by name, *post
	count atomic.Int64
}

// New returns the part, which does nothing before its flags are set and it is opened.
func New() *Hub { return &Hub{settings: defaultSettings()} }

// Open starts the shards.
func (h *Hub) Open(stop context.Context) ([]contract.Route, error) {
	if h.settings.kind == "" {
		return nil, nil
	}
	h.stop, h.closed = stop, make(chan struct{})
	for range h.settings.shardCount() {
		shard := &shard{queue: make(chan delivery, shardQueue)}
		h.shards = append(h.shards, shard)
		go shard.run(h.closed)
	}
	go h.ping()
	if h.settings.kind == Aggregated {
		go h.aggregate()
	}
	context.AfterFunc(stop, func() { h.each((*post).end) })
	return []contract.Route{
		{Method: http.MethodPost, Path: PathLike, Handle: h.handleLike},
		{Method: http.MethodGet, Path: PathEvents, Handle: h.handleEvents},
		{Method: http.MethodGet, Path: PathStats, Handle: h.handleStats},
	}, nil
}

// Close ends what Open began.
func (h *Hub) Close() {
	if h.closed != nil {
		close(h.closed)
	}
}

func (h *Hub) handleLike(call contract.Call) contract.Answer {
	post, refusal := h.find(call.Name)
	if refusal != nil {
		return *refusal
	}
	likes := post.like(time.Now().UnixNano())
	return contract.Good(fmt.Appendf(nil, `{"likes":%d}`, likes))
}

func (h *Hub) handleEvents(call contract.Call) contract.Answer {
	post, refusal := h.find(call.Name)
	if refusal != nil {
		return *refusal
	}
	shard := h.turn.Add(1) % uint64(len(h.shards))
	subscriber := post.circles[shard].join(h.settings.buffer)
	// The stop ends the subscribers that it finds; one that joins later finds the stop.
	if h.stop.Err() != nil {
		subscriber.Leave()
		return contract.Failed(http.StatusServiceUnavailable, errStop)
	}
	return contract.Answer{
		Status: http.StatusOK, Type: contract.TypeEvents, Stream: subscriber,
	}
}

func (h *Hub) handleStats(contract.Call) contract.Answer {
	body, err := json.Marshal(h.stats())
	if err != nil {
		return contract.Failed(http.StatusInternalServerError, err)
	}
	return contract.Good(body)
}

// find returns the post of a name, which begins with the first request for it.
func (h *Hub) find(name string) (*post, *contract.Answer) {
	if found, ok := h.posts.Load(name); ok {
		return found.(*post), nil
	}
	if !isName(name) {
		return nil, new(contract.Failed(http.StatusBadRequest, errName))
	}
	if h.count.Load() >= postsMax {
		return nil, new(contract.Failed(http.StatusInsufficientStorage, errPosts))
	}
	// The name may be part of a buffer that belongs to the request.
	name = strings.Clone(name)
	found, existed := h.posts.LoadOrStore(name, newPost(name, h.settings.kind, h.shards))
	if !existed {
		h.count.Add(1)
	}
	return found.(*post), nil
}

// isName accepts what needs no escaping in a path, in JSON and in a line of an event.
func isName(name string) bool {
	for _, letter := range name {
		switch {
		case letter >= 'a' && letter <= 'z', letter >= 'A' && letter <= 'Z',
			letter >= '0' && letter <= '9', letter == '-', letter == '_':
		default:
			return false
		}
	}
	return name != "" && len(name) <= nameMaxBytes
}

func (h *Hub) each(visit func(*post)) {
	h.posts.Range(func(_, found any) bool {
		visit(found.(*post))
		return true
	})
}

// aggregate makes, at each tick, one event of all likes of a post since the last.
func (h *Hub) aggregate() { h.every(h.settings.tick, (*post).publishPending) }

func (h *Hub) ping() { h.every(pingEvery, (*post).ping) }

func (h *Hub) every(period time.Duration, visit func(*post)) {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			h.each(visit)
		case <-h.closed:
			return
		}
	}
}
