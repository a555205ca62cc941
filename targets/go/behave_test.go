package targets_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ceiling.dev/targets/internal/behave"
)

// misbehaving is a running target-behave. These tests do not assert speed: only that nothing is
// early, and that the counts follow from the logged arrivals.
type misbehaving struct {
	*process
	addr string
	log  string
}

// entry is one line of the log.
type entry struct {
	number, connection uint64
	received           time.Duration
	arrival, done      time.Duration
	status             int
	fate               behave.Fate
	stray              int
}

func (e entry) took() time.Duration { return e.done - e.arrival }

func misbehave(t *testing.T, name string) *misbehaving {
	t.Helper()
	log := filepath.Join(t.TempDir(), "log.tsv")
	running := &process{command: command("behave", "--behaviour", name, "--log", log)}
	running.command.Stderr = &running.errors
	output, err := running.command.StdoutPipe()
	check(t, err)
	check(t, running.command.Start())
	running.killer = time.AfterFunc(hangLimit, func() { running.signal(syscall.SIGKILL) })
	t.Cleanup(func() {
		running.killer.Stop()
		running.signal(syscall.SIGKILL)
	})
	running.output = bufio.NewReader(output)
	line, err := running.output.ReadBytes('\n')
	if err != nil {
		t.Fatalf("no first line: %v; standard error: %s", err, &running.errors)
	}
	var first struct{ Event, Target, Addr, Behaviour string }
	check(t, json.Unmarshal(line, &first))
	if first.Event != "listening" || first.Target != "behave" || first.Behaviour != name {
		t.Fatalf("the first line is %s", line)
	}
	return &misbehaving{process: running, addr: first.Addr, log: log}
}

// stop ends the target, and checks that its last line has the totals of its log.
func (m *misbehaving) stop(t *testing.T) (behave.Summary, []entry) {
	t.Helper()
	m.signal(syscall.SIGTERM)
	rest, err := io.ReadAll(m.output)
	check(t, err)
	if err := m.command.Wait(); err != nil {
		t.Fatalf("%v; standard error: %s", err, &m.errors)
	}
	var summary behave.Summary
	decodeStrict(t, rest, &summary)
	entries := readLog(t, m.log)
	for _, e := range entries {
		if e.received <= 0 || e.received > e.arrival || e.arrival > e.done {
			t.Errorf("the times of %+v are in no order", e)
		}
	}
	var good, stray int
	for _, entry := range entries {
		stray += entry.stray
		if entry.fate == behave.Answered && entry.status < 400 {
			good++
		}
	}
	sums := []int{int(summary.Requests), int(summary.Good), summary.StrayBytes}
	if !slices.Equal(sums, []int{len(entries), good, stray}) {
		t.Errorf("the last line is %s, the log has %d requests, %d good", rest, len(entries), good)
	}
	return summary, entries
}

// readLog returns the requests in order of arrival.
func readLog(t *testing.T, path string) []entry {
	t.Helper()
	content, err := os.ReadFile(path)
	check(t, err)
	text, found := strings.CutPrefix(string(content), behave.Columns)
	if !found {
		t.Fatalf("the log begins with %.80q", content)
	}
	var entries []entry
	for line := range strings.Lines(text) {
		var e entry
		_, err := fmt.Sscan(line, &e.number, &e.connection, &e.received, &e.arrival, &e.done,
			&e.status, &e.fate, &e.stray)
		check(t, err)
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b entry) int { return int(a.number) - int(b.number) })
	return entries
}

func (m *misbehaving) dial(t *testing.T) (net.Conn, *bufio.Reader) {
	t.Helper()
	socket, err := net.Dial("tcp", m.addr)
	check(t, err)
	t.Cleanup(func() { socket.Close() })
	check(t, socket.SetDeadline(time.Now().Add(hangLimit)))
	return socket, bufio.NewReader(socket)
}

// ask sends one request and reads its response to the end of the body.
func ask(socket net.Conn, in *bufio.Reader, method string) (*http.Response, []byte, error) {
	if _, err := fmt.Fprintf(socket, "%s / HTTP/1.1\r\nHost: x\r\n\r\n", method); err != nil {
		return nil, nil, err
	}
	response, err := http.ReadResponse(in, &http.Request{Method: method})
	if err != nil {
		return nil, nil, err
	}
	body, err := io.ReadAll(response.Body)
	return response, body, err
}

