package targets_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ceiling.dev/targets/internal/contract"
	"ceiling.dev/targets/internal/hub"
)

// hubKinds are the hubs that each test runs against. The tick is short to keep tests short.
var hubKinds = [][]string{
	{"--hub", "one"},
	{"--hub", "sharded", "--hub-shards", "3"},
	{"--hub", "aggregated", "--hub-tick", "5ms"},
}

// eachHub runs a test on each target with each hub, and once with TLS.
func eachHub(t *testing.T, test func(t *testing.T, variant variant)) {
	for _, target := range []string{"nethttp", "fasthttp", "fiber"} {
		for _, kind := range hubKinds {
			t.Run(target+" "+kind[1], func(t *testing.T) {
				t.Parallel()
				test(t, variant{target: target, args: kind, workers: 1})
			})
		}
	}
	for _, target := range []string{"nethttp", "fasthttp"} {
		t.Run(target+" tls", func(t *testing.T) {
			t.Parallel()
			args := slices.Concat(hubKinds[0], withTLS)
			test(t, variant{target: target, args: args, workers: 1})
		})
	}
}

// shardsOf is how many shards the hub of a variant has.
func shardsOf(variant variant) uint64 {
	if variant.has("sharded") {
		return 3
	}
	return 1
}

// news is one event as a subscriber reads it.
type news struct {
	Post  string `json:"post"`
	Likes uint64 `json:"likes"`
	Seq   uint64 `json:"seq"`
	AtNs  int64  `json:"at_ns"`
}

// subscription reads the events of one post.
type subscription struct {
	response *http.Response
	lines    *bufio.Reader
}

func subscribe(t *testing.T, client *client, post string) *subscription {
	t.Helper()
	response, err := client.open(hub.PathEvents + post)
	check(t, err)
	t.Cleanup(func() { response.Body.Close() })
	if got := response.Header.Get("Content-Type"); got != contract.TypeEvents ||
		response.StatusCode != http.StatusOK ||
		response.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("status %d, headers %v", response.StatusCode, response.Header)
	}
	return &subscription{response, bufio.NewReader(response.Body)}
}

// open sends a request whose response may not end.
func (c *client) open(path string) (*http.Response, error) {
	c.requests.Add(1)
	return c.http.Get(c.url(path))
}

// next reads one event, whose format is fixed to the byte.
func (s *subscription) next() (news, error) {
	var got news
	var id uint64
	line, err := s.lines.ReadBytes('\n')
	if err != nil {
		return got, err
	}
	if _, err := fmt.Sscanf(string(line), "id: %d\n", &id); err != nil {
		return got, fmt.Errorf("%w in %q", err, line)
	}
	line, err = s.lines.ReadBytes('\n')
	if err != nil {
		return got, err
	}
	data, isData := bytes.CutPrefix(line, []byte("data: "))
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&got); err != nil || !isData || got.Seq != id {
		return got, fmt.Errorf("%w in %q of event %d", err, line, id)
	}
	if line, err = s.lines.ReadBytes('\n'); err != nil || len(line) != 1 {
		return got, fmt.Errorf("%q after event %d: %w", line, id, err)
	}
	return got, nil
}

// until reads events up to the one with that many likes, and checks their order.
func (s *subscription) until(t *testing.T, post string, likes uint64) (events []news) {
	t.Helper()
	for len(events) == 0 || events[len(events)-1].Likes < likes {
		got, err := s.next()
		check(t, err)
		if got.Post != post || got.AtNs <= 0 || len(events) > 0 &&
			(got.Seq != events[len(events)-1].Seq+1 || got.Likes <= events[len(events)-1].Likes) {
			t.Fatalf("%+v after %+v", got, events)
		}
		events = append(events, got)
	}
	return events
}

// checkEnds reads streams to their end, and expects their last chunk: without it a client would
// take the stop for a broken connection.
func checkEnds(t *testing.T, streams []*subscription) {
	t.Helper()
	for i, stream := range streams {
		if rest, err := io.ReadAll(stream.lines); len(rest) != 0 || err != nil {
			t.Errorf("stream %d ends with %q, %v", i, rest, err)
		}
	}
}

func like(t *testing.T, client *client, post string) (likes uint64) {
	t.Helper()
	got := client.do(t, http.MethodPost, hub.PathLike+post, nil, nil)
	expect(t, got, http.StatusOK, contract.TypeJSON)
	if _, err := fmt.Sscanf(string(got.body), `{"likes":%d}`, &likes); err != nil {
		t.Fatalf("%v in %q", err, got.body)
	}
	return likes
}

func hubStats(t *testing.T, client *client) (stats hub.Stats) {
	t.Helper()
	got := client.get(t, hub.PathStats)
	expect(t, got, http.StatusOK, contract.TypeJSON)
	decodeStrict(t, got.body, &stats)
	return stats
}

