package forge_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/prbench/prbench/internal/forge"
	"github.com/prbench/prbench/internal/forgetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a GitHub with acme/engine, a fork of it with pull request 1 open,
// and an App that is installed on acme.
type world struct {
	*forgetest.Server
	t     *testing.T
	ctx   context.Context
	clock *handClock
	app   *forgetest.App
	inst  *forgetest.Installation
	repo  *forgetest.Repo
	fork  *forgetest.Repo
	pull  *forgetest.Pull
	forge *forge.Forge
	gh    *forge.Client
	name  forge.Repo
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{Server: forgetest.Start(t), t: t, ctx: t.Context(), clock: newHandClock(), name: forge.Repo{Owner: "acme", Name: "engine"}}
	var err error
	for _, login := range []string{"dev-a", "dev-b", "stranger"} {
		_, err = w.AddUser(login)
		w.ok(err)
	}
	w.repo, err = w.AddRepo("acme/engine", forgetest.RepoSpec{Private: true, Build: func(b *forgetest.Work) error {
		if err := forgetest.WriteFiles("first", map[string]string{"speed.txt": "slow\n", ".github/benchmark.yml": "version: 1\n"})(b); err != nil {
			return err
		}
		if _, err := b.Git("tag", "light"); err != nil {
			return err
		}
		_, err := b.Git("tag", "-a", "v1.0", "-m", "release")
		return err
	}})
	w.ok(err)
	w.fork, err = w.Fork(w.repo, "dev-b")
	w.ok(err)
	w.push("faster", "fast\n")
	w.app, err = w.AddApp(forgetest.AppSpec{Slug: "prbench"})
	w.ok(err)
	w.inst, err = w.Install(w.app, "acme")
	w.ok(err)
	w.pull, err = w.OpenPull(forgetest.PullSpec{Base: w.repo, Head: w.fork, HeadRef: "faster", Title: "Go faster"})
	w.ok(err)
	w.forge = w.connect(forge.Config{AppID: w.app.ID, PrivateKey: w.app.PrivateKey})
	w.gh = w.forge.Installation(w.inst.ID)
	return w
}

// push writes speed.txt on a branch of the fork.
func (w *world) push(branch, speed string) string {
	w.t.Helper()
	sha, err := w.Push("dev-b", w.fork, branch, forgetest.WriteFiles("change the speed", map[string]string{"speed.txt": speed}))
	w.ok(err)
	return sha
}

// connect makes a Forge for the server, with the test's clock.
func (w *world) connect(cfg forge.Config) *forge.Forge {
	w.t.Helper()
	transport := &http.Transport{}
	w.t.Cleanup(transport.CloseIdleConnections)
	cfg.Transport, cfg.Clock = transport, w.clock
	if cfg.URL == "" {
		cfg.URL = w.APIURL()
	}
	f, err := forge.New(cfg)
	w.ok(err)
	return f
}

func (w *world) ok(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// is checks the kind of a failure.
func (w *world) is(err error, want forge.Kind) forge.Class {
	w.t.Helper()
	got := forge.Classify(err)
	if err == nil || got.Kind != want {
		w.t.Fatalf("got %v (%+v), want %q", err, got, want)
	}
	return got
}

// handClock moves only when somebody sleeps, and remembers how long.
type handClock struct {
	mu     sync.Mutex
	now    time.Time
	sleeps []time.Duration
}

func newHandClock() *handClock { return &handClock{now: time.Now()} }

func (c *handClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *handClock) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sleeps = append(c.sleeps, d)
	c.now = c.now.Add(d)
	return nil
}

func (c *handClock) slept() []time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]time.Duration(nil), c.sleeps...)
}
