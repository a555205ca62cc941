package contract

import (
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

var allFlags = slices.Concat(ServerFlags, SocketFlags, PreforkFlags)

func TestParseOptions(t *testing.T) {
	// with returns changed defaults.
	with := func(change func(*Options)) Options {
		options := Options{
			Addr: netip.MustParseAddr("127.0.0.1"), Port: 8083, PoolSeed: 1,
			Listeners: 1, NoDelay: On, TLSTickets: On,
		}
		change(&options)
		return options
	}
	pair := []string{"--tls-cert", "a.pem", "--tls-key", "a.key"}
	for _, line := range []struct {
		name string
		args []string
		want Options
	}{
		{"defaults", nil, with(func(*Options) {})},
		{"two words", []string{"--port", "0"}, with(func(o *Options) { o.Port = 0 })},
		{"equals", []string{"--pool-seed=0"}, with(func(o *Options) { o.PoolSeed = 0 })},
		{"one dash", []string{"-port=1"}, with(func(o *Options) { o.Port = 1 })},
		{"last one wins", []string{"--port", "1", "--port", "2"},
			with(func(o *Options) { o.Port = 2 })},
		{"IPv6", []string{"--addr", "::1"},
			with(func(o *Options) { o.Addr = netip.IPv6Loopback() })},
		{"prefork after workers", []string{"--workers", "4", "--prefork"},
			with(func(o *Options) { o.Prefork, o.Workers = true, 4 })},
		{"queues", []string{"--listeners", "4", "--backlog", "8", "--accept-delay", "1ms"},
			with(func(o *Options) {
				o.Listeners, o.Backlog, o.AcceptDelay = 4, 8, time.Millisecond
			})},
		{"options of sockets", []string{"--fastopen", "0", "--nodelay", "off"},
			with(func(o *Options) { o.Socket, o.NoDelay = map[string]int{"fastopen": 0}, Off })},
		{"TLS", append(pair, "--tls-tickets", "off", "--client-ca", "ca.pem"),
			with(func(o *Options) {
				o.TLSCert, o.TLSKey, o.TLSTickets, o.ClientCA = "a.pem", "a.key", Off, "ca.pem"
			})},
		{"unix", []string{"--unix", "/tmp/a"}, with(func(o *Options) { o.Unix = "/tmp/a" })},
	} {
		got, err := ParseOptions(allFlags, line.args)
		if err != nil || !reflect.DeepEqual(got, line.want) {
			t.Errorf("%s: %+v, %v; want %+v", line.name, got, err, line.want)
		}
	}
}

func TestWorkerArgsMeanTheSameOptions(t *testing.T) {
	options := Options{
		Addr: netip.IPv6Loopback(), Port: 9000, PoolSeed: 1 << 63,
		Debug:     netip.MustParseAddrPort("127.0.0.1:6060"),
		Listeners: 1, Backlog: 8, AcceptDelay: 3 * time.Millisecond,
		Socket: map[string]int{"defer-accept": 0, "send-buffer": 65536}, NoDelay: Off,
		TLSCert: "a.pem", TLSKey: "a.key", TLSTickets: Off, ClientCA: "ca.pem",
		Prefork: true, Workers: 8,
	}
	got, err := ParseOptions(allFlags, options.WorkerArgs(3))
	want := options
	want.Debug = netip.MustParseAddrPort("127.0.0.1:6063")
	want.Prefork, want.Workers = false, 0
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
}

func TestWorkersPickFreePortsForProfilesIfAsked(t *testing.T) {
	options := defaultOptions()
	options.Debug = netip.MustParseAddrPort("127.0.0.1:0")
	got, err := ParseOptions(allFlags, options.WorkerArgs(2))
	if err != nil || got.Debug != options.Debug {
		t.Errorf("%+v, %v; want profiles at %v", got, err, options.Debug)
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

// Every flag has an example, which must be valid.
func TestExamplesAreAccepted(t *testing.T) {
	for _, flag := range allFlags {
		if _, err := ParseOptions(allFlags, strings.Fields(flag.Example)); err != nil {
			t.Errorf("example %q: %v", flag.Example, err)
		}
	}
}