// askAll sends `each` requests on every connection, all connections concurrently.
func (m *misbehaving) askAll(t *testing.T, connections, each int) {
	t.Helper()
	var group sync.WaitGroup
	for range connections {
		socket, in := m.dial(t)
		group.Go(func() {
			for range each {
				if _, _, err := ask(socket, in, http.MethodGet); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
}

func TestEveryBehaviourAnswersItsFirstRequest(t *testing.T) {
	output, err := command("behave", "--list").Output()
	check(t, err)
	var listed []behave.Behaviour
	check(t, json.Unmarshal(output, &listed))
	if len(listed) != 26 {
		t.Fatalf("%d behaviours are listed, want 26", len(listed))
	}
	for _, behaviour := range listed {
		t.Run(behaviour.Name, func(t *testing.T) {
			t.Parallel()
			server := misbehave(t, behaviour.Name)
			socket, in := server.dial(t)
			response, _, err := ask(socket, in, behaviour.Method)
			check(t, err)
			if response.StatusCode >= 300 {
				t.Errorf("the first request got %s", response.Status)
			}
			summary, entries := server.stop(t)
			// One that answers before it has read the request says so.
			answered := summary.Good + summary.Fates["unread"]
			if answered != 1 || summary.Connections != 1 || entries[0].connection != 1 {
				t.Errorf("one request on one connection is counted as %+v", summary)
			}
		})
	}
}

// An independent model of the capacity: a number of servers, first come first served.
func replay(
	entries []entry, servers int, each time.Duration, visit func(entry, bool, time.Duration),
) {
	free := make([]time.Duration, servers)
	for _, e := range entries {
		slices.Sort(free)
		isFree := free[0] <= e.arrival
		visit(e, isFree, max(free[0], e.arrival)+each)
		if e.status == http.StatusOK {
			free[0] = max(free[0], e.arrival) + each
		}
	}
}

func TestSheddingRefusesExactlyWhatFindsNoServer(t *testing.T) {
	server := misbehave(t, "shedding-fast")
	server.askAll(t, 12, 40)
	summary, entries := server.stop(t)
	if len(summary.Statuses) != 2 || summary.Requests != 480 {
		t.Errorf("12 connections on 8 servers get %v", summary.Statuses)
	}
	replay(entries, 8, 20*time.Millisecond, func(e entry, isFree bool, due time.Duration) {
		want := http.StatusServiceUnavailable
		if isFree {
			want = http.StatusOK
		}
		if e.status != want || (isFree && e.done < due) {
			t.Errorf("%+v, want status %d, done at %d", e, want, due)
		}
	})
}

func TestPoolsServeInTurnAndNeverEarly(t *testing.T) {
	for name, servers := range map[string]int{"pool": 8, "large-bodies": 4} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := misbehave(t, name)
			server.askAll(t, 12, 5)
			_, entries := server.stop(t)
			replay(entries, servers, 20*time.Millisecond, func(e entry, _ bool, due time.Duration) {
				if e.status != http.StatusOK || e.done < due {
					t.Errorf("%+v, want 200, done at %d", e, due)
				}
			})
		})
	}
}

func TestTheLimiterAdmitsExactlyItsBudget(t *testing.T) {
	server := misbehave(t, "rate-limit")
	server.askAll(t, 8, 40)
	_, entries := server.stop(t)
	const burst, gap = 10, time.Second / 500
	// Tokens of a bucket that is full at the first request, counted in time.
	saved, last := burst*gap, entries[0].arrival
	for _, e := range entries {
		saved = min(burst*gap, saved+e.arrival-last)
		last = e.arrival
		want := http.StatusTooManyRequests
		if saved >= gap {
			saved -= gap
			want = http.StatusOK
		}
		if e.status != want {
			t.Errorf("%+v, want status %d with %s saved", e, want, saved)
		}
	}
	refused := slices.ContainsFunc(entries, func(e entry) bool { return e.status == 429 })
	if !refused || entries[burst-1].status != http.StatusOK {
		t.Error("8 connections were not held to a burst of 10")
	}
}

func TestClosingClosesAfterEachResponseAndSaysSo(t *testing.T) {
	closesAfter(t, "closing", 1)
}

func TestTheCapClosesAfterItsLastResponseAndSaysSo(t *testing.T) {
	closesAfter(t, "keep-alive-cap", 50)
}

func closesAfter(t *testing.T, name string, responses int) {
	t.Helper()
	server := misbehave(t, name)
	for range 2 {
		socket, in := server.dial(t)
		for number := range responses {
			response, _, err := ask(socket, in, http.MethodGet)
			check(t, err)
			if isLast := number == responses-1; response.Close != isLast {
				t.Errorf("response %d says close: %v", number+1, response.Close)
			}
		}
		if rest, err := io.ReadAll(in); len(rest) > 0 || err != nil {
			t.Errorf("after the last response came %q, %v", rest, err)
		}
	}
	summary, _ := server.stop(t)
	if summary.Connections != 2 || summary.Good != uint64(2*responses) {
		t.Errorf("%+v", summary)
	}
}

func TestEveryTwentiethRequestIsReset(t *testing.T) {
	server := misbehave(t, "resetting")
	socket, in := server.dial(t)
	for range 19 {
		_, _, err := ask(socket, in, http.MethodGet)
		check(t, err)
	}
	if _, _, err := ask(socket, in, http.MethodGet); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the twentieth ended with %v", err)
	}
	summary, entries := server.stop(t)
	if summary.Fates[behave.Reset] != 1 || entries[19].fate != behave.Reset {
		t.Errorf("%+v", summary)
	}
}

