package report_test

import (
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/prbench/prbench/report"
	"github.com/prbench/prbench/report/stats"
)

var publishedRow = regexp.MustCompile(`^ ?(.*?) +(\*{0,3}) +(-?[0-9.]+) % +±([0-9.]+)% +±([0-9.]+)% +±([0-9.]+)%$`)

// published reads one of Node's published tables.
func published(t *testing.T, name string) []report.PrintedRow {
	t.Helper()
	b, err := os.ReadFile("testdata/node/" + name + ".expected.txt")
	if err != nil {
		t.Fatal(err)
	}
	fraction := func(s string) float64 {
		x, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		return x / 100
	}
	var rows []report.PrintedRow
	for l := range strings.SplitSeq(string(b), "\n") {
		if m := publishedRow.FindStringSubmatch(l); m != nil {
			rows = append(rows, report.PrintedRow{Name: m[1], Stars: m[2], Improvement: fraction(m[3]),
				Accuracy: [3]float64{fraction(m[4]), fraction(m[5]), fraction(m[6])}, P: math.NaN()})
		}
	}
	return rows
}

func TestAPrintedTableGetsTheVerdictsOfItsSamples(t *testing.T) {
	samples := analyse(t, readNode(t, "testdata/node/jenkins-150.csv"), report.Options{})
	rows := published(t, "jenkins-150")
	if len(rows) != len(samples.Rows) {
		t.Fatalf("%d printed rows, want %d", len(rows), len(samples.Rows))
	}
	r, err := report.Printed(rows, report.Options{Runs: 20})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range r.Rows {
		s := samples.Row(row.ID)
		if s == nil {
			t.Fatalf("no samples of %q", row.ID)
		}
		// The printed figures have two decimals, and the table does not tell how the
		// standard error is made up: near a boundary the verdicts may differ.
		near := false
		for _, edge := range []float64{-.02, 0, .02} {
			for _, end := range s.Interval {
				near = near || math.Abs(end-edge) < .002
			}
		}
		if row.Verdict != s.Verdict && !near {
			t.Errorf("%s: printed %s (%v), samples %s (%v) of %d runs", row.ID, row.Verdict, row.Interval, s.Verdict, s.Interval, s.Stat.Old.N)
		}
		if row.Stat.Stars != s.Stat.Stars && math.Abs(math.Abs(row.Stat.Improvement)-row.Stat.Accuracy[0]) > .002 {
			t.Errorf("%s: stars %q, samples %q", row.ID, row.Stat.Stars, s.Stat.Stars)
		}
	}
	checkHarmless(t, r.Markdown())
	jsonOf(t, r)
}

func TestAPrintedTableIsPrintedAgainAsItWas(t *testing.T) {
	rows := published(t, "confidence")
	r, err := report.Printed(rows, report.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/node/confidence.expected.txt")
	if err != nil {
		t.Fatal(err)
	}
	got, _, _ := strings.Cut(textOf(t, r), "\n\n")
	if g, w := strings.Join(tableLines(got), "\n"), strings.Join(tableLines(string(want)), "\n"); g != w {
		t.Errorf("got\n%s\nwant\n%s", g, w)
	}
}

func TestAPrintedPValueNeedsTheRuns(t *testing.T) {
	nan := math.NaN()
	rows := []report.PrintedRow{
		{Name: "a", Stars: "***", Improvement: -.18, Accuracy: [3]float64{nan, nan, nan}, P: 1e-9},
		{Name: "b", Improvement: .001, Accuracy: [3]float64{nan, nan, nan}, P: .9},
		{Name: "b", Improvement: 0, Accuracy: [3]float64{nan, nan, nan}, P: .9},
		{Name: "c", Stars: "NA", Improvement: math.Inf(1), Accuracy: [3]float64{nan, nan, nan}, P: nan},
	}
	r, err := report.Printed(rows, report.Options{Runs: 30})
	if err != nil {
		t.Fatal(err)
	}
	if v := r.Row("a").Verdict; v != stats.Regression {
		t.Errorf("a: %s", v)
	}
	if r.Row("b (2)") == nil || r.Row("b").Verdict == stats.Equivalent && r.Row("b").Stat.RelativeSE > .01 {
		t.Error("two rows of one name are not kept apart")
	}
	contains(t, r.Markdown(), "the printed figures are rounded too far")
	lacks(t, r.Markdown(), "NaN", "Inf")
	checkHarmless(t, r.Markdown())
}
