package pages

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"strings"
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
	"github.com/prbench/prbench/report/publish"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is the pages of a real store, judged by a real publisher, served over
// HTTP, with a GitHub beside them and a runner that says what the test wants.
type world struct {
	*forgetest.Server
	t       *testing.T
	app     *forgetest.App
	inst    *forgetest.Installation
	repo    *forgetest.Repo
	forge   *forge.Forge
	store   *queue.Queue
	runner  *queue.RunnerConn
	publish *publish.Publisher
	pages   *Server
	site    *httptest.Server
	log     testlog.Buffer
	wishes  int

	mu    sync.Mutex
	ahead time.Duration // of the pages' clock
}

type worldSpec struct{ private, signIn bool }

func newWorld(t *testing.T, spec worldSpec) *world {
	t.Helper()
	w := &world{Server: forgetest.Start(t), t: t}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(w.log.String())
		}
	})
	for _, login := range []string{"reader", "stranger"} {
		_, err := w.AddUser(login)
		w.ok(err)
	}
	var err error
	w.repo, err = w.AddRepo("acme/engine", forgetest.RepoSpec{Private: spec.private, Build: forgetest.WriteFiles("first", map[string]string{"a": "b\n"})})
	w.ok(err)
	w.ok(w.Grant(w.repo, "reader", "read"))
	w.app, err = w.AddApp(forgetest.AppSpec{Slug: "prbench"})
	w.ok(err)
	w.inst, err = w.Install(w.app, "acme", w.repo)
	w.ok(err)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	hub := forge.Config{URL: w.APIURL(), Transport: transport, Pace: -1, AppID: w.app.ID, PrivateKey: w.app.PrivateKey}
	w.forge, err = forge.New(hub)
	w.ok(err)
	w.store, err = queue.Open(t.Context(), queue.Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	w.ok(err)
	t.Cleanup(w.store.Close)
	w.runner = queuetest.Runner(t, w.store)
	log := slog.New(slog.NewTextHandler(&w.log, nil))
	w.publish = &publish.Publisher{Store: w.store, Log: log, Now: time.Now}
	w.site = httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { w.pages.ServeHTTP(rw, r) }))
	w.site.Start()
	t.Cleanup(w.site.Close)
	c := Config{Store: w.store, Reports: w.publish, Records: w.store, Hub: func(id int64) Hub { return w.forge.Installation(id) },
		PublicURL: w.site.URL, Retention: 90 * 24 * time.Hour, Log: log, Now: w.now}
	if spec.signIn {
		w.SetCallbacks(w.app, w.site.URL+"/r/callback")
		c.SignIn, err = forge.NewSignIn(hub, w.app.ClientID(), w.app.ClientSecret(), w.site.URL+"/r/callback")
		w.ok(err)
		c.ClientSecret = w.app.ClientSecret()
	}
	w.pages, err = New(c)
	w.ok(err)
	w.publish.PageURL = w.pages.URL
	return w
}

func (w *world) ok(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Add(w.ahead)
}

// pass lets time pass for the pages.
func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ahead += d
}

// ask makes a job.
func (w *world) ask(change func(*job.Job)) job.Job {
	w.t.Helper()
	w.wishes++
	j := job.Job{Installation: w.inst.ID, PR: 1,
		Repository: job.Repository{ID: w.repo.ID, Owner: "acme", Name: "engine", HTMLURL: "https://forge.test/acme/engine"},
		Wish:       job.Wish{Key: fmt.Sprintf("comment:%d", w.wishes), Trigger: job.ByComment, Sender: "reader", SenderID: 7},
		Spec:       job.Spec{Pool: "default", Suites: []job.Suite{{Name: "speed", Format: job.FormatGo, Command: "./bench"}}, Runs: 5, Margin: 0.02},
		Base:       job.Side{SHA: strings.Repeat("a", 40), Ref: "main"}, Head: job.Side{SHA: strings.Repeat("b", 40), Ref: "reader:faster"}}
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
	return l
}

