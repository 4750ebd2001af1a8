package runner_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/runner"
	"github.com/prbench/prbench/runner/source"
)

// released is a project with a release line "v1.x" on which more was committed,
// and a pull request that is put on it.
func released(t *testing.T, line, head map[string]string) (r repo, tip, sha string) {
	t.Helper()
	r, base, sha := project(t, nil, head)
	r.git("checkout", "-q", "-b", "v1.x", base)
	if line == nil {
		line = map[string]string{"line.txt": "x"}
	}
	tip = r.commit(line)
	r.git("checkout", "-q", "main")
	return r, tip, sha
}

// backported is a backport to v1.x.
type backported struct {
	runner.LocalBackport
	runs   []job.Run
	phases []job.Phase
	sides  string
}

func newBackport(t *testing.T, r repo, commits string) *backported {
	t.Helper()
	change, err := source.LocalChange(t.Context(), r.dir, commits)
	if err != nil {
		t.Fatal(err)
	}
	tip, err := source.LocalTip(t.Context(), r.dir, "v1.x")
	if err != nil {
		t.Fatal(err)
	}
	b := &backported{}
	b.LocalBackport = runner.LocalBackport{Repo: r.dir, Change: change, Line: tip, Spec: spec(), Sandbox: bubblewrap(t), Work: room(t),
		Sides: func(base, head job.Side) { b.sides = base.Ref + ", " + head.Ref },
		Sink:  func(r job.Run) error { b.runs = append(b.runs, r); return nil },
		Progress: func(p job.Progress) {
			if n := len(b.phases); n == 0 || b.phases[n-1] != p.Phase {
				b.phases = append(b.phases, p.Phase)
			}
		}}
	return b
}

func (b *backported) run(t *testing.T) runner.Comparison {
	t.Helper()
	got, err := runner.Backport(t.Context(), b.LocalBackport)
	if err != nil {
		t.Fatalf("backport: %v", err)
	}
	left, err := os.ReadDir(b.Work)
	if err != nil || len(left) != 0 {
		t.Errorf("left in the work folder: %v, %v", left, err)
	}
	if got.Outcome.Picked == nil {
		t.Fatalf("nothing says how the change went on: %+v", got.Outcome)
	}
	return got
}

func TestAChangeIsMeasuredOnTheLineAgainstTheLine(t *testing.T) {
	r, tip, sha := released(t, nil, nil)
	b := newBackport(t, r, sha)
	got := b.run(t)
	o := got.Outcome
	if o.Kind != job.Measured || o.Runs != 4 || o.Picked.Kind != job.PickApplies {
		t.Errorf("%+v", o)
	}
	if got.Base.SHA != tip || got.Head.SHA != o.Picked.SHA || got.Head.SHA == sha || b.sides != "v1.x, v1.x with the change" {
		t.Errorf("sides %+v and %+v, told %q", got.Base, got.Head, b.sides)
	}
	if old, new := values(b.runs, job.Old), values(b.runs, job.New); old != "bench/a.js n=1=100" || new != "bench/a.js n=1=200" {
		t.Errorf("old %q, new %q", old, new)
	}
	if got := fmt.Sprint(b.phases); got != "[fetch pick build base build head measure]" {
		t.Errorf("phases: %s", got)
	}
}

func TestAChangeThatIsThereOrConflictsIsNotMeasured(t *testing.T) {
	r, _, sha := released(t, map[string]string{"value.txt": "200"}, nil)
	b := newBackport(t, r, sha)
	got := b.run(t)
	if o := got.Outcome; o.Kind != job.NotPicked || o.Picked.Kind != job.PickThere || o.Text != "the change is already in v1.x" || got.Head.SHA != "" {
		t.Errorf("%+v", got)
	}
	r, _, sha = released(t, map[string]string{"value.txt": "300"}, nil)
	b = newBackport(t, r, sha)
	o := b.run(t).Outcome
	want := fmt.Sprintf("the commit %.7s conflicts with v1.x in value.txt", sha)
	if o.Kind != job.NotPicked || o.Picked.Kind != job.PickConflicts || o.Text != want || !slices.Equal(o.Picked.Files, []string{"value.txt"}) ||
		!strings.Contains(o.Picked.Text, "CONFLICT") || o.Host.Name == "" {
		t.Errorf("%+v, %+v", o, o.Picked)
	}
	if len(b.runs) != 0 || fmt.Sprint(b.phases) != "[fetch pick]" {
		t.Errorf("%d runs, phases %v", len(b.runs), b.phases)
	}
}

