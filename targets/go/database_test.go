package targets_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"ceiling.dev/targets/internal/contract"
)

func TestDatabase(t *testing.T) {
	eachServer(t, func(t *testing.T, variant variant) {
		url, tcp := postgres(t)
		// One of them does not use the socket.
		if variant.target == "nethttp" {
			url = tcp
		}
		process := start(t, variant, "--db", url, "--pool", "4")
		client := process.client(t)
		direct, err := pgx.Connect(context.Background(), url)
		check(t, err)
		defer direct.Close(context.Background())
		t.Run("read", func(t *testing.T) { checkRows(t, client, "/db/read") })
		t.Run("read-alone", func(t *testing.T) { checkRows(t, client, "/db/read-alone") })
		t.Run("scan", func(t *testing.T) { checkScan(t, client) })
		t.Run("write", func(t *testing.T) { checkWrite(t, client, direct, "/db/write") })
		t.Run("batch", func(t *testing.T) { checkWrite(t, client, direct, "/db/write-batch") })
		t.Run("stats", func(t *testing.T) { checkPool(t, client, "on", 4) })
		got := client.do(t, http.MethodPost, "/db/read", nil, nil)
		if got.status != http.StatusMethodNotAllowed {
			t.Errorf("POST /db/read is %d, want 405", got.status)
		}
		checkStopped(t, variant, client, process.stopCleanly(t))
	})
}

// On one row every update sees all earlier ones, however many are concurrent; with many rows they
// are spread.
func TestUpdatesOfOneRowAreOneAfterTheOther(t *testing.T) {
	t.Parallel()
	url, _ := postgres(t)
	process := start(t, variant{target: "fasthttp", workers: 1}, "--db", url, "--stock", "1")
	client := process.client(t)
	const updates = 40
	seen := make(chan int64, updates)
	var group sync.WaitGroup
	for range updates {
		group.Go(func() {
			got, err := client.ask(http.MethodPost, "/db/update", nil, nil)
			var sold struct{ Sold int64 }
			if err == nil {
				err = json.Unmarshal(got.body, &sold)
			}
			if err != nil || got.status != http.StatusOK {
				t.Errorf("status %d, %v: %s", got.status, err, got.body)
			}
			seen <- sold.Sold
		})
	}
	group.Wait()
	close(seen)
	distinct := make(map[int64]bool)
	least, most := int64(1)<<62, int64(0)
	for sold := range seen {
		distinct[sold] = true
		least, most = min(least, sold), max(most, sold)
	}
	if len(distinct) != updates || most-least != updates-1 {
		t.Errorf("%d updates gave %d values from %d to %d", updates, len(distinct), least, most)
	}
	process.stopCleanly(t)
}

// With every target a written row is eventually found at the replica.
func TestRowsComeToTheReplica(t *testing.T) {
	eachServer(t, func(t *testing.T, variant variant) {
		process := start(t, variant, "--db", pair(t), "--replica", "--pool", "4")
		client := process.client(t)
		const rows = 20
		stale := 0
		for i := range rows {
			body := strings.NewReader(fmt.Sprint("row ", i))
			got := client.do(t, http.MethodPost, "/db/write-read", nil, body)
			expect(t, got, http.StatusOK, contract.TypeJSON)
			var found struct {
				ID, Reads int64
				LagNs     int64 `json:"lag_ns"`
			}
			decodeStrict(t, got.body, &found)
			if found.ID == 0 || found.Reads < 1 || found.LagNs <= 0 {
				t.Errorf("%s", got.body)
			}
			if found.Reads > 1 {
				stale++
			}
		}
		var stats struct {
			Reads int     `json:"replica_reads"`
			Stale int     `json:"replica_stale"`
			Lag   float64 `json:"replica_lag_seconds"`
		}
		check(t, json.Unmarshal(client.get(t, "/db/stats").body, &stats))
		if stats.Reads != rows || stats.Stale != stale || stats.Lag <= 0 {
			t.Errorf("%+v for %d rows of which %d were read again", stats, rows, stale)
		}
		checkStopped(t, variant, client, process.stopCleanly(t))
	})
}

