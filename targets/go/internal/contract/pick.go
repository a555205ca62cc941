package contract

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
)

// pick uses the top-level generator because it is per thread: a seeded rand.Rand behind a mutex is
// itself a ceiling at a few million requests per second.
func pick() int { return rand.IntN(PoolSize) }

// The generator of /read-locked: seeded, and behind a mutex, because a seeded generator may be used
// by one goroutine at a time. The global faker of gofakeit is built like this.
var (
	lockedMu     sync.Mutex
	lockedRandom = rand.New(rand.NewPCG(1, 1))
)

func lockedPick() int {
	lockedMu.Lock()
	defer lockedMu.Unlock()
	return lockedRandom.IntN(PoolSize)
}

// The solution in the journal: a table of numbers and one counter. The lock is gone; the cache line
// of the counter still moves between CPUs at every request.
const tableSize = 1 << 20

var (
	tableNext atomic.Uint64
	// table is made at the first request, so that other routes do not hold two megabytes.
	table = sync.OnceValue(func() *[tableSize]uint16 {
		numbers := new([tableSize]uint16)
		for i := range numbers {
			numbers[i] = uint16(pick())
		}
		return numbers
	})
)

func tablePick() int { return int(table()[tableNext.Add(1)%tableSize]) }
