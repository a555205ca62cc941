package targets_test

import (
	"strings"
	"testing"
)

func TestWrongUsage(t *testing.T) {
	for _, wrong := range []struct {
		target string
		args   string
		// mentions are the flag, what it takes and an example.
		mentions []string
	}{
		{"nethttp", "--port eighty", []string{"--port", "0 to 65535", `"eighty"`, "--port 8083"}},
		{"nethttp", "--port=70000", []string{"--port", "0 to 65535", `"70000"`, "--port 8083"}},
		{"fasthttp", "--port", []string{"--port", "0 to 65535", "--port 8083"}},
		{"fasthttp", "--addr example.com", []string{"--addr", "an IP address", "--addr 127.0.0.1"}},
		{"fiber", "--pool-seed -1", []string{"--pool-seed", "whole number", "--pool-seed 1"}},
		{"fiber", "--debug-addr 0.0.0.0:6060",
			[]string{"--debug-addr", "loopback", "--debug-addr 127.0.0.1:6060"}},
		{"fiber", "--prefork --workers 5000", []string{"--workers", "0 to 4096", "--workers 4"}},
		{"fiber", "--workers 2", []string{"--workers", "together with --prefork", "--workers 4"}},
		{"nethttp", "--listeners 0", []string{"--listeners", "1 to 1024", "--listeners 4"}},
		{"nethttp", "--backlog 0", []string{"--backlog", "1 to 65535", "--backlog 8"}},
		{"fiber", "--accept-delay 5", []string{"--accept-delay", "0 to 1m", "10ms"}},
		{"fiber", "--unix @abstract", []string{"--unix", "a path", "--unix /tmp/target.sock"}},
		{"fasthttp", "--tls-cert a.pem", []string{"--tls-cert", "with --tls-key", "server.pem"}},
		{"fasthttp", "--client-ca a.pem", []string{"--client-ca", "with --tls-cert", "ca.pem"}},
		{"fasthttp", "--tls-tickets maybe", []string{"--tls-tickets", "on or off", "server.key"}},
		{"fiber", "--unix /tmp/a --port 1", []string{"--unix", "--port", "exclude each other"}},
		{"fiber", "--listeners 2 --prefork", []string{"--listeners", "--prefork", "--workers 4"}},
		{"fiber", "--hub two", []string{"--hub", "one, sharded or aggregated", "--hub one"}},
		{"nethttp", "--hub one --prefork",
			[]string{"--hub", "--prefork", "exclude each other", "subscribers of one worker"}},
		{"fiber", "--hub one --hub-shards 4", []string{"--hub-shards", "--hub sharded"}},
		{"fiber", "--hub sharded --hub-shards 0", []string{"2 to 1024", "--hub-shards 4"}},
		{"fiber", "--hub sharded --hub-shards 1", []string{"2 to 1024", `"1"`, "--hub-shards 4"}},
		{"fiber", "--hub one --hub-forward http://a", []string{"exclude each other", "8084"}},
		{"fiber", "--hub-forward https://a", []string{"--hub-forward", "URL", "127.0.0.1:8084"}},
		{"nethttp", "--hub-forward http://a --prefork", []string{"--prefork", "--tls-cert"}},
		{"nethttp", "--hub-adopt", []string{"--hub-adopt", "--hub one --hub-adopt"}},
		{"fasthttp", "--hub-buffer 8", []string{"--hub-buffer", "with --hub,", "--hub one"}},
		{"fasthttp", "--hub one --hub-tick 1s", []string{"--hub-tick", "--hub aggregated"}},
		{"fasthttp", "--hub aggregated --hub-tick 0s", []string{"1ms to 1m", "100ms"}},
		{"fiber", "--prefork=yes", []string{"--prefork", "takes no value"}},
		{"nethttp", "--db shop", []string{"--db", "a URL of PostgreSQL", `"shop"`, "postgres://"}},
		{"fasthttp", "--db=", []string{"--db", "path of its socket", "postgres://"}},
		{"fiber", "--pool 4", []string{"--pool", "together with --db", "--pool 16"}},
		{"fiber", "--db postgres://a/b --pool 0", []string{"--pool", "1 to 1000", "--pool 16"}},
		{"fiber", "--db postgres://a/b --sync 1", []string{"--sync", "on or off", `"1"`}},
		{"fiber", "--db postgres://a/b --stock 0", []string{"--stock", "1 to 1000", "--stock 1"}},
		{"fiber", "--replica", []string{"--replica", "together with --db"}},
		{"nethttp", "--etcd 127.0.0.1", []string{"--etcd", "separated by commas", ":2379"}},
		{"fasthttp", "--downstream example.com", []string{"--downstream", "URL", "http://"}},
		{"fiber", "--serve-downstream --prefork", []string{"--prefork", "exclude each other"}},
		{"nethttp", "--forks", []string{"--forks", "accepted are --addr", "for example"}},
		{"fiber", "--thread 2", []string{"--thread", "--workers", "for example"}},
		{"fasthttp", "8083", []string{`"8083"`, "--port", "for example"}},
		{"fasthttp", "--", []string{`"--"`, "--port", "for example"}},
		{"ranch", "--supervisors 0", []string{"--supervisors", "1 to 1024", `"0"`}},
		{"ranch", "--listeners 4 --acceptors 2", []string{"--listeners", "--acceptors 4"}},
		{"ranch", "--supervisors 16 --acceptors 10",
			[]string{"--supervisors", "16", "10 acceptors", "--supervisors 16 --acceptors 16"}},
		{"ranch", "--port=eighty", []string{"--port", "0 to 65535", `"eighty"`, "--port 8083"}},
		{"ranch", "--backlog", []string{"--backlog", "1 to 65535", "--backlog 8"}},
		{"ranch", "--addr example.com", []string{"--addr", "an IP address", "--addr 127.0.0.1"}},
		{"ranch", "--tls-cert a.pem", []string{"--tls-cert", "with --tls-key", "server.pem"}},
		{"ranch", "--prefork", []string{"--prefork", "accepted are --addr", "for example"}},
		{"ranch", "8083", []string{`"8083"`, "--port", "for example"}},
		{"nginx", "--workers 0", []string{"--workers", "1 to 1024", `"0"`, "--workers 4"}},
		{"nginx", "--reuseport=yes", []string{"--reuseport", "takes no value"}},
		{"nginx", "--listeners 2", []string{"--listeners", "accepted are --addr", "--reuseport"}},
	} {
		t.Run(wrong.target+" "+wrong.args, func(t *testing.T) {
			output, message, code := runToEnd(t, wrong.target, strings.Fields(wrong.args)...)
			if code != 2 || output != "" || strings.Count(message, "\n") != 1 {
				t.Errorf("exit code %d, output %q, message %q", code, output, message)
			}
			for _, mention := range wrong.mentions {
				if !strings.Contains(message, mention) {
					t.Errorf("%q does not mention %q", message, mention)
				}
			}
		})
	}
}

