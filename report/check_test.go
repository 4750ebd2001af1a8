package report_test

import (
	"math/rand/v2"
	"testing"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report"
)

// jobOf measures one benchmark of a case in 30 pairs.
func jobOf(cas string, new, cv float64) *report.Data {
	rng := rand.New(rand.NewPCG(11, 11))
	c := report.NewCollector()
	for pair := range 30 {
		c.AddRun(run(cas, job.Old, pair, 1000*(1+cv*rng.NormFloat64())))
		c.AddRun(run(cas, job.New, pair, new*(1+cv*rng.NormFloat64())))
	}
	return c.Data()
}

func TestTheConclusionFollowsTheVerdicts(t *testing.T) {
	for _, c := range []struct {
		what string
		data *report.Data
		o    report.Options
		want report.Conclusion
	}{
		{"unchanged", jobOf("c", 1000, .01), report.Options{}, report.Success},
		{"faster", jobOf("c", 1100, .01), report.Options{}, report.Success},
		{"regression without a gate", jobOf("c", 900, .01), report.Options{}, report.Neutral},
		{"regression with a gate", jobOf("c", 900, .01), report.Options{Gate: true}, report.Failed},
		{"unchanged with a gate", jobOf("c", 1000, .01), report.Options{Gate: true}, report.Success},
		{"unchanged on an unfit host, with a gate", jobOf("c", 1000, .01),
			report.Options{Gate: true, About: report.About{Host: job.Host{Unfit: []string{"governor"}}}}, report.Neutral},
		{"too noisy", jobOf("c", 1000, .2), report.Options{}, report.Neutral},
		{"too noisy with a gate", jobOf("c", 1000, .2), report.Options{Gate: true}, report.Neutral},
		{"nothing", &report.Data{}, report.Options{}, report.Neutral},
		{"lost runs", failing(), report.Options{}, report.Neutral},
	} {
		if got := analyse(t, c.data, c.o).Check().Conclusion; got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
}

func TestARegressionIsAnnotatedWhereItsFileIsKnown(t *testing.T) {
	for _, c := range []struct {
		cas  string
		path string
	}{
		{"benchmark/process/fast.js", "benchmark/process/fast.js"},
		{"", ""},
		{"parse", ""},
		{"../outside.js", ""},
		{"/etc/passwd.js", ""},
		{"a\nb.js", ""},
	} {
		got := analyse(t, jobOf(c.cas, 900, .01), report.Options{}).Check().Annotations
		switch {
		case c.path == "" && len(got) != 0:
			t.Errorf("%q: annotations %+v", c.cas, got)
		case c.path != "" && (len(got) != 1 || got[0].Path != c.path || got[0].Line != 1):
			t.Errorf("%q: annotations %+v", c.cas, got)
		}
	}
	if got := analyse(t, jobOf("a.js", 1000, .01), report.Options{}).Check().Annotations; len(got) != 0 {
		t.Errorf("no regression, and yet %+v", got)
	}
}
