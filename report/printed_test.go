package report_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prbench/prbench/internal/benchfmt"
	"github.com/prbench/prbench/report"
	"github.com/prbench/prbench/report/stats"
)

// readTable reads a printed table with the product's reader.
func readTable(t *testing.T, path string) []benchfmt.TableRow {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rd := benchfmt.NewTableReader(f, path)
	var rows []benchfmt.TableRow
	for rd.Scan() {
		rows = append(rows, *rd.Row())
	}
	if err := rd.Err(); err != nil {
		t.Fatal(err)
	}
	return rows
}

func published(t *testing.T, name string) []benchfmt.TableRow {
	t.Helper()
	return readTable(t, "testdata/node/"+name+".expected.txt")
}

func TestAPrintedTableGetsTheVerdictsOfItsSamples(t *testing.T) {
	samples := analyse(t, readNode(t, "testdata/node/jenkins-150.csv"), report.Options{})
	rows := published(t, "jenkins-150")
	if len(rows) != len(samples.Rows) {
		t.Fatalf("%d printed rows, want %d", len(rows), len(samples.Rows))
	}
	r, err := report.Printed(rows, benchfmt.Problems{}, report.Options{Runs: 20})
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
	r, err := report.Printed(rows, benchfmt.Problems{}, report.Options{})
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
	rows := []benchfmt.TableRow{
		{Name: "a", Stars: "***", Improvement: -.18, Accuracy: [3]float64{nan, nan, nan}, P: 1e-9},
		{Name: "b", Improvement: .001, Accuracy: [3]float64{nan, nan, nan}, P: .9},
		{Name: "b", Improvement: 0, Accuracy: [3]float64{nan, nan, nan}, P: .9},
		{Name: "c", Stars: "NA", Improvement: math.Inf(1), Accuracy: [3]float64{nan, nan, nan}, P: nan},
	}
	r, err := report.Printed(rows, benchfmt.Problems{}, report.Options{Runs: 30})
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

func TestPastedTablesOfEveryLayoutAreJudged(t *testing.T) {
	total := 0
	for _, name := range []string{"accuracy-aligned", "accuracy-collapsed", "improvement-confidence-pvalue", "improvement-pvalue"} {
		t.Run(name, func(t *testing.T) {
			rows := readTable(t, filepath.Join("testdata", "tables", name+".txt"))
			total += len(rows)
			r, err := report.Printed(rows, benchfmt.Problems{}, report.Options{Runs: 30})
			if err != nil {
				t.Fatal(err)
			}
			if r.Summary.Compared != len(rows) {
				t.Errorf("compared %d of %d rows", r.Summary.Compared, len(rows))
			}
			other := 0
			for _, row := range r.Rows {
				// Rounded figures at the edge of a star can fall to its other side.
				if row.Stat.Stars != starsOf(rows, row) {
					other++
				}
				if row.Verdict == stats.NoVerdict {
					t.Errorf("%s has no verdict: %s", row.ID, row.Why)
				}
			}
			if other > 1 {
				t.Errorf("%d rows have other stars than printed", other)
			}
			md := r.Markdown()
			checkHarmless(t, md)
			golden(t, "printed-"+name+".md", md)
		})
	}
	if total != 119 {
		t.Errorf("%d rows in all, want 119", total)
	}
}

// starsOf finds the printed stars of a row.
func starsOf(rows []benchfmt.TableRow, row *report.Row) string {
	for _, p := range rows {
		if p.Name == row.Benchmark && p.Improvement == row.Stat.Improvement {
			return p.Stars
		}
	}
	return "?"
}
