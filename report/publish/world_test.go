package publish

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/prbench/prbench/internal/forge"
	"github.com/prbench/prbench/internal/forgetest"
	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/internal/queue"
	"github.com/prbench/prbench/internal/queue/queuetest"
	"github.com/prbench/prbench/internal/testlog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is this stage with real parts around it: a GitHub with an open pull
// request, a store on disk, and a runner that says what the test wants.
type world struct {
	*forgetest.Server
	t      *testing.T
	app    *forgetest.App
	inst   *forgetest.Installation
	repo   *forgetest.Repo
	fork   *forgetest.Repo
	pull   *forgetest.Pull
	forge  *forge.Forge
	store  *queue.Queue
	dir    string
	runner *queue.RunnerConn
	log    testlog.Buffer
	wishes int

	commandID int64 // of the comment that gave it; 0: not written yet
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{Server: forgetest.Start(t), t: t, dir: t.TempDir()}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(w.log.String())
		}
	})
	for _, login := range []string{"writer", "contributor"} {
		_, err := w.AddUser(login)
		w.ok(err)
	}
	var err error
	w.repo, err = w.AddRepo("acme/engine", forgetest.RepoSpec{Build: forgetest.WriteFiles("first", map[string]string{"speed.txt": "slow\n"})})
	w.ok(err)
	w.ok(w.Grant(w.repo, "writer", "write"))
	w.fork, err = w.Fork(w.repo, "contributor")
	w.ok(err)
	w.push("fast\n")
	w.app, err = w.AddApp(forgetest.AppSpec{Slug: "prbench"})
	w.ok(err)
	w.inst, err = w.Install(w.app, "acme", w.repo)
	w.ok(err)
	w.pull, err = w.OpenPull(forgetest.PullSpec{Base: w.repo, Head: w.fork, HeadRef: "faster", Author: "contributor", Title: "Go faster"})
	w.ok(err)
	w.forge = w.connect(forge.Config{AppID: w.app.ID, PrivateKey: w.app.PrivateKey})
	w.store, err = queue.Open(t.Context(), queue.Options{Dir: w.dir, Listen: "127.0.0.1:0", LeadLease: time.Second, Pauses: []time.Duration{}})
	w.ok(err)
	t.Cleanup(w.store.Close)
	w.runner = queuetest.Runner(t, w.store)
	return w
}

func (w *world) ok(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) push(speed string) {
	w.t.Helper()
	_, err := w.Push("contributor", w.fork, "faster", forgetest.WriteFiles("change the speed", map[string]string{"speed.txt": speed}))
	w.ok(err)
}

func (w *world) connect(cfg forge.Config) *forge.Forge {
	w.t.Helper()
	transport := &http.Transport{}
	w.t.Cleanup(transport.CloseIdleConnections)
	cfg.URL, cfg.Transport, cfg.Pace = w.APIURL(), transport, -1
	f, err := forge.New(cfg)
	w.ok(err)
	return f
}

// publisher gives a Publisher of the world's App.
func (w *world) publisher() *Publisher {
	return &Publisher{Hub: func(id int64) Hub { return w.forge.Installation(id) }, Store: w.store, Checks: true,
		Log: slog.New(slog.NewTextHandler(&w.log, nil)), Now: time.Now, ProgressEvery: time.Millisecond, Retry: 10 * time.Millisecond}
}

// withPlainToken gives a Publisher that has a person's token in the App's place.
func (w *world) withPlainToken() *Publisher {
	w.t.Helper()
	token, err := w.AddUserToken("writer")
	w.ok(err)
	f := w.connect(forge.Config{Token: token})
	p := w.publisher()
	p.Checks, p.Hub = f.IsApp(), func(id int64) Hub { return f.Installation(id) }
	return p
}

// run runs a Publisher until the test ends or stop is called.
func (w *world) run(p *Publisher) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			w.t.Errorf("publisher: %v", err)
		}
	})
	w.t.Cleanup(stop)
	return stop
}

