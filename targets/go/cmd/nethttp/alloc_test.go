//go:build !race

package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"ceiling.dev/targets/internal/contract"
)

// keep is a ResponseWriter that allocates nothing, so that only the handler is counted. net/http
// itself allocates a header map and more for every request.
type keep struct {
	header  http.Header
	written int
}

func (k *keep) Header() http.Header { return k.header }

func (k *keep) WriteHeader(int) {}

func (k *keep) Write(content []byte) (int, error) {
	k.written += len(content)
	return len(content), nil
}

func TestHotRoutesDoNotAllocate(t *testing.T) {
	catalog, err := contract.NewCatalog(1)
	if err != nil {
		t.Fatal(err)
	}
	handler := counted(newMux(routes{catalog}, nil))
	conn := withConn(context.Background(), contract.NewLedger().Track(nil))
	for _, path := range []string{
		contract.PathSimple, contract.PathRead, contract.PathReadGz,
		contract.PathReadLocked, contract.PathReadTable,
	} {
		request := httptest.NewRequestWithContext(conn, http.MethodGet, path, nil)
		writer := &keep{header: make(http.Header)}
		allocations := testing.AllocsPerRun(1000, func() { handler.ServeHTTP(writer, request) })
		if allocations != 0 || writer.written == 0 {
			t.Errorf("GET %s: %v allocations, %d bytes", path, allocations, writer.written)
		}
	}
}
