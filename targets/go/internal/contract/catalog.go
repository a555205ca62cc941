package contract

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"strconv"
)

// PoolSize is the number of products that a catalog holds.
const PoolSize = 500

// Catalog is the pool of products in every form that a route sends. It is built before the server
// listens and is read-only afterwards, so handlers share it without a lock.
type Catalog struct {
	Products []Product
	Plain    []Body
	Gzipped  []Body
}

// Body is one ready response body. Length is its size in decimal: net/http wants Content-Length as
// text, and formatting it per request would allocate. It is a one-element slice because that is
// the form in which a net/http header holds it.
type Body struct {
	Bytes  []byte
	Length []string
}

// NewBody prepares bytes that will be sent many times.
func NewBody(content []byte) Body {
	return Body{Bytes: content, Length: []string{strconv.Itoa(len(content))}}
}

// NewCatalog builds the pool of a seed: same seed, same bytes.
func NewCatalog(seed uint64) (*Catalog, error) {
	factory := newFactory(seed)
	packer, err := newPacker()
	if err != nil {
		return nil, err
	}
	catalog := &Catalog{
		Products: make([]Product, PoolSize),
		Plain:    make([]Body, PoolSize),
		Gzipped:  make([]Body, PoolSize),
	}
	for i := range PoolSize {
		product := factory.product()
		plain, err := json.Marshal(product)
		if err != nil {
			return nil, fmt.Errorf("serialise product %d: %w", i, err)
		}
		packed, err := packer.pack(plain)
		if err != nil {
			return nil, fmt.Errorf("gzip product %d: %w", i, err)
		}
		catalog.Products[i] = product
		catalog.Plain[i] = NewBody(plain)
		catalog.Gzipped[i] = NewBody(packed)
	}
	return catalog, nil
}

// Read picks the product for one /read.
func (c *Catalog) Read() *Body { return &c.Plain[pick()] }

// ReadGz picks the product for one /read-gz.
func (c *Catalog) ReadGz() *Body { return &c.Gzipped[pick()] }

// ReadLocked picks it with a generator that all requests share, as in libraries with a global one.
func (c *Catalog) ReadLocked() *Body { return &c.Plain[lockedPick()] }

// ReadTable picks it from numbers drawn in advance.
func (c *Catalog) ReadTable() *Body { return &c.Plain[tablePick()] }

// packer is reused for the whole pool: a gzip writer allocates more than a megabyte.
type packer struct{ writer *gzip.Writer }

func newPacker() (packer, error) {
	writer, err := gzip.NewWriterLevel(nil, gzip.BestCompression)
	return packer{writer}, err
}

func (p packer) pack(plain []byte) ([]byte, error) {
	var packed bytes.Buffer
	p.writer.Reset(&packed)
	if _, err := p.writer.Write(plain); err != nil {
		return nil, err
	}
	if err := p.writer.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}
