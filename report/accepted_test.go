package report_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report"
)

var day = time.Date(2024, 5, 6, 0, 0, 0, 0, time.UTC)

func TestWhatWasAcceptedCountsUntilItsDay(t *testing.T) {
	all := []job.Accepted{
		{Benchmark: "a", At: day, Reason: "first"},
		{Benchmark: "a", At: day.AddDate(0, 0, 1), Reason: "later"},
		{Benchmark: "b", At: day, Until: day.AddDate(0, 0, 3)},
		{Benchmark: "c", At: day, Until: day.AddDate(0, 0, 2)},
		{Benchmark: "d", At: day.AddDate(0, 1, 0)},
	}
	got := report.InForce(all, day.AddDate(0, 0, 2))
	if d := cmp.Diff([]job.Accepted{all[1], all[2], all[4]}, got); d != "" {
		t.Errorf("in force (-want +got):\n%s", d)
	}
}

// gated is a comparison with a roll-up of a benchmark that costs 7 %, one that
// does not, and one that is noisy.
func gated(t *testing.T, accepted ...job.Accepted) *report.Report {
	t.Helper()
	rng := rand.New(rand.NewPCG(8, 9))
	c := report.NewCollector()
	measured(c, rng, "slow.js", "ops/s", 1e6, .93e6, .005, 30)
	measured(c, rng, "same.js", "ops/s", 1e6, 1e6, .005, 30)
	measured(c, rng, "noisy.js", "ops/s", 1e6, 1e6, .1, 30)
	return analyse(t, c.Data(), report.Options{Gate: true, Accepted: accepted})
}

func TestAnAcceptedRegressionFailsNoCheck(t *testing.T) {
	if c := gated(t).Check(); c.Conclusion != report.Failed {
		t.Errorf("with nothing accepted: %s", c.Conclusion)
	}
	a := job.Accepted{Benchmark: "slow.js", By: "writer", Reason: "safer, see #5", At: day, Until: day, Worst: -.08}
	r := gated(t, a)
	c := r.Check()
	if c.Conclusion != report.Neutral || !strings.Contains(c.Summary, "**Gate: regresses, accepted.** 1 benchmark is slower by more than 2 % (95 %, all 3 taken together), which was accepted.") {
		t.Errorf("%s:\n%s", c.Conclusion, c.Summary)
	}
	if !strings.Contains(c.Summary, "accepted by writer until 2024-05-06: `safer, see #5`") {
		t.Errorf("it does not say who accepted it:\n%s", c.Summary)
	}
	a.Worst = -.05
	if c := gated(t, a).Check(); c.Conclusion != report.Failed || !strings.Contains(c.Summary, "worse than what was accepted by writer until 2024-05-06 (down to -5.00 %)") {
		t.Errorf("a worse one: %s:\n%s", c.Conclusion, c.Summary)
	}
}

// What was accepted says nothing of a benchmark that did not become worse.
func TestAcceptedIsShownWhereABenchmarkMayBeWorse(t *testing.T) {
	r := gated(t, job.Accepted{Benchmark: "same.js", At: day, Worst: -.1}, job.Accepted{Benchmark: "noisy.js", At: day, Worst: -.1}, job.Accepted{Benchmark: "gone.js", At: day, Worst: -.1})
	if r.Row("same.js").Accepted != nil || r.Row("noisy.js").Accepted == nil || r.AllAccepted() {
		t.Errorf("same.js: %+v, noisy.js: %+v", r.Row("same.js").Accepted, r.Row("noisy.js").Accepted)
	}
}
