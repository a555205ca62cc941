package contract

import (
	"fmt"
	"log"
	"net"
	"net/http"
	_ "net/http/pprof" // registers /debug/pprof/ on the default mux, which no target serves
	"net/netip"
	"runtime"
)

const (
	mutexProfileFraction = 100
	blockProfileRateNs   = 10_000
)

// serveProfiles serves /debug/pprof/ and /debug/runtime for as long as the process lives. Without
// an address nothing is switched on, so an ordinary run has no cost.
func serveProfiles(address netip.AddrPort) error {
	if !address.IsValid() {
		return nil
	}
	listener, err := net.Listen("tcp", address.String())
	if err != nil {
		return fmt.Errorf("--debug-addr: %w", ExplainListen(address.String(), err))
	}
	http.HandleFunc("/debug/runtime", serveRuntime)
	// Without these two the mutex and block profiles respond, but are always empty.
	runtime.SetMutexProfileFraction(mutexProfileFraction)
	runtime.SetBlockProfileRate(blockProfileRateNs)
	log.Printf("profiles at http://%s/debug/pprof/", listener.Addr())
	go func() { log.Printf("profiles: %v", http.Serve(listener, nil)) }()
	return nil
}
