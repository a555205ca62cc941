package contract

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// defaultPool is the pool that tests share; they only read it.
var defaultPool = sync.OnceValue(func() *Catalog { return mustPool(defaultOptions().PoolSeed) })

func mustPool(seed uint64) *Catalog {
	catalog, err := NewCatalog(seed)
	if err != nil {
		panic(err)
	}
	return catalog
}

func digest(catalog *Catalog) string {
	hash := sha256.New()
	for _, body := range catalog.Plain {
		hash.Write(body.Bytes)
	}
	return hex.EncodeToString(hash.Sum(nil)[:8])
}

// A new version of gofakeit may change the pool. Then figures measured before and after it have
// different bodies, and the changelog must say so.
func TestPoolOfTheDefaultSeed(t *testing.T) {
	const want = "19aadbf696e809fe"
	if got := digest(defaultPool()); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
}

func TestSeedDecidesThePool(t *testing.T) {
	same, zero := digest(mustPool(1)), digest(mustPool(0))
	if same != digest(defaultPool()) || zero != digest(mustPool(0)) {
		t.Error("one seed gives different pools")
	}
	if same == zero {
		t.Error("seeds 0 and 1 give the same pool")
	}
}

func TestProductsAreOfRealisticSize(t *testing.T) {
	catalog := defaultPool()
	total, packed := 0, 0
	for i, body := range catalog.Plain {
		total += len(body.Bytes)
		packed += len(catalog.Gzipped[i].Bytes)
		if body.Length[0] != strconv.Itoa(len(body.Bytes)) {
			t.Fatalf("product %d: length %s of %d bytes", i, body.Length[0], len(body.Bytes))
		}
	}
	if mean := total / PoolSize; mean < 4300 || mean > 4700 {
		t.Errorf("mean size is %d, want 4300 to 4700", mean)
	}
	if packed*3 > total*2 {
		t.Errorf("%d bytes packed to %d", total, packed)
	}
}

func TestProductsHaveAllParts(t *testing.T) {
	catalog := defaultPool()
	seen := make(map[string]bool)
	for i, body := range catalog.Plain {
		var product Product
		decoder := json.NewDecoder(bytes.NewReader(body.Bytes))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&product); err != nil {
			t.Fatal(err)
		}
		if product.ID != catalog.Products[i].ID || len(product.ID) != 36 || seen[product.ID] {
			t.Errorf("product %d has the id %q", i, product.ID)
		}
		seen[product.ID] = true
		checkParts(t, product)
	}
}

func checkParts(t *testing.T, product Product) {
	t.Helper()
	for _, part := range []struct {
		name          string
		got, min, max int
	}{
		{"name", len(product.Name), 1, 200},
		{"brand", len(product.Brand), 1, 200},
		{"category", len(product.Category), 1, 200},
		{"price", int(product.Price), 5, 1000},
		{"rating", int(product.Rating), 1, 5},
		{"reviews", product.Reviews, 0, 5000},
		{"paragraphs", strings.Count(product.Description, "\n\n") + 1, 5, 5},
		{"tags", len(product.Tags), 5, 15},
		{"attributes", len(product.Attributes), 7, 7},
		{"images", len(product.Images), 3, 8},
	} {
		if part.got < part.min || part.got > part.max {
			t.Errorf("product %s: %s is %d, want %d to %d",
				product.ID, part.name, part.got, part.min, part.max)
		}
	}
}

func TestBatchIsAJSONArray(t *testing.T) {
	catalog := defaultPool()
	const rounds = 200
	total := 0
	for range rounds {
		batch := catalog.List()
		var body []byte
		for piece := range batch.Pieces() {
			body = append(body, piece...)
		}
		var products []Product
		if err := json.Unmarshal(body, &products); err != nil {
			t.Fatal(err)
		}
		if len(products) < 20 || len(products) > 30 {
			t.Errorf("%d products", len(products))
		}
		total += len(body)
	}
	if mean := total / rounds; mean < 90_000 || mean > 130_000 {
		t.Errorf("mean batch is %d bytes, want about 100 KB", mean)
	}
}
