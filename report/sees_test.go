package report_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report"
)

func TestAReportSaysWhatTheMachineSeesAndWhatThatIsWorth(t *testing.T) {
	good := job.Calibration{At: time.Date(2024, 5, 4, 3, 2, 1, 0, time.UTC), Suite: "process", Repository: 7, Benchmarks: 12, Pairs: 30, CV: .011,
		Detectable80: .0081, Worst80: .034, Correlation: .12, Stars: 1, ExpectedStars: .6}
	with := func(change func(*job.Calibration)) *job.Calibration {
		c := good
		change(&c)
		return &c
	}
	for name, c := range map[string]struct {
		c       *job.Calibration
		says    string
		without string
	}{
		"the same repository": {&good, "measured against itself on 2024-05-04 (30 pairs of `process`), sees a change of 0.81 % in 8 of 10 tries; in its noisiest benchmark, of 3.4 %. " +
			"Though nothing differed there, 1 of 12 benchmarks had a star (0.6 expected by chance); the two runs of a pair correlated by 0.12.", "unfit"},
		"another repository": {good.For(8), "(30 pairs of benchmarks that need not be these), sees a change of 0.81 %", "process`), sees"},
		"too many stars": {with(func(c *job.Calibration) { c.Stars, c.TooManyStars, c.Drifting = 5, true, 2 }),
			"5 of 12 benchmarks had a star (0.6 expected by chance) and 2 drifted; the two runs of a pair correlated by 0.12. That is more stars than chance explains", "unfit"},
		"an unfit machine": {with(func(c *job.Calibration) { c.Unfit = []string{"the load was 9.0", "it swapped"} }),
			"This machine was unfit when it was last measured against itself, on 2024-05-04 (`the load was 9.0` and 1 more)", "0.81 %"},
		"an older runner": {with(func(c *job.Calibration) { c.Stars, c.ExpectedStars = 0, 0 }), "in its noisiest benchmark, of 3.4 %.\n", "had a star"},
	} {
		a := about()
		a.Host.Calibration = c.c
		collected := report.NewCollector()
		measured(collected, rand.New(rand.NewPCG(1, 2)), "a.js n=1", "ops/s", 100, 100, .01, 8)
		r, err := report.Analyse(collected.Data(), report.Options{About: a})
		if err != nil {
			t.Fatal(err)
		}
		if md := r.Markdown(); !strings.Contains(md, c.says) || strings.Contains(md, c.without) {
			t.Errorf("%s: want %q and not %q in\n%s", name, c.says, c.without, md)
		}
	}
}
