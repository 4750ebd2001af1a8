package benchfmt

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prbench/prbench/internal/job"
)

// lines gives records in short: name, value or what stands in its place, unit,
// direction, and whether they are from within one process.
func lines(recs []Record) []string {
	var got []string
	for _, r := range recs {
		v := fmt.Sprint(r.Sample.Value)
		if r.Sample.Invalid != "" {
			v = "!" + r.Sample.Invalid
		}
		within := ""
		if r.Within {
			within = " within"
		}
		got = append(got, fmt.Sprintf("%s | %s %s %s%s", r.Sample.Name(), v, r.Sample.Unit, r.Sample.Better, within))
	}
	return got
}

func TestJSONFilesOfEachToolBecomeSamples(t *testing.T) {
	for _, c := range []struct {
		file   string
		format job.Format
		want   []string
	}{
		{"googlebench/bare-nan-and-inf.json", job.FormatGoogleBench, []string{
			"BM_Hash/64 | 41.5 ns lower", "BM_Ratio/0 | !nan ns lower", "BM_Copy/1k | 88 ns lower"}},
		{"googlebench/microseconds-old.json", job.FormatGoogleBench, []string{
			"BM_Sync | 990000 ns lower", "BM_Sync | 992000 ns lower within", "BM_Sync | 988000 ns lower within"}},
		{"googlebench/milliseconds-new.json", job.FormatGoogleBench, []string{
			"BM_Sync | 1.02e+06 ns lower", "BM_Sync | 1.022e+06 ns lower within", "BM_Sync | 1.018e+06 ns lower within"}},
		{"jmh/thrpt-and-avgt-old.json", job.FormatJMH, []string{
			"demo.Queue.offer size=10 | 120000 ops/s higher", "demo.Queue.offer size=10 | 121000 ops/s higher within",
			"demo.Queue.offer size=10 | 119000 ops/s higher within",
			"demo.Queue.poll size=10 | 5e+06 ns/op lower", "demo.Queue.poll size=10 | 5.1e+06 ns/op lower within",
			"demo.Queue.poll size=10 | 4.9e+06 ns/op lower within"}},
		{"hyperfine/slow-first-run-new.json", job.FormatHyperfine, []string{
			"./tool scan demo | 9.12e+08 ns lower", "./tool scan demo | 2.51e+08 ns lower", "./tool scan demo | 2.49e+08 ns lower",
			"./tool scan demo | 2.52e+08 ns lower", "./tool scan demo | 2.5e+08 ns lower", "./tool scan demo | 2.48e+08 ns lower",
			"./tool scan demo | 2.51e+08 ns lower", "./tool scan demo | 2.5e+08 ns lower", "./tool scan demo | 2.49e+08 ns lower",
			"./tool scan demo | 2.5e+08 ns lower"}},
		{"hyperfine/hyperfine1.15.0-parameter-scan.json", job.FormatHyperfine, []string{
			"scan n=1 | 9.356735000000002e+06 ns lower", "scan n=1 | 3.802492e+06 ns lower", "scan n=1 | 7.990317e+06 ns lower",
			"scan n=2 | !exit code 1 ns lower", "scan n=2 | !exit code 1 ns lower", "scan n=2 | !exit code 1 ns lower"}},
	} {
		t.Run(c.file, func(t *testing.T) {
			recs, rd := readFile(t, "testdata/"+c.file, Options{Format: c.format, Side: job.New})
			if d := cmp.Diff(c.want, lines(recs)); d != "" {
				t.Error(d)
			}
			if rd.Problems().Count != 0 || rd.Properties().Interleaved || rd.Properties().Sides {
				t.Errorf("problems %v, properties %+v", rd.Problems().Quoted(), rd.Properties())
			}
			if strings.HasPrefix(c.file, "hyperfine") && rd.Properties().WithinProcess {
				t.Error("hyperfine's runs are processes of their own")
			}
		})
	}
}

func TestRealFilesOfToolsAreReadWhole(t *testing.T) {
	for _, c := range []struct {
		file            string
		format          job.Format
		records, series int
		within          bool
	}{
		{"googlebench/googlebenchmark1.7.1-repetitions3.json", job.FormatGoogleBench, 12, 4, true},
		{"hyperfine/hyperfine1.15.0-two-commands.json", job.FormatHyperfine, 10, 2, false},
		{"pytest/pytest-benchmark3.2.2.json", job.FormatPytest, 10, 2, true},
		{"criterion/criterion0.3.6-sample.json", job.FormatCriterion, 10, 1, true},
		{"criterion/criterion0.3.6-estimates.json", job.FormatCriterion, 1, 1, false},
		{"criterion/criterion0.3.6-bencher.txt", job.FormatCriterion, 2, 2, false},
	} {
		recs, rd := readFile(t, "testdata/"+c.file, Options{Format: c.format, Side: job.Old})
		if len(recs) != c.records || rd.Series() != c.series || rd.Problems().Count != 0 || rd.Properties().WithinProcess != c.within {
			t.Errorf("%s: %d records of %d series, within %v, %v", c.file, len(recs), rd.Series(),
				rd.Properties().WithinProcess, rd.Problems().Quoted())
		}
		for _, r := range recs {
			if r.Sample.Unit != "ns" || r.Side != job.Old || r.Sample.Invalid == "" && !(r.Sample.Value > 0) {
				t.Errorf("%s: %+v", c.file, r)
			}
		}
	}
}

