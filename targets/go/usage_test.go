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
		{"fiber", "--prefork=yes", []string{"--prefork", "takes no value"}},
		{"nethttp", "--prefork", []string{"--prefork", "accepted are --addr", "for example"}},
		{"fiber", "--thread 2", []string{"--thread", "--workers", "for example"}},
		{"fasthttp", "8083", []string{`"8083"`, "--port", "for example"}},
		{"fasthttp", "--", []string{`"--"`, "--port", "for example"}},
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
	} {
		output, message, code := runToEnd(t, asked.target, asked.flag)
		if code != 0 || message != "" || !strings.Contains(output, asked.mention) {
			t.Errorf("%s %s: exit code %d, output %q, message %q",
				asked.target, asked.flag, code, output, message)
		}
	}
}
