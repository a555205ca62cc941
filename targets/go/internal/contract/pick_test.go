package contract

import "testing"

// The cost of a random number for one goroutine alone, and for one goroutine per CPU.
func BenchmarkPick(b *testing.B) {
	for _, way := range []struct {
		name string
		pick func() int
	}{{"per thread", pick}, {"locked", lockedPick}, {"table", tablePick}} {
		b.Run(way.name+" alone", func(b *testing.B) {
			for range b.N {
				way.pick()
			}
		})
		b.Run(way.name+" all", func(b *testing.B) {
			b.RunParallel(func(run *testing.PB) {
				for run.Next() {
					way.pick()
				}
			})
		})
	}
}

func TestEachWayToPickReachesEveryProduct(t *testing.T) {
	for i, pick := range []func() int{pick, lockedPick, tablePick} {
		seen := make(map[int]bool)
		for range 100 * PoolSize {
			seen[pick()] = true
		}
		if len(seen) != PoolSize {
			t.Errorf("way %d: %d products of %d", i, len(seen), PoolSize)
		}
	}
}
