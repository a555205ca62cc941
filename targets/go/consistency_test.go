package targets_test

import (
	"net/http"
	"strings"
	"testing"

	"ceiling.dev/targets/internal/contract"
)

// held is the response of a read of the cluster.
type held struct {
	Value    string
	Revision int64
	AgeNs    *int64 `json:"age_ns"`
}

var kvReads = []string{"/kv/linear", "/kv/serial", "/kv/eventual"}

func readKey(t *testing.T, client *client, path string) (found held) {
	t.Helper()
	got := client.get(t, path)
	expect(t, got, http.StatusOK, contract.TypeJSON)
	decodeStrict(t, got.body, &found)
	if (found.AgeNs != nil) != strings.Contains(path, "eventual") {
		t.Errorf("GET %s: %s", path, got.body)
	}
	return found
}

func writeKey(t *testing.T, client *client, query, value string) (revision int64) {
	t.Helper()
	got := client.do(t, http.MethodPost, "/kv/linear"+query, nil, strings.NewReader(value))
	expect(t, got, http.StatusOK, contract.TypeJSON)
	var written struct{ Revision int64 }
	decodeStrict(t, got.body, &written)
	return written.Revision
}

func TestConsistency(t *testing.T) {
	eachServer(t, func(t *testing.T, variant variant) {
		process := start(t, variant, "--etcd", etcd(t))
		client := process.client(t)
		for _, path := range kvReads {
			if found := readKey(t, client, path); found.Value != "greeting" {
				t.Errorf("GET %s: %+v before any write", path, found)
			}
		}
		// Other targets write other keys of the same cluster.
		query := "?key=" + variant.target
		for _, path := range kvReads {
			if got := client.get(t, path+query); got.status != http.StatusNotFound {
				t.Errorf("GET %s is %d without a value, want 404", path+query, got.status)
			}
		}
		revision := writeKey(t, client, query, "one")
		if found := readKey(t, client, "/kv/linear"+query); found.Value != "one" {
			t.Errorf("%+v right after the write", found)
		}
		for _, path := range kvReads {
			await(t, path+" has the value", func() bool {
				return client.get(t, path+query).status == http.StatusOK
			})
			found := readKey(t, client, path+query)
			if found.Value != "one" || found.Revision < revision {
				t.Errorf("GET %s: %+v, written in revision %d", path, found, revision)
			}
		}
		if next := writeKey(t, client, query, "two"); next <= revision {
			t.Errorf("revision %d after %d", next, revision)
		}
		large := strings.NewReader(strings.Repeat("x", 1<<20+1))
		got := client.do(t, http.MethodPost, "/kv/linear"+query, nil, large)
		if got.status != http.StatusRequestEntityTooLarge {
			t.Errorf("a value above 1 MiB is %d, want 413", got.status)
		}
		checkStopped(t, variant, client, process.stopCleanly(t))
	})
}

// The cluster survives the loss of one node of three. Without a second one there is no majority:
// routes that need it report that, and the others serve what they have, which gets older.
func TestNodesAreLostAndComeBack(t *testing.T) {
	t.Parallel()
	cluster := service{"etcd", "etcd-lost"}
	endpoints := cluster.start(t)[0]
	var clients []*client
	for _, variant := range servers {
		process := start(t, variant, "--etcd", endpoints)
		clients = append(clients, process.client(t))
		defer process.stopCleanly(t)
	}
	cluster.do(t, "stop", "1")
	for _, client := range clients {
		// A request may be on its way to the lost node, or wait for an election.
		await(t, "two nodes answer", func() bool {
			return client.do(t, http.MethodPost, "/kv/linear", nil, nil).status == http.StatusOK
		})
		for range 10 {
			writeKey(t, client, "", "two nodes")
			if found := readKey(t, client, "/kv/linear"); found.Value != "two nodes" {
				t.Errorf("%+v with two nodes", found)
			}
			readKey(t, client, "/kv/serial")
		}
	}
	for _, client := range clients {
		await(t, "the copy has the value", func() bool {
			return readKey(t, client, "/kv/eventual").Value == "two nodes"
		})
	}
	cluster.do(t, "stop", "2")
	for _, client := range clients {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			got := client.do(t, method, "/kv/linear", nil, nil)
			expect(t, got, http.StatusServiceUnavailable, contract.TypeText)
			if string(got.body) != "etcd: not enough nodes responded within 3s\n" {
				t.Errorf("%s: %q", method, got.body)
			}
		}
		if found := readKey(t, client, "/kv/serial"); found.Value != "two nodes" {
			t.Errorf("%+v from the last node", found)
		}
		found := readKey(t, client, "/kv/eventual")
		if found.Value != "two nodes" || *found.AgeNs < 2e9 {
			t.Errorf("%+v, age %d, when no node has responded for seconds", found, *found.AgeNs)
		}
	}
	cluster.do(t, "start")
	for _, client := range clients {
		await(t, "three nodes answer", func() bool {
			return client.get(t, "/kv/linear").status == http.StatusOK
		})
		revision := writeKey(t, client, "", "three nodes")
		await(t, "the copy is new again", func() bool {
			found := readKey(t, client, "/kv/eventual")
			return found.Revision >= revision && *found.AgeNs < 2e9
		})
	}
}
