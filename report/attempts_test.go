package report_test

import (
	"strings"
	"testing"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report"
	"github.com/prbench/prbench/report/stats"
)

// around measures a case of a file in 30 pairs that scatter evenly by the given
// fraction around a change, plus being better.
func around(change, scatter float64) *report.Data {
	c := report.NewCollector()
	for pair := range 30 {
		e := scatter * float64(pair%5-2) / 2
		c.AddRun(run("a.js", job.Old, pair, 1000*(1+e)))
		c.AddRun(run("a.js", job.New, pair, 1000*(1+change)*(1+e)))
	}
	return c.Data()
}

// earlier is an attempt that left an interval possible.
func earlier(lo, hi float64) report.Attempt {
	v, by := stats.VerdictOf([2]float64{lo, hi}, .02)
	return report.Attempt{"b": stats.Attempt{Number: 1, Interval: [2]float64{lo, hi}, Verdict: v, ByMargin: by}}
}

func secondAttempt(t *testing.T, d *report.Data, before report.Attempt, o report.Options) *report.Report {
	t.Helper()
	o.Attempt, o.Earlier = 2, []report.Attempt{before}
	return analyse(t, d, o)
}

func TestTheDirectionOfSeveralAttemptsIsThatOfTheirInterval(t *testing.T) {
	r := secondAttempt(t, around(.0063, .05), earlier(-.0299, -.01), report.Options{})
	md := r.Markdown()
	contains(t, md, "over 2 attempts between 1.00 % and ", " slower; this run: 0.63 % faster", "30 runs a side, attempt 2, verdicts over all 2", "`○`")
	lacks(t, md, "faster (between")
	if l := line(t, md[strings.Index(md, "```text"):], "slower by <2 %"); !strings.Contains(l, "○") || strings.Contains(l, "●") {
		t.Errorf("the picture puts this run inside: %s", l)
	}
	contains(t, secondAttempt(t, around(0, .05), earlier(-.03, .02), report.Options{}).Markdown(), "over 2 attempts anything from ", " slower to ", "; this run: 0.00 % change")
	contains(t, secondAttempt(t, around(.2, .01), earlier(-.03, .01), report.Options{}).Markdown(), ": this run: 20.00 % faster; the attempts contradict each other")
}

func TestAnAnnotationOverAttemptsNamesBothFigures(t *testing.T) {
	got := secondAttempt(t, around(-.03, .05), earlier(-.04, -.025), report.Options{}).Check().Annotations
	if len(got) != 1 || !strings.Contains(got[0].Message, "slower by more than 2 %: over 2 attempts between 2.50 % and ") || !strings.Contains(got[0].Message, " slower; this run: 3.00 % slower, from ") {
		t.Errorf("%+v", got)
	}
}

func TestAnAttemptThatCouldNotBeJudgedLeavesTheOneBefore(t *testing.T) {
	c := report.NewCollector()
	for pair := range 3 {
		c.AddRun(run("a.js", job.Old, pair, 1000+float64(pair)))
		c.AddRun(run("a.js", job.New, pair, 990+float64(pair)))
	}
	contains(t, secondAttempt(t, c.Data(), earlier(.01, .03), report.Options{}).Markdown(),
		"in the one attempt that could be judged between 1.00 % and 3.00 % faster; this run: 1.00 % slower")
}

func TestWhatAllAttemptsSettledNeedsNoMoreRuns(t *testing.T) {
	alone := analyse(t, around(0, .2), report.Options{Attempt: 2})
	if js := jsonOf(t, alone)["benchmarks"].([]any)[0].(map[string]any); js["runs_needed"] == nil {
		t.Fatal("this attempt alone is not noisy")
	}
	r := secondAttempt(t, around(0, .2), earlier(-.01, .01), report.Options{})
	if js := jsonOf(t, r)["benchmarks"].([]any)[0].(map[string]any); js["verdict"] != "equivalent" || js["runs_needed"] != nil {
		t.Errorf("%v", js)
	}
	lacks(t, r.Markdown(), "(!)", "variance", "would settle")
	contains(t, secondAttempt(t, around(0, .2), earlier(-.05, -.005), report.Options{}).Markdown(), "(!)", "would tell on which side of 2 % it lies")
}

func TestAdviceFitsWhatIsOpen(t *testing.T) {
	contains(t, analyse(t, around(0, 1.2), report.Options{}).Markdown(), "more than 10,000 runs a side would be needed: a quieter benchmark or a wider margin would tell")
	contains(t, analyse(t, around(-.0199, .02), report.Options{}).Markdown(), "it is about at the margin, more runs will not settle it")
	md := analyse(t, around(-.0125, .026), report.Options{}).Markdown()
	contains(t, md, "slower, size unclear", "runs a side would tell on which side of 2 % it lies")
	within := around(0, .2)
	within.Series[0].WithinProcess = true
	lacks(t, analyse(t, within, report.Options{}).Markdown(), "(!)", "would settle")
}

func TestTheNoteIsAtTheLevelOfTheAttempt(t *testing.T) {
	second := secondAttempt(t, around(0, .05), earlier(-.01, .01), report.Options{})
	contains(t, second.Markdown(), "in attempt 2 stars and accuracies are at half of these levels", "expect 0.03, 0.01 and 0.00 false results", "Column p, with the numbers of each benchmark, is not adjusted for the attempts.")
	stars := jsonOf(t, second)["summary"].(map[string]any)["expected_false_stars"].(map[string]any)
	if stars["*"] != .025 || stars["**"] != .005 {
		t.Errorf("false stars of the second attempt: %v", stars)
	}
	contains(t, analyse(t, around(0, .05), report.Options{Attempt: 5}).Markdown(), "in attempt 5 stars and accuracies are at 1/16 of these levels")
	lacks(t, analyse(t, around(0, .05), report.Options{}).Markdown(), "attempt", "Column p")
	contains(t, analyse(t, around(0, .05), report.Options{Looks: []int{8, 30}}).Markdown(), "is not adjusted for the looks")
}
