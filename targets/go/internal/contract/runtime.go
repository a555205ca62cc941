package contract

import (
	"encoding/json"
	"math"
	"net/http"
	"runtime/debug"
	"runtime/metrics"
)

// runtimeFigures are the figures of /debug/runtime, by their names there. Those that end in
// _seconds or _cycles only grow. CPU seconds are updated only by garbage collections.
var runtimeFigures = map[string]string{
	"goroutines":         "/sched/goroutines:goroutines",
	"gomaxprocs":         "/sched/gomaxprocs:threads",
	"heap_bytes":         "/memory/classes/heap/objects:bytes",
	"heap_goal_bytes":    "/gc/heap/goal:bytes",
	"mutex_wait_seconds": "/sync/mutex/wait/total:seconds",
	"cpu_user_seconds":   "/cpu/classes/user:cpu-seconds",
	"cpu_gc_seconds":     "/cpu/classes/gc/total:cpu-seconds",
	"cpu_idle_seconds":   "/cpu/classes/idle:cpu-seconds",
	"cpu_total_seconds":  "/cpu/classes/total:cpu-seconds",
}

// schedLatencies is how long goroutines that could run waited for a processor.
const schedLatencies = "/sched/latencies:seconds"

// serveRuntime responds with one JSON object of numbers. A figure that this version of Go does not
// have is left out.
func serveRuntime(response http.ResponseWriter, _ *http.Request) {
	response.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(response).Encode(readRuntime())
}

func readRuntime() map[string]float64 {
	var names []string
	samples := []metrics.Sample{{Name: schedLatencies}}
	for name, metric := range runtimeFigures {
		names = append(names, name)
		samples = append(samples, metrics.Sample{Name: metric})
	}
	metrics.Read(samples)
	figures := make(map[string]float64)
	for i, sample := range samples[1:] {
		switch sample.Value.Kind() {
		case metrics.KindUint64:
			figures[names[i]] = float64(sample.Value.Uint64())
		case metrics.KindFloat64:
			figures[names[i]] = sample.Value.Float64()
		}
	}
	if samples[0].Value.Kind() == metrics.KindFloat64Histogram {
		sum, count := sumOf(samples[0].Value.Float64Histogram())
		figures["sched_wait_seconds"], figures["sched_waits"] = sum, count
	}
	// runtime/metrics has pauses only as a histogram; this is their exact sum.
	var collections debug.GCStats
	debug.ReadGCStats(&collections)
	figures["gc_cycles"] = float64(collections.NumGC)
	figures["gc_pause_seconds"] = collections.PauseTotal.Seconds()
	return figures
}

// sumOf counts every event as the middle of its bucket. Buckets are narrow, at most a quarter of
// their value; the outermost ones have no middle and count as their inner bound.
func sumOf(histogram *metrics.Float64Histogram) (sum, count float64) {
	for i, events := range histogram.Counts {
		low, high := histogram.Buckets[i], histogram.Buckets[i+1]
		middle := (low + high) / 2
		if math.IsInf(low, -1) {
			middle = high
		} else if math.IsInf(high, 1) {
			middle = low
		}
		sum += middle * float64(events)
		count += float64(events)
	}
	return sum, count
}
