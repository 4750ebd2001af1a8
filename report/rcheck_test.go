package report_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report"
)

// randomComparisons makes benchmarks of every kind that a t-test meets: 2 to 500
// runs a side, not always the same number, a cv from 0.01 % to 40 %, a change
// from nothing to a factor of 3, means from 1e-9 to 1e12, spreads up to 10:1.
func randomComparisons(n int) (d *report.Data, csv string) {
	rng := rand.New(rand.NewPCG(16888, 200))
	logUniform := func(lo, hi float64) float64 { return lo * math.Pow(hi/lo, rng.Float64()) }
	c := report.NewCollector()
	var b strings.Builder
	for i := range n {
		mean, cv := logUniform(1e-9, 1e12), logUniform(1e-4, .4)
		ratio, spread := 1.0, logUniform(.1, 10)
		switch rng.IntN(3) {
		case 0:
			ratio = 1 + cv*rng.NormFloat64()/4
		case 1:
			ratio = logUniform(1./3, 3)
		}
		old := 2 + rng.IntN(int(logUniform(1, 499)))
		new := old
		if rng.IntN(2) == 0 {
			new = 2 + rng.IntN(int(logUniform(1, 499)))
		}
		name := fmt.Sprintf("%03d", i)
		take := func(side job.SideName, runs int, mean, sd float64) {
			for range runs {
				v := mean + sd*rng.NormFloat64()
				for v <= 0 { // a rate is above zero
					v = mean + sd*rng.NormFloat64()
				}
				c.Add(side, job.Sample{Benchmark: name, Unit: "ops/s", Value: v}, -1)
				fmt.Fprintf(&b, "%s,%s,%.17g\n", name, side, v)
			}
		}
		take(job.Old, old, mean, mean*cv)
		take(job.New, new, mean*ratio, min(mean*cv*spread, mean*ratio*.4))
	}
	return c.Data(), b.String()
}

// relative is the error of got, relative to R's figure.
func relative(got, want float64) float64 {
	if got == want {
		return 0
	}
	return math.Abs(got-want) / math.Abs(want)
}

func TestWelchAgreesWithR(t *testing.T) {
	const comparisons = 200
	data, csv := randomComparisons(comparisons)
	r := analyse(t, data, report.Options{})
	lines := strings.Split(strings.TrimSpace(rscript(t, "ttest.R", csv)), "\n")
	if len(lines) != comparisons {
		t.Fatalf("R printed %d lines, want %d:\n%s", len(lines), comparisons, strings.Join(lines, "\n"))
	}
	worst, smallest := map[string]float64{}, 1.0
	for _, l := range lines {
		var name string
		var p, df, half float64
		if _, err := fmt.Sscan(l, &name, &p, &df, &half); err != nil {
			t.Fatalf("R's line %q: %v", l, err)
		}
		smallest = min(smallest, p)
		s := r.Row(name).Stat
		for _, figure := range []struct {
			what      string
			got, want float64
			most      float64
		}{
			{"p", s.P, p, 1e-9},
			{"df", s.DF, df, 1e-11},
			{"±", s.Accuracy[0], half, 1e-11},
		} {
			e := relative(figure.got, figure.want)
			worst[figure.what] = max(worst[figure.what], e)
			if !(e <= figure.most) {
				t.Errorf("%s, %d and %d runs: %s %.17g, R has %.17g (relative error %.1e)", name, s.Old.N, s.New.N, figure.what, figure.got, figure.want, e)
			}
		}
	}
	t.Logf("%d random comparisons against R's t.test, largest relative error: p %.1e (p down to %.1e), df %.1e, ± %.1e", comparisons, worst["p"], smallest, worst["df"], worst["±"])
}
