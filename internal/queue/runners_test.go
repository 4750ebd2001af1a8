package queue

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/prbench/prbench/internal/job"
)

func TestARunnerIsEnrolledAndRevokedWhileServeRuns(t *testing.T) {
	t.Parallel()
	q := open(t)
	serve(t, q, &forge{})
	id := create(t, q, wish(1, 1, "k")).ID
	seed, public, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	if err := q.Enroll(ctx, "bad", "default", public); err != nil {
		t.Fatal(err)
	}
	bad := dial(t, q.RunnerURL(), seed)
	good := enroll(t, q, "good", "default")
	if l := claim(t, bad); l.Job.ID != id {
		t.Fatalf("claimed %s", l.Job.ID)
	}
	if err := q.Revoke(ctx, "bad"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is disconnected for good", func() bool {
		_, err := bad.Beat(ctx, id, 1, job.Progress{})
		return errors.Is(err, ErrRefused)
	})
	if c, err := Dial(ctx, q.RunnerURL(), seed, DialOptions{}); !errors.Is(err, ErrRefused) {
		if err == nil {
			c.Close()
		}
		t.Errorf("it connects again: %v", err)
	}
	if l := claim(t, good); l.Job.ID != id || l.Try != 2 || !strings.Contains(l.Job.LostTries[0], "revoked") {
		t.Errorf("its job: %+v", l)
	}
	if err := q.Revoke(ctx, "bad"); !errors.Is(err, ErrNotFound) {
		t.Errorf("revoked again: %v", err)
	}
	if rs, err := q.Runners(ctx); err != nil || len(rs) != 1 || rs[0].Name != "good" || rs[0].Key != good.Key() {
		t.Errorf("enrolled: %v, %v", rs, err)
	}
}

func TestEnrollingSaysWhatIsWrong(t *testing.T) {
	q := open(t)
	ctx := t.Context()
	seed, a, errA := NewKey()
	_, b, errB := NewKey()
	if err := errors.Join(errA, errB, q.Enroll(ctx, "a", "default", a)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, pool, key, want string }{
		{"a", "default", b, "already"},
		{"b", "default", a, "already"},
		{"b.c", "default", b, "want a name"},
		{"", "default", b, "want a name"},
		{"b", "*", b, "want a pool"},
		{"b", "default", "U123", "want a public user nkey"},
		{"b", "default", seed, "want a public user nkey"},
	} {
		err := q.Enroll(ctx, c.name, c.pool, c.key)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("enroll %q in %q: %v, want %q", c.name, c.pool, err, c.want)
		}
		if c.key == seed && strings.Contains(fmt.Sprint(err), seed) {
			t.Error("the error shows the seed")
		}
	}
	if err := q.Enroll(ctx, "a", "big", a); err != nil {
		t.Errorf("moved to another pool: %v", err)
	}
	if rs, err := q.Runners(ctx); err != nil || len(rs) != 1 || rs[0].Pool != "big" {
		t.Errorf("enrolled: %v, %v", rs, err)
	}
	if pub, err := PublicKey(seed + "\n"); err != nil || pub != a {
		t.Errorf("public key %s, %v", pub, err)
	}
	if _, err := PublicKey(a); err == nil {
		t.Error("a public key is read as a seed")
	}
}

func TestACommandReachesTheStoreThatServeHasOpen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx := t.Context()
	if _, err := Attach(ctx, Options{Dir: dir}); !errors.Is(err, ErrNotRunning) {
		t.Errorf("nobody runs: %v, want ErrNotRunning", err)
	}
	q := open(t, func(o *Options) { o.Dir = dir; o.MaxBytes = 1 << 30 })
	run, stop := context.WithCancel(ctx)
	defer stop()
	served := make(chan error, 1)
	go func() { served <- q.ServeRunners(run, (&forge{}).desk()) }()
	if _, err := Open(ctx, Options{Dir: dir}); !errors.Is(err, ErrInUse) {
		t.Errorf("opened twice: %v, want ErrInUse", err)
	}
	command, err := Attach(ctx, Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer command.Close()
	seed, public, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Enroll(ctx, "box", "default", public); err != nil {
		t.Fatal(err)
	}
	var c *RunnerConn
	eventually(t, "the runner may connect", func() bool {
		c, err = Dial(ctx, q.RunnerURL(), seed, DialOptions{})
		return err == nil
	})
	defer c.Close()
	id := create(t, command, wish(1, 1, "k")).ID
	if l := claim(t, c); l.Job.ID != id {
		t.Errorf("claimed %s", l.Job.ID)
	}
	if err := command.Revoke(ctx, "box"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the runner is disconnected", func() bool {
		_, err := c.Beat(ctx, id, 1, job.Progress{})
		return errors.Is(err, ErrRefused)
	})
	if i, err := q.hooks.Info(ctx); err != nil || i.Config.MaxBytes != 1<<27 {
		t.Errorf("the command changed the stream: %+v, %v", i.Config.MaxBytes, err)
	}
	for _, f := range []string{keyFile, socketFile} {
		if s, err := os.Stat(filepath.Join(dir, f)); err != nil || s.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", f, s.Mode(), err)
		}
	}
	command.Close()
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
	q.Close()
	if _, err := Attach(ctx, Options{Dir: dir}); !errors.Is(err, ErrNotRunning) {
		t.Errorf("it ran: %v, want ErrNotRunning", err)
	}
}

