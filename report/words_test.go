package report_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report"
	"github.com/prbench/prbench/report/stats"
)

var counted = regexp.MustCompile(`(?:^|, )(\d+) `)

// headlineSum adds up the counts of a headline, without what comes after ";".
func headlineSum(t *testing.T, headline string) int {
	t.Helper()
	sum := 0
	line, _, _ := strings.Cut(headline, ";")
	for _, m := range counted.FindAllStringSubmatch(line, -1) {
		n, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	return sum
}

func TestTheHeadlineAddsUpToWhatWasCompared(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for i := range 50 {
		c := report.NewCollector()
		for b := range 1 + rng.IntN(12) {
			shift, cv := 1+.04*rng.NormFloat64(), .001+.05*rng.Float64()
			measured(c, rng, fmt.Sprint("b", b), []string{"ops/s", "ns/op", "allocs/op"}[rng.IntN(3)], 1000, 1000*shift, cv*float64(rng.IntN(2)), 5+rng.IntN(20))
		}
		r := analyse(t, c.Data(), report.Options{})
		total := 0
		for _, n := range r.Summary.ByVerdict {
			total += n
		}
		if none := r.Summary.ByVerdict[stats.NoVerdict]; total != r.Summary.Compared || none < total && headlineSum(t, r.Headline()) != r.Summary.Compared {
			t.Errorf("round %d: %q for %d compared, %v", i, r.Headline(), r.Summary.Compared, r.Summary.ByVerdict)
		}
	}
}

func TestHeadlinesSayWhatIsMissing(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	few := report.NewCollector()
	measured(few, rng, "a", "ops/s", 100, 90, .01, 3)
	measured(few, rng, "b", "ops/s", 100, 80, .01, 3)
	measured(few, rng, "c", "ops/s", 100, 95, .01, 3)
	r := analyse(t, few.Data(), report.Options{})
	if got := r.Headline(); got != "no verdict: 3 runs, 5 needed" {
		t.Errorf("three runs: %q", got)
	}
	var order []string
	for _, row := range r.Rows {
		order = append(order, row.Benchmark)
	}
	if fmt.Sprint(order) != "[b a c]" {
		t.Errorf("rows without a verdict are not sorted by their change: %v", order)
	}
	adaptive := report.NewCollector()
	measured(adaptive, rng, "a", "ops/s", 100, 90, .01, 6)
	if got := analyse(t, adaptive.Data(), report.Options{Looks: []int{8, 15}}).Headline(); got != "no verdict: stopped before the first planned look" {
		t.Errorf("no look: %q", got)
	}
	if got := analyse(t, &report.Data{}, report.Options{}).Headline(); got != "no benchmark could be compared" {
		t.Errorf("nothing: %q", got)
	}
}

func TestTheVerdictIsThatOfAllAttemptsTogether(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	first, second, third := report.NewCollector(), report.NewCollector(), report.NewCollector()
	measured(first, rng, "a", "ops/s", 1000, 1000, .02, 30)
	measured(second, rng, "a", "ops/s", 1000, 1000, .02, 30)
	measured(third, rng, "a", "ops/s", 1000, 1200, .02, 30)
	one := analyse(t, first.Data(), report.Options{Attempt: 1})
	two := analyse(t, second.Data(), report.Options{Attempt: 2, Earlier: []report.Attempt{one.AsAttempt()}})
	if i, own := two.Rows[0].Interval, two.Rows[0].Stat.Interval; i[1]-i[0] > own[1]-own[0] {
		t.Errorf("two attempts leave more than one: %v, %v", i, own)
	}
	contains(t, two.Markdown(), "2 attempts; chance of any false star on an unchanged benchmark ≤ 7.5 %")
	three := analyse(t, third.Data(), report.Options{Attempt: 3, Earlier: []report.Attempt{one.AsAttempt(), two.AsAttempt()}})
	if row := three.Rows[0]; row.Verdict != stats.Inconclusive || !strings.Contains(three.Markdown(), "attempts contradict each other") {
		t.Errorf("contradiction: %s", row.Verdict)
	}
}

func TestUnitsThatDifferAreNotCompared(t *testing.T) {
	c := report.NewCollector()
	for i := range 6 {
		c.Add(job.Old, job.Sample{Benchmark: "a", Unit: "widgets", Value: float64(10 + i)}, i)
		c.Add(job.New, job.Sample{Benchmark: "a", Unit: "gadgets", Value: float64(10 + i)}, i)
	}
	r := analyse(t, c.Data(), report.Options{})
	if r.Summary.Compared != 0 {
		t.Errorf("compared %d", r.Summary.Compared)
	}
	contains(t, r.Markdown(), "units-differ")
}

func TestWhatIsALittleWorseStandsApartFromWhatIsUnchanged(t *testing.T) {
	md := analyse(t, mixed(), report.Options{}).Markdown()
	contains(t, md, "4 unchanged within ±2 %", "- **Worse, but by less than 2 %** (1)\n  - `process/bit-slower.js n=1`: 0.84 % slower",
		"- **Proven unchanged: no difference beyond ±2 %** (3): ")
	var page strings.Builder
	if err := analyse(t, mixed(), report.Options{}).HTML(&page); err != nil {
		t.Fatal(err)
	}
	contains(t, page.String(), "Worse, but by less than 2 %")
}

func TestARateBesideATimeCountsOnce(t *testing.T) {
	r := analyse(t, mixed(), report.Options{})
	if r.Summary.Compared != 11 {
		t.Errorf("compared %d of 12 two-sided rows, want 11", r.Summary.Compared)
	}
	if n := strings.Count(r.Markdown(), "(not counted)"); n != 1 {
		t.Errorf("%d rows are marked as not counted", n)
	}
}

func TestAMoreExpensiveAllocationIsWorseAndNotSlower(t *testing.T) {
	rng := rand.New(rand.NewPCG(10, 10))
	c := report.NewCollector()
	measured(c, rng, "a", "B/op", 100, 120, .001, 10)
	r := analyse(t, c.Data(), report.Options{})
	if w := r.Rows[0].Words; w != "worse by >2 %" {
		t.Errorf("words %q", w)
	}
}

func TestEveryVerdictHasItsOwnWords(t *testing.T) {
	seen := map[string]stats.Verdict{}
	r := analyse(t, mixed(), report.Options{})
	for _, row := range r.Rows {
		if row.OnlyOn != "" {
			continue
		}
		if v, ok := seen[row.Words]; ok && v != row.Verdict {
			t.Errorf("%q says both %q and %q", row.Words, v, row.Verdict)
		}
		seen[row.Words] = row.Verdict
	}
	if len(seen) < 7 {
		t.Errorf("only %d different words: %v", len(seen), seen)
	}
}

func TestATimeThatNeverVariesIsIdenticalOnlyIfTheClockIsFineEnough(t *testing.T) {
	for _, c := range []struct {
		value float64 // ns
		want  stats.Verdict
	}{
		{1250, stats.Equivalent},
		{12, stats.NotComparable},    // steps of 1 ns are 8 %
		{5e6, stats.NotComparable},   // printed as 5 ms
		{5.01e6, stats.Equivalent},   // printed as 5.01 ms
		{12.25, stats.Equivalent},    // printed with two decimals
		{2.5e8, stats.NotComparable}, // 0.25 s
	} {
		d := report.NewCollector()
		for i := range 10 {
			d.Add(job.Old, job.Sample{Benchmark: "a", Unit: "ns/op", Value: c.value}, i)
			d.Add(job.New, job.Sample{Benchmark: "a", Unit: "ns/op", Value: c.value}, i)
		}
		if got := analyse(t, d.Data(), report.Options{}).Rows[0]; got.Verdict != c.want {
			t.Errorf("%v ns: %s (%s), want %s", c.value, got.Verdict, got.Why, c.want)
		}
	}
}

func TestASuiteMayDeclareItsAnalysis(t *testing.T) {
	c := report.NewCollector()
	for pair := range 10 {
		for _, suite := range []string{"one", "two"} {
			for _, side := range []job.SideName{job.Old, job.New} {
				r := run("c", side, pair, 100+float64(pair%4))
				r.Suite, r.Samples[0].Benchmark = suite, suite
				c.AddRun(r)
			}
		}
	}
	r := analyse(t, c.Data(), report.Options{SuiteAnalysis: map[string]string{"two": "paired"}})
	if a, b := r.Row("one").Stat.DF, r.Row("two").Stat.DF; a != 18 || b == a {
		t.Errorf("degrees of freedom %v and %v", a, b)
	}
	if _, err := report.Analyse(&report.Data{}, report.Options{SuiteAnalysis: map[string]string{"two": "guess"}}); err == nil {
		t.Error("an unknown analysis is taken")
	}
}

func TestNoPercentageOfAMeanThatMayBeZero(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 12))
	c := report.NewCollector()
	for i := range 10 {
		c.Add(job.Old, job.Sample{Benchmark: "faults", Unit: "faults", Value: max(0, 1+2*rng.NormFloat64())}, i)
		c.Add(job.New, job.Sample{Benchmark: "faults", Unit: "faults", Value: 50 + rng.Float64()}, i)
	}
	r := analyse(t, c.Data(), report.Options{Alpha: .001})
	if !r.Rows[0].Stat.NoPercentage {
		t.Fatalf("the old mean is %+v", r.Rows[0].Stat.Old)
	}
	md := r.Markdown()
	contains(t, md, "→ 50.")
	if l := line(t, md[strings.Index(md, "```text"):], "faults"); strings.Contains(strings.SplitN(l, "→", 2)[0], "%") && !strings.Contains(l, ">2 %") {
		t.Errorf("a percentage in %s", l)
	}
	b := jsonOf(t, r)["benchmarks"].([]any)[0].(map[string]any)
	if b["change"] != nil || b["improvement"] != nil {
		t.Errorf("change %v", b["change"])
	}
	contains(t, textOf(t, r), " %")
}

