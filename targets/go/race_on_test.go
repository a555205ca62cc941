//go:build race

package targets_test

// Under the race detector the targets are built with it too; otherwise it would watch the tests
// and not the servers.
var buildFlags = []string{"-race"}
