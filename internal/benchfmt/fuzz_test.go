package benchfmt

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/prbench/prbench/internal/job"
)

// seed adds the test data of a folder and some odd inputs.
func seed(f *testing.F, dir string, more ...string) {
	f.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", dir, "*"))
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds in %s: %v", dir, err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b[:min(len(b), 2000)])
	}
	for _, s := range more {
		f.Add([]byte(s))
	}
}

// check reads an input in both ways and holds what every reader promises.
func check(t *testing.T, in []byte, format job.Format) {
	opt := Options{Format: format, Side: job.Old, Counts: []string{"cpu_time"}}
	rd := NewReader(bytes.NewReader(in), "f", opt)
	n := 0
	for rd.Scan() {
		n++
		r := rd.Record()
		s := r.Sample
		if r.Side != job.Old && r.Side != job.New {
			t.Fatalf("no side: %+v", r)
		}
		if r.Series < 0 || r.Series >= rd.Series() {
			t.Fatalf("series %d of %d", r.Series, rd.Series())
		}
		if math.IsNaN(s.Value) || math.IsInf(s.Value, 0) || s.Invalid != "" && s.Value != 0 {
			t.Fatalf("a value that is none: %+v", s)
		}
		if !(s.Time >= 0) || math.IsInf(s.Time, 0) {
			t.Fatalf("time %v", s.Time)
		}
		if strings.TrimSpace(s.Name()) == "" || !utf8.ValidString(s.Name()+s.Invalid+s.Unit) {
			t.Fatalf("name %q, unit %q, invalid %q", s.Name(), s.Unit, s.Invalid)
		}
		if s.Benchmark != cleanName(s.Benchmark) || s.Config != cleanName(s.Config) {
			t.Fatalf("name %q %q is not clean", s.Benchmark, s.Config)
		}
	}
	if p := rd.Problems(); len(p.First) > keptProblems || len(p.First) > p.Count {
		t.Fatalf("problems: %+v", p)
	} else {
		for _, q := range p.First {
			if len(q.Text) > quotedProblem+10 || !utf8.ValidString(q.Text) {
				t.Fatalf("quoted %q", q.Text)
			}
		}
	}
	samples, _, err := ReadProcess(bytes.NewReader(in), opt)
	if len(samples) > rd.Series() {
		t.Fatalf("%d samples of %d series", len(samples), rd.Series())
	}
	if rd.Err() == nil && err != nil && !errors.Is(err, ErrTooMany) {
		t.Fatalf("a process fails with %v where a file does not", err)
	}
	for _, s := range samples {
		if math.IsNaN(s.Value) || math.IsInf(s.Value, 0) || s.Count < 1 {
			t.Fatalf("combined: %+v", s)
		}
	}
}

func FuzzNodeCSV(f *testing.F) {
	seed(f, "node", "filename,rate\n\"a\\\"\",b,\"", "binary,filename,rate,unit\nold,a [ns],5,ns\n")
	f.Fuzz(func(t *testing.T, in []byte) {
		check(t, in, job.FormatNodeCSV)
		// What the Writer writes of it comes back, names aside that a backslash
		// before a quote changes.
		recs, _ := readAll(t, bytes.NewReader(in), Options{Format: job.FormatNodeCSV, Side: job.New})
		again, rd := readAll(t, strings.NewReader(write(t, recs)), nodeCSV)
		if rd.Err() != nil || len(again) != len(recs) {
			t.Fatalf("%d of %d records came back: %v, %v", len(again), len(recs), rd.Err(), rd.Problems().Quoted())
		}
		for i := range recs {
			a, b := recs[i], again[i]
			if a.Side != b.Side || a.Sample.Value != b.Sample.Value || a.Sample.Time != b.Sample.Time || a.Pair != b.Pair ||
				(a.Sample.Invalid == "") != (b.Sample.Invalid == "") {
				t.Fatalf("%+v came back as %+v", a, b)
			}
			if !strings.Contains(a.Sample.Name()+a.Sample.Unit, `\`) && (a.Sample.Benchmark != b.Sample.Benchmark || a.Sample.Config != b.Sample.Config) {
				t.Fatalf("%+v came back as %+v", a, b)
			}
		}
	})
}

func FuzzNode(f *testing.F) {
	seed(f, "node", `a.js s="x: 1" n=1: 1,204,551.25`, "a.js: Infinity\r\n", "a.js n=1: -1,234")
	f.Fuzz(func(t *testing.T, in []byte) { check(t, in, job.FormatNode) })
}

func FuzzGo(f *testing.F) {
	seed(f, "go", "Unit x better=higher\nBenchmark 1 5 x\nPASS\nBenchmark 1 NaN x 3 MB/s", "pkg: \nBenchmarkA 0 1e400 ns/op")
	f.Fuzz(func(t *testing.T, in []byte) { check(t, in, job.FormatGo) })
}

func FuzzGoogleBench(f *testing.F) {
	seed(f, "googlebench", `{"benchmarks":[{"name":"a_mean"},{"name":"a","real_time":-Infinity}]}`)
	f.Fuzz(func(t *testing.T, in []byte) { check(t, in, job.FormatGoogleBench) })
}

func FuzzHyperfine(f *testing.F) {
	seed(f, "hyperfine", `{"results":[{"command":"","times":[null,"x"],"exit_codes":[null]}]}`)
	f.Fuzz(func(t *testing.T, in []byte) { check(t, in, job.FormatHyperfine) })
}

func FuzzJMH(f *testing.F) {
	seed(f, "jmh", `[{"benchmark":"a","primaryMetric":{"rawData":[[1],["NaN"]],"rawDataHistogram":[[[[1,2]]]]}}]`)
	f.Fuzz(func(t *testing.T, in []byte) { check(t, in, job.FormatJMH) })
}

func FuzzPytest(f *testing.F) {
	seed(f, "pytest", `{"benchmarks":[{"name":"t","stats":{"mean":1,"rounds":1e308,"iterations":1e308}}]}`)
	f.Fuzz(func(t *testing.T, in []byte) { check(t, in, job.FormatPytest) })
}

func FuzzCriterion(f *testing.F) {
	seed(f, "criterion", `{"iters":[0],"times":[1]}`, "test a ... bench: 1,0 ns/iter", `{"reason":"benchmark-complete","id":"x","mean":{"estimate":1}}`)
	f.Fuzz(func(t *testing.T, in []byte) { check(t, in, job.FormatCriterion) })
}

func FuzzTable(f *testing.F) {
	seed(f, "tables", " improvement\na 5 %\n accuracy (*)\na ±1%", "NA NA NA NA\n", "a < 5 % < 1")
	f.Fuzz(func(t *testing.T, in []byte) {
		r := NewTableReader(bytes.NewReader(in), "f")
		last := 0
		for r.Scan() {
			row := r.Row()
			if row.Name == "" || !utf8.ValidString(row.Name) || row.Table < last || row.P < 0 || row.P > 1 {
				t.Fatalf("%+v", row)
			}
			last = row.Table
		}
	})
}

func FuzzDetect(f *testing.F) {
	for _, dir := range []string{"node", "go", "tables", "jmh"} {
		seed(f, dir)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		format, r, err := Detect(bytes.NewReader(in), "f")
		if (err == nil) != (format != "") {
			t.Fatalf("format %q, error %v", format, err)
		}
		if err == nil && format != FormatTable {
			readAll(t, r, Options{Format: format, Side: job.Old})
		}
	})
}
