package backport_test

import (
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report"
	"github.com/prbench/prbench/report/backport"
)

// sha makes a commit's name that shows where it is from.
func sha(digits string) string { return strings.Repeat(digits, 40/len(digits)+1)[:40] }

var change = job.Change{Picks: []job.Pick{{SHA: sha("c1")}, {SHA: sha("c2")}}, Merged: job.MergedByRebase, Note: "the 2 commits of the rebase"}

// lineJob is the job of one line of a made-up project, ended as wanted.
func lineJob(line, tip string, end func(*job.Job)) job.Job {
	j := job.Job{ID: "7.12.3", State: job.Done, PR: 12, Attempt: 1,
		Repository: job.Repository{ID: 7, Owner: "acme", Name: "engine", HTMLURL: "https://forge.test/acme/engine"},
		Base:       job.Side{SHA: tip, Ref: line}, Head: job.Side{SHA: sha("fe"), Ref: "dev-a:faster"},
		Spec: job.Spec{Pool: "default", Suites: []job.Suite{{Name: "process", Format: job.FormatNode, Command: "node {case}"}},
			Runs: 30, Margin: .02, Alpha: .05, Gate: true},
		Backport: &job.Backport{Group: "g", Lines: []string{line}, Line: line, Change: change},
		Wish:     job.Wish{Sender: "manager", SenderID: 5, Command: "backport " + line, At: time.Date(2024, 5, 6, 7, 0, 0, 0, time.UTC)},
		Started:  time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC), Finished: time.Date(2024, 5, 6, 7, 39, 0, 0, time.UTC),
		Outcome: &job.Outcome{Kind: job.Measured, Runs: 60, Pairs: 30,
			Picked: &job.Picked{Kind: job.PickApplies, SHA: sha("9" + tip[:1]), PatchID: sha("ab")},
			Host:   job.Host{Name: "bench-1", CPU: "Some CPU @ 3.00GHz", Cores: 8, OS: "Debian 12", Kernel: "6.1.0", Sandbox: "bubblewrap"}}}
	if end != nil {
		end(&j)
	}
	return j
}

// speeds are benchmarks with their relative rate on the new side and their spread.
type speeds map[string][2]float64

// runs are the process runs of so many pairs, always the same.
func (s speeds) runs(pairs int) []job.Run {
	rng := rand.New(rand.NewPCG(5, 6))
	var out []job.Run
	for pair := range pairs {
		for position, side := range []job.SideName{job.Old, job.New} {
			r := job.Run{Suite: "process", Case: "all.js", Side: side, Pair: pair, Position: position, Started: time.Date(2024, 5, 6, 7, 9, pair, 0, time.UTC), Wall: 1.5}
			for _, name := range slices.Sorted(mapsKeys(s)) {
				rate := 1000.
				if side == job.New {
					rate *= s[name][0]
				}
				r.Samples = append(r.Samples, job.Sample{Benchmark: name, Config: "n=1", Unit: "ops/s", Better: job.Higher, Value: rate * (1 + s[name][1]*rng.NormFloat64())})
			}
			out = append(out, r)
		}
	}
	return out
}

func mapsKeys(s speeds) iter.Seq[string] {
	return func(yield func(string) bool) {
		for name := range s {
			if !yield(name) {
				return
			}
		}
	}
}

// judged is a line with what its runs show.
func judged(t testing.TB, j job.Job, runs []job.Run, accepted ...job.Accepted) (backport.Cell, report.Options) {
	t.Helper()
	c := report.NewCollector()
	for _, r := range runs {
		c.AddRun(r)
	}
	o := report.OptionsOf(&j)
	o.Accepted = accepted
	rep, err := report.Analyse(c.Data(), o)
	if err != nil {
		t.Fatal(err)
	}
	return backport.CellOf(j, rep), o
}

// quiet is a change that changes nothing, and slow one that costs 7 %.
var (
	quiet = speeds{"a.js": {1, .005}, "b.js": {1.1, .005}, "c.js": {.997, .004}}
	slow  = speeds{"a.js": {.93, .005}, "b.js": {1.1, .005}, "c.js": {.997, .004}}
	noisy = speeds{"a.js": {1, .15}, "b.js": {1.1, .005}, "c.js": {.997, .004}}
)