// ask makes a job of the pull request's head, as a label does.
func (w *world) ask(change func(*job.Job)) job.Job {
	w.t.Helper()
	w.wishes++
	base, err := w.Commit(w.repo, "main")
	w.ok(err)
	j := job.Job{Installation: w.inst.ID, PR: w.pull.Number,
		Repository: job.Repository{ID: w.repo.ID, Owner: "acme", Name: "engine", CloneURL: w.CloneURL(w.repo)},
		Wish:       job.Wish{Key: fmt.Sprintf("label:%d", w.wishes), Trigger: job.ByLabel, Label: "benchmark", Sender: "writer", SenderID: 7},
		Spec:       job.Spec{Pool: "default", Suites: []job.Suite{{Name: "speed", Format: job.FormatGo, Command: "./bench"}}, Runs: 5, Margin: 0.02},
		Base:       job.Side{SHA: base, Ref: "main"}, Head: job.Side{SHA: w.Head(w.pull), Ref: "contributor:faster"}}
	if change != nil {
		change(&j)
	}
	made, _, err := w.store.Create(w.t.Context(), j)
	w.ok(err)
	return made
}

func (w *world) claim() *queue.Lease {
	w.t.Helper()
	l, err := w.runner.Claim(w.t.Context(), queue.ClaimRequest{})
	w.ok(err)
	if l == nil {
		w.t.Fatal("there is nothing to claim")
	}
	_, err = w.runner.Beat(w.t.Context(), l.Job.ID, l.Try, job.Progress{Phase: job.PhaseMeasure, Total: 10})
	w.ok(err)
	return l
}

// measure does the next job: the head takes as many times as long as the base.
func (w *world) measure(times float64) job.Job { return w.measurePairs(times, 5) }

func (w *world) measurePairs(times float64, pairs int) job.Job {
	w.t.Helper()
	l := w.claim()
	w.pairs(l, 0, pairs, times)
	w.end(l, job.Outcome{Kind: job.Measured, Runs: 2 * pairs, Pairs: pairs, Host: job.Host{Name: "box"}})
	return l.Job
}

// pairs measures those from one number to before another.
func (w *world) pairs(l *queue.Lease, from, to int, times float64) {
	w.t.Helper()
	for pair := from; pair < to; pair++ {
		for position, side := range []job.SideName{job.Old, job.New} {
			value := 100 + float64((pair*7+position)%3)
			if side == job.New {
				value *= times
			}
			w.ok(w.runner.Publish(w.t.Context(), l.Job.ID, l.Try, job.Run{Suite: "speed", Side: side, Pair: pair, Position: position, Started: time.Now(), Wall: 0.1,
				Samples: []job.Sample{{Benchmark: "Encode", Unit: "ns/op", Better: job.Lower, Value: value}}}))
		}
	}
}

func (w *world) end(l *queue.Lease, o job.Outcome) {
	w.t.Helper()
	w.ok(w.runner.Done(w.t.Context(), l.Job.ID, l.Try, o))
}

// await waits until the record is as wanted; the limit is against hanging.
func (w *world) await(id job.ID, what string, ok func(job.Job) bool) job.Job {
	w.t.Helper()
	for limit := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		j, err := w.store.Get(w.t.Context(), id)
		w.ok(err)
		if ok(j) {
			return j
		}
		if time.Now().After(limit) {
			w.t.Fatalf("job %s never %s: %+v", id, what, j)
		}
	}
}

// shown waits until GitHub shows all of the job.
func (w *world) shown(id job.ID) job.Job {
	w.t.Helper()
	return w.await(id, "is shown", func(j job.Job) bool { return j.State.Ended() && j.Published.Revision == j.Revision })
}

// comments are the bodies of all comments.
func (w *world) comments() []string {
	var out []string
	for _, c := range w.Conversation(w.pull).Comments {
		out = append(out, c.Body)
	}
	return out
}

// onlyComment fails unless there is exactly one.
func (w *world) onlyComment() string {
	w.t.Helper()
	all := w.comments()
	if len(all) != 1 {
		w.t.Fatalf("%d comments, want 1: %q", len(all), all)
	}
	return all[0]
}
