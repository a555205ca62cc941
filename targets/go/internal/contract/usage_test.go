package contract

import "testing"

func TestUsageArithmetic(t *testing.T) {
	a, b := Usage{1, 2, 3, 4}, Usage{10, 20, 30, 40}
	if got := a.Add(b).Sub(a); got != b {
		t.Errorf("%+v, want %+v", got, b)
	}
}