func TestAStoreWhosePathIsTooLongForASocketOpensAllTheSame(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	q := open(t, func(o *Options) { o.Dir = dir })
	create(t, q, wish(1, 1, "k"))
	if _, err := Attach(t.Context(), Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("attach: %v", err)
	}
}

func TestARunnerGoesOnWhenServeHasRestarted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(o *Options) { o.Dir = dir }
	q := open(t, at)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- q.ServeRunners(ctx, (&forge{}).desk()) }()
	c := enroll(t, q, "box", "default")
	id := create(t, q, wish(1, 1, "k")).ID
	l := claim(t, c)
	address := strings.TrimPrefix(q.RunnerURL(), "nats://")
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
	q.Close()

	published := make(chan error, 1)
	go func() { published <- c.Publish(t.Context(), id, l.Try, job.Run{Suite: "while away", Side: job.Old}) }()
	q = open(t, at, func(o *Options) { o.Listen = address })
	serve(t, q, &forge{})
	if err := <-published; err != nil {
		t.Errorf("published over the restart: %v", err)
	}
	if rs := readRuns(t, q, c.Key(), id, l.Try); len(rs) != 1 {
		t.Errorf("%d records", len(rs))
	}
	if err := c.Done(t.Context(), id, l.Try, job.Outcome{Kind: job.Measured}); err != nil {
		t.Error(err)
	}
}

func TestARunnerComesInOverAWebsocketBehindAPath(t *testing.T) {
	q := open(t, func(o *Options) { o.Listen, o.Websocket = "", true })
	serve(t, q, &forge{})
	if q.RunnerURL() != "" {
		t.Errorf("it listens at %s", q.RunnerURL())
	}
	h, err := q.WebsocketHandler()
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/runner", h)
	web := httptest.NewTLSServer(mux)
	defer web.Close()
	seed, public, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Enroll(t.Context(), "box", "default", public); err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(web.URL)
	if err != nil {
		t.Fatal(err)
	}
	address := "wss://" + u.Host + "/runner"
	tlsConfig := web.Client().Transport.(*http.Transport).TLSClientConfig
	c, err := Dial(t.Context(), address, seed, DialOptions{TLS: tlsConfig})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	id := create(t, q, wish(1, 1, "k")).ID
	if l := claim(t, c); l.Job.ID != id {
		t.Errorf("claimed %s", l.Job.ID)
	}
	if nc, err := nats.Connect(address, nats.Secure(tlsConfig), nats.ProxyPath("/runner")); err == nil {
		nc.Close()
		t.Error("a websocket without a key is let in")
	}
	if _, err := open(t).WebsocketHandler(); err == nil {
		t.Error("a queue without websockets has a handler")
	}
}

func TestRunnersMustUseTLSWhereServeDoes(t *testing.T) {
	web := httptest.NewUnstartedServer(nil) // for its certificate
	web.StartTLS()
	defer web.Close()
	q := open(t, func(o *Options) { o.TLS = web.TLS.Clone() })
	serve(t, q, &forge{})
	seed, public, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Enroll(t.Context(), "box", "default", public); err != nil {
		t.Fatal(err)
	}
	address := strings.Replace(q.RunnerURL(), "nats://", "tls://", 1)
	if c, err := Dial(t.Context(), address, seed, DialOptions{}); err == nil {
		c.Close()
		t.Error("a certificate that nobody vouches for is trusted")
	}
	tlsConfig := web.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	tlsConfig.ServerName = "example.com"
	c, err := Dial(t.Context(), address, seed, DialOptions{TLS: tlsConfig})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if !c.nc.TLSRequired() {
		t.Error("the connection is not encrypted")
	}
}