// Without a replica among the hosts the target says so.
func TestAMissingReplicaIsTold(t *testing.T) {
	t.Parallel()
	url, _ := postgres(t)
	_, message, code := runToEnd(t, "nethttp", "--port", "0", "--db", url, "--replica")
	if code != 1 || !strings.Contains(message, "replica") || strings.Count(message, "\n") != 1 {
		t.Errorf("exit code %d: %q", code, message)
	}
}

type row struct {
	Name, Brand, Category string
	Price, Rating         float64
	Reviews               int
}

func checkRows(t *testing.T, client *client, path string) {
	seen := make(map[row]bool)
	var mutex sync.Mutex
	var group sync.WaitGroup
	for range 30 {
		group.Go(func() {
			got, err := client.ask(http.MethodGet, path, nil, nil)
			if err != nil || got.status != http.StatusOK {
				t.Errorf("status %d, %v: %s", got.status, err, got.body)
				return
			}
			var found row
			mutex.Lock()
			defer mutex.Unlock()
			decodeStrict(t, got.body, &found)
			if found.Name == "" || found.Price <= 0 {
				t.Errorf("row %+v", found)
			}
			seen[found] = true
		})
	}
	group.Wait()
	// Of 100,000 rows with 500 products.
	if len(seen) < 15 {
		t.Errorf("30 reads gave %d rows", len(seen))
	}
}

func checkScan(t *testing.T, client *client) {
	got := client.get(t, "/db/scan")
	expect(t, got, http.StatusOK, contract.TypeJSON)
	var found []struct {
		Category       string
		Products       int
		Mean, Min, Max float64
	}
	decodeStrict(t, got.body, &found)
	total := 0
	for _, category := range found {
		total += category.Products
		// A sum of equal prices is not exact.
		if category.Mean < category.Min-1e-6 || category.Mean > category.Max+1e-6 {
			t.Errorf("%+v", category)
		}
	}
	if total != 100_000 || len(found) < 2 {
		t.Errorf("%d products in %d categories", total, len(found))
	}
}

// makeOrder returns the id in the response.
func makeOrder(t *testing.T, client *client, path, body string) (id int64, ok bool) {
	t.Helper()
	got, err := client.ask(http.MethodPost, path, nil, strings.NewReader(body))
	var written struct{ ID int64 }
	if err == nil {
		err = json.Unmarshal(got.body, &written)
	}
	if err != nil || got.status != http.StatusOK || written.ID == 0 {
		t.Errorf("status %d, %v: %s", got.status, err, got.body)
		return 0, false
	}
	return written.ID, true
}

// checkWrite looks up the acknowledged order with another connection.
func checkWrite(t *testing.T, client *client, direct *pgx.Conn, path string) {
	ids := make(map[int64]string)
	var mutex sync.Mutex
	var group sync.WaitGroup
	for i := range 40 {
		group.Go(func() {
			body := fmt.Sprintf("order %d \x00\xff", i)
			if id, ok := makeOrder(t, client, path, body); ok {
				mutex.Lock()
				defer mutex.Unlock()
				ids[id] = body
			}
		})
	}
	group.Wait()
	if len(ids) != 40 {
		t.Errorf("%d ids for 40 orders", len(ids))
	}
	for id, body := range ids {
		var stored []byte
		query := "SELECT body FROM ceiling_orders WHERE id = $1"
		check(t, direct.QueryRow(context.Background(), query, id).Scan(&stored))
		if string(stored) != body {
			t.Errorf("order %d is %q, want %q", id, stored, body)
		}
	}
	got := client.do(t, http.MethodPost, path, nil, nil)
	if got.status != http.StatusOK {
		t.Errorf("an empty order is %d: %s", got.status, got.body)
	}
}

type poolStats struct {
	Fsync             string
	SynchronousCommit string `json:"synchronous_commit"`
	Buffers           string `json:"shared_buffers"`
	PlanCacheMode     string `json:"plan_cache_mode"`
	Lookup            string
	LookupPlan        string `json:"lookup_plan"`
	Connections       int
	ConnectionsBusy   int `json:"connections_busy"`
	Waits             int
	WaitSeconds       float64 `json:"wait_seconds"`
	ReadConnections   int     `json:"read_connections"`
	Trips, Lookups    int
	Repeated          int
	Groups            int
	GroupRows         int `json:"group_rows"`
}

func readPool(t *testing.T, client *client) (stats poolStats) {
	t.Helper()
	got := client.get(t, "/db/stats")
	expect(t, got, http.StatusOK, contract.TypeJSON)
	decodeStrict(t, got.body, &stats)
	return stats
}