// On one CPU GOMAXPROCS shards would be one, which is the same as --hub one.
func TestShardedHubOnOneCPUNeedsANumber(t *testing.T) {
	t.Setenv("GOMAXPROCS", "1")
	output, message, code := runToEnd(t, "fasthttp", "--hub", "sharded", "--port", "0")
	if code != 2 || output != "" || !strings.Contains(message, "GOMAXPROCS, which is 1") ||
		!strings.Contains(message, "for example --hub sharded --hub-shards 4") {
		t.Errorf("exit code %d, output %q, message %q", code, output, message)
	}
	t.Setenv("GOMAXPROCS", "2")
	process := start(t, variant{target: "fasthttp", args: []string{"--hub", "sharded"}})
	if stats := hubStats(t, process.client(t)); stats.Shards != 2 {
		t.Errorf("%d shards with GOMAXPROCS 2", stats.Shards)
	}
	process.stopCleanly(t)
}

func TestCertsUsage(t *testing.T) {
	for _, args := range []string{"", "--out", "--out=", "--out a b", "--directory a"} {
		output, message, code := runToEnd(t, "certs", strings.Fields(args)...)
		if code != 2 || output != "" || strings.Count(message, "\n") != 1 ||
			!strings.Contains(message, "for example --out /tmp/certs") {
			t.Errorf("%q: exit code %d, output %q, message %q", args, code, output, message)
		}
	}
	output, message, code := runToEnd(t, "certs", "--out=/proc/none")
	if code != 1 || output != "" || strings.Count(message, "\n") != 1 {
		t.Errorf("exit code %d, output %q, message %q", code, output, message)
	}
}

func TestHelpAndVersion(t *testing.T) {
	for _, asked := range []struct {
		target, flag, mention string
	}{
		{"nethttp", "--help", "--pool-seed"},
		{"fiber", "--help", "--workers"},
		{"certs", "--help", "wrongname.pem"},
		{"nethttp", "--version", "target-nethttp go1."},
		{"fasthttp", "--version", "github.com/valyala/fasthttp v1."},
		{"fiber", "--version", "github.com/gofiber/fiber/v3 v3."},
		{"ranch", "--help", "--supervisors"},
		{"ranch", "--version", "ranch 2."},
		{"nginx", "--help", "--reuseport"},
		{"nginx", "--version", "nginx 1."},
	} {
		output, message, code := runToEnd(t, asked.target, asked.flag)
		if code != 0 || message != "" || !strings.Contains(output, asked.mention) {
			t.Errorf("%s %s: exit code %d, output %q, message %q",
				asked.target, asked.flag, code, output, message)
		}
	}
}
