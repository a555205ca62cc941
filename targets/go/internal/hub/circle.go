package hub

import (
	"sync"
	"sync/atomic"
)

// shard delivers events to its part of the subscribers.
type shard struct {
	queue chan delivery
	// sent and dropped count deliveries: one event for one subscriber.
	sent, dropped atomic.Uint64
}

type delivery struct {
	circle *circle
	event  *event
}

func (s *shard) run(closed <-chan struct{}) {
	for {
		select {
		case delivery := <-s.queue:
			sent, dropped := delivery.circle.offer(delivery.event)
			s.sent.Add(sent)
			s.dropped.Add(dropped)
		case <-closed:
			return
		}
	}
}

// circle is the set of subscribers that one post has at one shard.
type circle struct {
	shard *shard
	// size is the number of subscribers, to be read without the lock.
	size atomic.Int64

	mu          sync.Mutex
	subscribers []*subscriber
}

// offer gives an event to each subscriber that has room for it.
func (c *circle) offer(event *event) (sent, dropped uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, subscriber := range c.subscribers {
		select {
		case subscriber.queue <- event:
			sent++
		default:
			dropped++
		}
	}
	return sent, dropped
}

// join adds a subscriber, which gets all events published from now on.
func (c *circle) join(buffer int) *subscriber {
	c.mu.Lock()
	defer c.mu.Unlock()
	subscriber := &subscriber{
		circle: c, queue: make(chan *event, buffer), place: len(c.subscribers),
	}
	c.subscribers = append(c.subscribers, subscriber)
	c.size.Add(1)
	return subscriber
}

func (c *circle) dissolve() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.subscribers) > 0 {
		c.remove(c.subscribers[len(c.subscribers)-1])
	}
}

// remove is called under the lock. The last subscriber takes the place of the removed one.
func (c *circle) remove(leaving *subscriber) {
	last := len(c.subscribers) - 1
	moved := c.subscribers[last]
	c.subscribers[leaving.place], moved.place = moved, leaving.place
	c.subscribers[last] = nil
	c.subscribers = c.subscribers[:last]
	leaving.place = outside
	c.size.Add(-1)
	close(leaving.queue)
}

// outside is the place of a subscriber that has left.
const outside = -1

// subscriber is one stream of events.
type subscriber struct {
	circle *circle
	queue  chan *event
	// place is the index in the circle, guarded by its lock.
	place int
}

// pieceMaxBytes ends a piece: above this size one more event saves almost nothing.
const pieceMaxBytes = 16 << 10

// Next waits for an event, and adds all others that have arrived since the last write.
func (s *subscriber) Next(buffer []byte) (piece []byte, more bool) {
	news, open := <-s.queue
	if !open {
		return buffer, false
	}
	for {
		buffer = append(buffer, news.bytes...)
		if len(buffer) >= pieceMaxBytes {
			return buffer, true
		}
		select {
		case news, open = <-s.queue:
			if !open {
				// The next call returns the end again.
				return buffer, true
			}
		default:
			return buffer, true
		}
	}
}

// Leave takes the subscriber out of the circle, which ends Next.
func (s *subscriber) Leave() {
	s.circle.mu.Lock()
	defer s.circle.mu.Unlock()
	if s.place != outside {
		s.circle.remove(s)
	}
}
