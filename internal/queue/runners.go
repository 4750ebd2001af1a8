package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"
)

// Runner is an enrolled runner: a machine's key and the pool whose jobs it gets.
type Runner struct {
	Key      string    `json:"key"` // public nkey, the identity
	Name     string    `json:"name"`
	Pool     string    `json:"pool"`
	Enrolled time.Time `json:"enrolled"`
}

var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$`)

// Enroll lets the runner with this public key take jobs of the pool. On an
// embedded server it may connect from then on; on an external one also put what
// ExternalConfig prints into the server's configuration. Enrolling the same name
// and key again moves the runner to the pool; a name or key that is taken by
// another is an error.
func (q *Queue) Enroll(ctx context.Context, name, pool, publicKey string) error {
	switch {
	case !namePattern.MatchString(name):
		return fmt.Errorf("enroll runner: want a name of letters, digits, - and _, got %q", name)
	case !namePattern.MatchString(pool):
		return fmt.Errorf("enroll runner %s: want a pool's name of letters, digits, - and _, got %q", name, pool)
	case !nkeys.IsValidPublicUserKey(publicKey):
		// What was given instead may be the seed, and is not shown.
		return fmt.Errorf("enroll runner %s: want a public user nkey (56 characters, the first a U)", name)
	}
	rs, err := q.Runners(ctx)
	if err != nil {
		return fmt.Errorf("enroll runner %s: %w", name, err)
	}
	for _, r := range rs {
		if (r.Name == name) != (r.Key == publicKey) {
			return fmt.Errorf("enroll runner %s: runner %s has this name or key already; revoke it first", name, r.Name)
		}
	}
	b, err := json.Marshal(Runner{Key: publicKey, Name: name, Pool: pool, Enrolled: q.now()})
	if err != nil {
		return fmt.Errorf("enroll runner %s: %w", name, err)
	}
	rev, err := q.runners.Put(ctx, publicKey, b)
	if err != nil {
		return fmt.Errorf("enroll runner %s: %w", name, storeError(err))
	}
	return q.usersKept(ctx, rev)
}

// Revoke takes the runner's rights away at once, disconnects it from an embedded
// server, and hands the job that it holds to the next try. An external server
// goes on letting its key connect until its configuration changes, but serve
// answers it nothing.
func (q *Queue) Revoke(ctx context.Context, name string) error {
	rs, err := q.Runners(ctx)
	if err != nil {
		return fmt.Errorf("revoke runner %s: %w", name, err)
	}
	i := slices.IndexFunc(rs, func(r Runner) bool { return r.Name == name })
	if i < 0 {
		return fmt.Errorf("revoke runner %s: %w", name, ErrNotFound)
	}
	if err := q.runners.Delete(ctx, rs[i].Key); err != nil {
		return fmt.Errorf("revoke runner %s: %w", name, storeError(err))
	}
	if q.embed != nil {
		// Any later revision will do: the deletion's own is not told.
		st, err := q.streamRevision(ctx, q.runners)
		if err != nil {
			return fmt.Errorf("revoke runner %s: %w", name, err)
		}
		if err := q.usersKept(ctx, st); err != nil {
			return fmt.Errorf("revoke runner %s: %w", name, err)
		}
	}
	return errors.Join(q.loseJobsOf(ctx, rs[i].Key, "its runner was revoked"), q.forgetCalibrations(ctx, rs[i]))
}

// Runners lists the enrolled runners by name.
func (q *Queue) Runners(ctx context.Context) ([]Runner, error) {
	var rs []Runner
	err := q.scan(ctx, q.runners, ">", func(e jetstream.KeyValueEntry) error {
		var r Runner
		if err := json.Unmarshal(e.Value(), &r); err != nil {
			return fmt.Errorf("read the record of runner %s: %w", e.Key(), err)
		}
		rs = append(rs, r)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list runners: %w", err)
	}
	slices.SortFunc(rs, func(a, b Runner) int { return strings.Compare(a.Name, b.Name) })
	return rs, nil
}

// LastHeard tells when the runner with this key last asked this serve for
// something; ok is false when it never did. A runner that waits for a job asks
// every few seconds. Where several serves share a store, each hears a part.
func (q *Queue) LastHeard(key string) (at time.Time, ok bool) {
	v, ok := q.heard.Load(key)
	if !ok {
		return time.Time{}, false
	}
	return v.(time.Time), true
}

// runner is the enrolled runner with this key, or ErrNotFound. It is asked for
// at every request, so that a revoked runner is refused at once.
func (q *Queue) runner(ctx context.Context, key string) (Runner, error) {
	e, err := q.runners.Get(ctx, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return Runner{}, ErrNotFound
	}
	if err != nil {
		return Runner{}, fmt.Errorf("find runner: %w", err)
	}
	var r Runner
	if err := json.Unmarshal(e.Value(), &r); err != nil {
		return Runner{}, fmt.Errorf("read the record of runner %s: %w", key, err)
	}
	return r, nil
}

// userKeeper follows the runners' bucket and tells the embedded server, whichever
// process enrolled a runner.
type userKeeper struct {
	mu      sync.Mutex
	applied uint64
	changed chan struct{} // closed at each step of applied
}

func (q *Queue) keepUsers(ctx context.Context) error {
	k := &userKeeper{changed: make(chan struct{})}
	q.users = k
	run, stop := context.WithCancel(context.Background())
	w, err := q.runners.WatchAll(run)
	if err != nil {
		stop()
		return fmt.Errorf("watch the runners: %w", err)
	}
	q.stop = stop
	ready := make(chan error, 1)
	q.wg.Go(func() {
		defer w.Stop()
		q.followRunners(run, w, k, ready)
	})
	select {
	case err := <-ready:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (q *Queue) followRunners(ctx context.Context, w jetstream.KeyWatcher, k *userKeeper, ready chan<- error) {
	known := map[string]Runner{}
	caughtUp := false
	for {
		var e jetstream.KeyValueEntry
		var open bool
		select {
		case <-ctx.Done():
			return
		case e, open = <-w.Updates():
			if !open {
				return
			}
		}
		switch {
		case e == nil:
			caughtUp = true
		case e.Operation() != jetstream.KeyValuePut:
			delete(known, e.Key())
		default:
			var r Runner
			if err := json.Unmarshal(e.Value(), &r); err != nil || r.Key != e.Key() || !nkeys.IsValidPublicUserKey(r.Key) {
				q.log.Error("a runner's record cannot be read; it may not connect", "key", e.Key())
				delete(known, e.Key())
				break
			}
			known[r.Key] = r
		}
		if !caughtUp {
			continue
		}
		rs := make([]Runner, 0, len(known))
		for _, r := range known {
			rs = append(rs, r)
		}
		err := q.embed.setUsers(rs)
		if err != nil {
			q.log.Error("the embedded server does not know its runners", "error", err)
		}
		if e == nil {
			ready <- err
			continue
		}
		k.mu.Lock()
		k.applied = e.Revision()
		close(k.changed)
		k.changed = make(chan struct{})
		k.mu.Unlock()
	}
}

// usersKept waits until the embedded server knows the runners as of a revision
// of their bucket. Other servers are not ours to wait for.
func (q *Queue) usersKept(ctx context.Context, revision uint64) error {
	if q.embed == nil {
		return nil
	}
	for {
		q.users.mu.Lock()
		applied, changed := q.users.applied, q.users.changed
		q.users.mu.Unlock()
		if applied >= revision {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
