package report_test

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/prbench/prbench/internal/benchfmt"
	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/internal/testgolden"
	"github.com/prbench/prbench/report"
	"github.com/prbench/prbench/report/stats"
)

const readingTables = "../docs/reading-tables.md"

// assumedRuns is what compare.js takes where nobody says otherwise.
const assumedRuns = 30

// layouts are the files of pasted tables.
var layouts = []struct {
	file, title, about string
	runs               job.Runs // assumed, 0 where the accuracy makes that needless
}{
	{"accuracy-aligned", "With accuracy, as R prints it", "The accuracy says all; the number of runs is not needed.", 0},
	{"accuracy-collapsed", "With accuracy, white space lost on the way", "The accuracy says all; the number of runs is not needed.", 0},
	{"improvement-confidence-pvalue", "With improvement, confidence and p-value", "", assumedRuns},
	{"improvement-pvalue", "With improvement and p-value, the heading lost", "", assumedRuns},
}

// pasted is one printed table, judged at both margins.
type pasted struct {
	rows     []benchfmt.TableRow
	two, one *report.Report
}

// pastedTables reads the tables of a file apart.
func pastedTables(t *testing.T, file string, runs job.Runs) []pasted {
	t.Helper()
	var out []pasted
	for rows := readTable(t, filepath.Join("testdata", "tables", file+".txt")); len(rows) > 0; {
		n := slices.IndexFunc(rows, func(r benchfmt.TableRow) bool { return r.Table != rows[0].Table })
		if n < 0 {
			n = len(rows)
		}
		p := pasted{rows: rows[:n]}
		rows = rows[n:]
		var err error
		if p.two, err = report.Printed(p.rows, benchfmt.Problems{}, report.Options{Runs: runs, Margin: .02}); err != nil {
			t.Fatal(err)
		}
		if p.one, err = report.Printed(p.rows, benchfmt.Problems{}, report.Options{Runs: runs, Margin: .01}); err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}

// minus writes a number with a real minus sign.
func minus(format string, x float64) string {
	return strings.Replace(fmt.Sprintf(format, x), "-", "−", 1)
}

// printedCell is what the table said.
func printedCell(r benchfmt.TableRow) string {
	cell := minus("%.2f %%", 100*r.Improvement)
	if r.Stars != "" {
		cell += " " + strings.ReplaceAll(r.Stars, "*", `\*`)
	}
	if a := r.Accuracy[0]; !math.IsNaN(a) {
		return cell + fmt.Sprintf(" ± %.2f %%", 100*a)
	}
	return cell + fmt.Sprintf(", p = %.2g", r.P)
}

func possibleCell(row *report.Row) string {
	if math.IsNaN(row.Interval[0]) {
		return ""
	}
	return minus("%.2f", 100*row.Interval[0]) + " to " + minus("%.2f %%", 100*row.Interval[1])
}

func verdictOf(row *report.Row) string {
	if row.Why != "" {
		return row.Words + ": " + row.Why
	}
	return row.Words
}

// settleCell says what would settle a row that is open.
func settleCell(row *report.Row) string {
	switch c := row.Stat; {
	case c.RunsNeeded > 0:
		return fmt.Sprintf("about %d", c.RunsNeeded)
	case c.RunsFactor > 0:
		return fmt.Sprintf("× %.1f", c.RunsFactor)
	case slices.ContainsFunc(c.Warnings, func(w stats.Warning) bool { return w.Code == stats.WarnVariance }):
		return "none"
	}
	switch row.Verdict {
	case stats.Slower, stats.NoWorse, stats.Inconclusive:
		return "a few more"
	}
	return ""
}

// section writes one printed table as it is read.
func (p pasted) section(b *strings.Builder, number int) {
	starred := 0
	for _, r := range p.rows {
		if r.Stars != "" {
			starred++
		}
	}
	fmt.Fprintf(b, "\n**Table %d.** %s. Stars printed: %d, to be expected by chance if nothing changed: %.2g.\n\n", number, p.two.Headline(), starred, p.two.Summary.FalseStars[0])
	b.WriteString("| benchmark | printed | possible | at ±2 % | at ±1 % | to settle ±2 % |\n|---|---|---|---|---|---|\n")
	for _, r := range p.rows {
		two, one := p.two.Row(r.Name), p.one.Row(r.Name)
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s |\n", report.Code(r.Name), printedCell(r), possibleCell(two), verdictOf(two), verdictOf(one), settleCell(two))
	}
}

// allRows judges the rows of every file together, for the counts.
func allRows(t *testing.T, margin float64) *report.Report {
	t.Helper()
	var rows []benchfmt.TableRow
	for _, l := range layouts {
		rows = append(rows, readTable(t, filepath.Join("testdata", "tables", l.file+".txt"))...)
	}
	r, err := report.Printed(rows, benchfmt.Problems{}, report.Options{Runs: assumedRuns, Margin: margin})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// otherwise counts the rows whose verdict would be another one at other runs.
func otherwise(t *testing.T, file string, runs job.Runs) (n int) {
	a, b := pastedTables(t, file, assumedRuns), pastedTables(t, file, runs)
	for i := range a {
		for _, row := range a[i].two.Rows {
			if b[i].two.Row(row.ID).Verdict != row.Verdict {
				n++
			}
		}
	}
	return n
}

func readingPage(t *testing.T) string {
	t.Helper()
	example := func(file, name string, occurrence int) (string, error) {
		for _, p := range pastedTables(t, file, 0) {
			for _, r := range p.rows {
				if r.Name != name {
					continue
				}
				if occurrence--; occurrence < 0 {
					row := p.two.Row(name)
					return fmt.Sprintf("| %s | %s | %s | %s |", report.Code(name), printedCell(r), possibleCell(row), verdictOf(row)), nil
				}
			}
		}
		return "", fmt.Errorf("%s has no such row %q", file, name)
	}
	const intro = "reading-tables.md.tmpl"
	tmpl := template.Must(template.New(intro).Funcs(template.FuncMap{"example": example}).ParseFiles(filepath.Join("testdata", intro)))
	var tables strings.Builder
	number, stars := 0, 0
	for _, l := range layouts {
		fmt.Fprintf(&tables, "\n### %s\n\n", l.title)
		if l.runs == 0 {
			tables.WriteString(l.about + "\n")
		} else {
			fmt.Fprintf(&tables, "%d runs a side are assumed, which compare.js takes where nobody says otherwise. With 20 runs, %d of these verdicts at ±2 %% would be others; with 100 runs, %d.\n",
				l.runs, otherwise(t, l.file, 20), otherwise(t, l.file, 100))
		}
		for _, p := range pastedTables(t, l.file, l.runs) {
			number++
			p.section(&tables, number)
			for _, r := range p.rows {
				if r.Stars != "" {
					stars++
				}
			}
		}
	}
	two := allRows(t, .02)
	var page bytes.Buffer
	err := tmpl.Execute(&page, map[string]any{
		"Rows": two.Summary.Compared, "Tables": number, "Stars": stars,
		"FalseStars": int(math.Round(two.Summary.FalseStars[0])),
		"Headline2":  two.Headline(), "Headline1": allRows(t, .01).Headline(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return page.String() + tables.String()
}

func TestThePageOnReadingTablesSaysWhatTheVerdictsAre(t *testing.T) {
	got := readingPage(t)
	testgolden.Check(t, readingTables, got)
	lacks(t, got, "NaN", "Inf", "<no value>")
}
