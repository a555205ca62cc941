package targets_test

import (
	"net/http"
	"strings"
	"testing"

	"ceiling.dev/targets/internal/contract"
)

type flakyCounts struct{ Requests, Calls, Failures, Retries, Broken, Fallbacks int }

func readFlaky(t *testing.T, client *client, path string) (counts flakyCounts, breaker string) {
	t.Helper()
	var stats struct {
		Routes      map[string]flakyCounts
		Breaker     string
		CPUUserNs   int64 `json:"cpu_user_ns"`
		CPUSystemNs int64 `json:"cpu_system_ns"`
	}
	got := client.get(t, "/flaky/stats")
	expect(t, got, http.StatusOK, contract.TypeJSON)
	decodeStrict(t, got.body, &stats)
	if stats.CPUUserNs+stats.CPUSystemNs <= 0 {
		t.Errorf("no CPU time in %s", got.body)
	}
	return stats.Routes[path], stats.Breaker
}

// order sets the behaviour of a downstream.
func order(t *testing.T, downstream *client, query string) {
	t.Helper()
	got := downstream.do(t, http.MethodPost, "/downstream/control?"+query, nil, nil)
	expect(t, got, http.StatusOK, contract.TypeJSON)
}

// askTimes returns how many responses had each status.
func askTimes(t *testing.T, client *client, path string, times int) map[int]int {
	t.Helper()
	statuses := make(map[int]int)
	for range times {
		statuses[client.get(t, path).status]++
	}
	return statuses
}

func TestFlaky(t *testing.T) {
	eachServer(t, func(t *testing.T, variant variant) {
		below := start(t, variant, "--serve-downstream")
		downstream := below.client(t)
		url := "http://" + below.listening.Addr + "/downstream"
		process := start(t, variant, "--downstream", url)
		client := process.client(t)
		t.Run("good", func(t *testing.T) {
			for _, path := range []string{"", "/retry", "/budget", "/breaker", "/fallback"} {
				got := client.get(t, "/flaky"+path)
				expect(t, got, http.StatusOK, contract.TypeJSON)
				if string(got.body) != `{"message":"from the downstream"}` {
					t.Errorf("GET /flaky%s: %s", path, got.body)
				}
			}
		})
		order(t, downstream, "fail=1")
		t.Run("plain", func(t *testing.T) {
			got := client.get(t, "/flaky")
			expect(t, got, http.StatusBadGateway, contract.TypeText)
			expectFlaky(t, client, "/flaky", flakyCounts{Requests: 2, Calls: 2, Failures: 1})
		})
		t.Run("retry", func(t *testing.T) {
			askTimes(t, client, "/flaky/retry", 5)
			expectFlaky(t, client, "/flaky/retry",
				flakyCounts{Requests: 6, Calls: 21, Failures: 20, Retries: 15})
		})
		t.Run("budget", func(t *testing.T) {
			askTimes(t, client, "/flaky/budget", 99)
			// One retry for ten requests.
			expectFlaky(t, client, "/flaky/budget",
				flakyCounts{Requests: 100, Calls: 110, Failures: 109, Retries: 10})
		})
		t.Run("fallback", func(t *testing.T) {
			got := client.get(t, "/flaky/fallback")
			expect(t, got, http.StatusOK, contract.TypeJSON)
			if string(got.body) != `{"message":"from the fallback"}` {
				t.Errorf("body %s", got.body)
			}
			expectFlaky(t, client, "/flaky/fallback",
				flakyCounts{Requests: 2, Calls: 2, Failures: 1, Fallbacks: 1})
		})
		t.Run("breaker", func(t *testing.T) { checkBreaker(t, client, downstream) })
		t.Run("retry helps", func(t *testing.T) {
			order(t, downstream, "fail=0.3")
			before, _ := readFlaky(t, client, "/flaky/retry")
			if statuses := askTimes(t, client, "/flaky/retry", 60); statuses[200] < 50 {
				t.Errorf("statuses %v when each attempt fails with 0.3", statuses)
			}
			after, _ := readFlaky(t, client, "/flaky/retry")
			if after.Retries == before.Retries {
				t.Error("nothing was tried again")
			}
		})
		t.Run("slow", func(t *testing.T) {
			order(t, downstream, "fail=0&delay=30s")
			got := client.get(t, "/flaky")
			expect(t, got, http.StatusBadGateway, contract.TypeText)
			if !strings.Contains(string(got.body), "Timeout exceeded") {
				t.Errorf("body %q", got.body)
			}
		})
		checkStopped(t, variant, client, process.stopCleanly(t))
		below.signal(9)
	})
}

func expectFlaky(t *testing.T, client *client, path string, want flakyCounts) {
	t.Helper()
	if got, _ := readFlaky(t, client, path); got != want {
		t.Errorf("%s: %+v, want %+v", path, got, want)
	}
}

func checkBreaker(t *testing.T, client, downstream *client) {
	statuses := askTimes(t, client, "/flaky/breaker", 60)
	var got flakyCounts
	// After a second it lets one call through, which fails and opens it again.
	await(t, "the breaker is open", func() bool {
		statuses[client.get(t, "/flaky/breaker").status]++
		var state string
		got, state = readFlaky(t, client, "/flaky/breaker")
		return state == "open"
	})
	if statuses[503] == 0 || got.Broken != statuses[503] || got.Calls >= 30 {
		t.Errorf("statuses %v, %+v", statuses, got)
	}
	order(t, downstream, "fail=0")
	await(t, "the breaker closes", func() bool {
		return client.get(t, "/flaky/breaker").status == http.StatusOK
	})
	if _, state := readFlaky(t, client, "/flaky/breaker"); state != "closed" {
		t.Errorf("the breaker is %s after a good call", state)
	}
}

func TestDownstreamTakesOrders(t *testing.T) {
	eachServer(t, func(t *testing.T, variant variant) {
		process := start(t, variant, "--serve-downstream")
		client := process.client(t)
		const control = "/downstream/control"
		for _, wrong := range []string{"fail=2", "fail=x", "fail=NaN", "delay=5", "delay=2m"} {
			got := client.do(t, http.MethodPost, control+"?"+wrong, nil, nil)
			expect(t, got, http.StatusBadRequest, contract.TypeText)
			if !strings.Contains(string(got.body), "for example POST /downstream/control?fail=") {
				t.Errorf("%s: %q", wrong, got.body)
			}
		}
		order(t, client, "fail=0.5&delay=1ms")
		order(t, client, "delay=2ms")
		statuses := askTimes(t, client, "/downstream", 100)
		if statuses[200] < 20 || statuses[500] < 20 {
			t.Errorf("statuses %v when half shall fail", statuses)
		}
		var report struct {
			Fail          float64
			DelayNs       int64 `json:"delay_ns"`
			Calls, Failed int
		}
		decodeStrict(t, client.get(t, control).body, &report)
		if report.Fail != 0.5 || report.DelayNs != 2e6 || report.Calls != 100 ||
			report.Failed != statuses[500] {
			t.Errorf("%+v with statuses %v", report, statuses)
		}
		process.stopCleanly(t)
	})
}
