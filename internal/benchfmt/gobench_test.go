package benchfmt

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prbench/prbench/internal/job"
)

var goText = Options{Format: job.FormatGo, Side: job.Old}

func TestGoNamesOfAVerboseRunAndALongLogLineAreNoResults(t *testing.T) {
	samples, problems, err := ReadProcess(bytes.NewReader(mustRead(t, "testdata/go/verbose-with-70000-byte-log-line.txt")), goText)
	if err != nil || problems.Count != 0 {
		t.Fatal(err, problems.Quoted())
	}
	want := []job.Sample{
		{Benchmark: "example.test/codec", Config: "Parse-8", Unit: "ns/op", Better: job.Lower, Value: 1250, Time: 1250e-6, Count: 1},
		{Benchmark: "example.test/codec", Config: "Parse-8", Unit: "B/op", Better: job.Lower, Value: 64, Time: 1250e-6, Count: 1},
		{Benchmark: "example.test/codec", Config: "Parse-8", Unit: "allocs/op", Better: job.Lower, Value: 2, Time: 1250e-6, Count: 1},
		{Benchmark: "example.test/codec", Config: "Render-8", Unit: "ns/op", Better: job.Lower, Value: 2400, Time: 1200e-6, Count: 1},
		{Benchmark: "example.test/codec", Config: "Render-8", Unit: "B/op", Better: job.Lower, Value: 128, Time: 1200e-6, Count: 1},
		{Benchmark: "example.test/codec", Config: "Render-8", Unit: "allocs/op", Better: job.Lower, Value: 4, Time: 1200e-6, Count: 1},
	}
	if d := cmp.Diff(want, samples); d != "" {
		t.Error(d)
	}
}

func TestUTF16FromAPowerShellRedirectIsRead(t *testing.T) {
	recs, rd := readFile(t, "testdata/go/utf16-from-powershell.txt", goText)
	if len(recs) != 2 || rd.Series() != 1 || rd.Problems().Count != 0 {
		t.Fatalf("got %d records of %d series", len(recs), rd.Series())
	}
	if n := recs[0].Sample.Name(); n != "example.test/win Open-4" || recs[0].Sample.Value != 910.5 || recs[1].Sample.Value != 905 {
		t.Errorf("got %+v", recs)
	}
	if !recs[1].Within || !rd.Properties().WithinProcess {
		t.Error("two values of one process are not said to be so")
	}
}

func TestRealGoOutputOfTwoPackagesIsReadWhole(t *testing.T) {
	recs, rd := readFile(t, "testdata/go/go1.26-count3-two-packages.txt", goText)
	if len(recs) != 3*(4+2+2+1) || rd.Series() != 9 || rd.Problems().Count != 0 {
		t.Fatalf("got %d records of %d series, %v", len(recs), rd.Series(), rd.Problems().Quoted())
	}
	units := map[string]string{}
	for _, r := range recs {
		units[r.Sample.Name()] += r.Sample.Unit + " "
	}
	const three = "example.test/engine/codec "
	want := map[string]string{
		three + "Upper-2":                  strings.Repeat("ns/op B/s B/op allocs/op ", 3),
		three + "Split/n=10-2":             strings.Repeat("ns/op parts/op ", 3),
		three + "Split/n=1000-2":           strings.Repeat("ns/op parts/op ", 3),
		"example.test/engine/tree Upper-2": strings.Repeat("ns/op ", 3),
	}
	if d := cmp.Diff(want, units); d != "" {
		t.Error(d)
	}
	samples, problems, err := ReadProcess(bytes.NewReader(mustRead(t, "testdata/go/go1.26-verbose.txt")), goText)
	if err != nil || len(samples) != 9 || problems.Count != 0 {
		t.Errorf("verbose: %d samples, %v, %v", len(samples), problems.Quoted(), err)
	}
}

func TestRunsPutOneBehindTheOtherAreProcessesOfTheirOwn(t *testing.T) {
	const run = "goos: linux\nBenchmarkA-2\t10\t5 ns/op\nPASS\nok  \tx\t1s\n"
	recs, rd := readAll(t, strings.NewReader(run+run+run), goText)
	if len(recs) != 3 || rd.Properties().WithinProcess {
		t.Errorf("%d records, within process: %v", len(recs), rd.Properties().WithinProcess)
	}
	recs, rd = readAll(t, strings.NewReader(run+strings.ReplaceAll(run, "PASS", "BenchmarkA-2\t10\t5 ns/op\nPASS")), goText)
	if len(recs) != 3 || !rd.Properties().WithinProcess || recs[1].Within || !recs[2].Within {
		t.Errorf("%+v", recs)
	}
}