// awaitHub polls until the counters have the expected values.
func awaitHub(
	t *testing.T, client *client, what string, isSo func(hub.Stats) bool,
) (stats hub.Stats) {
	t.Helper()
	await(t, what, func() bool {
		stats = hubStats(t, client)
		return isSo(stats)
	})
	return stats
}

func TestLikesReachEverySubscriber(t *testing.T) {
	eachHub(t, func(t *testing.T, variant variant) {
		const likes, each = 20, 4
		process := start(t, variant)
		client := process.client(t)
		var streams []*subscription
		for range each {
			streams = append(streams, subscribe(t, client, "a"), subscribe(t, client, "b"))
		}
		begin := time.Now().UnixNano()
		for range likes {
			like(t, client, "b")
		}
		if got := like(t, client, "a"); got != 1 {
			t.Errorf("%d likes of a, want 1", got)
		}
		events := uint64(0)
		for i, stream := range streams {
			post, last := "a", uint64(1)
			if i%2 == 1 {
				post, last = "b", likes
			}
			got := stream.until(t, post, last)
			if got[0].Seq != 1 || got[0].AtNs < begin {
				t.Errorf("first event is %+v, the first like came at %d", got[0], begin)
			}
			if variant.args[1] != "aggregated" && len(got) != int(last) {
				t.Errorf("%d events for %d likes", len(got), last)
			}
			events += uint64(len(got))
		}
		awaitHub(t, client, "all sent", func(stats hub.Stats) bool {
			return stats.Likes == likes+1 && stats.Sent == events && stats.Dropped == 0 &&
				stats.Events*each == events && stats.Subscribers == 2*each && stats.Posts == 2 &&
				uint64(stats.Shards) == shardsOf(variant)
		})
		stopped := process.stopCleanly(t)
		checkEnds(t, streams)
		checkStopped(t, variant, client, stopped)
		want := map[string]uint64{
			"likes": likes + 1, "events": events / each, "sent": events, "dropped": 0,
			"shards": shardsOf(variant),
		}
		if fmt.Sprint(stopped.Parts["hub"]) != fmt.Sprint(want) {
			t.Errorf("counters at the stop are %v, want %v", stopped.Parts, want)
		}
	})
}

// An event has the time of its oldest like, and no like is left out.
func TestAggregatedLikesAreOneEvent(t *testing.T) {
	t.Parallel()
	args := []string{"--hub", "aggregated", "--hub-tick", "1s"}
	process := start(t, variant{target: "fasthttp", args: args, workers: 1})
	client := process.client(t)
	stream := subscribe(t, client, "a")
	begin := time.Now()
	like(t, client, "a")
	first := time.Now()
	for range 99 {
		like(t, client, "a")
	}
	took := time.Since(begin)
	events := stream.until(t, "a", 100)
	if at := events[0].AtNs; at < begin.UnixNano() || at > first.UnixNano() {
		t.Errorf("the event is of %d, the oldest like of %d to %d",
			at, begin.UnixNano(), first.UnixNano())
	}
	// One at each tick since the first like, and one more.
	if most := int(took/time.Second) + 2; len(events) > most {
		t.Errorf("%d events within %v, at most %d", len(events), took, most)
	}
	process.stopCleanly(t)
}

// The hub does not wait for a subscriber that does not read, and counts the events it misses.
func TestSlowSubscriberLosesEvents(t *testing.T) {
	eachHub(t, func(t *testing.T, variant variant) {
		if variant.args[1] == "aggregated" {
			t.Skip("an event per tick does not fill a buffer soon")
		}
		process := start(t, variant, "--hub-buffer", "1")
		client := process.client(t)
		stream := subscribe(t, client, "a")
		var group sync.WaitGroup
		for range 8 {
			// Far more than the buffers of two sockets hold.
			group.Go(func() {
				for range 8 {
					flood(t, process, 1000)
				}
			})
		}
		group.Wait()
		stats := awaitHub(t, client, "all accounted", func(stats hub.Stats) bool {
			return stats.Sent+stats.Dropped == 64_000 && stats.Likes == 64_000
		})
		if stats.Dropped == 0 {
			t.Errorf("nothing was dropped: %+v", stats)
		}
		// The numbers of the events that it gets in the end show how many are missing.
		received, last := uint64(0), uint64(0)
		for received < stats.Sent {
			got, err := stream.next()
			check(t, err)
			if got.Seq <= last {
				t.Fatalf("event %d after event %d", got.Seq, last)
			}
			received, last = received+1, got.Seq
		}
		process.stopCleanly(t)
	})
}

// flood likes a post that many times on a connection of its own.
func flood(t *testing.T, process *process, times int) {
	conn, err := process.client(t).dial()
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close()
	request := "POST " + hub.PathLike + "a HTTP/1.1\r\nHost: target\r\nContent-Length: 0\r\n\r\n"
	go func() { _, _ = io.WriteString(conn, strings.Repeat(request, times)) }()
	reader := bufio.NewReader(conn)
	for range times {
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Error(err)
			return
		}
		if _, err := read(response); err != nil {
			t.Error(err)
			return
		}
	}
}