func TestALineThatDoesNotBuildIsToldFromAChangeThatDoesNotBuildOnIt(t *testing.T) {
	bad := map[string]string{"build.sh": "#!/bin/sh\necho 'x.c:1: no such thing' >&2\nexit 3\n"}
	r, _, sha := released(t, bad, nil)
	o := newBackport(t, r, sha).run(t).Outcome
	if o.Kind != job.BuildFailed || o.Side != job.Old || o.Text != "v1.x did not build: exit 3" || o.Picked.Kind != job.PickApplies {
		t.Errorf("%+v", o)
	}
	r, _, sha = released(t, nil, bad)
	o = newBackport(t, r, sha).run(t).Outcome
	if o.Kind != job.BuildFailed || o.Side != job.New || o.Text != "v1.x with the change did not build: exit 3" || !strings.Contains(o.Log, "no such thing") {
		t.Errorf("%+v", o)
	}
}

func TestBenchmarksThatDoNotExistOnTheLineAreToldSo(t *testing.T) {
	r, _, sha := released(t, nil, nil)
	r.git("checkout", "-q", "v1.x")
	r.git("rm", "-q", "bench/a.js")
	r.commit(nil)
	b := newBackport(t, r, sha)
	o := b.run(t).Outcome
	if o.Kind != job.NothingMeasured || o.Picked.Kind != job.PickApplies ||
		o.Text != "the benchmarks do not exist on v1.x: no file there matches the suite's cases, with or without the change" {
		t.Errorf("%+v", o)
	}
	// One suite of two.
	other := b.Spec.Suites[0]
	other.Name, other.Cases = "builds", []string{"build.*"}
	b.Spec.Suites = append(b.Spec.Suites, other)
	if o = b.run(t).Outcome; o.Kind != job.Measured || !slices.Contains(o.Notes, "no file of either side matches the cases of s, of which nothing was measured") {
		t.Errorf("%+v", o)
	}
}

func TestABenchmarkThatTheChangeBringsRunsOnTheLineToo(t *testing.T) {
	r, _, sha := released(t, nil, map[string]string{"value.txt": "200", "bench/new.js": ""})
	b := newBackport(t, r, sha)
	b.run(t)
	if old, new := values(b.runs, job.Old), values(b.runs, job.New); !strings.Contains(old, "bench/new.js n=1=100") || !strings.Contains(new, "bench/new.js n=1=200") {
		t.Errorf("old %q, new %q", old, new)
	}
}

func TestAChangeThatNoLineCouldTakeIsAnError(t *testing.T) {
	r, _, sha := released(t, nil, nil)
	b := newBackport(t, r, sha)
	b.Change.Picks[0].Mainline = 2
	_, err := runner.Backport(t.Context(), b.LocalBackport)
	var refused *source.Refused
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "does not have parent 2") {
		t.Errorf("got %v", err)
	}
}

// on is a backport of picks to v1.x.
func on(picks ...job.Pick) *job.Backport {
	return &job.Backport{Group: "g", Lines: []string{"v1.x", "v2.x"}, Line: "v1.x", Change: job.Change{Picks: picks}}
}

