package benchfmt

import (
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prbench/prbench/internal/job"
)

func process(t *testing.T, in string, opt Options) ([]job.Sample, Problems) {
	t.Helper()
	samples, problems, err := ReadProcess(strings.NewReader(in), opt)
	if err != nil {
		t.Fatal(err)
	}
	return samples, problems
}

var nodeOut = Options{Format: job.FormatNode}

func TestNodeLinesBecomeSamples(t *testing.T) {
	for _, c := range []struct {
		line                    string
		benchmark, config, want string
	}{
		{`util/format_demo.js type="string" n=1000: 1,204,551.25`, "util/format_demo.js", `type="string" n=1000`, "1.20455125e+06"},
		{`a.js: 5`, "a.js", "", "5"},
		{`http/x.js url="http://localhost:80/a: b" n=1: 12,345`, "http/x.js", `url="http://localhost:80/a: b" n=1`, "12345"},
		{`a.js v="Mon, 02 Feb: 1,000" n=1: 0.5`, "a.js", `v="Mon, 02 Feb: 1,000" n=1`, "0.5"},
		{`a.js s="say \"x: 1\"" : 7`, "a.js", `s="say \"x: 1\""`, "7"},
		{`my dir/a.js n=1: 1e+21`, "my dir/a.js", "n=1", "1e+21"},
		{`a.js n=1: 1.7976931348623157e+308`, "a.js", "n=1", "1.7976931348623157e+308"},
		{`a.js n=1: 1.5e-7`, "a.js", "n=1", "1.5e-07"},
		{`a.js n=1: -12,000.5`, "a.js", "n=1", "-12000.5"},
		{`a.js n=1: 0`, "a.js", "n=1", "0"},
		{`a.js n=1: NaN`, "a.js", "n=1", "!NaN"},
		{`a.js n=1: Infinity`, "a.js", "n=1", "!Infinity"},
		{"50% done\rbench n=1: 3", "bench", "n=1", "3"},
	} {
		samples, problems := process(t, c.line+"\n", nodeOut)
		if len(samples) != 1 || problems.Count != 0 {
			t.Errorf("%s: got %d samples, problems %v", c.line, len(samples), problems.Quoted())
			continue
		}
		s := samples[0]
		got := fmt.Sprint(s.Value)
		if s.Invalid != "" {
			got = "!" + s.Invalid
		}
		if s.Benchmark != c.benchmark || s.Config != c.config || got != c.want || s.Unit != "ops/s" || s.Better != job.Higher {
			t.Errorf("%s: got %+v", c.line, s)
		}
	}
}

func TestWhatANodeBenchmarkPrintsBesideItsResultsIsNotLookedAt(t *testing.T) {
	samples, problems := process(t, strings.Join([]string{
		"", "process/bench-env.js", "Server listening on port: 8080", "warning: 3", "(node:17) Warning: x",
		"{ a: 1 }", "at Object.<anonymous> (/src/a.js:1:2)", "options: a=1: x", strings.Repeat("x", 1e6) + ": 5", "a.js n=1: 5",
	}, "\n"), nodeOut)
	if len(samples) != 1 || samples[0].Value != 5 || problems.Count != 0 {
		t.Errorf("got %+v, problems %v", samples, problems.Quoted())
	}
}

func TestANodeResultWithoutARateIsCountedAndQuoted(t *testing.T) {
	_, problems := process(t, "ok\na.js n=1: fast\na.js n=1: 1,20,3\na.js n=1: 12,3456.5\n", nodeOut)
	want := []string{
		`line 2: no rate behind the last colon: "a.js n=1: fast"`,
		`line 3: no rate behind the last colon: "a.js n=1: 1,20,3"`,
		`line 4: no rate behind the last colon: "a.js n=1: 12,3456.5"`,
	}
	if d := cmp.Diff(want, problems.Quoted()); d != "" || problems.Count != 3 {
		t.Error(d)
	}
}