// acceptedSlow accepts what slow costs.
var acceptedSlow = job.Accepted{Repository: 7, Benchmark: "a.js n=1", Reason: "a security fix | needs it, @everyone", By: "manager", ByID: 5, PR: 12,
	At: time.Date(2024, 5, 5, 0, 0, 0, 0, time.UTC), Until: time.Date(2024, 12, 31, 0, 0, 0, 0, time.UTC), Worst: -.08}

// everyKind is a matrix with a line of every kind.
func everyKind(t testing.TB) *backport.Matrix {
	t.Helper()
	safe, _ := judged(t, lineJob("v1.x", sha("1"), nil), quiet.runs(30))
	regresses, _ := judged(t, lineJob("v2.x", sha("2"), nil), slow.runs(30))
	accepted, _ := judged(t, lineJob("v3.x", sha("3"), nil), slow.runs(30), acceptedSlow)
	inconclusive, _ := judged(t, lineJob("v4.x-staging", sha("4"), func(j *job.Job) {
		j.Outcome.Picked.Kind, j.Outcome.Picked.Skipped = job.PickAppliesInPart, []string{sha("c1")}
	}), noisy.runs(30))
	unfit, _ := judged(t, lineJob("v4.y", sha("40"), func(j *job.Job) { j.Outcome.Host.Unfit = []string{"the governor is powersave"} }), quiet.runs(30))
	old, _ := judged(t, lineJob("v1.x", sha("0"), nil), slow.runs(30))
	old.Outdated = true
	ended := func(line, tip string, o job.Outcome) backport.Cell {
		return backport.CellOf(lineJob(line, tip, func(j *job.Job) { j.State, j.Outcome = job.Failed, &o }), nil)
	}
	picked := &job.Picked{Kind: job.PickApplies, SHA: sha("97")}
	waiting := backport.CellOf(lineJob("v14.x", sha("e"), func(j *job.Job) { j.State, j.Outcome = job.Queued, nil }), nil)
	waiting.Place = "It is number 3 of 4."
	running := backport.CellOf(lineJob("v13.x", sha("d"), func(j *job.Job) { j.State, j.Outcome = job.Running, nil }), nil)
	running.Progress = "12 of at most 60 runs"
	cancelled := backport.CellOf(lineJob("v12.x", sha("c"), func(j *job.Job) {
		j.State, j.Outcome, j.Cancel = job.Cancelled, &job.Outcome{Kind: job.Stopped}, &job.Cancel{By: "manager"}
	}), nil)
	onlyNew, _ := judged(t, lineJob("v9.y", sha("90"), nil), slices.DeleteFunc(quiet.runs(30), func(r job.Run) bool { return r.Side == job.Old }))
	j := lineJob("main", sha("aa"), nil)
	j.Backport = nil
	main, _ := judged(t, j, quiet.runs(30))
	return &backport.Matrix{Repository: j.Repository, PR: 12, Head: j.Head, Change: change, Spec: j.Spec, Main: main.Report, Cells: []backport.Cell{
		safe, old, regresses, accepted, inconclusive, unfit,
		ended("v5.x", sha("5"), job.Outcome{Kind: job.NotPicked, Picked: &job.Picked{Kind: job.PickThere}}),
		ended("v6.x", sha("6"), job.Outcome{Kind: job.NotPicked, Picked: &job.Picked{Kind: job.PickConflicts, Commit: sha("c2"),
			Files: []string{"lib/url|path.js", "`lib`/@all.js"}, Text: "CONFLICT (content): Merge conflict in lib/url|path.js\n"}}),
		ended("v7.x", sha("7"), job.Outcome{Kind: job.BuildFailed, Side: job.Old, Picked: picked, Text: "make ended with 2", Log: "cc: no such file\nmake: *** [all] Error 2\n"}),
		ended("v8.x", sha("8"), job.Outcome{Kind: job.BuildFailed, Side: job.New, Picked: picked, Text: "make ended with 2", Log: "```\nundefined: fastPath\n```\n"}),
		ended("v9.x", sha("90"), job.Outcome{Kind: job.NothingMeasured, Picked: picked, Text: "no file of either side matches the suite's cases"}),
		onlyNew,
		ended("v10.x", sha("a0"), job.Outcome{Kind: job.CheckoutFailed, Text: "the submodule lib/x is gone"}),
		ended("v11.x", sha("b0"), job.Outcome{Kind: job.Fault, Text: "the disk is full"}),
		ended("v15.x", sha("f0"), job.Outcome{Kind: job.Measured, Runs: 24, Picked: picked}),
		cancelled, running, waiting}}
}