func checkPool(t *testing.T, client *client, sync string, size int) {
	got := readPool(t, client)
	if got.Fsync != "on" || got.SynchronousCommit != sync || got.Connections != size {
		t.Errorf("%+v, want %d connections and commits with sync %s", got, size, sync)
	}
	if got.Lookups != 30 || got.Trips < 1 || got.GroupRows != 41 || got.Groups < 1 {
		t.Errorf("%+v, want 30 lookups and 41 rows in groups", got)
	}
	if got.ReadConnections < 1 || got.ReadConnections > size {
		t.Errorf("lookups use %d of %d connections", got.ReadConnections, size)
	}
}

// picky makes the table a view: every tenth row cannot be read, and the database counts the
// attempts.
const picky = `
ALTER TABLE ceiling_products RENAME TO kept;
CREATE SEQUENCE refusals;
CREATE FUNCTION picky(id int, body text) RETURNS text STABLE LANGUAGE plpgsql AS $$
BEGIN
	IF id % 10 = 0 THEN
		PERFORM nextval('refusals');
		RAISE 'row % is refused', id;
	END IF;
	RETURN body;
END $$;
CREATE VIEW ceiling_products AS SELECT id, category, price, picky(id, body) AS body FROM kept`

// While the first lookups wait, all that arrive form the next groups. A failed lookup does not fail
// the others: those that the database skips are repeated.
func TestLookupsGatherAndFailAlone(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fresh := service{"postgres", "postgres-picky"}
	url := fresh.start(t)[0]
	// This makes the tables.
	start(t, variant{target: "fasthttp", workers: 1}, "--db", url).stopCleanly(t)
	direct, err := pgx.Connect(ctx, url)
	check(t, err)
	_, err = direct.Exec(ctx, picky)
	check(t, err)
	process := start(t, variant{target: "fasthttp", workers: 1}, "--db", url)
	client := process.client(t)
	blocking, err := direct.Begin(ctx)
	check(t, err)
	_, err = blocking.Exec(ctx, "LOCK TABLE kept IN ACCESS EXCLUSIVE MODE")
	check(t, err)
	// Far more than the groups that can be in flight at once.
	lookups := 200 + 4*readPool(t, client).ReadConnections
	var group sync.WaitGroup
	var good, failed atomic.Int64
	for range lookups {
		group.Go(func() {
			got, err := client.ask(http.MethodGet, "/db/read", nil, nil)
			switch {
			case err == nil && got.status == http.StatusOK && len(got.body) > 2:
				good.Add(1)
			case err == nil && got.status == http.StatusServiceUnavailable &&
				strings.Contains(string(got.body), "is refused"):
				failed.Add(1)
			default:
				t.Errorf("status %d, %v: %s", got.status, err, got.body)
			}
		})
	}
	awaitCount(t, direct, "SELECT count(*) FROM pg_locks WHERE NOT granted", 1)
	time.Sleep(200 * time.Millisecond)
	check(t, blocking.Commit(ctx))
	group.Wait()
	var refused int64
	check(t, direct.QueryRow(ctx, "SELECT last_value FROM refusals").Scan(&refused))
	if failed.Load() != refused || refused == 0 || good.Load() == 0 {
		t.Errorf("%d answers and %d failures of %d lookups, the database refused %d",
			good.Load(), failed.Load(), lookups, refused)
	}
	stats := readPool(t, client)
	if stats.Lookups != lookups || stats.Trips >= lookups/2 || stats.Repeated == 0 {
		t.Errorf("%d lookups made %d trips, %d were repeated",
			stats.Lookups, stats.Trips, stats.Repeated)
	}
	process.stopCleanly(t)
	check(t, direct.Close(ctx))
	fresh.do(t, "stop")
}