func TestSeveralValuesOfOneProcessBecomeOneSample(t *testing.T) {
	for _, c := range []struct {
		name, in string
		opt      Options
		want     job.Sample
	}{
		{"rates of known times: work over time", "filename,rate,time\na,100,1\na,400,3\n", nodeCSV,
			job.Sample{Value: 325, Time: 4, Count: 2, Unit: "ops/s", Better: job.Higher}},
		{"rates of unknown times: the same work each", "filename,rate\na,100\na,300\n", nodeCSV,
			job.Sample{Value: 150, Count: 2, Unit: "ops/s", Better: job.Higher}},
		{"rates of which one is zero", "filename,rate\na,100\na,0\n", nodeCSV,
			job.Sample{Value: 50, Count: 2, Unit: "ops/s", Better: job.Higher}},
		{"times: their mean", "name,value,unit\na,1,ms\na,3000,us\n", nodeCSV,
			job.Sample{Value: 2e6, Count: 2, Unit: "ns", Better: job.Lower}},
		{"one that is unusable makes all of it so", "filename,rate\na,100\na,nan\n", nodeCSV,
			job.Sample{Invalid: "nan", Count: 2, Unit: "ops/s", Better: job.Higher}},
		{"huge values do not overflow", "name,value\na,1.5e308\na,1.5e308\n", nodeCSV,
			job.Sample{Value: 1.5e308, Count: 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			samples, problems := process(t, c.in, c.opt)
			c.want.Benchmark = "a"
			if d := cmp.Diff([]job.Sample{c.want}, samples); d != "" || problems.Count != 0 {
				t.Errorf("%s%v", d, problems)
			}
		})
	}
}

func TestTheFilterKeepsTheBenchmarksThatMatch(t *testing.T) {
	opt := nodeOut
	opt.Filter = regexp.MustCompile(`x\.js .*n=2`)
	samples, _ := process(t, "x.js n=1: 1\nx.js m=0 n=2: 2\ny.js n=2: 3\n", opt)
	if len(samples) != 1 || samples[0].Value != 2 {
		t.Errorf("got %+v", samples)
	}
}

func TestUnitAndDirectionOfTheSuiteStandWhereTheFormatHasNone(t *testing.T) {
	opt := nodeOut
	opt.Unit, opt.Better = "ms", job.Lower
	samples, _ := process(t, "x.js n=1: 1.5\n", opt)
	if len(samples) != 1 || samples[0].Value != 1.5e6 || samples[0].Unit != "ns" || samples[0].Better != job.Lower {
		t.Errorf("got %+v", samples)
	}
	opt.Unit, opt.Better = "score", job.Higher
	samples, _ = process(t, "x.js n=1: 1.5\n", opt)
	if len(samples) != 1 || samples[0].Unit != "score" || samples[0].Better != job.Higher {
		t.Errorf("got %+v", samples)
	}
}

// endless gives the lines that make makes, n bytes of them.
type endless struct {
	make func(i int) string
	n, i int
	rest string
}

func (e *endless) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if e.rest == "" {
			if e.n <= 0 {
				break
			}
			e.rest = e.make(e.i)
			e.i++
			e.n -= len(e.rest)
		}
		k := copy(p[n:], e.rest)
		e.rest = e.rest[k:]
		n += k
	}
	if n == 0 {
		err = io.EOF
	}
	return n, err
}

