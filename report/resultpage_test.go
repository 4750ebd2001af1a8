package report_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report"
	"github.com/prbench/prbench/report/stats"
)

func pageOf(t *testing.T, write func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	checkPage(t, b.String())
	return b.String()
}

var besides = []report.PageLink{{Text: "samples (CSV)", URL: "1.1.1-abc/samples.csv"}}

// underway is an adaptive comparison of a clear regression and a noisy
// benchmark, after so many pairs.
func underway(pairs int) (*report.Data, report.Options) {
	rng := rand.New(rand.NewPCG(5, 8))
	c := report.NewCollector()
	for pair := range pairs {
		for _, side := range []job.SideName{job.Old, job.New} {
			r := job.Run{Suite: "s", Side: side, Pair: pair}
			times := 1.0
			if side == job.New {
				times = .8
			}
			r.Samples = append(r.Samples,
				job.Sample{Benchmark: "clear", Unit: "ops/s", Value: 1e6 * times * (1 + .002*rng.NormFloat64())},
				job.Sample{Benchmark: "noisy", Unit: "ops/s", Value: 1e6 * (1 + .05*rng.NormFloat64())})
			c.AddRun(r)
		}
	}
	return c.Data(), report.Options{Looks: []int{8, 15, 25}, Runs: job.Adaptive, About: about()}
}

func TestLooksTellWhatEachOfThemResolved(t *testing.T) {
	for pairs, want := range map[int]int{7: 0, 8: 1, 14: 1, 15: 2, 25: 3} {
		d, o := underway(pairs)
		looks, err := report.Looks(d, o)
		if err != nil || len(looks) != want {
			t.Errorf("%d pairs: %d looks, %v; want %d", pairs, len(looks), err, want)
			continue
		}
		named := map[string]int{}
		for _, l := range looks {
			for _, row := range append(l.Resolved, l.Futile...) {
				named[row.ID]++
				if row.Stat.LookReached != l.Pairs {
					t.Errorf("%d pairs: %s is judged at %d in the look at %d", pairs, row.ID, row.Stat.LookReached, l.Pairs)
				}
			}
		}
		if want > 0 && (named["clear"] != 1 || len(looks[0].Resolved) == 0 || looks[0].Resolved[0].Verdict != stats.Regression) {
			t.Errorf("%d pairs: %v, first look %+v", pairs, named, looks[0])
		}
	}
}

func TestLooksAreJudgedAsTheyWereThen(t *testing.T) {
	early, o := underway(8)
	late, _ := underway(20)
	then, err := report.Looks(early, o)
	if err != nil {
		t.Fatal(err)
	}
	now, err := report.Looks(late, o)
	if err != nil {
		t.Fatal(err)
	}
	if then[0].Title() != now[0].Title() || then[0].Resolved[0].Stat.Improvement != now[0].Resolved[0].Stat.Improvement {
		t.Errorf("then: %s\nnow:  %s", then[0].Title(), now[0].Title())
	}
}

func TestTheInterimPageSaysWhatItIs(t *testing.T) {
	d, o := underway(17)
	in := analyse(t, d, o)
	looks, err := report.Looks(d, o)
	if err != nil {
		t.Fatal(err)
	}
	page := pageOf(t, func(w io.Writer) error {
		return report.UnderwayPage(w, report.Underway{About: about(), Title: "Measure: 34 of at most 50 runs", Lead: []string{"About 3 min left."}, Done: 34, Total: 50,
			Interim: in, Looks: looks, At: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}, besides)
	})
	contains(t, page, "<h1>Measure: 34 of at most 50 runs</h1>", "Interim.", "<progress value=\"34\" max=\"50\">", "About 3 min left.", "Look 1 of 3, at 8 pairs: 1 resolved",
		"Look 2 of 3, at 15 pairs", "<code>clear</code>", "As of 2026-03-01 12:00:00 UTC", "samples (CSV)")
	lacks(t, page, "could have detected", "Gate:", "http-equiv")
}

func TestAJobWithoutASampleHasItsPage(t *testing.T) {
	page := pageOf(t, func(w io.Writer) error {
		return report.UnderwayPage(w, report.Underway{About: about(), Title: "Waiting for a runner", Lead: []string{"3 jobs are ahead of it."}}, nil)
	})
	contains(t, page, "Waiting for a runner", "3 jobs are ahead of it.")
	lacks(t, page, "<progress", "Interim", "<table>", "renews itself")
}

