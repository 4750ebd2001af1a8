package report_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report"
	"github.com/prbench/prbench/report/stats"
)

func TestOptionsOfAJobFollowItsSpec(t *testing.T) {
	j := &job.Job{
		PR: 12, Attempt: 2, Base: job.Side{SHA: "a"}, Head: job.Side{SHA: "b"}, Notes: []string{"conflicts with main"},
		Spec: job.Spec{
			Suites: []job.Suite{{Name: "one", Counts: []string{"widgets"}, Analysis: "welch"}, {Name: "my suite"}},
			Filter: "a|b", Runs: job.Adaptive, Margin: .03, Alpha: .01, Gate: true, Set: []string{"n=1", "s=it's"}, Harness: job.HarnessHead,
		},
		Outcome: &job.Outcome{Kind: job.Stopped, Pairs: 30, Host: job.Host{Name: "bench-1"}, Notes: []string{"harness changed: x.js"}},
		Cancel:  &job.Cancel{By: "dev-b"},
	}
	o := report.OptionsOf(j)
	if o.Margin != .03 || o.Alpha != .01 || o.Attempt != 2 || !o.Gate || o.SuiteAnalysis["one"] != "welch" || o.Analysis != "" {
		t.Errorf("options %+v", o)
	}
	if diff := cmp.Diff(stats.DefaultLooks(), o.Looks); diff != "" {
		t.Errorf("looks: %s", diff)
	}
	if got, want := o.About.Command, `one 'my suite' --filter 'a|b' --runs adaptive --margin 3% --set n=1 --set 's=it'\''s' --harness head`; got != want {
		t.Errorf("command %s\nwant    %s", got, want)
	}
	if o.About.Stopped == nil || o.About.Stopped.By != "dev-b" || len(o.About.Notes) != 2 || o.About.Host.Name != "bench-1" {
		t.Errorf("about %+v", o.About)
	}
	r := analyse(t, failing(), o)
	if findCode(r, "harness-changed") == "" || !strings.Contains(findCode(r, "incomplete"), "the run was stopped") {
		t.Errorf("warnings %+v", r.Warnings)
	}
}

func TestFewerPairsThanPlannedAreIncomplete(t *testing.T) {
	r := analyse(t, jobOf("c", 1000, .01), report.Options{Runs: 50, About: report.About{Planned: 50}})
	if got := findCode(r, "incomplete"); !strings.Contains(got, "30 of 50 planned pairs") {
		t.Errorf("incomplete: %q", got)
	}
}

func TestWhatOneSideAloneHasIsNotMissingItsPairs(t *testing.T) {
	c := report.NewCollector()
	for i := range 5 {
		c.Add(job.New, job.Sample{Benchmark: "fresh.js", Unit: "ops/s", Value: float64(100 + i)}, i)
	}
	r := analyse(t, c.Data(), report.Options{Runs: 50, About: report.About{Planned: 50}})
	if got := findCode(r, "incomplete"); got != "" || len(r.Summary.OnlyNew) != 1 {
		t.Errorf("incomplete: %q; %+v", got, r.Summary)
	}
}

func TestOptionsThatMakeNoDesignAreRefused(t *testing.T) {
	for _, o := range []report.Options{{Margin: .6}, {Margin: -1}, {Alpha: 2}, {Analysis: "guess"}, {Looks: []int{8, 8}}, {Attempt: 1000}} {
		if _, err := report.Analyse(&report.Data{}, o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
}

// findCode is the text of a report's warning, empty without one.
func findCode(r *report.Report, code string) string {
	for _, w := range r.Warnings {
		if w.Code == code {
			return w.Text
		}
	}
	return ""
}

func TestTheTerminalShowsMarkdownAsAPersonSeesIt(t *testing.T) {
	md := "### Title\n\nold: `main` [`abc`](https://forge.test/c/abc) **bold**\n\n> [!WARNING]\n> too noisy\n\n- a\n  - `b`\n\n```text\nx  y\n```\n\n<details><summary>More</summary>\n\n| h | i |\n|---|---|\n| 1 | 2 |\n\n</details>\n"
	var plain, colour strings.Builder
	if err := report.Terminal(&plain, md, false); err != nil {
		t.Fatal(err)
	}
	want := "Title\n\nold: main abc <https://forge.test/c/abc> bold\n\n│ WARNING\n│ too noisy\n\n• a\n  • b\n\n  x  y\n\n▾ More\n\nh  i\n1  2\n"
	if diff := cmp.Diff(want, plain.String()); diff != "" {
		t.Error(diff)
	}
	if err := report.Terminal(&colour, md, true); err != nil {
		t.Fatal(err)
	}
	contains(t, colour.String(), "\x1b[1mTitle\x1b[0m", "\x1b[36mmain\x1b[0m", "\x1b[1;33mWARNING\x1b[0m")
}
