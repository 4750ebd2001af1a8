package queue

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prbench/prbench/internal/job"
)

// kept is what a store holds, as its users read it.
type kept struct {
	Jobs    []job.Job
	Runs    []job.Run
	Seen    time.Time
	Accepts []job.Accepted
	Runners []Runner
	Record  string
	Samples string
}

const headSHA = "0123456789012345678901234567890123456789"

func read(t testing.TB, q *Queue, runner string) (k kept) {
	t.Helper()
	var errs [6]error
	k.Jobs, errs[0] = q.ByState(t.Context())
	k.Runs = readRuns(t, q, runner, "1.1.1", 1)
	k.Seen, _, errs[1] = q.Seen(t.Context(), 1, 1, headSHA)
	k.Runners, errs[2] = q.Runners(t.Context())
	k.Accepts, errs[3] = q.Accepts(t.Context(), 5)
	record, err := q.Record(t.Context(), "1.1.1")
	k.Record, errs[4] = string(record), err
	samples, err := q.RecordSamples(t.Context(), "1.1.1")
	if errs[5] = err; err == nil {
		defer samples.Close()
		b, err := io.ReadAll(samples)
		k.Samples, errs[5] = string(b), err
	}
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	return k
}

// fill makes a store that has seen work: the job 1.1.1 was measured by the
// runner, 1.1.2 waits, the event d1 was handled and d2 was not.
func fill(t testing.TB, q *Queue, seed string) {
	t.Helper()
	ctx := t.Context()
	serving, stopServing := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- q.ServeRunners(serving, (&forge{}).desk()) }()
	c := dial(t, q.RunnerURL(), seed)
	create(t, q, wish(1, 1, "first"))
	l := claim(t, c)
	for i := range 20 {
		r := job.Run{Suite: "s", Case: "c", Side: job.New, Pair: i, Samples: []job.Sample{{Benchmark: "b", Value: float64(i)}}}
		if err := c.Publish(ctx, l.Job.ID, l.Try, r); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Done(ctx, l.Job.ID, l.Try, job.Outcome{Kind: job.Measured, Runs: 20}); err != nil {
		t.Fatal(err)
	}
	c.Close()
	stopServing()
	if err := <-served; err != nil {
		t.Fatal(err)
	}
	create(t, q, wish(1, 1, "second"))
	publish(t, q, event("d1"))
	var got seen
	stop := consume(t, q, func(_ context.Context, ev job.Event) error { got.add(ev.Delivery); return nil })
	eventually(t, "d1 is handled", func() bool { return len(got.all()) == 1 })
	stop()
	publish(t, q, event("d2"))
	if err := errors.Join(q.FirstSeen(ctx, 1, 1, headSHA, noon), q.Accept(ctx, accepted("b", noon)),
		q.PutRecord(ctx, "1.1.1", []byte(`{"line":"v1.x"}`), strings.NewReader("a line\n"))); err != nil {
		t.Fatal(err)
	}
}

// backup gives the file of a backup.
func backup(t testing.TB, q *Queue, told func(BackupStep)) string {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "backup.tar"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if told == nil {
		told = func(BackupStep) {}
	}
	if _, err := q.Backup(t.Context(), f, told); err != nil {
		t.Fatal(err)
	}
	return f.Name()
}

func restore(t testing.TB, o Options, file string) error {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	b, err := ReadBackup(t.Context(), f, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	o.Logger = logger(t)
	return Restore(t.Context(), o, b, func(BackupStep) {})
}

// worked gives a store that fill has filled, the seed of its runner, and the
// backup of it.
func worked(t testing.TB, q *Queue, seed string) (file string, want kept) {
	t.Helper()
	public, err := PublicKey(seed)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, q, seed)
	return backup(t, q, nil), read(t, q, public)
}

func newRunner(t testing.TB) (seed, public string) {
	t.Helper()
	seed, public, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	return seed, public
}

// holdsAndWorks checks that a store holds what another one did, and goes on with it.
func holdsAndWorks(t *testing.T, q *Queue, seed string, want kept) {
	t.Helper()
	public, err := PublicKey(seed)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, read(t, q, public)); d != "" {
		t.Errorf("what is read (-before +after):\n%s", d)
	}
	ctx := t.Context()
	for _, d := range []string{"d1", "d2"} {
		if dup, err := q.PublishEvent(ctx, event(d)); err != nil || !dup {
			t.Errorf("the delivery %s again: duplicate %v, %v", d, dup, err)
		}
	}
	var got seen
	stop := consume(t, q, func(_ context.Context, ev job.Event) error { got.add(ev.Delivery); return nil })
	publish(t, q, event("d3"))
	eventually(t, "d3 is handled", func() bool { return len(got.all()) >= 2 })
	stop()
	if d := cmp.Diff([]string{"d2", "d3"}, got.all()); d != "" {
		t.Errorf("events handled after the restore:\n%s", d)
	}
	if j, created, err := q.Create(ctx, wish(1, 1, "second")); err != nil || created || j.ID != "1.1.2" {
		t.Errorf("the second wish again: job %s, created %v, %v", j.ID, created, err)
	}
	if j := create(t, q, wish(1, 1, "third")); j.ID != "1.1.3" {
		t.Errorf("the third wish is job %s", j.ID)
	}
	serve(t, q, &forge{})
	if l := claim(t, dial(t, q.RunnerURL(), seed)); l.Job.ID != "1.1.2" {
		t.Errorf("the job handed out is %s", l.Job.ID)
	}
}

