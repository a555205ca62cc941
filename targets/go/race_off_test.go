//go:build !race

package targets_test

var buildFlags []string
