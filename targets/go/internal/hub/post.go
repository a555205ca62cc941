package hub

import (
	"strconv"
	"sync"
	"sync/atomic"
)

// event is encoded once and shared by all subscribers.
type event struct{ bytes []byte }

// comment is a line that a client of server-sent events ignores.
var comment = &event{[]byte(": ping\n\n")}

// post can be liked and watched.
type post struct {
	name    string
	kind    Kind
	circles []circle
	// turn says which circle the next subscriber joins. Each post has its own: with one for all,
	// clients that subscribe to posts in turn would tie each post to one shard.
	turn atomic.Uint64

	// mu makes the numbers of events follow the order in which they are queued.
	mu    sync.Mutex
	likes uint64
	// seq is the number of events that were meant for every subscriber.
	seq uint64
	// oldestNs is the time of the first like that is in no event yet; zero if there is none.
	oldestNs int64
}

func newPost(name string, kind Kind, shards []*shard) *post {
	post := &post{name: name, kind: kind, circles: make([]circle, len(shards))}
	for i, shard := range shards {
		post.circles[i].shard = shard
	}
	return post
}

// join spreads the subscribers of the post over all shards.
func (p *post) join(buffer int) *subscriber {
	place := (p.turn.Add(1) - 1) % uint64(len(p.circles))
	return p.circles[place].join(buffer)
}

// like returns how many likes there are with this one.
func (p *post) like(atNs int64) uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.likes++
	if p.oldestNs == 0 || atNs < p.oldestNs {
		p.oldestNs = atNs
	}
	if p.kind != Aggregated {
		p.publish()
	}
	return p.likes
}

// publishPending makes an event from the likes since the last one, if there are any.
func (p *post) publishPending() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.oldestNs != 0 {
		p.publish()
	}
}

// publish queues one event for each shard that has subscribers of the post. A post without
// subscribers counts its events too, so that numbers mean the same everywhere.
func (p *post) publish() {
	p.seq++
	var news *event
	for i := range p.circles {
		circle := &p.circles[i]
		subscribers := circle.size.Load()
		if subscribers == 0 {
			continue
		}
		if news == nil {
			news = p.encode()
		}
		select {
		case circle.shard.queue <- delivery{circle, news}:
		default:
			circle.shard.dropped.Add(uint64(subscribers))
		}
	}
	p.oldestNs = 0
}

func (p *post) encode() *event {
	// The words and four numbers of at most 20 digits.
	bytes := make([]byte, 0, 128+len(p.name))
	bytes = strconv.AppendUint(append(bytes, "id: "...), p.seq, 10)
	bytes = append(append(bytes, "\ndata: {\"post\":\""...), p.name...)
	bytes = strconv.AppendUint(append(bytes, `","likes":`...), p.likes, 10)
	bytes = strconv.AppendUint(append(bytes, `,"seq":`...), p.seq, 10)
	bytes = strconv.AppendInt(append(bytes, `,"at_ns":`...), p.oldestNs, 10)
	return &event{append(bytes, "}\n\n"...)}
}

func (p *post) ping() {
	for i := range p.circles {
		// A subscriber without room for a ping is about to get an event anyway.
		p.circles[i].offer(comment)
	}
}

// end ends all streams of the post.
func (p *post) end() {
	for i := range p.circles {
		p.circles[i].dissolve()
	}
}