// pairs measures those from one number to before another: benchmark clear is half
// again as slow, and the others are as named.
func (w *world) pairs(l *queue.Lease, from, to int, names ...string) {
	w.t.Helper()
	for pair := from; pair < to; pair++ {
		for position, side := range []job.SideName{job.Old, job.New} {
			value := 100 + float64((pair*7+position)%3)
			if side == job.New {
				value *= 1.5
			}
			r := job.Run{Suite: "speed", Side: side, Pair: pair, Position: position, Started: time.Now(), Wall: 0.1}
			for _, name := range append([]string{"clear"}, names...) {
				r.Samples = append(r.Samples, job.Sample{Benchmark: name, Unit: "ns/op", Better: job.Lower, Value: value})
			}
			w.ok(w.runner.Publish(w.t.Context(), l.Job.ID, l.Try, r))
		}
	}
}

func (w *world) beat(l *queue.Lease, p job.Progress) {
	w.t.Helper()
	_, err := w.runner.Beat(w.t.Context(), l.Job.ID, l.Try, p)
	w.ok(err)
}

func (w *world) end(l *queue.Lease, o job.Outcome) {
	w.t.Helper()
	w.ok(w.runner.Done(w.t.Context(), l.Job.ID, l.Try, o))
}

// measured is a job that was measured.
func (w *world) measured(names ...string) job.Job {
	w.t.Helper()
	j := w.ask(nil)
	l := w.claim()
	w.pairs(l, 0, 5, names...)
	w.end(l, job.Outcome{Kind: job.Measured, Runs: 10, Pairs: 5, Host: job.Host{Name: "box"}})
	return j
}

// follow has the pages follow the queue until the test ends.
func (w *world) follow() {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.pages.Run(ctx) }()
	w.t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			w.t.Error(err)
		}
	})
}

// until opens a job's page until it says the words; the limit is against hanging.
func (w *world) until(r *reader, j job.Job, words string) page {
	w.t.Helper()
	for limit := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		p := r.open(w.pages.URL(j))
		if strings.Contains(p.body, words) {
			return p
		}
		if time.Now().After(limit) {
			w.t.Fatalf("the page never says %q:\n%.3000s", words, p.body)
		}
	}
}

// reader is a person with a browser of their own.
type reader struct {
	w *world
	http.Client
}

func (w *world) browser() *reader {
	w.t.Helper()
	jar, err := cookiejar.New(nil)
	w.ok(err)
	transport := &http.Transport{}
	w.t.Cleanup(transport.CloseIdleConnections)
	return &reader{w, http.Client{Jar: jar, Transport: transport}}
}

type page struct {
	status int
	header http.Header
	body   string
	at     string // where redirects led
}

func (r *reader) do(method, address string) page {
	r.w.t.Helper()
	req, err := http.NewRequest(method, address, nil)
	r.w.ok(err)
	return r.send(req)
}

func (r *reader) send(req *http.Request) page {
	r.w.t.Helper()
	resp, err := r.Do(req)
	r.w.ok(err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	r.w.ok(err)
	resp.Header.Del("Date")
	return page{resp.StatusCode, resp.Header, string(body), resp.Request.URL.String()}
}

func (r *reader) open(address string) page {
	r.w.t.Helper()
	return r.do(http.MethodGet, address)
}

func (p page) says(t *testing.T, words ...string) {
	t.Helper()
	for _, s := range words {
		if !strings.Contains(p.body, s) {
			t.Errorf("the page (%d) does not say %q:\n%.3000s", p.status, s, p.body)
		}
	}
}

func (p page) hides(t *testing.T, words ...string) {
	t.Helper()
	for _, s := range words {
		if strings.Contains(p.body, s) {
			t.Errorf("the page (%d) says %q", p.status, s)
		}
	}
}
