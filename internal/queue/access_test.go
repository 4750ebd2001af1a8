package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/prbench/prbench/internal/job"
)

// external runs a NATS server with the block that ExternalConfig prints, and
// gives its address and a credentials file with full rights.
func external(t testing.TB, runners ...Runner) (url, credentials string) {
	t.Helper()
	dir := t.TempDir()
	seed, public, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf("listen: 127.0.0.1:-1\njetstream { store_dir: %q, sync_interval: always }\n%s",
		filepath.Join(dir, "store"), ExternalConfig(public, runners))
	file := filepath.Join(dir, "nats.conf")
	credentials = filepath.Join(dir, "serve.nk")
	write(t, file, config)
	write(t, credentials, seed+"\n")
	so, err := server.ProcessConfigFile(file)
	if err != nil {
		t.Fatalf("the printed configuration: %v\n%s", err, config)
	}
	so.NoSigs, so.NoLog = true, true
	s, err := server.NewServer(so)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(20 * time.Second) {
		t.Fatal("the external server did not start")
	}
	return s.ClientURL(), credentials
}

func write(t testing.TB, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func openURL(t testing.TB, url, credentials string, change ...func(*Options)) *Queue {
	t.Helper()
	return open(t, append([]func(*Options){func(o *Options) {
		o.Dir, o.Listen, o.NATS, o.Credentials = "", "", url, credentials
	}}, change...)...)
}

// onBoth runs a test with an embedded and with an external server, and two
// runners of the pool default enrolled on it.
func onBoth(t *testing.T, test func(t *testing.T, q *Queue, seedA, seedB string)) {
	seedA, keyA, errA := NewKey()
	seedB, keyB, errB := NewKey()
	if err := errors.Join(errA, errB); err != nil {
		t.Fatal(err)
	}
	rs := []Runner{{Key: keyA, Name: "a", Pool: "default"}, {Key: keyB, Name: "b", Pool: "default"}}
	run := func(t *testing.T, q *Queue) {
		for _, r := range rs {
			if err := q.Enroll(t.Context(), r.Name, r.Pool, r.Key); err != nil {
				t.Fatal(err)
			}
		}
		test(t, q, seedA, seedB)
	}
	t.Run("embedded", func(t *testing.T) { run(t, open(t)) })
	t.Run("external", func(t *testing.T) {
		url, credentials := external(t, rs...)
		run(t, openURL(t, url, credentials))
	})
}

func TestASecondRunnerHasNoPartInTheFirstOnesJob(t *testing.T) {
	onBoth(t, func(t *testing.T, q *Queue, seedA, seedB string) {
		f := &forge{}
		serve(t, q, f)
		made := create(t, q, wish(1, 1, "k"))
		a, b := dial(t, q.RunnerURL(), seedA), dial(t, q.RunnerURL(), seedB)
		l := claim(t, a)
		ctx := t.Context()
		for _, try := range []int{1, 2} {
			if tok, err := b.Token(ctx, made.ID, try); !errors.Is(err, ErrStale) || tok.Value != "" {
				t.Errorf("it asks for a token of try %d: %v", try, err)
			}
			if err := b.Fetched(ctx, made.ID, try); !errors.Is(err, ErrStale) {
				t.Errorf("it says that it has fetched: %v", err)
			}
			if err := b.Publish(ctx, made.ID, try, job.Run{Suite: "s", Side: job.Old}); !errors.Is(err, ErrStale) {
				t.Errorf("it publishes a record: %v", err)
			}
			if err := b.Done(ctx, made.ID, try, job.Outcome{Kind: job.Fault}); !errors.Is(err, ErrStale) {
				t.Errorf("it ends the job: %v", err)
			}
			if ans, err := b.Beat(ctx, made.ID, try, job.Progress{Done: 9}); err != nil || !ans.Lost {
				t.Errorf("it beats: %+v, %v", ans, err)
			}
		}
		if l, err := b.Claim(ctx, ClaimRequest{Wait: time.Millisecond}); err != nil || l != nil {
			t.Errorf("it claims: %+v, %v", l, err)
		}
		if j := get(t, q, made.ID); j.Runner != a.Key() || j.State != job.Running || j.Progress.Done != 0 || len(j.LostTries) != 0 {
			t.Errorf("the job is changed: %+v", j)
		}
		if len(f.made) != 0 {
			t.Errorf("%d tokens were made for it", len(f.made))
		}
		for _, c := range []*RunnerConn{a, b} {
			if rs := readRuns(t, q, c.Key(), made.ID, l.Try); len(rs) != 0 {
				t.Errorf("the store has %d records for it", len(rs))
			}
		}
	})
}

// rawRunner is a runner's connection without our client's good manners; refused
// collects what the server forbids it.
func rawRunner(t *testing.T, url, seed string) (nc *nats.Conn, key string, refused chan error) {
	t.Helper()
	kp, err := userKey(seed)
	if err != nil {
		t.Fatal(err)
	}
	key, err = kp.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	refused = make(chan error, 100)
	nc, err = nats.Connect(url, nkeyOption(kp), nats.CustomInboxPrefix(inboxPrefix+key),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc, key, refused
}

func TestTheServerForbidsARunnerAllButItsOwnSubjects(t *testing.T) {
	onBoth(t, func(t *testing.T, q *Queue, seedA, seedB string) {
		made := create(t, q, wish(1, 1, "k"))
		other, err := PublicKey(seedA)
		if err != nil {
			t.Fatal(err)
		}
		nc, key, refused := rawRunner(t, q.RunnerURL(), seedB)
		violation := func(what, subject string) {
			t.Helper()
			select {
			case err := <-refused:
				if !errors.Is(err, nats.ErrPermissionViolation) || !strings.Contains(err.Error(), subject) {
					t.Errorf("%s %s: refused with %v", what, subject, err)
				}
			case <-time.After(10 * time.Second):
				t.Errorf("%s %s: not refused", what, subject)
			}
		}
		for _, s := range []string{
			"R." + other + ".done", "R." + other + ".token", "SAMPLES." + other + ".1.1.1.1", "SAMPLES." + key + ".1.1.1.1",
			"HOOKS.event", "$KV.jobs.1.1.1", "$KV.runners." + key, "$JS.API.STREAM.DELETE.HOOKS", "$JS.API.STREAM.MSG.GET.SAMPLES",
			"$JS.API.INFO", "$JS.ACK.HOOKS.serve.1.1.1.1.1", "$SYS.REQ.USER.INFO", inboxPrefix + other + ".x", "_INBOX.x",
		} {
			if err := nc.Publish(s, []byte("{}")); err != nil {
				t.Fatal(err)
			}
			violation("publish", s)
		}
		for _, s := range []string{
			">", "*", inboxPrefix + other + ".>", "_INBOX.>", "R." + other + ".>", "R." + key + ".>", "R.>",
			"SAMPLES.>", "HOOKS.>", "$KV.>", "$JS.>", "$SYS.>",
		} {
			if _, err := nc.SubscribeSync(s); err != nil {
				t.Fatal(err)
			}
			violation("subscribe", s)
		}
		if j := get(t, q, made.ID); j.Revision != 1 {
			t.Errorf("the job is changed: %+v", j)
		}
	})
}

func TestARunnerCannotSendTheServersAnswersWhereItMayNotPublish(t *testing.T) {
	onBoth(t, func(t *testing.T, q *Queue, seedA, seedB string) {
		f := &forge{}
		serve(t, q, f)
		made := create(t, q, wish(1, 1, "k"))
		a := dial(t, q.RunnerURL(), seedA)
		nc, key, _ := rawRunner(t, q.RunnerURL(), seedB)
		ctx := t.Context()
		before := hooksCount(t, q)
		// Everything that an answer could do harm with, over a subject that is
		// answered and over one that nobody hears.
		overheard, err := a.nc.SubscribeSync(inboxPrefix + a.Key() + ".>")
		if err != nil {
			t.Fatal(err)
		}
		if err := a.nc.Flush(); err != nil {
			t.Fatal(err)
		}
		beat, err := json.Marshal(request{Version: Protocol, ID: made.ID, Try: 1})
		if err != nil {
			t.Fatal(err)
		}
		for _, what := range []string{askBeat, askToken, "nothing", "a.b"} {
			for _, reply := range []string{
				"$KV.jobs." + string(made.ID), "$KV.runners." + key, "HOOKS.event", "SAMPLES." + key + ".1.1.1.1",
				inboxPrefix + a.Key() + ".stolen", "R." + a.Key() + "." + askDone,
			} {
				if err := nc.PublishRequest("R."+key+"."+what, reply, beat); err != nil {
					t.Fatal(err)
				}
			}
		}
		// An answered request behind them: they have all been taken in.
		for range 3 {
			if _, err := nc.Request("R."+key+"."+askBeat, beat, 10*time.Second); err != nil {
				t.Fatal(err)
			}
		}
		if j := get(t, q, made.ID); j.Revision != 1 {
			t.Errorf("the job's record is overwritten: %+v", j)
		}
		if n := hooksCount(t, q); n != before {
			t.Errorf("%d messages got into the event stream", n-before)
		}
		if i, err := q.samples.Info(ctx); err != nil || i.State.Msgs != 0 {
			t.Errorf("messages got into the sample stream: %+v, %v", i.State, err)
		}
		if m, err := overheard.NextMsg(100 * time.Millisecond); err == nil {
			t.Errorf("another runner's inbox got %q", m.Data)
		}
	})
}

func hooksCount(t *testing.T, q *Queue) uint64 {
	t.Helper()
	i, err := q.hooks.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return i.State.Msgs
}

func TestStrangersAreNotLetIn(t *testing.T) {
	onBoth(t, func(t *testing.T, q *Queue, _, _ string) {
		if nc, err := nats.Connect(q.RunnerURL()); err == nil {
			nc.Close()
			t.Error("a connection without a key is let in")
		}
		if nc, err := nats.Connect(q.RunnerURL(), nats.UserInfo("serve", "")); err == nil {
			nc.Close()
			t.Error("a connection with a name is let in")
		}
		seed, _, err := NewKey()
		if err != nil {
			t.Fatal(err)
		}
		if c, err := Dial(t.Context(), q.RunnerURL(), seed, DialOptions{}); !errors.Is(err, ErrRefused) {
			if err == nil {
				c.Close()
			}
			t.Errorf("a key that is not enrolled: %v, want ErrRefused", err)
		}
	})
}

func TestARunnerThatTheServerLetsInButNobodyEnrolledGetsNothing(t *testing.T) {
	t.Parallel()
	seed, key, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	url, credentials := external(t, Runner{Key: key, Name: "x", Pool: "default"})
	q := openURL(t, url, credentials)
	serve(t, q, &forge{})
	create(t, q, wish(1, 1, "k"))
	c := dial(t, url, seed)
	var l *Lease
	eventually(t, "serve answers", func() bool {
		l, err = c.Claim(t.Context(), ClaimRequest{Wait: time.Millisecond})
		return !errors.Is(err, ErrAway)
	})
	if !errors.Is(err, ErrRefused) || l != nil {
		t.Errorf("claim: %+v, %v; want ErrRefused", l, err)
	}
}

func TestOldAndNewProtocolsAreToldApart(t *testing.T) {
	onBoth(t, func(t *testing.T, q *Queue, seedA, _ string) {
		serve(t, q, &forge{})
		nc, key, _ := rawRunner(t, q.RunnerURL(), seedA)
		ask := func(b string) (a answer) {
			t.Helper()
			eventually(t, "serve answers", func() bool {
				m, err := nc.Request("R."+key+"."+askClaim, []byte(b), 10*time.Second)
				return err == nil && json.Unmarshal(m.Data, &a) == nil
			})
			return a
		}
		if a := ask(fmt.Sprintf(`{"v":%d}`, Protocol)); a.Error != nil {
			t.Errorf("today's version: %+v", a.Error)
		}
		if a := ask(fmt.Sprintf(`{"v":%d}`, oldestProtocol)); a.Error != nil {
			t.Errorf("the version before: %+v", a.Error)
		}
		for _, b := range []string{fmt.Sprintf(`{"v":%d}`, Protocol+1), `{"v":-1}`, `{}`} {
			if a := ask(b); a.Error == nil || a.Error.Code != codeVersion || a.Version != Protocol || !errors.Is(a.Error.err(), ErrVersion) {
				t.Errorf("%s: answered %+v", b, a)
			}
		}
		for _, b := range []string{``, `[`, `"x"`, `{"stream":"SAMPLES","seq":1}`} {
			if a := ask(b); a.Error == nil {
				t.Errorf("%q: answered %+v", b, a)
			}
		}
	})
}

func FuzzARequestOfARunnerIsAnswered(f *testing.F) {
	q := open(f)
	seed, key, err := NewKey()
	if err != nil || seed == "" {
		f.Fatal(err)
	}
	if err := q.Enroll(context.Background(), "a", "default", key); err != nil {
		f.Fatal(err)
	}
	fg := &forge{}
	d := newDesk(q, fg.desk())
	for _, s := range []string{`{"v":1,"wait_ms":1}`, `{"v":1,"id":"1.1.1","try":1,"progress":{"phase":"fetch"}}`,
		`{"v":1,"id":"1.1.1","try":1,"run":{"suite":"s","side":"old","parts":2,"part":1}}`,
		`{"v":1,"id":"1.1.1","try":1,"outcome":{"kind":"measured"}}`, `{"v":1,"id":"*.>.1","try":1}`, `{`} {
		for _, what := range []string{askClaim, askBeat, askToken, askFetched, askSample, askDone, "x"} {
			f.Add(what, []byte(s))
		}
	}
	f.Fuzz(func(t *testing.T, what string, data []byte) {
		var r request
		if json.Unmarshal(data, &r) == nil && r.WaitMS > 5 {
			return // a claim that waits has its own tests
		}
		a := d.answer(t.Context(), key, what, data)
		if _, err := json.Marshal(a); err != nil {
			t.Errorf("the answer cannot be sent: %v", err)
		}
		// The store is empty: nothing is this runner's, and nothing is kept.
		if a.Job != nil || a.Token != nil || what != askClaim && a.Error == nil {
			t.Errorf("answered %+v", a)
		}
		if _, err := q.jobs.Get(t.Context(), "1.1.1"); !errors.Is(err, jetstream.ErrKeyNotFound) {
			t.Errorf("a record came to be: %v", err)
		}
	})
}