func TestAProcessThatPrintsWithoutEndNeedsBoundedMemory(t *testing.T) {
	long := strings.Repeat("x", 1<<16)
	for _, c := range []struct {
		name   string
		format job.Format
		make   func(i int) string
		err    error
	}{
		{"one line", job.FormatNode, func(int) string { return long }, nil},
		{"chatter", job.FormatNode, func(int) string { return "all is well, up to now\n" }, nil},
		{"new benchmarks", job.FormatNode, func(i int) string { return fmt.Sprintf("a.js n=%d: 5\n", i) }, ErrTooMany},
		{"long names", job.FormatNode, func(i int) string { return fmt.Sprintf("a.js n=%d%s: 5\n", i, long[:60000]) }, nil},
		{"one name spelled in many ways", job.FormatNode,
			func(i int) string { return "a.js n=1" + strings.Repeat(" ", i%50000) + "m=2: 5\n" }, nil},
		{"unreadable rows", job.FormatNodeCSV, func(i int) string {
			if i == 0 {
				return "filename,rate\n"
			}
			return fmt.Sprintf("a,%d%s\n", i, long[:200])
		}, nil},
		{"new rows", job.FormatNodeCSV, func(i int) string {
			if i == 0 {
				return "filename,rate\n"
			}
			return fmt.Sprintf("a%d,5\n", i)
		}, ErrTooMany},
		{"new units", job.FormatNodeCSV, func(i int) string {
			if i == 0 {
				return "filename,rate,unit\n"
			}
			return fmt.Sprintf("a,5,u%d\n", i)
		}, ErrTooMany},
		{"new suites", job.FormatNodeCSV, func(i int) string {
			if i == 0 {
				return "filename,rate,suite\n"
			}
			return fmt.Sprintf("a,5,u%d%s\n", i, long[:200])
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			live := func() uint64 {
				var m runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&m)
				return m.HeapAlloc
			}
			before, peak := live(), uint64(0)
			in := &endless{make: c.make, n: 32 << 20}
			looked := in.n
			watched := readerFunc(func(p []byte) (int, error) {
				if looked-in.n > 2<<20 {
					looked = in.n
					peak = max(peak, max(live(), before)-before)
				}
				return in.Read(p)
			})
			_, problems, err := ReadProcess(watched, Options{Format: c.format})
			if !errors.Is(err, c.err) {
				t.Errorf("got %v, want %v", err, c.err)
			}
			if len(problems.First) > 5 || len(fmt.Sprint(problems.Quoted())) > 5*400 {
				t.Errorf("problems are not bounded: %d", len(problems.First))
			}
			if peak > 16<<20 {
				t.Errorf("holds %d MiB", peak>>20)
			}
		})
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestAReadThatFailsIsAnErrorAndKeepsWhatWasRead(t *testing.T) {
	broken := errors.New("pipe burst")
	r := io.MultiReader(strings.NewReader("a.js n=1: 5\n"), failed{broken})
	samples, _, err := ReadProcess(r, nodeOut)
	if !errors.Is(err, broken) || len(samples) != 1 {
		t.Errorf("got %v, %v", samples, err)
	}
}

func TestUnitsComeToTheirBase(t *testing.T) {
	for _, c := range []struct {
		unit, base string
		factor     float64
		better     job.Better
	}{
		{"ns/op", "ns/op", 1, job.Lower}, {"us", "ns", 1e3, job.Lower}, {"µs/op", "ns/op", 1e3, job.Lower},
		{"ms", "ns", 1e6, job.Lower}, {"s", "ns", 1e9, job.Lower}, {"s/op", "ns/op", 1e9, job.Lower},
		{"ops/s", "ops/s", 1, job.Higher}, {"ops/ms", "ops/s", 1e3, job.Higher}, {"ops/ns", "ops/s", 1e9, job.Higher},
		{"MB/s", "B/s", 1e6, job.Higher}, {"B/op", "B/op", 1, job.Lower}, {"allocs/op", "allocs/op", 1, job.Lower},
		{"req/sec", "req/s", 1, job.Higher}, {"instructions", "instructions", 1, job.Lower},
		{"ratio", "ratio", 1, ""}, {"", "", 1, ""}, {"kB", "B", 1e3, job.Lower},
	} {
		v, u := Normalise(3, c.unit)
		if u != c.base || v != 3*c.factor || Direction(c.unit) != c.better {
			t.Errorf("%s: got %v %s %s", c.unit, v, u, Direction(c.unit))
		}
		if v2, u2 := Normalise(v, u); v2 != v || u2 != u {
			t.Errorf("%s: a second time gives %v %s", u, v2, u2)
		}
	}
}

func TestValuesAreShownInReadableUnits(t *testing.T) {
	for _, c := range []struct {
		v    float64
		unit string
		want string
	}{
		{1250, "ns/op", "1.25 us/op"}, {251230000, "ns", "251.2 ms"}, {0, "ns", "0 ns"}, {2.5e6, "B/s", "2.5 MB/s"},
		{999.96, "ns", "1 us"}, {1204551.25, "ops/s", "1205000 ops/s"}, {12, "", "12"}, {-3500, "B", "-3.5 kB"}, {7e12, "ns", "7000 s"},
	} {
		if got := Show(c.v, c.unit, 4); got != c.want {
			t.Errorf("%v %s: got %s, want %s", c.v, c.unit, got, c.want)
		}
	}
	if got := Show(math.MaxFloat64, "x", 3); got != "1.8e+308 x" && got != "1.79e+308 x" && got != "1.7976931348623157e+308 x" {
		t.Errorf("got %s", got)
	}
}
