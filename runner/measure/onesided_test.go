package measure_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prbench/prbench/internal/job"
)

// oneSided has one case on both sides and the given ones on the new side alone.
func oneSided(t *testing.T, runs job.Runs, names ...string) *bench {
	t.Helper()
	files := map[string]string{"bench/both.js": ""}
	for _, n := range names {
		files["new:bench/"+n] = ""
	}
	m := &machine{prints: prints, mu: map[string]int{}}
	b := newBench(t, files, byCase)
	b.Exec, b.Spec.Runs, m.oldT = m, runs, b.Old
	return b
}

func TestACaseOfOneSideIsRunOftenEnoughToSeeThatItWorks(t *testing.T) {
	for runs, want := range map[job.Runs]int{30: 5, 3: 3} {
		b := oneSided(t, runs, "new.js")
		o := b.run(t)
		if new, both := b.pairs("new.js"), b.pairs("both.js"); new != want || both != int(runs) || o.Pairs != int(runs) {
			t.Errorf("of %d runs the new case has had %d, want %d, and the other %d", runs, new, want, both)
		}
		if p := b.progress[len(b.progress)-1]; p.Done != p.Total || p.Left != 0 {
			t.Errorf("at the end the progress is %+v", p)
		}
		if p := b.progress[0]; p.Total != 2*int(runs)+want {
			t.Errorf("%d runs are planned, want %d", p.Total, 2*int(runs)+want)
		}
		if n := strings.Join(o.Notes, "\n"); n != "only the new side has suite: bench/new.js" {
			t.Errorf("notes: %q", n)
		}
	}
}

func TestTheCasesOfOneSideAreSummedUpInOneNote(t *testing.T) {
	names := []string{"e.js", "d.js", "c.js", "b.js", "a.js"}
	for n, want := range map[int]string{
		2: "only the new side has 2 cases: suite: bench/a.js, suite: bench/b.js",
		5: "only the new side has 5 cases: suite: bench/a.js, suite: bench/b.js, suite: bench/c.js and 2 more",
	} {
		b := oneSided(t, 2, names[len(names)-n:]...)
		b.Sink = func(r job.Run) error {
			if r.Side == job.Old && filepath.Base(r.Case) != "both.js" {
				t.Errorf("%s ran on the old side", r.Case)
			}
			b.runs = append(b.runs, r)
			return nil
		}
		if o := b.run(t); !slices.Equal(o.Notes, []string{want}) {
			t.Errorf("notes: %q, want %q", o.Notes, want)
		}
	}
}
