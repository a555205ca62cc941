package consistency

import (
	"context"
	"sync"
	"time"

	"go.etcd.io/etcd/client/v3"
)

const (
	// askEvery is how often a majority is asked what the newest change is.
	askEvery = 100 * time.Millisecond
	// retryAfter is the pause before the copy is made again after the cluster failed.
	retryAfter = 200 * time.Millisecond
)

// replica is a copy of our keys in the memory of the target. A watch keeps it up to date; when the
// watch ends the copy is still served, gets older, and is made again when the cluster is back.
type replica struct {
	client *clientv3.Client
	mutex  sync.RWMutex
	values map[string]string
	// revision is that of the newest change in the copy.
	revision int64
	// current is when the copy was last known to be the newest.
	current time.Time
	// asked is when a majority had no change after newest.
	asked  time.Time
	newest int64
}

func newReplica(ctx context.Context, client *clientv3.Client) (*replica, error) {
	r := &replica{client: client}
	if err := r.load(ctx); err != nil {
		return nil, err
	}
	go r.follow(client.Ctx())
	go r.compare(client.Ctx())
	return r, nil
}

func (r *replica) get(key string) (value *string, revision int64, age time.Duration) {
	r.mutex.RLock()
	defer r.mutex.RUnlock()
	if found, ok := r.values[key]; ok {
		value = &found
	}
	return value, r.revision, time.Since(r.current)
}

// load copies everything.
func (r *replica) load(ctx context.Context) error {
	asked := time.Now()
	got, err := r.client.Get(ctx, prefix, clientv3.WithPrefix())
	if err != nil {
		return err
	}
	values := make(map[string]string, len(got.Kvs))
	for _, pair := range got.Kvs {
		values[string(pair.Key)] = string(pair.Value)
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.values, r.revision, r.current = values, got.Header.Revision, asked
	return nil
}

// follow runs until the client is closed.
func (r *replica) follow(ctx context.Context) {
	for ctx.Err() == nil {
		r.watch(ctx)
		time.Sleep(retryAfter)
		request, cancel := context.WithTimeout(ctx, requestLimit)
		// Without the cluster the old copy stays, and its age shows that.
		_ = r.load(request)
		cancel()
	}
}

// watch applies changes until the watch ends. A node that loses its leader ends the watch instead
// of staying silent.
func (r *replica) watch(ctx context.Context) {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	changes := r.client.Watch(ctx, prefix, clientv3.WithPrefix(), clientv3.WithRev(r.revision+1))
	for change := range changes {
		if change.Err() != nil {
			return
		}
		r.apply(change.Events)
	}
}

func (r *replica) apply(events []*clientv3.Event) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for _, event := range events {
		if event.Type == clientv3.EventTypeDelete {
			delete(r.values, string(event.Kv.Key))
		} else {
			r.values[string(event.Kv.Key)] = string(event.Kv.Value)
		}
		r.revision = event.Kv.ModRevision
	}
	r.settle()
}

// compare finds out how old the copy is. Messages of the watch do not prove that it is new: a node
// that has lost the others keeps sending for seconds.
func (r *replica) compare(ctx context.Context) {
	for ctx.Err() == nil {
		asked := time.Now()
		request, cancel := context.WithTimeout(ctx, requestLimit)
		got, err := r.client.Get(request, prefix, clientv3.WithLastRev()...)
		cancel()
		if err == nil && len(got.Kvs) > 0 {
			r.mutex.Lock()
			r.asked, r.newest = asked, got.Kvs[0].ModRevision
			r.settle()
			r.mutex.Unlock()
		}
		time.Sleep(askEvery)
	}
}

// settle is called with the lock held.
func (r *replica) settle() {
	if r.revision >= r.newest && r.asked.After(r.current) {
		r.current = r.asked
	}
}
