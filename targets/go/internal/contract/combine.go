package contract

import "fmt"

// needs are flags that do nothing without another one.
var needs = []struct{ name, other, example string }{
	{"workers", "prefork", "--prefork --workers 4"},
	{"tls-cert", "tls-key", "--tls-cert server.pem --tls-key server.key"},
	{"tls-key", "tls-cert", "--tls-cert server.pem --tls-key server.key"},
	{"tls-tickets", "tls-cert", "--tls-cert server.pem --tls-key server.key --tls-tickets off"},
	{"client-ca", "tls-cert", "--tls-cert server.pem --tls-key server.key --client-ca ca.pem"},
}

// excludes are flags that contradict each other.
var excludes = []struct{ name, other, why, example string }{
	{"unix", "addr", "a unix socket has no address", "--unix /tmp/target.sock"},
	{"unix", "port", "a unix socket has no port", "--unix /tmp/target.sock"},
	{"unix", "listeners", "one socket file has one listener", "--unix /tmp/target.sock"},
	{"unix", "prefork", "workers share a port", "--unix /tmp/target.sock"},
	{"listeners", "prefork", "each worker has one listener", "--prefork --workers 4"},
}

// checkTogether refuses flags that do not fit each other.
func checkTogether(given map[string]struct{}) error {
	has := func(name string) bool {
		_, ok := given[name]
		return ok
	}
	for _, rule := range needs {
		if has(rule.name) && !has(rule.other) {
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
