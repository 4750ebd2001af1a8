package report_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/prbench/prbench/internal/benchfmt"
	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report"
	"github.com/prbench/prbench/report/stats"
)

// Inputs of public bug reports that are about reading, followed to the report
// that a person gets. The files are the readers' own.

// readInput reads the readers' files into one collector: one that names its
// sides, or the old and the new one.
func readInput(t *testing.T, format job.Format, files ...string) (*report.Data, error) {
	t.Helper()
	sides := []job.SideName{job.Old, job.New}
	if len(files) == 1 && format == job.FormatNodeCSV {
		sides = []job.SideName{""}
	}
	c := report.NewCollector()
	for i, name := range files {
		f, err := os.Open("../internal/benchfmt/testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		rd := benchfmt.NewReader(f, name, benchfmt.Options{Format: format, Side: sides[i]})
		for rd.Scan() {
			c.AddRecord(rd.Record())
		}
		if err := rd.Err(); err != nil {
			return nil, err
		}
		c.EndFile(rd.Properties(), rd.Problems())
	}
	return c.Data(), nil
}

func mustReadInput(t *testing.T, format job.Format, files ...string) *report.Report {
	t.Helper()
	d, err := readInput(t, format, files...)
	if err != nil {
		t.Fatal(err)
	}
	return analyse(t, d, report.Options{})
}

func TestACommaInAConfigurationIsOneBenchmarkWithItsFigures(t *testing.T) {
	r := mustReadInput(t, job.FormatNodeCSV, "node/comma-in-quoted-configuration.csv")
	if len(r.Rows) != 1 || r.Rows[0].Stat.Old.N != 3 || r.Rows[0].Stat.New.N != 3 {
		t.Fatalf("%d rows, %+v", len(r.Rows), r.Rows[0].Stat)
	}
	const name = "http/header_check.js n=50000 value='Mon, 02 Feb 2026 08:15:00 GMT'"
	if l := line(t, textOf(t, r), "http/header_check.js"); l != name+" *** 11.03 % ±0.85% ±1.44% ±2.77%" {
		t.Errorf("text: %s", l)
	}
	md := r.Markdown()
	contains(t, md[strings.Index(md, "```text"):], name)
	checkHarmless(t, md)
}

func TestRowsThatNameNoSideAreNeverCompared(t *testing.T) {
	_, err := readInput(t, job.FormatNodeCSV, "node/header-then-stdout-lines.csv")
	var none *benchfmt.NoSideError
	if !errors.As(err, &none) {
		t.Fatalf("error %v, want a NoSideError", err)
	}
	contains(t, err.Error(), "4 rows name no binary", `util/format_demo.js type=\"string\" n=1000: 1,204,551.25`)
}

func TestAVerboseGoRunWithALongLogLineIsTwoBenchmarksAndNoWarning(t *testing.T) {
	const file = "go/verbose-with-70000-byte-log-line.txt"
	r := mustReadInput(t, job.FormatGo, file, file)
	names := map[string]bool{}
	for _, row := range r.Rows {
		names[row.Name()] = true
		if row.Stat.Old.N != 1 || row.Stat.New.N != 1 {
			t.Errorf("%s has %d and %d samples", row.ID, row.Stat.Old.N, row.Stat.New.N)
		}
	}
	if len(names) != 2 || !names["example.test/codec Parse-8"] || !names["example.test/codec Render-8"] {
		t.Errorf("benchmarks: %v", names)
	}
	lacks(t, fmt.Sprint(r.Warnings), "unreadable-lines")
}

func TestABareNaNCostsOneBenchmarkOnly(t *testing.T) {
	const file = "googlebench/bare-nan-and-inf.json"
	r := mustReadInput(t, job.FormatGoogleBench, file, file)
	for _, name := range []string{"BM_Hash/64", "BM_Copy/1k"} {
		if c := row(t, r, name).Stat; c.Old.N != 1 || c.Change != 0 {
			t.Errorf("%s: %d samples, change %v", name, c.Old.N, c.Change)
		}
	}
	if bad := row(t, r, "BM_Ratio/0"); !strings.Contains(bad.Why, "no usable data") || bad.Stat.UnusableOld != 1 {
		t.Errorf("BM_Ratio/0: %q, %+v", bad.Why, bad.Stat)
	}
	md := r.Markdown()
	lacks(t, md, "NaN", "nan ", "Inf", "inf ")
	contains(t, md, "BM_Ratio/0")
	checkHarmless(t, md)
	jsonOf(t, r)
}

func TestUTF16FromAPowerShellRedirectIsNoEmptyReport(t *testing.T) {
	const file = "go/utf16-from-powershell.txt"
	r := mustReadInput(t, job.FormatGo, file, file)
	if len(r.Rows) != 1 || r.Rows[0].Name() != "example.test/win Open-4" || r.Rows[0].Stat.Old.N != 2 {
		t.Fatalf("%d rows: %+v", len(r.Rows), r.Rows)
	}
}

func TestTheDirectionFollowsTheUnitAndNotTheTool(t *testing.T) {
	r := mustReadInput(t, job.FormatJMH, "jmh/thrpt-and-avgt-old.json", "jmh/thrpt-and-avgt-new.json")
	rate, cost := row(t, r, "demo.Queue.offer"), row(t, r, "demo.Queue.poll")
	if math.Abs(rate.Stat.Improvement+.1667) > .00005 || rate.Stat.Stars != "***" || rate.Better != job.Higher {
		t.Errorf("ops/ms: %v %q, better %s", rate.Stat.Improvement, rate.Stat.Stars, rate.Better)
	}
	if math.Abs(cost.Stat.Improvement-.2) > .00005 || cost.Stat.Stars != "***" || cost.Better != job.Lower {
		t.Errorf("ms/op: %v %q, better %s", cost.Stat.Improvement, cost.Stat.Stars, cost.Better)
	}
	for _, row := range r.Rows {
		if row.Verdict != stats.NoVerdict {
			t.Errorf("%s: the iterations of one fork got the verdict %s", row.ID, row.Verdict)
		}
	}
	md := r.Markdown()
	contains(t, md, "within-process")
	if first, _, _ := strings.Cut(md, "\n"); !strings.Contains(strings.ToLower(first), "no verdict") {
		t.Errorf("the first line is %q", first)
	}
}
