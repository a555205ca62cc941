package targets_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
)

// An acknowledged order is on disk: it survives when the database is killed at once. With --sync
// off acknowledged orders are lost, which shows that the test can detect it: the background writers
// are stopped here, and what they have not written is lost with the database.
func TestAnsweredOrdersSurviveTheDatabase(t *testing.T) {
	for _, sync := range []string{"on", "off"} {
		t.Run("sync "+sync, func(t *testing.T) {
			t.Parallel()
			for path, lost := range lostWithTheDatabase(t, sync) {
				if sync == "on" && lost != 0 {
					t.Errorf("%d orders of %s were answered and are lost", lost, path)
				}
				if sync == "off" && lost == 0 {
					t.Errorf("all orders of %s survived with --sync off", path)
				}
			}
		})
	}
}

// lostWithTheDatabase returns, for each way to write, how many acknowledged orders are missing
// afterwards.
func lostWithTheDatabase(t *testing.T, sync string) map[string]int {
	t.Helper()
	ctx := context.Background()
	own := service{"postgres", "postgres-sync-" + sync}
	url := own.start(t)[0]
	direct, err := pgx.Connect(ctx, url)
	check(t, err)
	process := start(t, variant{target: "fasthttp", workers: 1}, "--db", url, "--sync", sync)
	// The tables are on disk in any case.
	_, err = direct.Exec(ctx, "CHECKPOINT")
	check(t, err)
	stopBackground(t, direct)
	client := process.client(t)
	ids := makeOrders(t, client, "/db/write", "/db/write-batch")
	killDatabase(t, own)
	process.stopCleanly(t)
	again, err := pgx.Connect(ctx, own.start(t)[0])
	check(t, err)
	lost := make(map[string]int)
	for path, ids := range ids {
		found := 0
		query := "SELECT count(*) FROM ceiling_orders WHERE id = ANY($1)"
		check(t, again.QueryRow(ctx, query, ids).Scan(&found))
		lost[path] = len(ids) - found
	}
	check(t, again.Close(ctx))
	own.do(t, "stop")
	return lost
}

// stopBackground stops every process of the database that serves no client.
func stopBackground(t *testing.T, direct *pgx.Conn) {
	t.Helper()
	query := "SELECT pid FROM pg_stat_activity WHERE backend_type <> 'client backend'"
	rows, err := direct.Query(context.Background(), query)
	check(t, err)
	pids, err := pgx.CollectRows(rows, pgx.RowTo[int])
	check(t, err)
	if len(pids) == 0 {
		t.Fatal("the database has no process in the background")
	}
	for _, pid := range pids {
		check(t, syscall.Kill(pid, syscall.SIGSTOP))
	}
}

// makeOrders makes some hundred orders in each way concurrently, and returns the ids in the
// responses.
func makeOrders(t *testing.T, client *client, paths ...string) map[string][]int64 {
	t.Helper()
	ids := make(map[string][]int64)
	var mutex sync.Mutex
	var group sync.WaitGroup
	one := func(path string) {
		if id, ok := makeOrder(t, client, path, "order"); ok {
			mutex.Lock()
			defer mutex.Unlock()
			ids[path] = append(ids[path], id)
		}
	}
	for range 8 {
		group.Go(func() {
			for range 20 {
				for _, path := range paths {
					one(path)
				}
			}
		})
	}
	group.Wait()
	return ids
}

// killDatabase kills all its processes at once, as a power loss would, except that data in the
// kernel survives.
func killDatabase(t *testing.T, own service) {
	t.Helper()
	lock := filepath.Join(own.path(), "data", "postmaster.pid")
	content, err := os.ReadFile(lock)
	check(t, err)
	var postmaster int
	_, err = fmt.Sscan(string(content), &postmaster)
	check(t, err)
	// While stopped it starts no other processes.
	check(t, syscall.Kill(postmaster, syscall.SIGSTOP))
	pids := append(children(t, postmaster), postmaster)
	for _, pid := range pids {
		check(t, syscall.Kill(pid, syscall.SIGKILL))
	}
	await(t, "the database is dead", func() bool {
		for _, pid := range pids {
			if state, alive := processState(pid); alive && state != "Z" {
				return false
			}
		}
		return true
	})
	// Until the dead processes are reaped their locks seem to be held.
	socketLocks, err := filepath.Glob(filepath.Join(own.path(), ".s.PGSQL.*.lock"))
	check(t, err)
	for _, path := range append(socketLocks, lock) {
		check(t, os.Remove(path))
	}
}

// processState returns the state in /proc, and whether the process exists.
func processState(pid int) (state string, alive bool) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", false
	}
	_, rest, _ := strings.Cut(string(content), ") ")
	state, _, _ = strings.Cut(rest, " ")
	return state, true
}
