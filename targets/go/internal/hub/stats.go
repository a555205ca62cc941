package hub

// Stats is the response of /hub/stats. When nothing is queued at a shard, sent plus dropped is the
// sum over all events of the subscribers that the post had at the event.
type Stats struct {
	Hub Kind `json:"hub"`
	// Shards are the goroutines that deliver events.
	Shards int `json:"shards"`
	Posts  int `json:"posts"`
	// Likes were accepted.
	Likes uint64 `json:"likes"`
	// Events were meant for all subscribers of their post.
	Events uint64 `json:"events"`
	// Sent and Dropped count one event for one subscriber: those that went into the queue of the
	// subscriber, and those for which it, or the queue of its shard, had no room.
	Sent        uint64 `json:"sent"`
	Dropped     uint64 `json:"dropped"`
	Subscribers int64  `json:"subscribers"`
	// Adopted counts subscribers that a forwarding process passed through the door; absent without
	// --hub-adopt.
	Adopted uint64 `json:"adopted,omitempty"`
	Door    string `json:"door,omitempty"`
}

func (h *Hub) stats() Stats {
	stats := Stats{Hub: h.settings.kind, Shards: len(h.shards)}
	stats.Door, stats.Adopted = h.doorName(), h.adoption.adopted.Load()
	h.each(func(post *post) {
		post.mu.Lock()
		stats.Posts++
		stats.Likes += post.likes
		stats.Events += post.seq
		post.mu.Unlock()
		for i := range post.circles {
			stats.Subscribers += post.circles[i].size.Load()
		}
	})
	for _, shard := range h.shards {
		stats.Sent += shard.sent.Load()
		stats.Dropped += shard.dropped.Load()
	}
	return stats
}

// Counters are for the last line: the counters that only grow, and the number of shards.
func (h *Hub) Counters() (part string, counters map[string]uint64) {
	if h.forward.url != "" {
		return "hub", h.forward.counters()
	}
	if h.settings.kind == "" {
		return "", nil
	}
	stats := h.stats()
	counters = map[string]uint64{
		"shards": uint64(stats.Shards), "likes": stats.Likes, "events": stats.Events,
		"sent": stats.Sent, "dropped": stats.Dropped,
	}
	if stats.Door != "" {
		counters["adopted"] = stats.Adopted
	}
	return "hub", counters
}