// While one group cannot commit, all orders that arrive form the next one.
func TestOrdersGather(t *testing.T) {
	eachServer(t, func(t *testing.T, variant variant) {
		ctx := context.Background()
		fresh := service{"postgres", "postgres-" + variant.target}
		url := fresh.start(t)[0]
		process := start(t, variant, "--db", url, "--sync", "off")
		client := process.client(t)
		direct, err := pgx.Connect(ctx, url)
		check(t, err)
		blocking, err := direct.Begin(ctx)
		check(t, err)
		_, err = blocking.Exec(ctx, "LOCK TABLE ceiling_orders IN EXCLUSIVE MODE")
		check(t, err)
		const orders = 30
		var group sync.WaitGroup
		for range orders {
			group.Go(func() {
				got, err := client.ask(http.MethodPost, "/db/write-batch", nil, nil)
				if err != nil || got.status != http.StatusOK {
					t.Errorf("status %d, %v: %s", got.status, err, got.body)
				}
			})
		}
		// The arrival of a second order is not visible from outside; that it has arrived is likely,
		// which is enough.
		awaitCount(t, direct, "SELECT count(*) FROM pg_locks WHERE NOT granted", 1)
		time.Sleep(200 * time.Millisecond)
		check(t, blocking.Commit(ctx))
		group.Wait()
		stats := readPool(t, client)
		if stats.GroupRows != orders || stats.Groups >= orders || stats.Groups < 2 {
			t.Errorf("%d orders in %d groups", stats.GroupRows, stats.Groups)
		}
		if stats.SynchronousCommit != "off" {
			t.Errorf("synchronous_commit is %s with --sync off", stats.SynchronousCommit)
		}
		process.stopCleanly(t)
		check(t, direct.Close(ctx))
		fresh.do(t, "stop")
	})
}

func awaitCount(t *testing.T, direct *pgx.Conn, query string, want int) {
	t.Helper()
	await(t, query, func() bool {
		var count int
		check(t, direct.QueryRow(context.Background(), query).Scan(&count))
		return count >= want
	})
}

// await waits until a condition holds, and fails the test if it never does.
func await(t *testing.T, what string, come func() bool) {
	t.Helper()
	for deadline := time.Now().Add(hangLimit); !come(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// Three workers make the tables at once. While the database is down, requests are refused; when it
// is back, they are served.
func TestDatabaseIsLostAndComesBack(t *testing.T) {
	t.Parallel()
	own := service{"postgres", "postgres-lost"}
	url := own.start(t)[0]
	process := start(t, variant{target: "fasthttp", args: prefork3, workers: 3}, "--db", url)
	client := process.client(t)
	checkScan(t, client)
	own.do(t, "stop")
	for _, ask := range []struct{ method, path string }{
		{http.MethodGet, "/db/read"}, {http.MethodGet, "/db/read-alone"},
		{http.MethodGet, "/db/scan"}, {http.MethodPost, "/db/write"},
		{http.MethodPost, "/db/write-batch"},
	} {
		got := client.do(t, ask.method, ask.path, nil, nil)
		expect(t, got, http.StatusServiceUnavailable, contract.TypeText)
		if strings.Count(string(got.body), "\n") != 1 ||
			!strings.HasPrefix(string(got.body), "database: ") {
			t.Errorf("%s: %q", ask.path, got.body)
		}
	}
	if again := own.start(t)[0]; again != url {
		t.Fatalf("the database was at %s and is at %s", url, again)
	}
	await(t, "the database is back", func() bool {
		return client.get(t, "/db/read").status == http.StatusOK
	})
	process.stopCleanly(t)
	own.do(t, "stop")
}

func TestPartsThatAreMissing(t *testing.T) {
	for _, missing := range []struct {
		args     string
		mentions []string
	}{
		{"--db postgres://127.0.0.1:1/shop", []string{"--db", "refused", "make services"}},
		{"--db /nowhere/.s.PGSQL.77", []string{"--db", "/nowhere/.s.PGSQL.77", "make services"}},
		{"--etcd 127.0.0.1:1,127.0.0.1:2", []string{"--etcd", "127.0.0.1:2", "make services"}},
		{"--downstream http://127.0.0.1:1/", []string{"--downstream", "--serve-downstream"}},
	} {
		t.Run(missing.args, func(t *testing.T) {
			t.Parallel()
			args := append(strings.Fields(missing.args), "--port", "0")
			output, message, code := runToEnd(t, "fasthttp", args...)
			if code != 1 || output != "" || strings.Count(message, "\n") != 1 {
				t.Errorf("exit code %d, output %q, message %q", code, output, message)
			}
			for _, mention := range missing.mentions {
				if !strings.Contains(message, mention) {
					t.Errorf("%q does not mention %q", message, mention)
				}
			}
		})
	}
}
