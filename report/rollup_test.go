package report_test

import (
	"math/rand/v2"
	"testing"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report"
)

func TestWhatWouldSettleARollUp(t *testing.T) {
	type benchmark struct {
		name          string
		old, new, cv  float64
		unit          string
		runs, onlyNew int
	}
	quiet := benchmark{"quiet", 1e6, 1e6, .005, "ops/s", 30, 0}
	for name, c := range map[string]struct {
		benchmarks     []benchmark
		unfit          []string
		sentence, want string
		worst          string
	}{
		"nothing is open": {[]benchmark{quiet}, nil, "no benchmark is slower by more than 2 % (95 %)", "", "quiet"},
		"an allocation count is not slower": {[]benchmark{{"n", 1e6, 1e6, .005, "allocs/op", 30, 0}}, nil,
			"no benchmark is worse by more than 2 % (95 %)", "", "n"},
		"the machine": {[]benchmark{quiet}, []string{"turbo is on"}, "every benchmark held, on a machine that was unfit for a verdict of safety",
			"a fit machine is needed (turbo is on)", "quiet"},
		"noise": {[]benchmark{quiet, {"noisy", 1e6, 1e6, .1, "ops/s", 30, 0}}, nil, "1 of 2 benchmarks could not be shown to be no slower by more than 2 %",
			"about 471 runs a side would settle what is too noisy", "noisy"},
		"hopeless noise": {[]benchmark{quiet, {"noisy", 1e6, 1e6, .2, "ops/s", 30, 0}}, nil, "1 of 2 benchmarks could not be shown to be no slower by more than 0.5 %",
			"it is too noisy for 10,000 runs a side: a quieter benchmark or a wider margin would tell", "noisy"},
		"one side and few runs": {[]benchmark{quiet, {"new", 0, 1e6, .005, "ops/s", 30, 30}, {"few", 1e6, 1e6, .005, "ops/s", 3, 0}}, nil,
			"2 of 3 benchmarks could not be shown to be no slower by more than 2 %",
			"1 benchmark exists on one side only; 1 benchmark has too few runs for a verdict", "few"},
	} {
		rng := rand.New(rand.NewPCG(8, 9))
		col := report.NewCollector()
		for _, b := range c.benchmarks {
			if b.onlyNew == 0 {
				measured(col, rng, b.name, b.unit, b.old, b.new, b.cv, b.runs)
			}
			for i := range b.onlyNew {
				col.Add(job.New, job.Sample{Benchmark: b.name, Unit: b.unit, Value: b.new}, i)
			}
		}
		margin := .02
		if name == "hopeless noise" {
			margin = .005
		}
		r := analyse(t, col.Data(), report.Options{Gate: true, Margin: margin, About: report.About{Host: job.Host{Unfit: c.unfit}}})
		if r.RollUpSentence() != c.sentence || r.RollUpSettles(report.Visible) != c.want || r.Worst().ID != c.worst {
			t.Errorf("%s: %q; to settle it %q; worst %s", name, r.RollUpSentence(), r.RollUpSettles(report.Visible), r.Worst().ID)
		}
	}
}
