package report_test

import (
	"bytes"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/prbench/prbench/internal/benchfmt"
	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report"
	"github.com/prbench/prbench/report/stats"
)

func run(cas string, side job.SideName, pair int, value float64) job.Run {
	return job.Run{Suite: "s", Case: cas, Side: side, Pair: pair, Samples: []job.Sample{{Benchmark: "b", Unit: "ops/s", Value: value}}}
}

func TestRecordsInAnyOrderAndTwiceGiveTheSameData(t *testing.T) {
	var runs []job.Run
	for pair := range 6 {
		runs = append(runs, run("c", job.Old, pair, float64(100+pair)), run("c", job.New, pair, float64(200+pair)))
	}
	want := report.NewCollector()
	for _, r := range runs {
		want.AddRun(r)
	}
	got := report.NewCollector()
	for i := range runs {
		got.AddRun(runs[len(runs)-1-i])
		got.AddRun(runs[len(runs)-1-i])
	}
	w, g := want.Data(), got.Data()
	if !slices.Equal(w.Series[0].Old.Value, g.Series[0].Old.Value) || !slices.Equal(w.Series[0].New.Value, g.Series[0].New.Value) || g.Processes != [2]int{6, 6} {
		t.Errorf("got %+v of %v processes", g.Series[0], g.Processes)
	}
}

func TestPartsOfARecordAreOneProcess(t *testing.T) {
	c := report.NewCollector()
	for part := range 3 {
		r := run("c", job.New, 0, 1)
		r.Samples[0].Benchmark = fmt.Sprint("b", part)
		r.Part, r.Parts, r.Exit = part, 3, 1
		c.AddRun(r)
	}
	d := c.Data()
	if len(d.Series) != 3 || d.Processes != [2]int{0, 1} || len(d.Losses) != 1 || d.Losses[0].Count != 1 {
		t.Errorf("%d series, %v processes, losses %+v", len(d.Series), d.Processes, d.Losses)
	}
}

func TestACrashOnOneSideIsALossThatBarsSafe(t *testing.T) {
	r := analyse(t, failing(), report.Options{Gate: true})
	row := r.Rows[0]
	if row.Stat.LostNew != 2 || row.Stat.New.N != 8 || row.Stat.Old.N != 10 || row.Stat.UnusableNew != 0 {
		t.Errorf("lost %d, n %d and %d, unusable %d", row.Stat.LostNew, row.Stat.Old.N, row.Stat.New.N, row.Stat.UnusableNew)
	}
	if r.RollUp.Verdict != "inconclusive" || r.Check().Conclusion != report.Neutral {
		t.Errorf("roll-up %s, conclusion %s", r.RollUp.Verdict, r.Check().Conclusion)
	}
	if !strings.HasSuffix(r.Headline(), "; incomplete") {
		t.Errorf("headline %q", r.Headline())
	}
}

func TestACaseThatPrintsNothingBarsSafe(t *testing.T) {
	silent := func(kind string) *report.Data {
		c := report.NewCollector()
		for pair := range 30 {
			for _, side := range []job.SideName{job.Old, job.New} {
				c.AddRun(run("held", side, pair, 1000+float64(pair%3)))
				other := run("other", side, pair, 0)
				other.Samples = nil
				switch kind {
				case "crashes on both sides":
					other.Signal = "segmentation fault"
				case "is of another suite with that name":
					other.Suite, other.Case, other.Exit = "another", "held", 1
				case "is not there":
					continue
				}
				c.AddRun(other)
			}
		}
		return c.Data()
	}
	for _, c := range []struct {
		kind     string
		filtered bool
		want     stats.RollUpVerdict
		declared int
	}{
		{"is not there", false, stats.Safe, 1},
		{"crashes on both sides", false, stats.RollUpInconclusive, 2},
		{"crashes on both sides", true, stats.RollUpInconclusive, 2},
		{"is of another suite with that name", false, stats.RollUpInconclusive, 2},
		{"ends without printing", false, stats.RollUpInconclusive, 2},
		{"ends without printing", true, stats.Safe, 1},
	} {
		r := analyse(t, silent(c.kind), report.Options{Gate: true, About: report.About{Filtered: c.filtered}})
		if r.RollUp.Verdict != c.want || r.RollUp.Declared != c.declared || (r.Check().Conclusion == report.Success) != (c.want == stats.Safe) {
			t.Errorf("a case that %s, filtered %v: roll-up %+v, conclusion %s", c.kind, c.filtered, *r.RollUp, r.Check().Conclusion)
		}
		if of := strings.Contains(r.RollUpSentence(), "no benchmark that was asked for is slower"); of != (c.filtered && c.want == stats.Safe) {
			t.Errorf("a case that %s, filtered %v: %s", c.kind, c.filtered, r.RollUpSentence())
		}
		if incomplete := strings.HasSuffix(r.Headline(), "incomplete"); incomplete != (c.want != stats.Safe) {
			t.Errorf("a case that %s: headline %q", c.kind, r.Headline())
		}
	}
	contains(t, analyse(t, silent("ends without printing"), report.Options{}).Markdown(), "Incomplete: no benchmark printed by other")
}

func TestAHeadThatAlwaysCrashesIsNoRemovedBenchmark(t *testing.T) {
	c := report.NewCollector()
	for pair := range 6 {
		c.AddRun(run("c", job.Old, pair, 100+float64(pair)))
		r := run("c", job.New, pair, 0)
		r.Samples, r.Signal = nil, "segmentation fault"
		c.AddRun(r)
	}
	r := analyse(t, c.Data(), report.Options{})
	if len(r.Summary.OnlyOld) != 0 || r.Summary.Compared != 1 || !strings.Contains(r.Rows[0].Why, "no usable data in new") {
		t.Errorf("summary %+v, why %q", r.Summary, r.Rows[0].Why)
	}
	contains(t, r.Markdown(), "segmentation fault", "6 runs of c failed on the new side")
}

