package targets_test

import (
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"ceiling.dev/targets/internal/contract"
	"ceiling.dev/targets/internal/hub"
)

// twoHalves starts a target that takes likes and the one that has the hub.
func twoHalves(t *testing.T, front, back string) (taking, serving *process) {
	t.Helper()
	args := []string{"--hub", "one", "--hub-adopt"}
	serving = start(t, variant{target: back, args: args, workers: 1})
	taking = start(t, variant{target: front, workers: 1},
		"--hub-forward", "http://"+serving.listening.Addr)
	return taking, serving
}

func forwardStats(t *testing.T, client *client) (stats hub.ForwardStats) {
	t.Helper()
	got := client.get(t, hub.PathStats)
	expect(t, got, http.StatusOK, contract.TypeJSON)
	decodeStrict(t, got.body, &stats)
	return stats
}

// A like passes from one process to the other, and a subscriber belongs to the second alone: it
// stays connected when the process that accepted it has ended.
func TestForwardedLikesReachSubscribersOfTheOtherProcess(t *testing.T) {
	for _, pair := range [][2]string{
		{"nethttp", "fasthttp"}, {"fasthttp", "fiber"}, {"fiber", "nethttp"},
	} {
		t.Run(fmt.Sprint(pair), func(t *testing.T) {
			t.Parallel()
			const likes, subscribers = 20, 3
			taking, serving := twoHalves(t, pair[0], pair[1])
			client, direct := taking.client(t), serving.client(t)
			var streams []*subscription
			for range subscribers {
				streams = append(streams, subscribe(t, client, "a"))
			}
			begin := time.Now().UnixNano()
			for i := range likes {
				if got := like(t, client, "a"); got != uint64(i+1) {
					t.Errorf("like %d is number %d", i+1, got)
				}
			}
			accepted := time.Now().UnixNano()
			for _, stream := range streams {
				got := stream.until(t, "a", likes)
				if first, last := got[0].AtNs, got[likes-1].AtNs; len(got) != likes ||
					first < begin || last > accepted {
					t.Errorf("%d events from %d to %d, likes came from %d to %d",
						len(got), first, last, begin, accepted)
				}
			}
			want := hub.ForwardStats{
				Hub: "forward", Likes: likes, Forwarded: likes, HandedOver: subscribers,
			}
			await(t, "all forwarded", func() bool { return forwardStats(t, client) == want })
			stopped := taking.stopCleanly(t)
			if counted := stopped.Parts["hub"]; counted["forwarded"] != likes ||
				counted["handed_over"] != subscribers || counted["forward_dropped"] != 0 {
				t.Errorf("last line of the first has %v", stopped.Parts)
			}
			like(t, direct, "a")
			for _, stream := range streams {
				stream.until(t, "a", likes+1)
			}
			stats := hubStats(t, direct)
			if stats.Adopted != subscribers || stats.Subscribers != subscribers {
				t.Errorf("%+v, want %d subscribers", stats, subscribers)
			}
			counted := serving.stopCleanly(t).Parts["hub"]
			if counted["adopted"] != subscribers || counted["likes"] != likes+1 {
				t.Errorf("last line of the second has %v", counted)
			}
			checkEnds(t, streams)
		})
	}
}

// The process that takes likes never waits for the other one: likes that meet a full queue are
// dropped and counted, and likes without a response count as failed.
func TestForwardedLikesAreDroppedWhenTheOtherProcessIsSlow(t *testing.T) {
	t.Parallel()
	const likes = 2000
	taking, serving := twoHalves(t, "fasthttp", "fasthttp")
	client := taking.client(t)
	serving.signal(syscall.SIGSTOP)
	flood(t, taking, likes)
	if stats := forwardStats(t, client); stats.Likes != likes || stats.Dropped == 0 {
		t.Errorf("%+v after %d likes", stats, likes)
	}
	serving.signal(syscall.SIGCONT)
	await(t, "all accounted", func() bool {
		stats := forwardStats(t, client)
		return stats.Forwarded+stats.Failed+stats.Dropped == likes && stats.Forwarded > 0
	})
	taking.stopCleanly(t)
	serving.stopCleanly(t)
}

func TestForwardingNeedsAHubThatAdopts(t *testing.T) {
	t.Parallel()
	process := start(t, variant{target: "fasthttp", args: []string{"--hub", "one"}, workers: 1})
	address := "http://" + process.listening.Addr
	for url, mention := range map[string]string{
		address:              "takes no subscribers over",
		address + "/nowhere": "404",
		"http://127.0.0.1:1": "refused",
	} {
		output, message, code := runToEnd(t, "fasthttp", "--port", "0", "--hub-forward", url)
		if code != 1 || output != "" || strings.Count(message, "\n") != 1 ||
			!strings.Contains(message, mention) || !strings.Contains(message, "--hub-adopt") {
			t.Errorf("%s: exit code %d, output %q, message %q", url, code, output, message)
		}
	}
	process.stopCleanly(t)
}

func TestForwardRefusals(t *testing.T) {
	t.Parallel()
	taking, serving := twoHalves(t, "fasthttp", "nethttp")
	client, direct := taking.client(t), serving.client(t)
	for _, wrong := range []struct {
		method, path string
		status       int
	}{
		{http.MethodGet, "/like/a", http.StatusMethodNotAllowed},
		{http.MethodPost, "/like/a%22b", http.StatusBadRequest},
		{http.MethodGet, "/events/a/b", http.StatusBadRequest},
	} {
		if got := client.do(t, wrong.method, wrong.path, nil, nil); got.status != wrong.status {
			t.Errorf("%s %s is %d, want %d", wrong.method, wrong.path, got.status, wrong.status)
		}
	}
	got := direct.do(t, http.MethodPost, "/like/a", nil, strings.NewReader("yesterday"))
	expect(t, got, http.StatusBadRequest, contract.TypeText)
	serving.stopCleanly(t)
	// The other process is gone.
	got, err := client.ask(http.MethodGet, "/events/a", nil, nil)
	if err != nil || got.status != http.StatusServiceUnavailable {
		t.Errorf("status %d, %v: %s", got.status, err, got.body)
	}
	taking.stopCleanly(t)
}
