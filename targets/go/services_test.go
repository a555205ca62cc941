package targets_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ceiling.dev/targets/internal/contract"
)

// servers has one variant of each target, for tests of code shared by all.
var servers = variants[:3]

func eachServer(t *testing.T, test func(t *testing.T, variant variant)) {
	for _, variant := range servers {
		t.Run(variant.name, func(t *testing.T) {
			t.Parallel()
			test(t, variant)
		})
	}
}

// service is a real PostgreSQL or etcd in a folder of its own.
type service struct{ script, folder string }

func (s service) path() string { return filepath.Join(binaries, s.folder) }

// run calls the script with start or stop, and optionally a node.
func (s service) run(order string, node ...string) (lines []string, err error) {
	args := append([]string{order, s.path()}, node...)
	output, err := exec.Command("../../scripts/"+s.script, args...).Output()
	if failed, ok := err.(*exec.ExitError); ok {
		err = fmt.Errorf("%s %s: %w: %s", s.script, order, err, failed.Stderr)
	}
	return strings.Fields(string(output)), err
}

func (s service) start(t *testing.T) []string {
	t.Helper()
	lines, err := s.run("start")
	check(t, err)
	return lines
}

func (s service) do(t *testing.T, order string, node ...string) {
	t.Helper()
	_, err := s.run(order, node...)
	check(t, err)
}

// The services that tests share are started by the first test that needs them.
var (
	sharedPostgres = sync.OnceValues(func() ([]string, error) {
		return service{"postgres", "postgres"}.run("start")
	})
	sharedPair = sync.OnceValues(func() ([]string, error) {
		return service{"postgres-pair", "pair"}.run("start")
	})
	sharedEtcd = sync.OnceValues(func() ([]string, error) {
		return service{"etcd", "etcd"}.run("start")
	})
)

// The database says itself how it finds a row, and how much it holds in memory.
func TestLookupsAndBuffersAreWhatThePlanSays(t *testing.T) {
	t.Parallel()
	small := service{"postgres-small", "small"}
	few := small.start(t)[0]
	usual, _ := postgres(t)
	for _, want := range []struct{ url, lookup, plan, mode, buffers string }{
		{usual, "index", "Index Scan", "auto", "256MB"},
		{usual, "plan", "Index Scan", "force_custom_plan", "256MB"},
		{usual, "table", "Seq Scan", "auto", "256MB"},
		{few, "index", "Index Scan", "auto", "1MB"},
	} {
		process := start(t, variant{target: "fasthttp", workers: 1},
			"--db", want.url, "--pool", "2", "--lookup", want.lookup)
		client := process.client(t)
		expect(t, client.get(t, "/db/read-alone"), http.StatusOK, contract.TypeJSON)
		got := readPool(t, client)
		if got.Lookup != want.lookup || got.LookupPlan != want.plan ||
			got.PlanCacheMode != want.mode || got.Buffers != want.buffers {
			t.Errorf("%+v, want %+v", got, want)
		}
		process.stopCleanly(t)
	}
	small.do(t, "stop")
}

// Every byte between the target and its database takes a millisecond each way.
func TestAFarDatabaseTakesARoundTrip(t *testing.T) {
	t.Parallel()
	far := service{"postgres-far", "far"}
	url := far.start(t)[0]
	process := start(t, variant{target: "nethttp", workers: 1}, "--db", url, "--pool", "2")
	client := process.client(t)
	for range 5 {
		begin := time.Now()
		expect(t, client.get(t, "/db/read-alone"), http.StatusOK, contract.TypeJSON)
		if took := time.Since(begin); took < 2*time.Millisecond {
			t.Errorf("a lookup behind the line took %v", took)
		}
	}
	process.stopCleanly(t)
	far.do(t, "stop")
}

// One node is a majority of one.
func TestOneNodeIsACluster(t *testing.T) {
	t.Parallel()
	one := service{"etcd-one", "one"}
	endpoints := one.start(t)[0]
	if strings.Contains(endpoints, ",") {
		t.Errorf("more than one node: %s", endpoints)
	}
	process := start(t, variant{target: "fasthttp", workers: 1}, "--etcd", endpoints)
	client := process.client(t)
	writeKey(t, client, "?key=one", "alone")
	if found := readKey(t, client, "/kv/linear?key=one"); found.Value != "alone" {
		t.Errorf("%+v right after the write", found)
	}
	process.stopCleanly(t)
	one.do(t, "stop")
}

// pair returns one URL of a primary and its replica.
func pair(t *testing.T) (url string) {
	t.Helper()
	lines, err := sharedPair()
	check(t, err)
	return lines[0]
}

// postgres returns two URLs of one database: by its socket and by TCP.
func postgres(t *testing.T) (socket, tcp string) {
	t.Helper()
	urls, err := sharedPostgres()
	check(t, err)
	return urls[0], urls[1]
}

func etcd(t *testing.T) (endpoints string) {
	t.Helper()
	lines, err := sharedEtcd()
	check(t, err)
	return lines[0]
}

// cleanUpAfterwards starts a process that stops all services and removes the folder of the tests
// when this process ends in any way: a test that times out runs no defer.
func cleanUpAfterwards() (finish func()) {
	const script = `cat >/dev/null
for folder in "$0"/pair*; do [ ! -d "$folder" ] || ../../scripts/postgres-pair stop "$folder"; done
for folder in "$0"/far*; do [ ! -d "$folder" ] || ../../scripts/postgres-far stop "$folder"; done
for folder in "$0"/small*; do [ ! -d "$folder" ] || ../../scripts/postgres stop "$folder"; done
for folder in "$0"/one*; do [ ! -d "$folder" ] || ../../scripts/etcd-one stop "$folder"; done
for folder in "$0"/postgres*; do [ ! -d "$folder" ] || ../../scripts/postgres stop "$folder"; done
for folder in "$0"/etcd*; do [ ! -d "$folder" ] || ../../scripts/etcd stop "$folder"; done
rm -rf "$0"`
	// The user of PostgreSQL must be able to enter.
	if err := os.Chmod(binaries, 0o755); err != nil {
		panic(err)
	}
	command := exec.Command("sh", "-c", script, binaries)
	// A terminal interrupts the whole group.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	end, err := command.StdinPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		panic(err)
	}
	return func() {
		_ = end.Close()
		_ = command.Wait()
	}
}
