// Package consistency is the part of the spectrum that waits for agreement: the same value read
// from a majority of an etcd cluster, from one of its nodes, and from a copy in the target.
package consistency

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"ceiling.dev/targets/internal/contract"
)

const (
	// requestLimit is how long a request waits for a majority. An election takes about a second.
	requestLimit = 3 * time.Second
	openLimit    = 5 * time.Second
	// silenceLimit and pingLimit detect a node that neither responds nor closes. Servers refuse
	// clients that ping more often.
	silenceLimit, pingLimit = 5 * time.Second, 2 * time.Second
	// prefix separates our keys from others; firstKey exists from the start, with its own name as
	// value.
	prefix   = "ceiling/"
	firstKey = "greeting"
	// valueMaxBytes is below etcd's limit.
	valueMaxBytes = 1 << 20
)

// Consistency is the part. Without --etcd it is off.
type Consistency struct {
	endpoints []string
	client    *clientv3.Client
	copied    *replica
}

// New is a part that no flag has set up yet.
func New() *Consistency { return &Consistency{} }

// Flags say where the cluster is.
func (c *Consistency) Flags() []contract.Flag {
	return []contract.Flag{{
		Name: "etcd", Takes: "the addresses of its nodes, separated by commas",
		Example: "--etcd 127.0.0.1:2379,127.0.0.1:2381,127.0.0.1:2383",
		Help:    "serve /kv/ from this cluster (default off)", Set: c.setEndpoints,
	}}
}

func (c *Consistency) setEndpoints(_ *contract.Options, value string) error {
	c.endpoints = strings.Split(value, ",")
	for _, endpoint := range c.endpoints {
		if host, port, err := net.SplitHostPort(endpoint); err != nil || host == "" || port == "" {
			return errors.New("not an address with a port")
		}
	}
	return nil
}

// Open waits until a majority responds. One node of three may be missing.
func (c *Consistency) Open(ctx context.Context) ([]contract.Route, error) {
	if c.endpoints == nil {
		return nil, nil
	}
	var err error
	c.client, err = clientv3.New(clientv3.Config{
		Endpoints: c.endpoints, Logger: zap.NewNop(),
		DialKeepAliveTime: silenceLimit, DialKeepAliveTimeout: pingLimit,
	})
	if err != nil {
		return nil, fmt.Errorf("--etcd: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, openLimit)
	defer cancel()
	key := prefix + firstKey
	_, err = c.client.Txn(ctx).If(clientv3.Compare(clientv3.Version(key), "=", 0)).
		Then(clientv3.OpPut(key, firstKey)).Commit()
	if err == nil {
		c.copied, err = newReplica(ctx, c.client)
	}
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("--etcd: no majority of %s responds (%s); \"make services\" "+
			"installs etcd and \"scripts/etcd start DIR\" starts three and prints their addresses",
			strings.Join(c.endpoints, ","), contract.OneLine(err))
	}
	return []contract.Route{
		{Method: http.MethodGet, Path: "/kv/linear", Handle: c.linear},
		{Method: http.MethodPost, Path: "/kv/linear", Handle: c.write},
		{Method: http.MethodGet, Path: "/kv/serial", Handle: c.serial},
		{Method: http.MethodGet, Path: "/kv/eventual", Handle: c.eventual},
	}, nil
}

// Close disconnects from the cluster.
func (c *Consistency) Close() {
	if c.client != nil {
		// Remaining requests end with an error, which is ignored.
		_ = c.client.Close()
	}
}

// found is the response of a read.
type found struct {
	Value string `json:"value"`
	// Revision is the store's revision at the node that responded, or that of the copy.
	Revision int64 `json:"revision"`
	// AgeNs is how long ago the copy is known to have been the newest; other reads have none.
	AgeNs *int64 `json:"age_ns,omitempty"`
}

// linear asks a node, which first confirms with a majority that it has the newest value.
func (c *Consistency) linear(call contract.Call) contract.Response { return c.read(call) }

// serial asks one node, which responds without the others and may be behind.
func (c *Consistency) serial(call contract.Call) contract.Response {
	return c.read(call, clientv3.WithSerializable())
}

func (c *Consistency) read(call contract.Call, options ...clientv3.OpOption) contract.Response {
	ctx, cancel := context.WithTimeout(context.Background(), requestLimit)
	defer cancel()
	key := keyOf(call)
	got, err := c.client.Get(ctx, prefix+key, options...)
	if err != nil {
		return unavailable(ctx, err)
	}
	if len(got.Kvs) == 0 {
		return absent(key)
	}
	return good(found{Value: string(got.Kvs[0].Value), Revision: got.Header.Revision})
}

// eventual asks no node. The response says how old it may be.
func (c *Consistency) eventual(call contract.Call) contract.Response {
	key := keyOf(call)
	value, revision, age := c.copied.get(prefix + key)
	if value == nil {
		return absent(key)
	}
	return good(found{Value: *value, Revision: revision, AgeNs: new(age.Nanoseconds())})
}

// write is acknowledged when a majority has it on disk.
func (c *Consistency) write(call contract.Call) contract.Response {
	if len(call.Body) > valueMaxBytes {
		return contract.Failed(http.StatusRequestEntityTooLarge,
			fmt.Errorf("a value has at most %d bytes, not %d", valueMaxBytes, len(call.Body)))
	}
	ctx, cancel := context.WithTimeout(context.Background(), requestLimit)
	defer cancel()
	put, err := c.client.Put(ctx, prefix+keyOf(call), string(call.Body))
	if err != nil {
		return unavailable(ctx, err)
	}
	return good(struct {
		Revision int64 `json:"revision"`
	}{put.Header.Revision})
}

// keyOf copies, because an abandoned request may still be in flight.
func keyOf(call contract.Call) string {
	if key := call.Query("key"); key != "" {
		return strings.Clone(key)
	}
	return firstKey
}

func good(value any) contract.Response {
	body, err := json.Marshal(value)
	if err != nil {
		return contract.Failed(http.StatusInternalServerError, err)
	}
	return contract.Good(body)
}

func absent(key string) contract.Response {
	return contract.Failed(http.StatusNotFound, fmt.Errorf("no value for key %q", key))
}

// unavailable is the response without a majority, or without any node.
func unavailable(ctx context.Context, err error) contract.Response {
	// The node has the same deadline, and may report it first.
	if ctx.Err() != nil || strings.Contains(err.Error(), context.DeadlineExceeded.Error()) {
		err = fmt.Errorf("not enough nodes responded within %v", requestLimit)
	}
	return contract.Failed(http.StatusServiceUnavailable, fmt.Errorf("etcd: %w", err))
}
