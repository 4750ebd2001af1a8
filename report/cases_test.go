package report_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/prbench/prbench/internal/benchfmt"
	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report"
	"github.com/prbench/prbench/report/stats"
)

func caseFile(t *testing.T, name string) *report.Report {
	t.Helper()
	return analyse(t, readNode(t, "testdata/cases/"+name), report.Options{})
}

func row(t *testing.T, r *report.Report, name string) *report.Row {
	t.Helper()
	for _, row := range r.Rows {
		if row.Benchmark == name {
			return row
		}
	}
	t.Fatalf("no row %q", name)
	return nil
}

// jsonOf writes the report as JSON and reads it back without types.
func jsonOf(t *testing.T, r *report.Report) map[string]any {
	t.Helper()
	var b bytes.Buffer
	if err := r.JSON(&b); err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := json.Unmarshal(b.Bytes(), &v); err != nil {
		t.Fatalf("%v in\n%s", err, &b)
	}
	return v
}

// line is the line of a text that holds a word.
func line(t *testing.T, text, word string) string {
	t.Helper()
	for l := range strings.SplitSeq(text, "\n") {
		if strings.Contains(l, word) {
			return strings.Join(strings.Fields(l), " ")
		}
	}
	t.Fatalf("no line with %q in\n%s", word, text)
	return ""
}

func contains(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("no %q in\n%s", w, text)
		}
	}
}

func lacks(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if strings.Contains(text, w) {
			t.Errorf("%q in\n%s", w, text)
		}
	}
}

func TestOneRunHasNoStarsAndZeroRatesAreNoData(t *testing.T) {
	r := caseFile(t, "one-run-and-zero-rates.csv")
	md := r.Markdown()
	lacks(t, md, "NaN", "Inf")
	if a := row(t, r, "fs/a_demo.js"); a.Stat.Stars != "" || a.Verdict != stats.NoVerdict || percentOf(a) != "3.00 %" || !strings.Contains(a.Why, "1 run") {
		t.Errorf("one run a side: %+v", a)
	}
	if b := row(t, r, "http2/zero_demo.js"); !strings.Contains(b.Why, "no usable data") || b.Stat.Old.N != 0 {
		t.Errorf("zero rates: %+v", b)
	}
	if l := line(t, md[strings.Index(md, "```text"):], "fs/c_demo.js n=2"); !strings.HasPrefix(l, "fs/c_demo.js n=2 ** 4.95 % ±2.24%") {
		t.Errorf("row of the table: %s", l)
	}
	text := textOf(t, r)
	if l := line(t, text, "fs/a_demo.js"); l != "fs/a_demo.js n=1 NA 3.00 % NA NA NA" {
		t.Errorf("text: %s", l)
	}
	contains(t, line(t, text, "http2/zero"), "NA NaN % NA NA NA")
	jsonOf(t, r)
}

func TestConstantSamplesAreNotCalledNoDifference(t *testing.T) {
	r := caseFile(t, "constant-samples.csv")
	a, b, c := row(t, r, "math/a_demo.js"), row(t, r, "math/b_demo.js"), row(t, r, "math/c_demo.js")
	if a.Stat.Stars != "***" || math.Abs(a.Stat.Improvement+.3136) > 5e-5 || math.Abs(a.Stat.Accuracy[0]-.0048) > 5e-5 {
		t.Errorf("varied against constant: %+v", a.Stat)
	}
	if math.Abs(b.Stat.Improvement+.2) > 1e-12 || !strings.Contains(b.Why, "no spread, no test") || b.Stat.Stars != "" {
		t.Errorf("constant and different: %v, %q", b.Stat.Improvement, b.Why)
	}
	if c.Stat.Improvement != 0 || !strings.Contains(c.Why, "identical in all 5 runs") {
		t.Errorf("constant and equal: %v, %q", c.Stat.Improvement, c.Why)
	}
	md := r.Markdown()
	contains(t, md, "-31.36 %", "-20.00 %", "no spread, no test", "identical in all 5 runs")
	lacks(t, line(t, md[strings.Index(md, "```text"):], "math/b_demo.js"), "unchanged", "no difference")
	checkHarmless(t, md)
}

