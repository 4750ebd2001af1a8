package measure_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prbench/prbench/internal/job"
)

// budgeted measures n cases, each run of which takes so long, and gives how long
// all of it took.
func budgeted(t *testing.T, runs job.Runs, n int, takes, budget time.Duration, prints func(string, job.SideName, int) string) (*bench, job.Outcome, time.Duration) {
	t.Helper()
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("c%03d.js", i))
	}
	m := &machine{takes: takes, prints: prints}
	b := newAdaptive(t, m, names...)
	b.Spec.Runs, b.Spec.Budget = runs, job.Duration(budget)
	began := m.now
	o := b.run(t)
	return b, o, m.now.Sub(began)
}

func TestAHeadThatHangsInEachCaseTakesTwiceItsBudgetAtMost(t *testing.T) {
	for _, runs := range []job.Runs{job.Adaptive, 30} {
		_, o, took := budgeted(t, runs, 200, 5*time.Minute, time.Hour, func(c string, side job.SideName, _ int) string {
			if side == job.New {
				return "crash"
			}
			return c + " n=1: 1\n"
		})
		if took > 2*time.Hour+10*time.Minute {
			t.Errorf("%s: it took %v", runs, took)
		}
		n := strings.Join(o.Notes, "\n")
		if !strings.Contains(n, "the budget of 1h0m0s ended after 1 of ") || !strings.Contains(n, ": 2h0m0s had passed") || o.Kind != job.Measured || !strings.Contains(o.Text, "head failed: suite: bench/c000.js") {
			t.Errorf("%s: notes %q, %+v", runs, n, o)
		}
		if judged := "what has not come to its look at 8 pairs is kept and not judged"; strings.Contains(n, judged) != (runs == job.Adaptive) {
			t.Errorf("%s: notes %q", runs, n)
		}
	}
}

func prints(c string, _ job.SideName, run int) string {
	return fmt.Sprintf("%s n=1: %d\n", c, 100+run%3)
}

func TestAFirstLookThatIsPlainlyTooDearIsNotWaitedFor(t *testing.T) {
	b, o, took := budgeted(t, job.Adaptive, 4, time.Minute, 10*time.Minute, prints)
	if n := strings.Join(o.Notes, ""); took != 8*time.Minute || b.pairs("c003.js") != 1 || !strings.Contains(n, "8m0s had passed, and 8 pairs would have taken about 56m0s more") {
		t.Errorf("after %v: %q", took, n)
	}
}

func TestAFirstLookIsCompletedThoughItGoesOverTheBudget(t *testing.T) {
	b, o, took := budgeted(t, job.Adaptive, 4, 15*time.Second, 10*time.Minute, prints)
	if n := strings.Join(o.Notes, ""); took != 16*time.Minute || b.pairs("c003.js") != 8 || strings.Contains(n, "had passed") {
		t.Errorf("after %v, with %d pairs: %q", took, b.pairs("c003.js"), n)
	}
}

func TestCasesThatAreAboutToBeGivenUpMakeNoLookTooDear(t *testing.T) {
	_, o, took := budgeted(t, job.Adaptive, 4, time.Minute, 15*time.Minute, func(c string, side job.SideName, run int) string {
		if side == job.New {
			return "crash"
		}
		return prints(c, side, run)
	})
	if n := strings.Join(o.Notes, "\n"); took != 24*time.Minute || strings.Contains(n, "budget") || !strings.Contains(n, "failed in all of its first 3 runs") {
		t.Errorf("after %v: %q", took, n)
	}
}

func TestAFixedNumberOfRunsThatIsFarTooDearIsMeasuredUntilTheBudgetEnds(t *testing.T) {
	b, o, took := budgeted(t, 100, 4, time.Minute, time.Hour, prints)
	if n := strings.Join(o.Notes, "\n"); took != 64*time.Minute || b.pairs("c000.js") != 8 || b.pairs("c003.js") != 8 || !strings.Contains(n, "the budget of 1h0m0s ended after 8 of 100 pairs") {
		t.Errorf("after %v, with %d and %d pairs: %q", took, b.pairs("c000.js"), b.pairs("c003.js"), n)
	}
}