func TestGoLinesInAllTheirShapes(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     []string
		problems []string
	}{
		{"no package", "BenchmarkA-8 10 5 ns/op\n", []string{"A-8 5 ns/op lower"}, nil},
		{"bare name", "Benchmark 10 5 ns/op\n", []string{"Benchmark 5 ns/op lower"}, nil},
		{"megabytes a second", "BenchmarkA 10 5 ns/op 1.5 MB/s\n", []string{"A 5 ns/op lower", "A 1.5e+06 B/s higher"}, nil},
		{"a unit with a direction", "Unit score better=higher\nBenchmarkA 1 5 score\n", []string{"A 5 score higher"}, nil},
		{"a unit without", "BenchmarkA 1 5 score\n", []string{"A 5 score "}, nil},
		{"line ends of Windows", "pkg: x\r\nBenchmarkA\r\nBenchmarkA-8 1 5 ns/op\r\n", []string{"x A-8 5 ns/op lower"}, nil},
		{"not a number", "BenchmarkA 1 NaN ns/op\nBenchmarkA 1 +Inf ns/op\n", []string{"A !NaN ns/op lower", "A !+Inf ns/op lower"}, nil},
		{"a unit that is no UTF-8", "BenchmarkA 1 5 ns/o\x88\n", []string{"A 5 ns/o\uFFFD lower"}, nil},
		{"talk", "Benchmarking is fun: 5\nBenchmark: 7 x\nBenchmarks 1 5 ns/op\nUnit of work\n", nil, nil},
		{"a log line inside a result", "BenchmarkA-8 \twarm\n   10\t 5 ns/op\n", nil,
			[]string{`line 1: parsing iteration count: invalid syntax: "BenchmarkA-8 \twarm"`}},
		{"cut off", "BenchmarkA-8 10\nBenchmarkA-8 10 5\nBenchmarkA-8 10 x ns/op\nBenchmarkA-8 1.5 3 ns/op", nil, []string{
			`line 1: missing measurements: "BenchmarkA-8 10"`,
			`line 2: missing units: "BenchmarkA-8 10 5"`,
			`line 3: parsing measurement: invalid syntax: "BenchmarkA-8 10 x ns/op"`,
			`line 4: parsing iteration count: invalid syntax: "BenchmarkA-8 1.5 3 ns/op"`}},
		{"a long result", "BenchmarkA 1 5 ns/op" + strings.Repeat(" 1 x", 20000) + "\n", nil,
			[]string{`line 1: a result longer than 60,000 bytes: "` + ("BenchmarkA 1 5 ns/op" + strings.Repeat(" 1 x", 20000))[:200] + `…"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			recs, rd := readAll(t, strings.NewReader(c.in), goText)
			if rd.Err() != nil {
				t.Fatal(rd.Err())
			}
			var got []string
			for _, r := range recs {
				v := fmt.Sprint(r.Sample.Value)
				if r.Sample.Invalid != "" {
					v = "!" + r.Sample.Invalid
				}
				got = append(got, fmt.Sprintf("%s %s %s %s", r.Sample.Name(), v, r.Sample.Unit, r.Sample.Better))
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(c.problems, rd.Problems().Quoted()); d != "" {
				t.Error(d)
			}
		})
	}
}

// goLines makes Go benchmark text of the given number of results.
func goLines(n int) []byte {
	var b bytes.Buffer
	b.WriteString("goos: linux\ngoarch: amd64\npkg: example.test/engine/codec\n")
	for i := range n {
		fmt.Fprintf(&b, "BenchmarkDecode/size=%d-8         \t  %d\t      %d.%d ns/op\t  %d.%02d MB/s\t     320 B/op\t       %d allocs/op\n",
			i%500, 1000+i%77, 1200+i%97, i%10, 200+i%51, i%100, i%5)
	}
	b.WriteString("PASS\n")
	return b.Bytes()
}

func BenchmarkGoText(b *testing.B) {
	const lines = 200_000
	in := goLines(lines)
	b.ReportAllocs()
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		rd := NewReader(bytes.NewReader(in), "", goText)
		n := 0
		for rd.Scan() {
			n++
		}
		if n != 4*lines || rd.Err() != nil {
			b.Fatal(n, rd.Err())
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/lines, "ns/line")
}