func TestABenchmarkOfOneSideIsListedAndInNoFigure(t *testing.T) {
	r := caseFile(t, "benchmark-only-in-old.csv")
	md := r.Markdown()
	contains(t, md, "Only in old (removed?): `net/b_demo.js n=1`")
	if r.Summary.Compared != 1 || !slices.Equal(r.Summary.OnlyOld, []string{"net/b_demo.js n=1"}) {
		t.Errorf("summary: %+v", r.Summary)
	}
	if a := row(t, r, "net/a_demo.js"); a.Stat.Improvement != 0 {
		t.Errorf("improvement of the other: %v", a.Stat.Improvement)
	}
	s := jsonOf(t, r)["summary"].(map[string]any)
	if n := s["compared"].(float64); n != 1 {
		t.Errorf("compared: %v", n)
	}
	lacks(t, md[strings.Index(md, "```text"):strings.Index(md, "Plus is better")], "net/b_demo.js")
}

func TestNamesPingNobody(t *testing.T) {
	r := caseFile(t, "names-that-ping.csv")
	md := r.Markdown()
	contains(t, md, `@acme/core`, `@dev-b`, `#12`, `acme/engine#7`)
	checkHarmless(t, md)
	checkHarmless(t, r.Check().Summary)
}

func TestATokenInALogIsMaskedAndItsFenceHolds(t *testing.T) {
	log, err := os.ReadFile("testdata/cases/log-with-token-and-fence.txt")
	if err != nil {
		t.Fatal(err)
	}
	md := report.Failure(report.About{Head: job.Side{SHA: strings.Repeat("b", 40)}}, job.Outcome{Kind: job.BuildFailed, Side: job.New, Log: string(log), Text: string(log)})
	lacks(t, md, "ghs_", "EXAMPLEEXAMPLE")
	contains(t, md, "error: build failed (exit 2)", "@acme/everyone look", "````text\n")
	checkHarmless(t, md)
	if first, _, _ := strings.Cut(md, "\n"); first != "### The head (new) does not build" {
		t.Errorf("the first line is %q", first)
	}
}

// manyBenchmarks is a pull request with 900 benchmarks, each 3 % faster in
// three runs a side, with wide characters in their names.
func manyBenchmarks(runs int) *report.Data {
	rng := rand.New(rand.NewPCG(5, 5))
	c := report.NewCollector()
	for i := range 900 {
		name := fmt.Sprintf("streams/very_long_benchmark_file_name_%04d.js", i)
		config := fmt.Sprintf(`highWaterMark=%d encoding="utf8" type="漢字"`, i)
		new := 103.0
		if i%300 == 299 {
			new = 90
		}
		for j := range runs {
			c.Add(job.Old, job.Sample{Benchmark: name, Config: config, Unit: "ops/s", Value: 100 + rng.Float64(), Time: .01}, j)
			c.Add(job.New, job.Sample{Benchmark: name, Config: config, Unit: "ops/s", Value: new + rng.Float64(), Time: .01}, j)
		}
	}
	return c.Data()
}

func TestManyBenchmarksFitWithTheWorstFirst(t *testing.T) {
	for _, runs := range []int{3, 30} {
		t.Run(fmt.Sprintf("%d runs", runs), func(t *testing.T) {
			r := analyse(t, manyBenchmarks(runs), report.Options{About: report.About{Page: "https://bench.test/r/1"}})
			md := r.Markdown()
			checkHarmless(t, md, "https://bench.test/r/1")
			headline, table, _ := strings.Cut(md, "```text")
			if runs == 30 {
				contains(t, headline, "### 3 regressions beyond 2 %, 897 improvements")
			} else {
				contains(t, headline, "### No verdict: 3 runs, 5 needed")
			}
			lines := strings.Split(table, "\n")
			for i, name := range []string{"_0299.js", "_0599.js", "_0899.js"} {
				if !strings.Contains(strings.Join(lines[2:5], "\n"), name) {
					t.Errorf("row %d of the table is %s", i, lines[2+i])
				}
			}
			contains(t, md, "[the whole report](https://bench.test/r/1)")
			if len(md) < report.MaxMarkdown/2 {
				t.Errorf("only %d bytes of the room are used", len(md))
			}
		})
	}
}