func TestFormsOfTheToolsThatHaveNoFileHere(t *testing.T) {
	for _, c := range []struct {
		name, in string
		opt      Options
		want     []string
		problems int
	}{
		{"JMH with two forks: a fork is a sample",
			`[{"benchmark":"a.B.c","mode":"thrpt","threads":4,"forks":2,"primaryMetric":{"scoreUnit":"ops/us","rawData":[[1,3],[5,7]]}}]`,
			Options{Format: job.FormatJMH}, []string{"a.B.c threads=4 | 2e+06 ops/s higher", "a.B.c threads=4 | 6e+06 ops/s higher"}, 0},
		{"JMH's mode sample has a histogram",
			`[{"benchmark":"a","mode":"sample","primaryMetric":{"scoreUnit":"us/op","rawDataHistogram":[[[[1,3],[5,1]],[[2,2]]]]}}]`,
			Options{Format: job.FormatJMH}, []string{"a mode=sample | 2000 ns/op lower", "a mode=sample | 2000 ns/op lower within"}, 0},
		{"JMH's NaN is a string, and a secondary metric is read where it is counted",
			`[{"benchmark":"a","mode":"avgt","params":{"z":"1","b":2},"primaryMetric":{"scoreUnit":"ns/op","rawData":[["NaN"]]},
			  "secondaryMetrics":{"·gc.alloc.rate.norm":{"scoreUnit":"B/op","rawData":[[24.0]]},"·gc.count":{"scoreUnit":"counts","rawData":[[1]]}}}]`,
			Options{Format: job.FormatJMH, Counts: []string{"gc.alloc.rate.norm"}},
			[]string{"a b=2 z=1 | !NaN ns/op lower", "a b=2 z=1 | 24 gc.alloc.rate.norm lower"}, 0},
		{"JMH without data", `[{"benchmark":"a"},{"benchmark":"b","primaryMetric":{"rawData":[]}}]`, Options{Format: job.FormatJMH}, nil, 2},
		{"Google Benchmark's counters where they are named",
			`{"benchmarks":[{"name":"a","run_type":"iteration","iterations":10,"real_time":5,"cpu_time":4,"time_unit":"us","INSTRUCTIONS":77,"bytes_per_second":1e3}]}`,
			Options{Format: job.FormatGoogleBench, Counts: []string{"INSTRUCTIONS", "cpu_time"}, Unit: "bytes_per_second"},
			[]string{"a | 5000 ns lower", "a | 1000 B/s higher", "a | 77 INSTRUCTIONS lower", "a | 4000 cpu_time lower"}, 0},
		{"Google Benchmark before run_type",
			`{"benchmarks":[{"name":"a","real_time":5},{"name":"a","real_time":6},{"name":"a_mean","real_time":5.5},{"name":"a_stddev","real_time":1},{"name":"b_mean","real_time":9}]}`,
			Options{Format: job.FormatGoogleBench}, []string{"a | 5 ns lower", "a | 6 ns lower within", "b_mean | 9 ns lower"}, 0},
		{"a failed Google benchmark", `{"benchmarks":[{"name":"a","run_type":"iteration","error_occurred":true,"error_message":"no file"}]}`,
			Options{Format: job.FormatGoogleBench}, []string{"a | !error: no file ns lower"}, 0},
		{"talk around the document, and two documents",
			"[INFO] nan \"quote\nRunning {x}\n" + `{"benchmarks":[{"name":"a","run_type":"iteration","real_time":-inf}]}` + "\nbye\n" +
				`{"benchmarks":[{"name":"a","run_type":"iteration","real_time":5}]}`,
			Options{Format: job.FormatGoogleBench}, []string{"a | !-inf ns lower", "a | 5 ns lower"}, 0},
		{"cargo criterion's messages",
			`{"reason":"benchmark-complete","id":"codec/parse/10","iteration_count":[2,4],"measured_values":[30.0,64.0],"unit":"ns","mean":{"estimate":15.5,"unit":"ns"}}` +
				"\n" + `{"reason":"group-complete","group_name":"codec"}`,
			Options{Format: job.FormatCriterion}, []string{"codec/parse/10 | 15 ns lower", "codec/parse/10 | 16 ns lower within"}, 0},
		{"criterion's sample.json", `{"sampling_mode":"Linear","iters":[1.0,2.0],"times":[10.0,22.0]}`,
			Options{Format: job.FormatCriterion, Name: "parse"}, []string{"parse | 10 ns lower", "parse | 11 ns lower within"}, 0},
		{"criterion's estimates.json", `{"mean":{"confidence_interval":{},"point_estimate":12.5,"standard_error":1}}`,
			Options{Format: job.FormatCriterion}, []string{"benchmark | 12.5 ns lower"}, 0},
		{"lines of libtest and of criterion's bencher form",
			"running 2 tests\ntest tests::it_works ... ok\ntest codec/parse ... bench:       1,234 ns/iter (+/- 56)\ntest x ... bench: soon\ntest y ... bench:  1.5 ms/iter (+/- 0.1)\n",
			Options{Format: job.FormatCriterion}, []string{"codec/parse | 1234 ns lower", "y | 1.5e+06 ns lower"}, 1},
		{"pytest without a fullname", `{"benchmarks":[{"name":"t","stats":{"mean":1e-9,"rounds":2,"iterations":3}},{"name":"u"}]}`,
			Options{Format: job.FormatPytest}, []string{"t | 1 ns lower"}, 1},
		{"hyperfine's killed run, and a command without times",
			`{"results":[{"command":"a","times":[1,2],"exit_codes":[null,0]},{"command":"b"}]}`,
			Options{Format: job.FormatHyperfine}, []string{"a | !killed ns lower", "a | 2e+09 ns lower"}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			recs, rd := readAll(t, strings.NewReader(c.in), c.opt)
			if rd.Err() != nil {
				t.Fatal(rd.Err())
			}
			if d := cmp.Diff(c.want, lines(recs)); d != "" {
				t.Error(d)
			}
			if rd.Problems().Count != c.problems {
				t.Errorf("problems: %v", rd.Problems().Quoted())
			}
		})
	}
}

