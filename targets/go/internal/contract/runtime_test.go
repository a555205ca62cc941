package contract

import (
	"encoding/json"
	"math"
	"net/http/httptest"
	"runtime"
	"runtime/metrics"
	"testing"
)

func TestRuntimeFigures(t *testing.T) {
	read := func() map[string]float64 {
		recorder := httptest.NewRecorder()
		serveRuntime(recorder, nil)
		figures := make(map[string]float64)
		if err := json.Unmarshal(recorder.Body.Bytes(), &figures); err != nil {
			t.Fatal(err)
		}
		return figures
	}
	before := read()
	runtime.GC()
	after := read()
	if after["gc_cycles"] <= before["gc_cycles"] {
		t.Errorf("cycles %v, then %v after a collection", before["gc_cycles"], after["gc_cycles"])
	}
	if after["gc_pause_seconds"] <= before["gc_pause_seconds"] || after["heap_bytes"] <= 0 {
		t.Errorf("a collection took no time: %v", after)
	}
	if after["gomaxprocs"] != float64(runtime.GOMAXPROCS(0)) || after["goroutines"] < 1 {
		t.Errorf("%v", after)
	}
	// The version of Go in use has all of them.
	if want := len(runtimeFigures) + 4; len(after) != want {
		t.Errorf("%d figures, want %d: %v", len(after), want, after)
	}
}

func TestSumOf(t *testing.T) {
	sum, count := sumOf(&metrics.Float64Histogram{
		Counts:  []uint64{1, 2, 3},
		Buckets: []float64{math.Inf(-1), 1, 3, math.Inf(1)},
	})
	if sum != 1+2*2+3*3 || count != 6 {
		t.Errorf("sum %v of %v", sum, count)
	}
}
