package publish

import (
	"strings"
	"testing"
	"time"

	"github.com/prbench/prbench/internal/job"
)

// before is a job that was measured: some minutes around its pairs, the rest in them.
func before(around, measuring int, change func(*job.Job)) job.Job {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	j := priced(nil)
	j.Started, j.Finished = at, at.Add(time.Duration(around+measuring)*time.Minute)
	j.Outcome = &job.Outcome{Kind: job.Measured, Pairs: 10, WallSeconds: float64(60 * measuring)}
	if change != nil {
		change(&j)
	}
	return j
}

func priced(change func(*job.Job)) job.Job {
	j := job.Job{Spec: job.Spec{Pool: "default", Suites: []job.Suite{{Name: "speed"}}, Runs: 10, Margin: .02, Budget: job.Duration(time.Hour)}}
	if change != nil {
		change(&j)
	}
	return j
}

func looks(at ...int) func(*job.Job) {
	return func(j *job.Job) {
		j.Spec.Runs, j.Spec.Looks = job.Adaptive, at
		if j.Outcome != nil {
			j.Outcome.Pairs = at[len(at)-1]
		}
	}
}

func TestAComparisonWithOtherRunsIsPricedByThePairsOfEarlierOnes(t *testing.T) {
	t.Parallel()
	runs := func(n job.Runs) func(*job.Job) { return func(j *job.Job) { j.Spec.Runs = n } }
	for name, c := range map[string]struct {
		j    job.Job
		all  []job.Job
		says string
	}{
		"the same": {priced(nil), []job.Job{before(2, 10, nil)}, "took about 12 min before"},
		"twice the runs": {priced(runs(20)), []job.Job{before(2, 10, nil)},
			"It should take about 22 min, going by what a pair of runs of these benchmarks took before."},
		"a fifth of the runs":       {priced(runs(2)), []job.Job{before(2, 10, nil)}, "about 4 min, going by"},
		"runs that its budget ends": {priced(runs(500)), []job.Job{before(2, 10, nil)}, "about 62 min, going by"},
		"adaptive after fixed":      {priced(looks(8, 15, 25)), []job.Job{before(2, 10, nil)}, "about 10 min to 27 min, going by"},
		"fixed after adaptive":      {priced(nil), []job.Job{before(0, 12, looks(8, 12))}, "about 10 min to 15 min, going by"},
		"bounds that are far":       {priced(nil), []job.Job{before(0, 50, looks(8, 100))}, "at most about 60 min, going by"},
		"fixed ones tell more":      {priced(runs(20)), []job.Job{before(2, 10, nil), before(0, 50, looks(8, 100))}, "about 22 min, going by"},
		"the middle of several": {priced(runs(20)), []job.Job{before(2, 10, nil), before(2, 100, nil), before(2, 11, nil)},
			"about 24 min, going by"},
		"one that its budget ended": {priced(runs(20)), []job.Job{before(2, 60, nil)}, "Nothing like it was measured here yet"},
		"the same, ended by a smaller budget": {priced(nil), []job.Job{before(2, 10, func(j *job.Job) { j.Spec.Budget = job.Duration(10 * time.Minute) })},
			"Nothing like it was measured here yet"},
		"one that was not measured": {priced(nil), []job.Job{before(2, 10, func(j *job.Job) { j.Outcome.Kind = job.Fault })}, "its budget is 60 min."},
		"other benchmarks":          {priced(nil), []job.Job{before(2, 10, func(j *job.Job) { j.Spec.Filter = "x" })}, "Nothing like it"},
		"another pool":              {priced(nil), []job.Job{before(2, 10, func(j *job.Job) { j.Spec.Pool = "arm" })}, "Nothing like it"},
		"a release line":            {priced(nil), []job.Job{before(2, 10, func(j *job.Job) { j.Backport = &job.Backport{} })}, "Nothing like it"},
		"an older record":           {priced(runs(20)), []job.Job{before(2, 0, nil)}, "Nothing like it"},
		"no job":                    {priced(func(j *job.Job) { j.Spec.Budget = 0 }), nil, "how long it takes is not known."},
	} {
		if got := priceOf(c.j, c.all).words(c.j.Spec); !strings.Contains(got, c.says) {
			t.Errorf("%s: %q does not say %q", name, got, c.says)
		}
	}
}
