package webhook

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/prbench/prbench/internal/config"
	"github.com/prbench/prbench/internal/forge"
	"github.com/prbench/prbench/internal/forgetest"
	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/internal/queue"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const goodConfig = `version: 1
build: {run: make}
suites:
  strings: {format: go, command: sh bench.sh, default: true}
  http: {format: go, command: sh bench.sh http}
`

var pools = []config.Pool{{Name: "default", Repositories: []string{"acme/engine"}}, {Name: "others", Repositories: []string{"acme/another"}}}

// world is this stage with real parts around it: a GitHub with acme/engine and
// a contributor's open pull request, an intake, a store on disk.
type world struct {
	*forgetest.Server
	t         *testing.T
	forge     *forge.Forge
	transport *http.Transport
	app       *forgetest.App
	inst      *forgetest.Installation
	repo      *forgetest.Repo
	fork      *forgetest.Repo
	pull      *forgetest.Pull
	mergeBase string
	trusted   []int64       // bots
	limits    config.Limits // of the pool default

	dir     string // of the store
	store   *queue.Queue
	clerk   *Acceptor
	hook    *switchboard
	stop    func()
	ahead   atomic.Int64 // how far GitHub's clock is ahead of ours
	mu      sync.Mutex
	pending map[string]int // deliveries that are kept and not handled yet
}

// switchboard lets the intake be exchanged behind one address, as a restart does.
type switchboard struct {
	*httptest.Server
	to atomic.Pointer[Intake]
}

func (s *switchboard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if in := s.to.Load(); in != nil {
		in.ServeHTTP(w, r)
		return
	}
	w.WriteHeader(http.StatusBadGateway)
}

// newWorld has benchmark.yml on the default branch, and people with every role.
func newWorld(t *testing.T, benchmarkYML string) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), pending: map[string]int{}, hook: &switchboard{}}
	var err error
	w.Server, err = forgetest.New(forgetest.Options{Now: w.now})
	w.ok(err)
	t.Cleanup(func() { w.ok(w.Server.Close()) })
	for _, login := range []string{"writer", "triager", "reader", "contributor", "stranger"} {
		_, err := w.AddUser(login)
		w.ok(err)
	}
	files := map[string]string{"speed.txt": "slow\n"}
	if benchmarkYML != "" {
		files[config.RepoPath] = benchmarkYML
	}
	w.repo, err = w.AddRepo("acme/engine", forgetest.RepoSpec{Build: forgetest.WriteFiles("first", files)})
	w.ok(err)
	for login, role := range map[string]string{"writer": "write", "triager": "triage", "reader": "read"} {
		w.ok(w.Grant(w.repo, login, role))
	}
	w.fork, err = w.Fork(w.repo, "contributor")
	w.ok(err)
	w.push("fast\n")
	w.mergeBase, err = w.Commit(w.repo, "main")
	w.ok(err)
	_, err = w.Push("writer", w.repo, "main", forgetest.WriteFiles("main goes on", map[string]string{"other.txt": "x\n"}))
	w.ok(err)
	w.app, err = w.AddApp(forgetest.AppSpec{Slug: "prbench"})
	w.ok(err)
	w.inst, err = w.Install(w.app, "acme", w.repo)
	w.ok(err)
	w.transport = &http.Transport{}
	t.Cleanup(w.transport.CloseIdleConnections)
	w.forge, err = forge.New(forge.Config{URL: w.APIURL(), AppID: w.app.ID, PrivateKey: w.app.PrivateKey, Pace: -1, Transport: w.transport})
	w.ok(err)
	w.hook.Server = httptest.NewServer(w.hook)
	t.Cleanup(w.hook.Server.Close)
	w.SetWebhook(w.app, w.hook.URL, secret)
	w.start()
	t.Cleanup(func() { w.stop() })
	w.pull, err = w.OpenPull(forgetest.PullSpec{Base: w.repo, Head: w.fork, HeadRef: "faster", Author: "contributor", Title: "Go faster"})
	w.ok(err)
	w.settle()
	return w
}

func (w *world) ok(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// now is GitHub's clock.
func (w *world) now() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) }

// later lets two seconds pass on GitHub.
func (w *world) later() { w.ahead.Add(int64(2 * time.Second)) }

// push changes the contributor's branch, after a while.
func (w *world) push(speed string) string {
	w.t.Helper()
	w.later()
	sha, err := w.Push("contributor", w.fork, "faster", forgetest.WriteFiles("change the speed", map[string]string{"speed.txt": speed}))
	w.ok(err)
	return sha
}

func (w *world) name() forge.Repo { return forge.Repo{Owner: "acme", Name: "engine"} }

// start opens the store and begins to take and handle events.
func (w *world) start() {
	w.t.Helper()
	log := slog.New(slog.NewTextHandler(w.t.Output(), nil))
	store, err := queue.Open(w.t.Context(), queue.Options{Dir: w.dir, Logger: log})
	w.ok(err)
	w.store = store
	intake, err := NewIntake([]string{secret}, w.keep, log)
	w.ok(err)
	a := &Acceptor{Hub: func(id int64) Hub { return w.forge.Installation(id) }, Store: store,
		Pools: pools, Self: w.forge.Self, TrustedBots: w.trusted, Log: log, Now: w.now,
		Installations: w.forge.Installations, InstallationOf: w.forge.InstallationOf}
	if w.limits != (config.Limits{}) {
		a.Pools = slices.Clone(pools)
		a.Pools[0].Limits, a.Waiting = w.limits, w.waiting
	}
	w.clerk = a
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- store.ConsumeEvents(ctx, func(ctx context.Context, e job.Event) error {
			err := a.Handle(ctx, e)
			if err == nil || errors.Is(err, queue.ErrGiveUp) {
				w.count(e.Delivery, -1)
			}
			return err
		})
	}()
	w.hook.to.Store(intake)
	w.stop = sync.OnceFunc(func() {
		w.hook.to.Store(nil)
		cancel()
		if err := <-done; err != nil {
			w.t.Error(err)
		}
		store.Close()
	})
}

// keep is the intake's way into the store.
func (w *world) keep(ctx context.Context, e job.Event) (bool, error) {
	w.count(e.Delivery, +1)
	known, err := w.store.PublishEvent(ctx, e)
	if known || err != nil {
		w.count(e.Delivery, -1)
	}
	return known, err
}

func (w *world) count(delivery string, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pending[delivery] += n; w.pending[delivery] == 0 {
		delete(w.pending, delivery)
	}
}

// settle waits until GitHub has told everything and everything is handled.
func (w *world) settle() {
	w.t.Helper()
	ctx, stop := context.WithTimeout(w.t.Context(), time.Minute) // against hanging
	defer stop()
	for {
		w.ok(w.Settle(ctx))
		w.mu.Lock()
		left := len(w.pending)
		w.mu.Unlock()
		if left == 0 {
			return
		}
		select {
		case <-ctx.Done():
			w.t.Fatalf("%d events were never handled", left)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (w *world) label(who, name string) {
	w.t.Helper()
	w.later()
	w.ok(w.AddLabel(who, w.pull, name))
	w.settle()
}

func (w *world) comment(who, body string) int64 {
	w.t.Helper()
	w.later()
	id, err := w.Comment(who, w.pull, body)
	w.ok(err)
	w.settle()
	return id
}

func (w *world) edit(who string, id int64, body string) {
	w.t.Helper()
	w.later()
	w.ok(w.EditComment(who, id, body))
	w.settle()
}

// jobs are the pull request's, oldest first.
func (w *world) jobs() []job.Job {
	w.t.Helper()
	all, err := w.store.List(w.t.Context(), w.repo.ID, w.pull.Number)
	w.ok(err)
	return all
}

// onlyJob fails unless there is one job and no reply.
func (w *world) onlyJob() job.Job {
	w.t.Helper()
	jobs := w.jobs()
	if len(jobs) != 1 {
		w.t.Fatalf("%d jobs, want 1; replies: %q", len(jobs), w.replies())
	}
	if said := w.replies(); len(said) > 0 {
		w.t.Errorf("there is a job, and yet a reply: %q", said)
	}
	return jobs[0]
}

// replies are our comments, without their markers.
func (w *world) replies() []string {
	var out []string
	for _, c := range w.Conversation(w.pull).Comments {
		if c.Author == "prbench[bot]" {
			_, text, _ := strings.Cut(c.Body, "-->\n")
			out = append(out, text)
		}
	}
	return out
}

// refused fails unless there is no job and one reply with all the words.
func (w *world) refused(words ...string) string {
	w.t.Helper()
	if jobs := w.jobs(); len(jobs) != 0 {
		w.t.Errorf("%d jobs, want none", len(jobs))
	}
	return w.said(words...)
}

// said fails unless there is one reply, with all the words.
func (w *world) said(words ...string) string {
	w.t.Helper()
	all := w.replies()
	if len(all) != 1 {
		w.t.Fatalf("%d replies, want 1: %q", len(all), all)
	}
	for _, word := range words {
		if !strings.Contains(all[0], word) {
			w.t.Errorf("the reply does not say %q:\n%s", word, all[0])
		}
	}
	if strings.Contains(all[0], "..\n") || strings.HasSuffix(all[0], "..") {
		w.t.Errorf("the reply ends in two full stops:\n%s", all[0])
	}
	return all[0]
}