func TestTheLimitsOfTheVarianceAreSaidOnce(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 12))
	c := report.NewCollector()
	for i := range 3 {
		measured(c, rng, fmt.Sprint("noisy", i), "ops/s", 1000, 1000, .1, 30)
	}
	measured(c, rng, "quiet", "ops/s", 1000, 1000, .001, 30)
	r := analyse(t, c.Data(), report.Options{})
	md := r.Markdown()
	contains(t, md, "**The variance leaves 3 of 4 benchmarks open**", "> - `noisy0`: cv ", " runs a side would settle ±2 %.\n")
	for _, once := range []string{"a verdict at ±2 % is likely where one run varies by less than ", "even odds of a star up to a cv of 3.9 %", "if there is none, in a fixed run of that many"} {
		if n := strings.Count(md, once); n != 1 {
			t.Errorf("%q stands %d times in\n%s", once, n, md)
		}
	}
	contains(t, fmt.Sprint(row(t, r, "noisy0").Warnings), "a verdict is likely below a cv of", "even odds", "in a fixed run would show no change beyond ±2 %, if there is none")
}

func TestNoFractionOfAnOldMeanNearZeroIsToldAnywhere(t *testing.T) {
	c := report.NewCollector()
	for i, old := range []float64{0, 0, 0, 9, 0, 1} {
		c.Add(job.Old, job.Sample{Benchmark: "a", Unit: "widgets", Better: job.Lower, Value: old}, i)
		c.Add(job.New, job.Sample{Benchmark: "a", Unit: "widgets", Better: job.Lower, Value: []float64{1, 2, 0, 3, 5, 1}[i]}, i)
	}
	r := analyse(t, c.Data(), report.Options{})
	if !r.Rows[0].Stat.NoPercentage {
		t.Fatalf("%+v", r.Rows[0].Stat)
	}
	js := jsonOf(t, r)["benchmarks"].([]any)[0].(map[string]any)
	if got := fmt.Sprint(js["interval"], js["change"], js["improvement"], js["cv"], js["runs_needed"]); got != "[<nil> <nil>] <nil> <nil> <nil> <nil>" {
		t.Errorf("%s", got)
	}
	contains(t, fmt.Sprint(r.Rows[0].Warnings), "variance too high: the old mean cannot be told from zero}")
	contains(t, r.Markdown(), "> - `a`: the old mean cannot be told from zero.\n")
	lacks(t, r.Markdown(), "even odds", "would settle")
}