func TestStrayBytesAreReallySent(t *testing.T) {
	server := misbehave(t, "stray-bytes")
	socket, in := server.dial(t)
	for range 10 {
		response, body, err := ask(socket, in, http.MethodGet)
		check(t, err)
		if response.StatusCode != http.StatusOK || string(body) != `{"message":"hi"}` {
			t.Errorf("%s %q", response.Status, body)
		}
	}
	const want = "\r\nnot asked for\r\n"
	got := make([]byte, len(want))
	if _, err := io.ReadFull(in, got); err != nil || string(got) != want {
		t.Errorf("after the tenth response came %q, %v", got, err)
	}
	summary, entries := server.stop(t)
	if summary.StrayBytes != len(want) || entries[9].stray != len(want) {
		t.Errorf("%+v", summary)
	}
}

func TestEveryResponseOfOneBehaviourIsSentTwice(t *testing.T) {
	server := misbehave(t, "double-answer")
	socket, in := server.dial(t)
	_, err := fmt.Fprint(socket, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	check(t, err)
	for range 2 {
		response, err := http.ReadResponse(in, nil)
		check(t, err)
		body, err := io.ReadAll(response.Body)
		check(t, err)
		if response.StatusCode != http.StatusOK || string(body) != `{"message":"hi"}` {
			t.Errorf("%s %q", response.Status, body)
		}
	}
	if summary, _ := server.stop(t); summary.Requests != 1 || summary.Good != 1 {
		t.Errorf("%+v", summary)
	}
}

func TestAnUploadThatIsNotReadHasItsResponseAndIsNotGood(t *testing.T) {
	server := misbehave(t, "early-answer")
	socket, in := server.dial(t)
	_, err := fmt.Fprint(socket, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n")
	check(t, err)
	response, err := http.ReadResponse(in, nil)
	check(t, err)
	if response.StatusCode != http.StatusOK {
		t.Errorf("%s", response.Status)
	}
	if summary, _ := server.stop(t); summary.Requests != 1 || summary.Good != 0 {
		t.Errorf("%+v", summary)
	}
}

func TestResponsesHaveTheirShapes(t *testing.T) {
	cases := []struct {
		name, method  string
		status, bytes int
		length        string
		encoding      []string
	}{
		{"chunked", http.MethodGet, http.StatusOK, 1024, "", []string{"chunked"}},
		{"no-content", http.MethodGet, http.StatusNoContent, 0, "", nil},
		{"head", http.MethodHead, http.StatusOK, 0, "1024", nil},
		{"large-bodies", http.MethodGet, http.StatusOK, 1 << 20, "1048576", nil},
		{"slow-bytes", http.MethodGet, http.StatusOK, 1024, "1024", nil},
	}
	for _, want := range cases {
		t.Run(want.name, func(t *testing.T) {
			t.Parallel()
			server := misbehave(t, want.name)
			socket, in := server.dial(t)
			// Twice: the second response is found only if the first ended where it should.
			for range 2 {
				response, body, err := ask(socket, in, want.method)
				check(t, err)
				length := response.Header.Get("Content-Length")
				got := []any{response.StatusCode, len(body), length}
				if !slices.Equal(got, []any{want.status, want.bytes, want.length}) ||
					!slices.Equal(response.TransferEncoding, want.encoding) {
					t.Errorf("%v %v", got, response.TransferEncoding)
				}
				if !bytes.HasPrefix([]byte("0123456789abcdef"), body[:min(16, len(body))]) {
					t.Errorf("the body begins with %.20q", body)
				}
			}
			if in.Buffered() > 0 {
				t.Errorf("%d bytes too many", in.Buffered())
			}
			server.stop(t)
		})
	}
}

// Each entry gives the shortest time that a request may take, in order of arrival.
func TestNothingIsEarly(t *testing.T) {
	const ms = time.Millisecond
	cases := map[string]func(e entry, sinceFirst time.Duration) time.Duration{
		"slow-constant": func(entry, time.Duration) time.Duration { return 50 * ms },
		"slow-bytes":    func(entry, time.Duration) time.Duration { return 50 * ms },
		"failing-late": func(e entry, _ time.Duration) time.Duration {
			if e.status == http.StatusInternalServerError {
				return 200 * ms
			}
			return 10 * ms
		},
		"slow-start": func(_ entry, since time.Duration) time.Duration {
			return max(10*ms, 100*ms-time.Duration(0.09*float64(since))-1)
		},
		"stalls": func(_ entry, since time.Duration) time.Duration {
			into := (since + 5*ms) % time.Second
			if into >= 400*ms && into < 700*ms {
				return 5*ms + 700*ms - into
			}
			return 5 * ms
		},
	}
	for name, least := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := misbehave(t, name)
			// At 5 ms each or more, 120 in a row reach into the stall.
			server.askAll(t, 4, 120)
			_, entries := server.stop(t)
			for _, e := range entries {
				if least := least(e, e.arrival-entries[0].arrival); e.took() < least {
					t.Errorf("%+v took %s, want %s", e, e.took(), least)
				}
			}
		})
	}
}

