package targets_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"ceiling.dev/targets/internal/contract"
)

// alertMaxBytes is more than a TLS alert takes, with its record.
const alertMaxBytes = 64

// scene is what a check works with: one running target and what it must be serving.
type scene struct {
	client *client
	pool   *contract.Catalog
}

// checks is the contract. Each runs against each variant.
var checks = []struct {
	name string
	run  func(t *testing.T, scene scene)
}{
	{"simple is the fixed body", checkSimple},
	{"healthz is ok", checkHealthz},
	{"read is a product of the pool", checkRead},
	{"read-gz is the same product packed", checkReadGz},
	{"list is an array of products", checkList},
	{"compute describes a sample", checkCompute},
	{"echo returns the body", checkEcho},
	{"echo returns a chunked body", checkEchoChunked},
	{"unknown routes are 404", checkNotFound},
	{"wrong methods are 405", checkWrongMethod},
	{"HEAD has the length and no body", checkHead},
	{"pipelined answers come in order", checkPipelining},
	{"many connections at once", checkConcurrency},
}

func TestContract(t *testing.T) {
	pool, err := contract.NewCatalog(poolSeed)
	check(t, err)
	eachVariant(t, func(t *testing.T, variant variant) {
		process := start(t, variant)
		checkListening(t, variant, process)
		client := process.client(t)
		for _, check := range checks {
			t.Run(check.name, func(t *testing.T) { check.run(t, scene{client, pool}) })
		}
		checkStopped(t, variant, client, process.stopCleanly(t))
	})
}

func checkListening(t *testing.T, variant variant, process *process) {
	t.Helper()
	got := process.listening
	want := contract.Listening{
		Event: contract.EventListening, Target: variant.target, Addr: got.Addr,
		Pid: process.command.Process.Pid, Workers: variant.workers,
		Network: "tcp4", Listeners: variant.workers, Backlog: got.Backlog,
	}
	if variant.has("--listeners") {
		want.Listeners = 3
	}
	if variant.has("--tls-cert") {
		want.TLS = &contract.Security{Tickets: contract.On, ClientCertificates: "none"}
	}
	if variant.has("--unix") {
		want.Network, want.Backlog = "unix", nil
	} else if !strings.HasPrefix(got.Addr, "127.0.0.1:") || strings.HasSuffix(got.Addr, ":0") {
		t.Errorf("listens on %q, want a port of the loopback", got.Addr)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("first line is %+v, want %+v", got, want)
	}
}

// checkStopped compares the counters with what the client saw. They must agree exactly.
func checkStopped(t *testing.T, variant variant, client *client, got contract.Stopped) {
	t.Helper()
	if got.Target != variant.target || got.Workers != variant.workers || got.WorkersLost != 0 {
		t.Errorf("last line is %+v", got)
	}
	if want := client.requests.Load(); got.RequestsServed != want {
		t.Errorf("%d requests served, the client sent %d", got.RequestsServed, want)
	}
	// TLS sends close_notify on each connection, and a client need not wait for it.
	goodbyes := uint64(0)
	if client.secure != nil {
		goodbyes = alertMaxBytes * got.ConnectionsAccepted
	}
	received := client.bytes.Load()
	if got.ResponsesBytes < received || got.ResponsesBytes > received+goodbyes {
		t.Errorf("%d bytes written, the client received %d", got.ResponsesBytes, received)
	}
	// A net/http client may open a connection that it does not use, which TCP_DEFER_ACCEPT hides.
	if opened := client.connections.Load(); got.ConnectionsAccepted > opened {
		t.Errorf("%d connections accepted, the client opened %d", got.ConnectionsAccepted, opened)
	}
	if got.CPUUserNs+got.CPUSystemNs <= 0 || got.UptimeNs <= 0 {
		t.Errorf("cpu %d + %d ns in %d ns", got.CPUUserNs, got.CPUSystemNs, got.UptimeNs)
	}
}

func checkSimple(t *testing.T, scene scene) {
	got := scene.client.get(t, contract.PathSimple)
	expect(t, got, http.StatusOK, contract.TypeJSON)
	if string(got.body) != `{"message":"hi"}` || got.length != 16 {
		t.Errorf("body %q of length %d", got.body, got.length)
	}
}