func TestWhatDoesNotVarySaysWhyOnce(t *testing.T) {
	same := func(unit string, old, new float64, runs int) *report.Row {
		c := report.NewCollector()
		for i := range runs {
			c.Add(job.Old, job.Sample{Benchmark: "a", Unit: unit, Value: old}, i)
			c.Add(job.New, job.Sample{Benchmark: "a", Unit: unit, Value: new}, i)
		}
		return analyse(t, c.Data(), report.Options{}).Rows[0]
	}
	for _, c := range []struct {
		row  *report.Row
		want string
	}{
		{same("allocs/op", 0, 2, 30), "0 allocs/op → 2 allocs/op; no percentage from zero"},
		{same("allocs/op", 0, 2, 3), "0 allocs/op → 2 allocs/op; no percentage from zero; 3 runs, 5 needed"},
		{same("ops/s", 100, 99, 30), "no spread, no test"},
		{same("ops/s", 100, 99, 7), "no spread, no test; 7 runs, 8 needed"},
		{same("ops/s", 100, 100, 7), "identical in all 7 runs; 8 needed"},
		{same("ns/op", 12, 12, 30), "equal times prove nothing"},
	} {
		if c.row.Why != c.want {
			t.Errorf("%q, want %q", c.row.Why, c.want)
		}
	}
	if got := fmt.Sprint(same("ns/op", 12, 12, 30).Warnings); !strings.Contains(got, "the clock steps by 1 ns/op: equal times prove nothing") {
		t.Errorf("%s", got)
	}
}

func TestHintsNameTheSideAndTheRun(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 13))
	c := report.NewCollector()
	for i := range 30 {
		old, new := 1000+rng.NormFloat64(), 1000+5*rng.NormFloat64()
		if i == 11 {
			old = 1050
		}
		c.Add(job.Old, job.Sample{Benchmark: "outlier", Unit: "ops/s", Value: old}, i)
		c.Add(job.New, job.Sample{Benchmark: "outlier", Unit: "ops/s", Value: 1000 + rng.NormFloat64()}, i)
		c.Add(job.Old, job.Sample{Benchmark: "wide", Unit: "ops/s", Value: 1000 + rng.NormFloat64()}, i)
		c.Add(job.New, job.Sample{Benchmark: "wide", Unit: "ops/s", Value: new}, i)
	}
	contains(t, analyse(t, c.Data(), report.Options{}).Markdown(), "outlier on the old side: run 12 lies far from the others", "the new side spreads ")
}