func TestAFailurePageSaysWhoIsAtFaultAndWhatWasPrinted(t *testing.T) {
	a := about()
	a.LostTries = []string{"the lease ran out <b>"}
	page := pageOf(t, func(w io.Writer) error {
		return report.FailurePage(w, a, job.Outcome{Kind: job.BuildFailed, Side: job.New, Text: "exit 2", Log: "cc: <script>alert(1)</script> error\nghp_abcdefghijklmnop1234"}, besides)
	})
	contains(t, page, "The pull request", "does not build", "exit 2", "cc: &lt;script&gt;", "the lease ran out &lt;b&gt;")
	lacks(t, page, "ghp_abcdefghijklmnop1234", "`", "<h2 id=\"table\">")
}

func TestForeignTextIsNoMarkupOnTheOtherPages(t *testing.T) {
	for _, evil := range hostile {
		a := about()
		a.Notes, a.Base.Ref, a.Command, a.Host.Name = []string{evil}, evil, evil, evil
		pageOf(t, func(w io.Writer) error {
			return report.FailurePage(w, a, job.Outcome{Kind: job.Fault, Text: evil, Log: evil, Host: job.Host{Name: evil}}, nil)
		})
		pageOf(t, func(w io.Writer) error {
			return report.UnderwayPage(w, report.Underway{About: a, Title: evil, Lead: []string{evil}}, []report.PageLink{{Text: evil, URL: "1.1.1-abc/x"}})
		})
		pageOf(t, func(w io.Writer) error { return report.WordsPage(w, evil, []string{evil}, nil) })
	}
}

func TestTheLedgersAttemptsLeadToTheirPages(t *testing.T) {
	a := about()
	a.Ledger = []report.LedgerEntry{{Attempt: 1, Runs: "30", Headline: "1 regression", Page: "https://bench.test/r/1"}, {Attempt: 2, Runs: "30", Headline: "none"}}
	page := htmlOf(t, analyse(t, mixed(), report.Options{About: a, Attempt: 2}))
	checkPage(t, page)
	contains(t, page, `<a href="https://bench.test/r/1">its report</a>`, "a dot that is hollow (○)")
	if n := strings.Count(page, "its report"); n != 1 {
		t.Errorf("%d links", n)
	}
	lacks(t, htmlOf(t, analyse(t, mixed(), report.Options{About: about()})), "hollow")
}

var tickLabel = regexp.MustCompile(`>([-0-9.e+]+[kMGT]?)</text>`)

func TestTicksHaveNoDigitsThatSayNothing(t *testing.T) {
	for base, want := range map[float64]string{2.25e6: "M", 41000: "k", 3e9: "G", 120: "", .25: "", 6.1e-7: ""} {
		c := report.NewCollector()
		for pair := range 10 {
			for i, side := range []job.SideName{job.Old, job.New} {
				c.AddRun(job.Run{Suite: "s", Side: side, Pair: pair, Samples: []job.Sample{{Benchmark: "b", Unit: "ops/s", Value: base * (1 + float64(pair*(i+1))/100)}}})
			}
		}
		pictures := pictureTexts(t, htmlOf(t, analyse(t, c.Data(), report.Options{})))
		labels := tickLabel.FindAllStringSubmatch(pictures[len(pictures)-1], -1)
		if len(labels) < 3 {
			t.Errorf("%g: the ticks are %v", base, labels)
		}
		long, zeros := false, true
		for _, l := range labels {
			number := strings.TrimRight(l[1], "kMGT")
			long = long || len(strings.Trim(number, "-")) > 8 || !strings.HasSuffix(l[1], want)
			zeros = zeros && strings.Contains(number, ".") && strings.HasSuffix(number, "0")
		}
		if long || zeros {
			t.Errorf("%g: the ticks are %v", base, labels)
		}
	}
}

// pictureTexts gives the SVGs of a page.
func pictureTexts(t *testing.T, page string) []string {
	t.Helper()
	var out []string
	for _, m := range pictureData.FindAllStringSubmatch(page, -1) {
		out = append(out, decoded(t, m[1]))
	}
	if len(out) == 0 {
		t.Fatal("no picture: " + fmt.Sprintf("%.300s", page))
	}
	return out
}