func checkHealthz(t *testing.T, scene scene) {
	got := scene.client.get(t, contract.PathHealthz)
	expect(t, got, http.StatusOK, contract.TypeText)
	if string(got.body) != "ok" {
		t.Errorf("body %q", got.body)
	}
}

func checkRead(t *testing.T, scene scene) {
	for _, path := range []string{
		contract.PathRead, contract.PathReadLocked, contract.PathReadTable,
	} {
		seen := make(map[int]bool)
		for range 20 {
			got := scene.client.get(t, path)
			expect(t, got, http.StatusOK, contract.TypeJSON)
			seen[indexIn(t, scene.pool.Plain, got.body)] = true
		}
		if len(seen) < 2 {
			t.Errorf("GET %s gave the same product twenty times", path)
		}
	}
}

func checkReadGz(t *testing.T, scene scene) {
	got := scene.client.get(t, contract.PathReadGz)
	expect(t, got, http.StatusOK, contract.TypeJSON)
	if got.header.Get("Content-Encoding") != "gzip" || got.header.Get("Vary") != "Accept-Encoding" {
		t.Errorf("headers %v", got.header)
	}
	index := indexIn(t, scene.pool.Gzipped, got.body)
	unpacker, err := gzip.NewReader(bytes.NewReader(got.body))
	check(t, err)
	plain, err := io.ReadAll(unpacker)
	check(t, err)
	if !bytes.Equal(plain, scene.pool.Plain[index].Bytes) {
		t.Errorf("product %d unpacks to %q", index, plain)
	}
}

func checkList(t *testing.T, scene scene) {
	got := scene.client.get(t, contract.PathList)
	expect(t, got, http.StatusOK, contract.TypeJSON)
	var products []json.RawMessage
	check(t, json.Unmarshal(got.body, &products))
	if len(products) < 20 || len(products) > 30 {
		t.Errorf("%d products, want 20 to 30", len(products))
	}
	for _, product := range products {
		indexIn(t, scene.pool.Plain, product)
	}
}

func checkCompute(t *testing.T, scene scene) {
	got := scene.client.get(t, contract.PathCompute)
	expect(t, got, http.StatusOK, contract.TypeJSON)
	var summary contract.Summary
	decodeStrict(t, got.body, &summary)
	counted := 0
	for _, bin := range summary.Histogram {
		counted += bin.Count
	}
	if summary.Count != 100 || counted != 100 {
		t.Errorf("%d products, %d of them in the histogram, want 100", summary.Count, counted)
	}
	prices := []float64{summary.Cheapest[0].Price, summary.Median, summary.Dearest[0].Price}
	if !slices.IsSorted(prices) || summary.Deviation <= 0 || len(summary.TopBrands) == 0 {
		t.Errorf("summary %+v", summary)
	}
}

func checkEcho(t *testing.T, scene scene) {
	form := "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--x--\r\n"
	for _, sent := range []struct {
		name, body string
		header     http.Header
		wantType   string
	}{
		{"empty", "", nil, contract.TypeBinary},
		{"json", `{"a": 1}`, http.Header{"Content-Type": {"application/json"}}, contract.TypeJSON},
		{"form", form, http.Header{"Content-Type": {"multipart/form-data; boundary=x"}},
			"multipart/form-data; boundary=x"},
		{"not really gzip", "plain", http.Header{
			"Content-Type": {"text/x"}, "Content-Encoding": {"gzip"}}, "text/x"},
		{"a megabyte", strings.Repeat("0123456789abcdef", 1<<16), nil, contract.TypeBinary},
	} {
		got := scene.client.do(t, http.MethodPost, contract.PathEcho, sent.header,
			strings.NewReader(sent.body))
		expect(t, got, http.StatusOK, sent.wantType)
		if string(got.body) != sent.body {
			t.Errorf("%s: %d bytes came back, %d were sent",
				sent.name, len(got.body), len(sent.body))
		}
	}
}

func checkEchoChunked(t *testing.T, scene scene) {
	body := strings.Repeat("chunk", 10_000)
	// A reader of unknown length makes the client send chunks.
	unknown := io.MultiReader(strings.NewReader(body))
	got := scene.client.do(t, http.MethodPost, contract.PathEcho, nil, unknown)
	expect(t, got, http.StatusOK, contract.TypeBinary)
	if string(got.body) != body {
		t.Errorf("%d bytes came back, %d were sent", len(got.body), len(body))
	}
}

