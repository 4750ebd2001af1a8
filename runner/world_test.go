package runner_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/prbench/prbench/internal/forgetest"
	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/internal/queue"
	"github.com/prbench/prbench/internal/testlog"
	"github.com/prbench/prbench/runner"
)

// world is a forge with a private repository, a queue that serves runners, and
// one runner's connection.
type world struct {
	t        *testing.T
	forge    *forgetest.Server
	q        *queue.Queue
	seed     string
	conn     *queue.RunnerConn
	repo     job.Repository
	base     string
	head     string
	token    string
	opts     runner.Options
	log      *testlog.Buffer
	mu       sync.Mutex
	revoked  []string
	stopDesk func()
}

func newWorld(t *testing.T, base, head map[string]string) *world {
	t.Helper()
	r, baseSHA, headSHA := project(t, base, head)
	return newWorldOf(t, r, baseSHA, headSHA)
}

// newWorldOf is a world whose forge has a copy of a repository.
func newWorldOf(t *testing.T, r repo, baseSHA, headSHA string) *world {
	t.Helper()
	w := &world{t: t, log: &testlog.Buffer{}}
	forge := forgetest.Start(t)
	owner := forgetest.Must(forge.AddUser("acme"))
	w.token = forgetest.Must(forge.AddUserToken(owner.Login))
	hosted := forgetest.Must(forge.AddRepo("acme/thing", forgetest.RepoSpec{Private: true, Source: r.dir, DefaultBranch: "main"}))
	w.forge, w.base, w.head = forge, baseSHA, headSHA
	w.repo = job.Repository{ID: hosted.ID, Owner: "acme", Name: "thing", Private: true, CloneURL: forge.URL() + "/acme/thing.git"}

	logger := slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(w.log.String())
		}
	})
	q, err := queue.Open(t.Context(), queue.Options{Dir: t.TempDir(), Listen: "127.0.0.1:0", Pauses: []time.Duration{time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	w.q = q
	w.serve()
	w.seed, w.conn = w.enroll("r1")
	dir := room(t)
	w.opts = runner.Options{Conn: w.conn, Name: "bench-1", Work: filepath.Join(dir, "work"), Sandbox: bubblewrap(t), Logger: logger,
		HostLock: filepath.Join(dir, "host.lock"), BeatEvery: 50 * time.Millisecond, AllowHTTP: true,
		FetchPauses: []time.Duration{time.Millisecond, time.Millisecond}, Rests: []time.Duration{time.Millisecond}}
	return w
}

// serve answers runners until the test ends or stopDesk is called.
func (w *world) serve() {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	desk := queue.Desk{
		Token: func(context.Context, job.Job) (queue.Token, error) { return queue.Token{Value: w.token}, nil },
		Revoke: func(_ context.Context, t queue.Token) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.revoked = append(w.revoked, t.Value)
			return nil
		},
	}
	go func() { done <- w.q.ServeRunners(ctx, desk) }()
	w.stopDesk = sync.OnceFunc(func() {
		stop()
		if err := <-done; err != nil {
			w.t.Errorf("serve runners: %v", err)
		}
	})
	w.t.Cleanup(w.stopDesk)
}

func (w *world) enroll(name string) (string, *queue.RunnerConn) {
	w.t.Helper()
	seed, public, err := queue.NewKey()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.q.Enroll(w.t.Context(), name, "default", public); err != nil {
		w.t.Fatal(err)
	}
	conn, err := queue.Dial(w.t.Context(), w.q.RunnerURL(), seed, queue.DialOptions{Name: name})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(conn.Close)
	return seed, conn
}

// start runs the runner and gives what stops it and waits for its end.
func (w *world) start(o runner.Options) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- runner.Run(ctx, o) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			w.t.Errorf("runner: %v", err)
		}
	})
	w.t.Cleanup(stop)
	return stop
}

func (w *world) create(s job.Spec) job.Job {
	w.t.Helper()
	return w.createOn(s, nil)
}

// createOn makes a job, of a backport where there is one.
func (w *world) createOn(s job.Spec, b *job.Backport) job.Job {
	w.t.Helper()
	s.Pool = "default"
	j, _, err := w.q.Create(w.t.Context(), job.Job{Repository: w.repo, PR: 3, Spec: s, Backport: b,
		Wish: job.Wish{Key: fmt.Sprintf("label:%p:%d", &s, time.Now().UnixNano()), Trigger: job.ByLabel, Sender: "ann", SenderID: 1},
		Base: job.Side{SHA: w.base, Ref: "main"}, Head: job.Side{SHA: w.head, Ref: "pr"}})
	if err != nil {
		w.t.Fatal(err)
	}
	return j
}

// wait waits until the job's record satisfies the condition.
func (w *world) wait(id job.ID, what string, ok func(job.Job) bool) job.Job {
	w.t.Helper()
	deadline := time.Now().Add(time.Minute) // against hanging; no test depends on it
	for {
		j, err := w.q.Get(w.t.Context(), id)
		if err != nil {
			w.t.Fatal(err)
		}
		if ok(j) {
			return j
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("job %s never %s: %+v", id, what, j)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func ended(j job.Job) bool { return j.State == job.Publishing }

func (w *world) runs(j job.Job) []job.Run {
	w.t.Helper()
	var all []job.Run
	for r, err := range w.q.Runs(w.t.Context(), j.Runner, j.ID, j.Try) {
		if err != nil {
			w.t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}
