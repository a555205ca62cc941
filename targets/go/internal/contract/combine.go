package contract

import (
	"fmt"
	"slices"
)

// needs are flags that do nothing without another one, in the targets that have both.
var needs = []struct{ name, other, example string }{
	{"workers", "prefork", "--prefork --workers 4"},
	{"tls-cert", "tls-key", "--tls-cert server.pem --tls-key server.key"},
	{"tls-key", "tls-cert", "--tls-cert server.pem --tls-key server.key"},
	{"tls-tickets", "tls-cert", "--tls-cert server.pem --tls-key server.key --tls-tickets off"},
	{"client-ca", "tls-cert", "--tls-cert server.pem --tls-key server.key --client-ca ca.pem"},
	{"pool", "db", "--db postgres://user@127.0.0.1:5432/shop --pool 16"},
	{"sync", "db", "--db postgres://user@127.0.0.1:5432/shop --sync off"},
	{"stock", "db", "--db postgres://user@127.0.0.1:5432/shop --stock 1"},
	{"replica", "db", "--db postgres://user@127.0.0.1:5432/shop --replica"},
}

// excludes are flags that contradict each other.
var excludes = []struct{ name, other, why, example string }{
	{"unix", "addr", "a unix socket has no address", "--unix /tmp/target.sock"},
	{"unix", "port", "a unix socket has no port", "--unix /tmp/target.sock"},
	{"unix", "listeners", "one socket file has one listener", "--unix /tmp/target.sock"},
	{"unix", "prefork", "workers share a port", "--unix /tmp/target.sock"},
	{"unix", "nodelay", "a unix socket sends at once", "--unix /tmp/target.sock"},
	{"listeners", "prefork", "each worker has one listener", "--prefork --workers 4"},
	{"serve-downstream", "prefork", "workers would not share the behaviour", "--serve-downstream"},
}

// checkTogether refuses flags that cannot be combined.
func checkTogether(flags []Flag, given map[string]struct{}) error {
	exists := func(name string) bool {
		return slices.ContainsFunc(flags, func(flag Flag) bool { return flag.Name == name })
	}
	has := func(name string) bool {
		_, ok := given[name]
		return ok
	}
	for _, rule := range needs {
		if has(rule.name) && !has(rule.other) && exists(rule.other) {
			return fmt.Errorf("--%s takes effect only together with --%s, for example %s",
				rule.name, rule.other, rule.example)
		}
	}
	for _, rule := range excludes {
		if has(rule.name) && has(rule.other) {
			return fmt.Errorf("--%s and --%s exclude each other: %s; for example %s",
				rule.name, rule.other, rule.why, rule.example)
		}
	}
	return nil
}