func TestTwoCasesWithTheSameBenchmarkAreTwoBenchmarks(t *testing.T) {
	c := report.NewCollector()
	for pair := range 5 {
		for _, side := range []job.SideName{job.Old, job.New} {
			c.AddRun(run("one", side, pair, 1))
			c.AddRun(run("two", side, pair, 2))
		}
	}
	d := c.Data()
	if len(d.Series) != 2 || d.Series[0].Name() == d.Series[1].Name() || len(d.Series[0].Old.Value) != 5 {
		t.Errorf("series %+v", d.Series)
	}
}

func TestACancelledPairIsNoUnusableSample(t *testing.T) {
	c := report.NewCollector()
	for pair := range 8 {
		c.AddRun(run("c", job.Old, pair, 100+float64(pair%3)))
		if pair < 7 {
			c.AddRun(run("c", job.New, pair, 100+float64(pair%3)))
		}
	}
	s := analyse(t, c.Data(), report.Options{}).Rows[0].Stat
	if s.UnusableOld+s.UnusableNew+s.LostOld+s.LostNew != 0 || s.Old.N != 8 || s.New.N != 7 {
		t.Errorf("%+v", s)
	}
}

func TestCSVIsReadBackAsTheSameSamples(t *testing.T) {
	d := readNode(t, "testdata/node/confidence.csv")
	var b bytes.Buffer
	if err := d.CSV(&b); err != nil {
		t.Fatal(err)
	}
	rd := benchfmt.NewReader(&b, "out.csv", benchfmt.Options{Format: job.FormatNodeCSV})
	c := report.NewCollector()
	for rd.Scan() {
		c.AddRecord(rd.Record())
	}
	if err := rd.Err(); err != nil {
		t.Fatal(err)
	}
	c.EndFile(rd.Properties(), rd.Problems())
	again := c.Data()
	if len(again.Series) != len(d.Series) {
		t.Fatalf("%d series, want %d", len(again.Series), len(d.Series))
	}
	for i, s := range d.Series {
		if a := again.Series[i]; a.Name() != s.Name() || !slices.Equal(a.Old.Value, s.Old.Value) || !slices.Equal(a.New.Value, s.New.Value) || !slices.Equal(a.Old.Time, s.Old.Time) {
			t.Errorf("%s is not the same: %+v", s.Name(), a)
		}
	}
}

func TestValuesThatAreNoNumbersAreCountedAndNotPrinted(t *testing.T) {
	c := report.NewCollector()
	for i := range 6 {
		c.Add(job.Old, job.Sample{Benchmark: "b", Unit: "ops/s", Value: 100 + float64(i)}, -1)
		s := job.Sample{Benchmark: "b", Unit: "ops/s", Value: 100 + float64(i)}
		if i == 3 {
			s = job.Sample{Benchmark: "b", Unit: "ops/s", Invalid: "nan"}
		}
		c.Add(job.New, s, -1)
	}
	r := analyse(t, c.Data(), report.Options{})
	if s := r.Rows[0].Stat; s.New.N != 5 || s.UnusableNew != 1 || math.IsNaN(s.New.Mean) {
		t.Errorf("%+v", s)
	}
	md := r.Markdown()
	lacks(t, md, "NaN", "lost", "runs are missing")
	contains(t, md, "1 value on the new side was not usable (missing, not a number, infinite, zero or negative): run 4", "Incomplete: 1 benchmark gave values that were not usable.")
	contains(t, textOf(t, r), "NaN %")
}

func TestEachSideNamesWhatItLacks(t *testing.T) {
	c := report.NewCollector()
	for i := range 6 {
		c.Add(job.Old, job.Sample{Benchmark: "rates", Unit: "ops/s", Value: []float64{0, -1, 100, 101, 102, 103}[i]}, i)
		c.Add(job.New, job.Sample{Benchmark: "rates", Unit: "ops/s", Value: 100 + float64(i)}, i)
		c.Add(job.Old, job.Sample{Benchmark: "removed", Unit: "ops/s", Value: 100}, i)
		c.Add(job.New, job.Sample{Benchmark: "added", Unit: "ops/s", Value: 100}, i)
	}
	r := analyse(t, c.Data(), report.Options{})
	for name, want := range map[string]string{
		"rates":   "2 values on the old side were not usable (missing, not a number, infinite, zero or negative): runs 1, 2",
		"removed": "no samples on the new side",
		"added":   "no samples on the old side",
	} {
		if got := fmt.Sprint(row(t, r, name).Warnings); !strings.Contains(got, want) || strings.Contains(got, "lost") {
			t.Errorf("%s: %s, want %q", name, got, want)
		}
	}
}

func TestAMillionSamplesStayLean(t *testing.T) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	c := report.NewCollector()
	const benchmarks, runs = 1_000, 200 // a fifth, to be quick
	names := make([]string, benchmarks)
	for i := range names {
		names[i] = fmt.Sprintf("suite/file-%d.js", i)
	}
	for pair := range runs / 2 {
		for i := range benchmarks {
			c.Add(job.Old, job.Sample{Benchmark: names[i], Config: "n=1", Value: float64(i + pair)}, pair)
			c.Add(job.New, job.Sample{Benchmark: names[i], Config: "n=1", Value: float64(i + pair)}, pair)
		}
	}
	d := c.Data()
	runtime.GC()
	runtime.ReadMemStats(&after)
	if perSample := float64(after.HeapAlloc-before.HeapAlloc) / (benchmarks * runs); perSample > 40 {
		t.Errorf("%.0f bytes a sample", perSample)
	}
	runtime.KeepAlive(d)
}