func TestABackupOfARunningStoreIsRestoredWhole(t *testing.T) {
	t.Parallel()
	seed, public := newRunner(t)
	dir := t.TempDir()
	q := open(t, func(o *Options) { o.Dir = dir })
	if err := q.Enroll(t.Context(), "box", "default", public); err != nil {
		t.Fatal(err)
	}
	fill(t, q, seed)
	attached, err := Attach(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	file := backup(t, attached, nil)
	attached.Close()
	want := read(t, q, public)
	to := t.TempDir()
	if err := restore(t, Options{Dir: to}, file); err != nil {
		t.Fatal(err)
	}
	holdsAndWorks(t, open(t, func(o *Options) { o.Dir = to }), seed, want)
}

func TestABackupOfAStoppedStoreIsRestoredWhole(t *testing.T) {
	t.Parallel()
	seed, public := newRunner(t)
	dir := t.TempDir()
	q := open(t, func(o *Options) { o.Dir = dir })
	if err := q.Enroll(t.Context(), "box", "default", public); err != nil {
		t.Fatal(err)
	}
	fill(t, q, seed)
	want := read(t, q, public)
	q.Close()
	again := open(t, func(o *Options) { o.Dir, o.Listen = dir, "" })
	file := backup(t, again, nil)
	again.Close()
	to := filepath.Join(t.TempDir(), "not", "there", "yet")
	if err := restore(t, Options{Dir: to}, file); err != nil {
		t.Fatal(err)
	}
	holdsAndWorks(t, open(t, func(o *Options) { o.Dir = to }), seed, want)
}

func TestABackupGoesFromAnExternalServerToAnotherAndToAnEmbeddedStore(t *testing.T) {
	t.Parallel()
	seed, public := newRunner(t)
	r := Runner{Key: public, Name: "box", Pool: "default"}
	url, credentials := external(t, r)
	q := openURL(t, url, credentials)
	if err := q.Enroll(t.Context(), r.Name, r.Pool, r.Key); err != nil {
		t.Fatal(err)
	}
	file, want := worked(t, q, seed)
	t.Run("external", func(t *testing.T) {
		url, credentials := external(t, r)
		if err := restore(t, Options{NATS: url, Credentials: credentials}, file); err != nil {
			t.Fatal(err)
		}
		holdsAndWorks(t, openURL(t, url, credentials), seed, want)
	})
	t.Run("embedded", func(t *testing.T) {
		dir := t.TempDir()
		if err := restore(t, Options{Dir: dir}, file); err != nil {
			t.Fatal(err)
		}
		holdsAndWorks(t, open(t, func(o *Options) { o.Dir = dir }), seed, want)
	})
}

// largeJob has a log that no compression makes small, so that a snapshot of many
// of them takes a while.
func largeJob(t testing.TB, q *Queue, pr int) job.ID {
	t.Helper()
	b := make([]byte, 400<<10)
	if _, err := rand.Read(b); err != nil {
		t.Fatal(err)
	}
	j := wish(1, pr, "k")
	j.Outcome = &job.Outcome{Log: hex.EncodeToString(b)}
	return create(t, q, j).ID
}

func TestARecordThatChangesWhileItsSnapshotIsMadeIsInTheBackup(t *testing.T) {
	t.Parallel()
	q := open(t)
	const jobs = 16
	var last job.ID
	for pr := range jobs {
		last = largeJob(t, q, pr+1)
	}
	changed := false
	file := backup(t, q, func(s BackupStep) {
		if s.Stream != "KV_jobs" || s.Done || changed {
			return
		}
		changed = true
		// The server has not come to it: what is on its way is a fraction of all.
		_, err := q.Update(t.Context(), last, func(j *job.Job) error {
			j.Outcome.Text = "written meanwhile"
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		create(t, q, wish(2, 1, "new"))
	})
	if !changed {
		t.Fatal("the snapshot of the jobs was not told of")
	}
	dir := t.TempDir()
	if err := restore(t, Options{Dir: dir}, file); err != nil {
		t.Fatal(err)
	}
	r := open(t, func(o *Options) { o.Dir = dir })
	js, err := r.ByState(t.Context())
	if err != nil || len(js) != jobs+1 {
		t.Errorf("%d jobs are restored, want %d: %v", len(js), jobs+1, err)
	}
	if j := get(t, r, last); j.Outcome.Text != "written meanwhile" {
		t.Errorf("the changed job says %q", j.Outcome.Text)
	}
	get(t, r, "2.1.1")
}

func TestARevokedRunnerDoesNotComeBack(t *testing.T) {
	t.Parallel()
	_, gone := newRunner(t)
	_, stays := newRunner(t)
	q := open(t)
	for name, key := range map[string]string{"gone": gone, "stays": stays} {
		if err := q.Enroll(t.Context(), name, "default", key); err != nil {
			t.Fatal(err)
		}
	}
	revoked := false
	// Its record is in the snapshot, or its removal among the later ones: either way it is gone.
	file := backup(t, q, func(s BackupStep) {
		if s.Stream == samplesStream && !revoked {
			revoked = true
			if err := q.Revoke(t.Context(), "gone"); err != nil {
				t.Error(err)
			}
		}
	})
	dir := t.TempDir()
	if err := restore(t, Options{Dir: dir}, file); err != nil {
		t.Fatal(err)
	}
	rs, err := open(t, func(o *Options) { o.Dir = dir }).Runners(t.Context())
	if err != nil || len(rs) != 1 || rs[0].Name != "stays" {
		t.Errorf("runners after the restore: %+v, %v", rs, err)
	}
}