func TestAJobPutsAChangeOnALineAndKeepsTheLinesBuild(t *testing.T) {
	r, tip, sha := released(t, map[string]string{"build.sh": "#!/bin/sh\nset -e\necho built >> $XDG_CACHE_HOME/log\n" +
		"printf '#!/bin/sh\\necho \"$1 n=1: %s\"\\n' \"$(cat value.txt)\" > run\nchmod +x run\n"}, nil)
	later := r.commit(map[string]string{"bench/a.js": "changed"}) // a main that has moved on
	w := newWorldOf(t, r, tip, sha)
	stop := w.start(w.opts)
	change := on(job.Pick{SHA: sha})
	first := w.wait(w.createOn(spec(), change).ID, "ends", ended)
	o := first.Outcome
	if o.Kind != job.Measured || o.Runs != 4 || o.Picked == nil || o.Picked.Kind != job.PickApplies || o.Picked.PatchID == "" {
		t.Fatalf("%+v", o)
	}
	runs := w.runs(first)
	if values(runs, job.Old) != "bench/a.js n=1=100" || values(runs, job.New) != "bench/a.js n=1=200" {
		t.Errorf("runs: %+v", runs)
	}
	if local, err := source.Repick(t.Context(), r.dir, change.Change, job.Side{SHA: tip, Ref: "v1.x"}); err != nil || local.SHA != o.Picked.SHA || local.PatchID != o.Picked.PatchID {
		t.Errorf("the runner picked %+v, a clone %+v, %v", o.Picked, local, err)
	}
	second := w.wait(w.createOn(spec(), on(job.Pick{SHA: sha}, job.Pick{SHA: later})).ID, "ends", ended)
	if second.Outcome.Kind != job.Measured || !strings.Contains(w.log.String(), "the base was built before") {
		t.Errorf("%+v", second.Outcome)
	}
	stop()
	w.mu.Lock()
	if len(w.revoked) != 2 {
		t.Errorf("%d tokens were revoked", len(w.revoked))
	}
	w.mu.Unlock()
	w.nothingLeft()
}

func TestAJobWhoseChangeDoesNotGoOnEndsWithThat(t *testing.T) {
	r, tip, sha := released(t, map[string]string{"value.txt": "300"}, nil)
	w := newWorldOf(t, r, tip, sha)
	stop := w.start(w.opts)
	o := w.wait(w.createOn(spec(), on(job.Pick{SHA: sha})).ID, "ends", ended).Outcome
	if o.Kind != job.NotPicked || o.Picked == nil || o.Picked.Held || o.Picked.Kind != job.PickConflicts || o.Picked.Commit != sha || !slices.Equal(o.Picked.Files, []string{"value.txt"}) {
		t.Errorf("%+v", o)
	}
	held := on(job.Pick{SHA: sha})
	held.Held = true
	o = w.wait(w.createOn(spec(), held).ID, "ends", ended).Outcome
	if o.Picked == nil || o.Picked.Kind != job.PickConflicts || !o.Picked.Held {
		t.Errorf("the line's history holds the change: %+v", o)
	}
	merge := w.wait(w.createOn(spec(), on(job.Pick{SHA: sha, Mainline: 2})).ID, "ends", ended).Outcome
	if merge.Kind != job.CheckoutFailed || !strings.Contains(merge.Text, "does not have parent 2") {
		t.Errorf("%+v", merge)
	}
	gone := strings.Repeat("0123", 10)
	w.base = gone
	o = w.wait(w.createOn(spec(), on(job.Pick{SHA: sha})).ID, "ends", ended).Outcome
	if o.Kind != job.CheckoutFailed || o.Side != job.Old || !strings.Contains(o.Text, gone) || !strings.Contains(o.Text, "is gone") {
		t.Errorf("%+v", o)
	}
	w.base = tip
	o = w.wait(w.createOn(spec(), on(job.Pick{SHA: gone})).ID, "ends", ended).Outcome
	if o.Kind != job.CheckoutFailed || o.Side != job.New || !strings.Contains(o.Text, gone) {
		t.Errorf("%+v", o)
	}
	stop()
	w.nothingLeft()
}
