package contract

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
)

var allFlags = slices.Concat(ServerFlags, PreforkFlags)

func TestParseOptions(t *testing.T) {
	loopback := netip.MustParseAddr("127.0.0.1")
	for _, line := range []struct {
		name string
		args []string
		want Options
	}{
		{"defaults", nil, Options{Addr: loopback, Port: 8083, PoolSeed: 1}},
		{"two words", []string{"--port", "0"}, Options{Addr: loopback, PoolSeed: 1}},
		{"equals", []string{"--pool-seed=0"}, Options{Addr: loopback, Port: 8083}},
		{"one dash", []string{"-port=1"}, Options{Addr: loopback, Port: 1, PoolSeed: 1}},
		{"last one wins", []string{"--port", "1", "--port", "2"},
			Options{Addr: loopback, Port: 2, PoolSeed: 1}},
		{"IPv6", []string{"--addr", "::1"},
			Options{Addr: netip.IPv6Loopback(), Port: 8083, PoolSeed: 1}},
		{"prefork after workers", []string{"--workers", "4", "--prefork"},
			Options{Addr: loopback, Port: 8083, PoolSeed: 1, Prefork: true, Workers: 4}},
	} {
		got, err := ParseOptions(allFlags, line.args)
		if err != nil || got != line.want {
			t.Errorf("%s: %+v, %v; want %+v", line.name, got, err, line.want)
		}
	}
}

func TestWorkerArgsMeanTheSameOptions(t *testing.T) {
	options := Options{
		Addr: netip.IPv6Loopback(), Port: 9000, PoolSeed: 1 << 63,
		Debug:   netip.MustParseAddrPort("127.0.0.1:6060"),
		Prefork: true, Workers: 8,
	}
	got, err := ParseOptions(ServerFlags, options.WorkerArgs(3))
	want := options
	want.Debug = netip.MustParseAddrPort("127.0.0.1:6063")
	want.Prefork, want.Workers = false, 0
	if err != nil || got != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
}

func TestNetworkIsOfOneVersion(t *testing.T) {
	for _, listen := range []struct{ addr, network, address string }{
		{"0.0.0.0", "tcp4", "0.0.0.0:8083"},
		{"::ffff:127.0.0.1", "tcp4", "127.0.0.1:8083"},
		{"::", "tcp6", "[::]:8083"},
	} {
		options, err := ParseOptions(ServerFlags, []string{"--addr", listen.addr})
		same := options.Network() == listen.network && options.Address() == listen.address
		if err != nil || !same {
			t.Errorf("%s: %s %s, %v", listen.addr, options.Network(), options.Address(), err)
		}
	}
}

// Every flag tells what it takes by an example, and the example must be right.
func TestExamplesAreAccepted(t *testing.T) {
	for _, flag := range allFlags {
		if _, err := ParseOptions(allFlags, strings.Fields(flag.Example)); err != nil {
			t.Errorf("example %q: %v", flag.Example, err)
		}
	}
}