func TestTheNameOfCriterionsFilesIsReadOffTheirPath(t *testing.T) {
	for path, want := range map[string]string{
		"target/criterion/codec/parse/10/new/sample.json": "codec/parse/10",
		`target\criterion\codec\base\estimates.json`:      "codec",
		"old/sample.json": "benchmark",
	} {
		rd := NewReader(strings.NewReader(`{"iters":[1],"times":[5]}`), path, Options{Format: job.FormatCriterion})
		if !rd.Scan() || rd.Record().Sample.Benchmark != want {
			t.Errorf("%s: got %+v, %v", path, rd.Record().Sample, rd.Err())
		}
	}
}

func TestWhatIsNotTheToolsJSONIsNamedWithItsLine(t *testing.T) {
	for _, c := range []struct {
		format   job.Format
		in, want string
	}{
		{job.FormatGoogleBench, "", `f:1: expected Google Benchmark's JSON, got ""`},
		{job.FormatGoogleBench, "no such file\n", `f:1: expected Google Benchmark's JSON, got "no such file"`},
		{job.FormatGoogleBench, "talk\n{\n \"benchmarks\": [\n {]\n", `f:4: expected Google Benchmark's JSON: invalid character ']'`},
		{job.FormatGoogleBench, `{"results":[]}`, `f:1: expected Google Benchmark's JSON with an array of results`},
		{job.FormatGoogleBench, `{"benchmarks":[{"name":"a_mean","run_type":"aggregate"}]}`, `f:1: only aggregates, which are no samples`},
		{job.FormatHyperfine, `{"results":[{"times":5}]}`, `f:1: expected hyperfine's JSON: `},
		{job.FormatJMH, `{"benchmark":"a"}`, `f:1: expected JMH's JSON with an array of results`},
		{job.FormatPytest, `{"benchmarks":{}}`, `f:1: expected pytest-benchmark's JSON with an array of results`},
	} {
		rd := NewReader(strings.NewReader(c.in), "f", Options{Format: c.format})
		var syntax *SyntaxError
		if rd.Scan() || !errors.As(rd.Err(), &syntax) || !strings.HasPrefix(rd.Err().Error(), c.want) {
			t.Errorf("%s %q:\ngot  %v\nwant %s", c.format, c.in, rd.Err(), c.want)
		}
	}
}

func TestADocumentOfAProcessIsBounded(t *testing.T) {
	_, _, err := ReadProcess(&endless{n: 40 << 20, make: func(i int) string {
		if i == 0 {
			return `{"benchmarks":[`
		}
		return `{"name":"a","run_type":"iteration","real_time":1},`
	}}, Options{Format: job.FormatGoogleBench})
	var syntax *SyntaxError
	if !errors.As(err, &syntax) || syntax.Msg != "more than 16 MiB of JSON" {
		t.Errorf("got %v", err)
	}
	in := []byte(`{"results":[{"command":"a","times":[` + strings.Repeat("1,", 600_000) + `1]}]}`)
	if _, _, err := ReadProcess(bytes.NewReader(in), Options{Format: job.FormatHyperfine}); !errors.Is(err, ErrTooMany) {
		t.Errorf("got %v", err)
	}
}
