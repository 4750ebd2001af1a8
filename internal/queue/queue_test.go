package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"github.com/prbench/prbench/internal/job"
)

func TestMain(m *testing.M) {
	childOfAKill()
	goleak.VerifyTestMain(m)
}

// open gives an embedded queue that runners can reach, closed with the test.
func open(t testing.TB, change ...func(*Options)) *Queue {
	t.Helper()
	o := Options{Dir: t.TempDir(), Listen: "127.0.0.1:0", Logger: logger(t)}
	for _, c := range change {
		c(&o)
	}
	q, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	return q
}

// logger shows what is logged when a test fails.
func logger(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelInfo}))
}

// forge is a Desk that counts.
type forge struct {
	mu      sync.Mutex
	made    []string
	revoked []string
	fail    error
}

func (f *forge) desk() Desk {
	return Desk{
		Token: func(_ context.Context, j job.Job) (Token, error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			if f.fail != nil {
				return Token{}, f.fail
			}
			f.made = append(f.made, fmt.Sprintf("secret-%s-%d", j.ID, len(f.made)))
			return Token{Value: f.made[len(f.made)-1], Expires: time.Now().Add(time.Hour)}, nil
		},
		Revoke: func(_ context.Context, t Token) error {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.revoked = append(f.revoked, t.Value)
			return nil
		},
	}
}

func (f *forge) gone() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.revoked...)
}

// serve answers runners until the test ends, and returns once it does.
func serve(t testing.TB, q *Queue, f *forge) *desk {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	d := newDesk(q, f.desk())
	go func() { done <- d.serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("ServeRunners: %v", err)
		}
	})
	// A request that nobody would hear is answered at once by the server.
	eventually(t, "serve hears", func() bool {
		_, err := q.nc.Request(requestPrefix+"nobody.x", nil, 20*time.Millisecond)
		return !errors.Is(err, nats.ErrNoResponders)
	})
	return d
}

// enroll makes a runner of the pool and connects it.
func enroll(t testing.TB, q *Queue, name, pool string) *RunnerConn {
	t.Helper()
	seed, public, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Enroll(t.Context(), name, pool, public); err != nil {
		t.Fatal(err)
	}
	return dial(t, q.RunnerURL(), seed)
}

func dial(t testing.TB, url, seed string) *RunnerConn {
	t.Helper()
	c, err := Dial(t.Context(), url, seed, DialOptions{Logger: logger(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// wish is a job as the intake makes it.
func wish(repo int64, pr int, key string) job.Job {
	return job.Job{
		Repository: job.Repository{ID: repo, Owner: "acme", Name: "thing"},
		PR:         pr,
		Wish:       job.Wish{Key: key, Trigger: job.ByComment, Sender: "ann", SenderID: 1},
		Spec:       job.Spec{Pool: "default"},
		Base:       job.Side{SHA: "aaaa"}, Head: job.Side{SHA: "bbbb"},
	}
}

func create(t testing.TB, q *Queue, j job.Job) job.Job {
	t.Helper()
	j, created, err := q.Create(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	if !created {
		t.Fatalf("job for wish %q was there already", j.Wish.Key)
	}
	return j
}

// claim waits for a lease.
func claim(t testing.TB, c *RunnerConn) *Lease {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for {
		l, err := c.Claim(ctx, ClaimRequest{Wait: time.Second})
		if err != nil && (ctx.Err() != nil || !errors.Is(err, ErrAway)) {
			t.Fatal(err)
		}
		if l != nil {
			return l
		}
	}
}

func get(t testing.TB, q *Queue, id job.ID) job.Job {
	t.Helper()
	j, err := q.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// eventually waits for what happens by itself soon.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("it did not happen: %s", what)
}

// clock is set by hand. Time passes by advance; jump is somebody who sets it.
type clock struct{ at, passed atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.at.Store(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).UnixNano())
	return c
}

func (c *clock) now() time.Time          { return time.Unix(0, c.at.Load()) }
func (c *clock) elapsed() time.Duration  { return time.Duration(c.passed.Load()) }
func (c *clock) jump(d time.Duration)    { c.at.Add(int64(d)) }
func (c *clock) advance(d time.Duration) { c.jump(d); c.passed.Add(int64(d)) }

// leases is the clock of an index.
func (c *clock) leases() leaseClock {
	return leaseClock{elapsed: c.elapsed, now: c.now, lease: time.Second, told: true}
}

// on gives options with this clock, a lease of a second on it, and frequent sweeps.
func (c *clock) on(o *Options) { o.Now, o.Elapsed, o.Lease = c.now, c.elapsed, time.Second }
