// Package hub is the part of the spectrum that fans out: a like is one request, and each client
// that watches its post gets an event.
//
// A like never waits: its event is offered to the queue of each shard, and a shard, a goroutine,
// offers it to the queue of each of its subscribers. An event that meets a full queue is dropped
// and counted. Each subscriber has a goroutine that takes what is in its queue and sends it in one
// write. The three kinds differ in two numbers: one shard or several, and an event for each like or
// for all likes of a tick.
//
// The two halves can be two processes: forward.go takes likes for the hub of another process, and
// adopt.go serves the subscribers that arrived there.
package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
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
	// postsMax bounds the memory of names that clients choose.
	postsMax     = 1 << 16
	nameMaxBytes = 64
	// shardQueue is how many events can wait for a shard.
	shardQueue = 1024
	// pingEvery is about how long a connection can be silent.
	pingEvery = 15 * time.Second
)

var (
	errName  = fmt.Errorf("a post is named by 1 to %d letters, digits, - and _", nameMaxBytes)
	errPosts = fmt.Errorf("there are %d posts, which is the limit", postsMax)
	errAt    = errors.New("the body of a like is empty, or its time in ns since 1970")
	errStop  = errors.New("the target is stopping")
)

// Hub is the part. Its zero value has no routes.
type Hub struct {
	settings settings
	stop     context.Context
	// closed ends the goroutines of the hub.
	closed chan struct{}
	shards []*shard
	posts  sync.Map // by name, *post
	count  atomic.Int64
	// forward takes likes for another hub; then this one has no shards and no posts.
	forward  forward
	adoption adoption
}

// New returns the part, which does nothing until its flags are set and it is opened.
func New() *Hub { return &Hub{settings: defaultSettings()} }

// Open starts the shards.
func (h *Hub) Open(stop context.Context) ([]contract.Route, error) {
	if h.settings.kind == "" && h.forward.url == "" {
		return nil, nil
	}
	h.stop, h.closed = stop, make(chan struct{})
	if h.forward.url != "" {
		return h.forward.open(stop, h.closed)
	}
	if h.settings.given["hub-adopt"] {
		if err := h.openDoor(); err != nil {
			return nil, err
		}
	}
	for range h.settings.shards {
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

// Close stops what Open started.
func (h *Hub) Close() {
	if h.closed != nil {
		close(h.closed)
		h.adoption.close()
	}
}

func (h *Hub) handleLike(call contract.Call) contract.Response {
	post, refusal := h.find(call.Name)
	if refusal != nil {
		return *refusal
	}
	atNs := time.Now().UnixNano()
	if h.adoption.door != nil && len(call.Body) > 0 {
		// The forwarding process says when it accepted the like.
		var err error
		if atNs, err = strconv.ParseInt(string(call.Body), 10, 64); err != nil || atNs <= 0 {
			return contract.Failed(http.StatusBadRequest, errAt)
		}
	}
	likes := post.like(atNs)
	return contract.Good(fmt.Appendf(nil, `{"likes":%d}`, likes))
}

func (h *Hub) handleEvents(call contract.Call) contract.Response {
	post, refusal := h.find(call.Name)
	if refusal != nil {
		return *refusal
	}
	subscriber := post.join(h.settings.buffer)
	// The stop ends the current subscribers; one that joins later sees the stop here.
	if h.stop.Err() != nil {
		subscriber.Leave()
		return contract.Failed(http.StatusServiceUnavailable, errStop)
	}
	return contract.Response{
		Status: http.StatusOK, Type: contract.TypeEvents, Stream: subscriber,
	}
}

func (h *Hub) handleStats(contract.Call) contract.Response { return inJSON(h.stats()) }

func inJSON(stats any) contract.Response {
	body, err := json.Marshal(stats)
	if err != nil {
		return contract.Failed(http.StatusInternalServerError, err)
	}
	return contract.Good(body)
}

// find returns the post with that name, which the first request for it creates.
func (h *Hub) find(name string) (*post, *contract.Response) {
	if found, ok := h.posts.Load(name); ok {
		return found.(*post), nil
	}
	if !isName(name) {
		return nil, new(contract.Failed(http.StatusBadRequest, errName))
	}
	count := h.count.Load()
	if count >= postsMax {
		return nil, new(contract.Failed(http.StatusInsufficientStorage, errPosts))
	}
	// The name may be part of a buffer that belongs to the request.
	name = strings.Clone(name)
	made := newPost(name, h.settings.kind, h.shards)
	// Spreads the first subscribers of different posts over the shards.
	made.turn.Store(uint64(count))
	found, existed := h.posts.LoadOrStore(name, made)
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

// aggregate makes, at each tick, one event from all likes of a post since the last.
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
