//go:build race

package targets_test

// With the race detector the targets are built with it too; otherwise it would check only the
// tests.
var buildFlags = []string{"-race"}