// The hub notices a client that disconnects even without an event.
func TestLeavingSubscriberIsForgotten(t *testing.T) {
	eachHub(t, func(t *testing.T, variant variant) {
		process := start(t, variant)
		client := process.client(t)
		staying, leaving := subscribe(t, client, "a"), subscribe(t, client, "a")
		leaving.response.Body.Close()
		awaitHub(t, client, "one subscriber", func(stats hub.Stats) bool {
			return stats.Subscribers == 1
		})
		like(t, client, "a")
		staying.until(t, "a", 1)
		process.stopCleanly(t)
	})
}

// The stop waits for streams even when the library has no other connection.
func TestStreamsEndWithTheirLastChunk(t *testing.T) {
	eachHub(t, func(t *testing.T, variant variant) {
		process := start(t, variant)
		client := process.client(t)
		var streams []*subscription
		for range 50 {
			streams = append(streams, subscribe(t, client, "a"))
		}
		stopped := process.stopCleanly(t)
		checkEnds(t, streams)
		checkStopped(t, variant, client, stopped)
	})
}

// A subscriber that does not read cannot keep the target from stopping.
func TestStopsWithSubscribersThatDoNotRead(t *testing.T) {
	eachHub(t, func(t *testing.T, variant variant) {
		process := start(t, variant)
		client := process.client(t)
		conn, err := client.dial()
		check(t, err)
		defer conn.Close()
		_, err = io.WriteString(conn, "GET /events/a HTTP/1.1\r\nHost: target\r\n\r\n")
		check(t, err)
		awaitHub(t, client, "subscribed", func(stats hub.Stats) bool {
			return stats.Subscribers == 1
		})
		flood(t, process, 10_000)
		process.signal(syscall.SIGTERM)
		if _, code := process.end(t); code != 0 {
			t.Errorf("exit code %d; standard error: %s", code, &process.errors)
		}
	})
}

func TestHubRefusals(t *testing.T) {
	eachHub(t, func(t *testing.T, variant variant) {
		process := start(t, variant)
		client := process.client(t)
		for _, wrong := range []struct {
			method, path string
			status       int
		}{
			{http.MethodGet, "/like/a", http.StatusMethodNotAllowed},
			{http.MethodPost, "/events/a", http.StatusMethodNotAllowed},
			{http.MethodPost, "/like/", http.StatusBadRequest},
			{http.MethodPost, "/like/a%22b", http.StatusBadRequest},
			{http.MethodGet, "/events/a/b", http.StatusBadRequest},
			{http.MethodGet, "/events/" + strings.Repeat("a", 65), http.StatusBadRequest},
			{http.MethodGet, "/hub/state", http.StatusNotFound},
		} {
			got := client.do(t, wrong.method, wrong.path, nil, nil)
			if got.status != wrong.status {
				t.Errorf("%s %s is %d, want %d", wrong.method, wrong.path, got.status, wrong.status)
			}
		}
		head := client.do(t, http.MethodHead, "/events/a", nil, nil)
		if head.status != http.StatusOK || head.header.Get("Content-Type") != contract.TypeEvents {
			t.Errorf("HEAD: status %d, headers %v", head.status, head.header)
		}
		awaitHub(t, client, "none left", func(stats hub.Stats) bool {
			return stats.Subscribers == 0
		})
		checkStopped(t, variant, client, process.stopCleanly(t))
	})
}

// HTTP/1.0 has no chunks: the close ends the body.
func TestOldClientsGetNoChunks(t *testing.T) {
	eachHub(t, func(t *testing.T, variant variant) {
		process := start(t, variant)
		client := process.client(t)
		conn, err := client.dial()
		check(t, err)
		defer conn.Close()
		_, err = io.WriteString(conn, "GET /events/a HTTP/1.0\r\n\r\n")
		check(t, err)
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		check(t, err)
		like(t, client, "a")
		stream := &subscription{response, bufio.NewReader(response.Body)}
		stream.until(t, "a", 1)
		if response.TransferEncoding != nil {
			t.Errorf("HTTP/1.0 is sent %v", response.TransferEncoding)
		}
		process.stopCleanly(t)
	})
}

// Without --hub the target has no hub routes and no hub counters.
func TestNoHubWithoutFlag(t *testing.T) {
	eachVariant(t, func(t *testing.T, variant variant) {
		process := start(t, variant)
		client := process.client(t)
		for _, path := range []string{"/events/a", "/hub/stats"} {
			if got := client.get(t, path); got.status != http.StatusNotFound {
				t.Errorf("GET %s is %d, want 404", path, got.status)
			}
		}
		if stopped := process.stopCleanly(t); stopped.Parts != nil {
			t.Errorf("last line has %v", stopped.Parts)
		}
	})
}
