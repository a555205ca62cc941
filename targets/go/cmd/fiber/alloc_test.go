//go:build !race

// The race detector empties pools at random, so allocations are counted without it.

package main

import (
	"testing"

	"github.com/valyala/fasthttp"

	"ceiling.dev/targets/internal/contract"
)

func TestHotRoutesDoNotAllocate(t *testing.T) {
	catalog, err := contract.NewCatalog(1)
	if err != nil {
		t.Fatal(err)
	}
	target := newServer(catalog, nil).(server)
	// Builds the route tree, as listening does, so that allocations in all of Fiber are counted.
	target.app.Handler()
	handler := target.app.Server().Handler
	for _, path := range []string{
		contract.PathSimple, contract.PathRead, contract.PathReadGz,
		contract.PathReadLocked, contract.PathReadTable,
	} {
		var ctx fasthttp.RequestCtx
		ctx.Init2(contract.NewLedger().Track(nil), nil, false)
		ctx.Request.SetRequestURI(path)
		allocations := testing.AllocsPerRun(1000, func() {
			ctx.Response.Reset()
			handler(&ctx)
		})
		if allocations != 0 || ctx.Response.StatusCode() != fasthttp.StatusOK {
			t.Errorf("GET %s: %v allocations, status %d",
				path, allocations, ctx.Response.StatusCode())
		}
	}
}
