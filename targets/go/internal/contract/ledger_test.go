package contract

import (
	"net"
	"sync"
	"testing"
	"unsafe"
)

// discard is a connection that accepts every byte.
type discard struct{ net.Conn }

func (discard) Write(content []byte) (int, error) { return len(content), nil }
func (discard) Close() error                      { return nil }

func expectTotals(t *testing.T, ledger *Ledger, requests, bytes uint64) {
	t.Helper()
	gotRequests, gotBytes := ledger.Totals()
	if gotRequests != requests || gotBytes != bytes {
		t.Errorf("%d requests, %d bytes; want %d, %d", gotRequests, gotBytes, requests, bytes)
	}
}

func TestLedgerCountsOpenAndClosed(t *testing.T) {
	ledger := NewLedger()
	open, closed := ledger.Track(discard{}), ledger.Track(discard{})
	for _, conn := range []*Conn{open, closed} {
		conn.CountRequest()
		if _, err := conn.Write(make([]byte, 10)); err != nil {
			t.Fatal(err)
		}
	}
	// Libraries may close twice.
	closed.Close()
	closed.Close()
	expectTotals(t, ledger, 2, 20)
	ledger.CloseAll()
	expectTotals(t, ledger, 2, 20)
}

func TestLedgerCountsAccepted(t *testing.T) {
	ledger := NewLedger()
	for range 3 {
		ledger.Track(discard{}).Close()
	}
	ledger.Track(discard{})
	if got := ledger.Accepted(); got != 4 {
		t.Errorf("%d accepted, want 4", got)
	}
}

// A write that a forced close overtakes is still counted.
func TestLedgerCountsTheOvertakenWrite(t *testing.T) {
	ledger := NewLedger()
	conn := ledger.Track(discard{})
	ledger.CloseAll()
	if _, err := conn.Write(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	expectTotals(t, ledger, 0, 10)
}

func TestLedgerUnderChurn(t *testing.T) {
	const workers, connections, writes = 8, 200, 5
	ledger := NewLedger()
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for range connections {
				conn := ledger.Track(discard{})
				for range writes {
					conn.CountRequest()
					_, _ = conn.Write(make([]byte, 3))
				}
				ledger.Totals()
				conn.Close()
			}
		})
	}
	group.Wait()
	const requests = workers * connections * writes
	expectTotals(t, ledger, requests, requests*3)
}

// Two connections on one cache line would slow each other down from different cores.
func TestConnFillsACacheLine(t *testing.T) {
	if size := unsafe.Sizeof(Conn{}); size != 64 {
		t.Errorf("a Conn takes %d bytes, want 64", size)
	}
}

func BenchmarkWrite(b *testing.B) {
	content := make([]byte, 128)
	for name, conn := range map[string]net.Conn{
		"bare": discard{}, "counted": NewLedger().Track(discard{}),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = conn.Write(content)
			}
		})
	}
}

func BenchmarkCountRequest(b *testing.B) {
	conn := net.Conn(NewLedger().Track(discard{}))
	b.ReportAllocs()
	for b.Loop() {
		conn.(*Conn).CountRequest()
	}
}