func TestEveryTenthFailsLate(t *testing.T) {
	server := misbehave(t, "failing-late")
	server.askAll(t, 3, 10)
	_, entries := server.stop(t)
	for _, e := range entries {
		if isFailure := e.status == 500; isFailure != (e.number%10 == 0) {
			t.Errorf("request %d got %d", e.number, e.status)
		}
	}
}

func TestTheDeadAnswerNobody(t *testing.T) {
	server := misbehave(t, "dead")
	socket, in := server.dial(t)
	var err error
	for err == nil {
		_, _, err = ask(socket, in, http.MethodGet)
	}
	if !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) &&
		!errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the last request ended with %v", err)
	}
	if _, err := net.Dial("tcp", server.addr); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("connecting to the dead ended with %v", err)
	}
	_, entries := server.stop(t)
	for _, e := range entries {
		if e.fate == behave.Answered && e.done-entries[0].arrival > 3*time.Second {
			t.Errorf("answered after its death: %+v", e)
		}
	}
}

func TestBehaveTellsWrongUsageInOneLine(t *testing.T) {
	for _, args := range [][]string{
		{}, {"--behaviour", "nice"}, {"--behaviour", "pool", "--port", "70000"}, {"surprise"},
		{"--unknown"},
	} {
		running := command("behave", args...)
		var said bytes.Buffer
		running.Stderr = &said
		_ = running.Run()
		lines := strings.Count(said.String(), "\n")
		if code := running.ProcessState.ExitCode(); code != 2 || lines != 1 {
			t.Errorf("%s: exit %s, %q", args, strconv.Itoa(code), &said)
		}
	}
}