func checkNotFound(t *testing.T, scene scene) {
	for _, path := range []string{"/", "/simpl", "/simple/more", "/debug/pprof/"} {
		if got := scene.client.get(t, path); got.status != http.StatusNotFound {
			t.Errorf("GET %s is %d, want 404", path, got.status)
		}
	}
}

func checkWrongMethod(t *testing.T, scene scene) {
	for _, wrong := range []struct{ method, path string }{
		{http.MethodPost, contract.PathSimple},
		{http.MethodPut, contract.PathRead},
		{http.MethodDelete, contract.PathList},
		{http.MethodGet, contract.PathEcho},
		{http.MethodHead, contract.PathEcho},
	} {
		got := scene.client.do(t, wrong.method, wrong.path, nil, nil)
		if got.status != http.StatusMethodNotAllowed {
			t.Errorf("%s %s is %d, want 405", wrong.method, wrong.path, got.status)
		}
	}
}

func checkHead(t *testing.T, scene scene) {
	for _, path := range []string{
		contract.PathSimple, contract.PathRead, contract.PathReadLocked, contract.PathReadTable,
		contract.PathReadGz, contract.PathList, contract.PathCompute, contract.PathHealthz,
	} {
		got := scene.client.do(t, http.MethodHead, path, nil, nil)
		if got.status != http.StatusOK || len(got.body) != 0 || !plausible(scene.pool, path, got) {
			t.Errorf("HEAD %s: status %d, length %d, body %q",
				path, got.status, got.length, got.body)
		}
	}
}

// plausible reports whether a Content-Length is one that GET on the same path can have.
func plausible(pool *contract.Catalog, path string, got answer) bool {
	ofLength := func(body contract.Body) bool { return int64(len(body.Bytes)) == got.length }
	switch path {
	case contract.PathSimple:
		return got.length == 16
	case contract.PathHealthz:
		return got.length == 2
	case contract.PathRead, contract.PathReadLocked, contract.PathReadTable:
		return slices.ContainsFunc(pool.Plain, ofLength)
	case contract.PathReadGz:
		return slices.ContainsFunc(pool.Gzipped, ofLength)
	case contract.PathList:
		return got.length > 20*3000 && got.length < 30*7000
	default:
		return got.length > 500
	}
}

func checkPipelining(t *testing.T, scene scene) {
	var paths []string
	for range 30 {
		paths = append(paths, contract.PathSimple, contract.PathRead, contract.PathHealthz)
	}
	for i, got := range scene.client.pipeline(t, paths) {
		switch paths[i] {
		case contract.PathSimple:
			expect(t, got, http.StatusOK, contract.TypeJSON)
		case contract.PathRead:
			indexIn(t, scene.pool.Plain, got.body)
		case contract.PathHealthz:
			expect(t, got, http.StatusOK, contract.TypeText)
		}
	}
}

func checkConcurrency(t *testing.T, scene scene) {
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			for _, path := range []string{
				contract.PathList, contract.PathCompute, contract.PathReadGz, contract.PathSimple,
			} {
				got, err := scene.client.ask(http.MethodGet, path, nil, nil)
				if err != nil || got.status != http.StatusOK {
					t.Errorf("GET %s: status %d, %v", path, got.status, err)
				}
			}
		})
	}
	group.Wait()
}

func expect(t *testing.T, got answer, status int, contentType string) {
	t.Helper()
	if got.status != status || got.header.Get("Content-Type") != contentType {
		t.Fatalf("status %d, type %q; want %d, %q",
			got.status, got.header.Get("Content-Type"), status, contentType)
	}
	if got.length != int64(len(got.body)) {
		t.Fatalf("Content-Length %d of a body of %d bytes", got.length, len(got.body))
	}
}

// indexIn finds the product whose body is content.
func indexIn(t *testing.T, bodies []contract.Body, content []byte) int {
	t.Helper()
	index := slices.IndexFunc(bodies, func(body contract.Body) bool {
		return bytes.Equal(body.Bytes, content)
	})
	if index < 0 {
		t.Fatalf("body of %d bytes is not in the pool", len(content))
	}
	return index
}