func TestATokenIsNeverPrinted(t *testing.T) {
	tok := Token{Value: "hush", Username: "x"}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("m", "token", tok, "in", struct{ T Token }{tok})
	slog.New(slog.NewJSONHandler(&log, nil)).Info("m", "token", tok, "in", struct{ T Token }{tok}, "p", &tok)
	b, err := json.Marshal(map[string]any{"t": tok, "p": &tok})
	if err != nil {
		t.Fatal(err)
	}
	printed := fmt.Sprintf("%v %+v %#v %s %v %+v %q %s", tok, tok, tok, tok, &tok, struct{ T Token }{tok}, tok, b) + log.String()
	if strings.Contains(printed, "hush") {
		t.Errorf("printed: %s", printed)
	}
}

func TestATokenThatCannotBeMadeIsToldWithoutTheReason(t *testing.T) {
	q, f := open(t), &forge{fail: errors.New("forge: installation 5 is suspended")}
	serve(t, q, f)
	id := create(t, q, wish(1, 1, "k")).ID
	c := enroll(t, q, "box", "default")
	l := claim(t, c)
	if _, err := c.Token(t.Context(), id, l.Try); !errors.Is(err, ErrNoToken) || strings.Contains(err.Error(), "installation") {
		t.Errorf("token: %v", err)
	}
	f.mu.Lock()
	f.fail = nil
	f.mu.Unlock()
	for range mostTokens {
		if _, err := c.Token(t.Context(), id, l.Try); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Token(t.Context(), id, l.Try); !errors.Is(err, ErrNoToken) {
		t.Errorf("one more than %d: %v", mostTokens, err)
	}
	if err := c.Done(t.Context(), id, l.Try, job.Outcome{Kind: job.Measured}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end revokes them all", func() bool { return len(f.gone()) == mostTokens })
}

func TestALateRecordRevokesNoTokenOfTheTryThatRuns(t *testing.T) {
	f := &forge{}
	d := newDesk(open(t), f.desk())
	j := wish(1, 1, "k")
	j.ID, j.State, j.Try, j.Runner = "1.1.1", job.Running, 2, "U1"
	d.tokens[lent{j.ID, "U1", 2}] = []Token{{Value: "live"}}
	late := j
	late.State, late.Try = job.Queued, 1
	for _, r := range []job.Job{late, j} {
		d.recall(t.Context(), r)
		d.wg.Wait()
		if len(f.gone()) != 0 {
			t.Errorf("try %d, %s: revoked %v", r.Try, r.State, f.gone())
		}
	}
	late.Try = 2 // the try itself was lost
	d.recall(t.Context(), late)
	d.wg.Wait()
	if len(f.gone()) != 1 {
		t.Errorf("revoked %v", f.gone())
	}
}

func TestOptionsThatCannotWorkAreRefused(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	write(t, file, "no seed\n")
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{}, "got neither"},
		{Options{Dir: dir, NATS: "nats://x"}, "got both"},
		{Options{Dir: filepath.Join(file, "x")}, "not a directory"},
		{Options{Dir: filepath.Join(dir, "a"), Listen: "nonsense"}, "want host:port"},
		{Options{Dir: filepath.Join(dir, "b"), Listen: "127.0.0.1:x"}, "want a port"},
		{Options{NATS: "nats://127.0.0.1:1"}, "connect"},
		{Options{NATS: "nats://127.0.0.1:1", Credentials: filepath.Join(dir, "none")}, "no such file"},
		{Options{NATS: "nats://127.0.0.1:1", Credentials: file}, "want a .creds file or an nkey seed"},
	} {
		q, err := Open(t.Context(), c.o)
		if err == nil {
			q.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.o.Dir+c.o.NATS+c.o.Listen, err, c.want)
		}
	}
	q := open(t)
	if err := q.Ready(t.Context()); err != nil {
		t.Errorf("ready: %v", err)
	}
	q.Close()
	if err := q.Ready(t.Context()); err == nil {
		t.Error("a closed queue is ready")
	}
}
