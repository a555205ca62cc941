package hub

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"ceiling.dev/targets/internal/contract"
)

func opened(t testing.TB, args ...string) *Hub {
	t.Helper()
	hub := New()
	options, err := contract.ParseOptions(hub.Flags(), args)
	if err == nil {
		err = hub.Check(options)
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	if _, err := hub.Open(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		hub.Close()
	})
	return hub
}

func (h *Hub) must(t testing.TB, name string) *post {
	t.Helper()
	post, refusal := h.find(name)
	if refusal != nil {
		t.Fatalf("%s", refusal.Body)
	}
	return post
}

// Clients subscribe to the posts in turn, as fanout does: each post has subscribers at all shards.
func TestSubscribersOfEachPostAreSpreadOverShards(t *testing.T) {
	const posts, shards, each = 10, 4, 10
	hub := opened(t, "--hub", "sharded", "--hub-shards", strconv.Itoa(shards))
	for i := range posts * each {
		hub.handleEvents(contract.Call{Name: strconv.Itoa(i % posts)})
	}
	if got := hub.stats().Shards; got != shards {
		t.Errorf("%d shards, want %d", got, shards)
	}
	for i := range posts {
		circles := hub.must(t, strconv.Itoa(i)).circles
		for shard := range circles {
			if size := circles[shard].size.Load(); size < each/shards || size > each/shards+1 {
				t.Errorf("shard %d has %d of the %d subscribers of post %d", shard, size, each, i)
			}
		}
	}
}

// Only a hub with --hub-adopt accepts a like with an earlier time.
func TestTheBodyOfALikeIsReadOnlyFromAProcessThatForwards(t *testing.T) {
	for _, one := range []struct {
		body   string
		args   []string
		status int
	}{
		{"an order", []string{"--hub", "one"}, http.StatusOK},
		{"an order", []string{"--hub", "one", "--hub-adopt"}, http.StatusBadRequest},
		{"-5", []string{"--hub", "one", "--hub-adopt"}, http.StatusBadRequest},
		{"1700000000000000000", []string{"--hub", "one", "--hub-adopt"}, http.StatusOK},
		{"", []string{"--hub", "one", "--hub-adopt"}, http.StatusOK},
	} {
		t.Run(fmt.Sprint(one.body, one.args), func(t *testing.T) {
			hub := opened(t, one.args...)
			answer := hub.handleLike(contract.Call{Name: "a", Body: []byte(one.body)})
			if answer.Status != one.status {
				t.Errorf("status %d, want %d", answer.Status, one.status)
			}
		})
	}
}

func TestSubscribersOfManyPostsAreSpreadOverShards(t *testing.T) {
	hub := opened(t, "--hub", "sharded", "--hub-shards", "4")
	var at [4]int64
	for i := range 8 {
		name := strconv.Itoa(i)
		hub.handleEvents(contract.Call{Name: name})
		for shard := range at {
			at[shard] += hub.must(t, name).circles[shard].size.Load()
		}
	}
	if at != [4]int64{2, 2, 2, 2} {
		t.Errorf("shards have %v of 8 subscribers of as many posts", at)
	}
}

func TestAnyOfTheSubscribersMayLeaveAtAnyTime(t *testing.T) {
	hub := opened(t, "--hub", "one", "--hub-buffer", "1024")
	var group sync.WaitGroup
	for range 100 {
		subscriber := hub.handleEvents(contract.Call{Name: "a"}).Stream
		group.Go(func() {
			for range 3 {
				if _, more := subscriber.Next(nil); !more {
					t.Error("ended by itself")
				}
			}
			subscriber.Leave()
			subscriber.Leave()
			for more := true; more; {
				_, more = subscriber.Next(nil)
			}
		})
	}
	post := hub.must(t, "a")
	likes := func() bool {
		post.like(1)
		return hub.stats().Subscribers > 0
	}
	for likes() {
	}
	group.Wait()
}

func TestPostsAreLimited(t *testing.T) {
	hub := opened(t, "--hub", "one")
	for i := range postsMax {
		hub.must(t, strconv.Itoa(i))
	}
	if _, refusal := hub.find("more"); refusal == nil || refusal.Status != 507 {
		t.Errorf("refusal is %+v", refusal)
	}
	hub.must(t, "7")
}

// The cost of an event for one more subscriber, without the write: two queues and the wake-up. The
// next like waits until the shard has delivered the last, so that hardly anything is dropped.
func BenchmarkDelivery(b *testing.B) {
	for _, subscribers := range []int{1, 100, 1000} {
		b.Run(strconv.Itoa(subscribers), func(b *testing.B) {
			hub := opened(b, "--hub", "one", "--hub-buffer", "1024")
			for range subscribers {
				stream := hub.handleEvents(contract.Call{Name: "a"}).Stream
				go func() {
					var piece []byte
					for more := true; more; {
						piece, more = stream.Next(piece[:0])
					}
				}()
			}
			post, shard := hub.must(b, "a"), hub.shards[0]
			for made := uint64(0); made < uint64(b.N); {
				post.like(1)
				made += uint64(subscribers)
				for shard.sent.Load()+shard.dropped.Load() < made {
					runtime.Gosched()
				}
			}
			dropped, sent := float64(shard.dropped.Load()), float64(shard.sent.Load())
			b.ReportMetric(dropped/(dropped+sent), "dropped")
		})
	}
}