func percentOf(row *report.Row) string { return fmt.Sprintf("%.2f %%", row.Stat.Improvement*100) }

// readPair reads the files of both sides with the product's reader.
func readPair(t *testing.T, format job.Format, name string) *report.Data {
	t.Helper()
	c := report.NewCollector()
	for _, side := range []job.SideName{job.Old, job.New} {
		path := fmt.Sprintf("testdata/cases/%s.%s.json", name, side)
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		rd := benchfmt.NewReader(f, path, benchfmt.Options{Format: format, Side: side})
		for rd.Scan() {
			c.AddRecord(rd.Record())
		}
		if err := rd.Err(); err != nil {
			t.Fatal(err)
		}
		c.EndFile(rd.Properties(), rd.Problems())
		f.Close()
	}
	return c.Data()
}

func TestTheSameTimeInAnotherUnitIsCompared(t *testing.T) {
	r := analyse(t, readPair(t, job.FormatGoogleBench, "other-time-unit"), report.Options{Independent: true})
	if len(r.Rows) != 1 {
		t.Fatalf("%d rows, aggregates are no benchmarks", len(r.Rows))
	}
	if s := r.Rows[0].Stat; percentOf(r.Rows[0]) != "-3.03 %" || s.Stars != "***" || math.Abs(s.P-5.2e-5) > 1e-6 {
		t.Errorf("%s %s p=%v", percentOf(r.Rows[0]), s.Stars, s.P)
	}
	if w := fmt.Sprint(r.Warnings); strings.Contains(w, "units-differ") {
		t.Errorf("warnings: %s", w)
	}
}

func TestASlowFirstRunIsNamedAndNoRegression(t *testing.T) {
	r := analyse(t, readPair(t, job.FormatHyperfine, "slow-first-run"), report.Options{})
	row := r.Rows[0]
	if percentOf(row) != "-26.48 %" || math.Abs(row.Stat.P-.34) > .005 || row.Stat.Stars != "" || math.Abs(row.Stat.Accuracy[0]-.599) > .0005 {
		t.Errorf("%s, p=%v, %q, ±%v", percentOf(row), row.Stat.P, row.Stat.Stars, row.Stat.Accuracy[0])
	}
	if row.Verdict == stats.Regression || row.Verdict == stats.Slower {
		t.Errorf("verdict %s", row.Verdict)
	}
	md := r.Markdown()
	contains(t, md, "outliers", "run 1", "not-interleaved")
}

func TestAngleBracketsInNamesAreSeen(t *testing.T) {
	r := analyse(t, readPair(t, job.FormatGoogleBench, "angle-brackets"), report.Options{})
	md := r.Markdown()
	contains(t, md, "Parser<AlertId>", "Parser<BatteryStatus>")
	checkHarmless(t, md)
	a, b := row(t, r, "Parser<AlertId>"), row(t, r, "Parser<BatteryStatus>")
	if percentOf(a) != "-0.15 %" || a.Stat.Stars != "" || percentOf(b) != "-14.27 %" || b.Stat.Stars != "***" || math.Abs(b.Stat.P-.0002) > .00005 {
		t.Errorf("%s %q, %s %q p=%v", percentOf(a), a.Stat.Stars, percentOf(b), b.Stat.Stars, b.Stat.P)
	}
	if b.Verdict != stats.NoVerdict || !strings.Contains(md, "within-process") {
		t.Error("repetitions of one process got a verdict")
	}
	if i := analyse(t, readPair(t, job.FormatGoogleBench, "angle-brackets"), report.Options{Independent: true}); row(t, i, "Parser<BatteryStatus>").Warnings != nil && row(t, i, "Parser<BatteryStatus>").Warnings[0].Code == "within-process" {
		t.Error("--independent is not believed")
	}
}
