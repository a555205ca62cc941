package contract

import (
	"iter"
	"math/rand/v2"
)

const (
	batchMin = 20
	batchMax = 30
)

// Batch is the response of one /list: random products joined as a JSON array. It is a plain value
// of indices, so drawing one allocates nothing and its size is known before its first byte.
type Batch struct {
	catalog *Catalog
	indices [batchMax]uint16
	count   int
}

// List picks the batch for one /list.
func (c *Catalog) List() Batch {
	batch := Batch{catalog: c, count: batchMin + rand.IntN(batchMax-batchMin+1)}
	for i := range batch.count {
		batch.indices[i] = uint16(pick())
	}
	return batch
}

var arrayOpen, arrayComma, arrayClose = []byte("["), []byte(","), []byte("]")

// Pieces yields the body in order, as slices of the shared pool.
func (b *Batch) Pieces() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		separator := arrayOpen
		for _, index := range b.indices[:b.count] {
			if !yield(separator) || !yield(b.catalog.Plain[index].Bytes) {
				return
			}
			separator = arrayComma
		}
		yield(arrayClose)
	}
}

// Size is the length of the whole body.
func (b *Batch) Size() int {
	size := 0
	for piece := range b.Pieces() {
		size += len(piece)
	}
	return size
}
