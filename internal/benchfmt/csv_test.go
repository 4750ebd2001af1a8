package benchfmt

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prbench/prbench/internal/job"
)

// readAll gives copies of all records of a file.
func readAll(t testing.TB, r io.Reader, opt Options) ([]Record, *Reader) {
	t.Helper()
	rd := NewReader(r, "samples", opt)
	var recs []Record
	for rd.Scan() {
		recs = append(recs, *rd.Record())
	}
	return recs, rd
}

func readFile(t testing.TB, path string, opt Options) ([]Record, *Reader) {
	t.Helper()
	recs, rd := readAll(t, bytes.NewReader(mustRead(t, path)), opt)
	if err := rd.Err(); err != nil {
		t.Fatalf("read %s: %v", path, err)
	}
	return recs, rd
}

func mustRead(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.FromSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var nodeCSV = Options{Format: job.FormatNodeCSV}

func TestCommaInAQuotedConfigurationStaysInIt(t *testing.T) {
	recs, rd := readFile(t, "testdata/node/comma-in-quoted-configuration.csv", nodeCSV)
	if len(recs) != 6 || rd.Series() != 1 || rd.Problems().Count != 0 {
		t.Fatalf("got %d records of %d series, problems %v", len(recs), rd.Series(), rd.Problems())
	}
	want := Record{Side: job.New, Pair: -1, Position: -1, Line: 7, Sample: job.Sample{
		Benchmark: "http/header_check.js", Config: "n=50000 value='Mon, 02 Feb 2026 08:15:00 GMT'",
		Unit: "ops/s", Better: job.Higher, Value: 905633, Time: .05521, Count: 1}}
	if d := cmp.Diff(want, recs[5]); d != "" {
		t.Error(d)
	}
}

func TestStdoutLinesUnderACSVHeaderAreNeverGivenToASide(t *testing.T) {
	recs, rd := readAll(t, bytes.NewReader(mustRead(t, "testdata/node/header-then-stdout-lines.csv")), nodeCSV)
	var none *NoSideError
	if len(recs) != 0 || !errors.As(rd.Err(), &none) {
		t.Fatalf("got %d records and %v, want none and a NoSideError", len(recs), rd.Err())
	}
	const want = `samples:2: 4 rows name no binary ("old" or "new" is expected), ` +
		`the first is "util/format_demo.js type=\"string\" n=1000: 1,204,551.25"`
	if rd.Err().Error() != want {
		t.Errorf("got  %s\nwant %s", rd.Err(), want)
	}
	if p := rd.Problems(); p.Count != 4 || p.NoSide != 4 || len(p.First) != 4 {
		t.Errorf("problems: %+v", p)
	}
}

func TestDoubledAndBackslashQuotesAreUnderstood(t *testing.T) {
	recs, _ := readFile(t, "testdata/node/odd-quoting.csv", nodeCSV)
	var got []string
	for _, r := range recs {
		got = append(got, fmt.Sprintf("%s %s %v %v", r.Side, r.Sample.Name(), r.Sample.Value, r.Sample.Time))
	}
	want := []string{
		`old complex.js method="write" len=32 type="asc" dur=5 -1.89587491584139e+08 6.549584973617642e+06`,
		`new complex.js method="write" \\ len=32 \\ type="asc" \\ dur=5 6.5419587491e+10 98784.9736176418`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestCSVRowsInAllTheirShapes(t *testing.T) {
	const header = `"binary","filename","configuration","rate","time"` + "\n"
	for _, c := range []struct {
		name, in string
		want     []string // side, name, value or invalid
		problems int
	}{
		{"both separators", header + "\"old\", \"a.js\", \"n=1\", 1.5, 2\n\"new\",\"a.js\",\"n=1\",2.5,2\n",
			[]string{"old a.js n=1 1.5", "new a.js n=1 2.5"}, 0},
		{"columns in another order", "rate,configuration,filename,binary\n5,n=1,a.js,old\n", []string{"old a.js n=1 5"}, 0},
		{"line ends of Windows", strings.ReplaceAll(header+"\"old\",\"a.js\",\"n=1\",1,2\n", "\n", "\r\n"), []string{"old a.js n=1 1"}, 0},
		{"no line end at the end", header + `"old","a.js","n=1",1,2`, []string{"old a.js n=1 1"}, 0},
		{"names trimmed and single-spaced", header + "old, \"  a.js \",\"n=1   m=2\",1,2\n", []string{"old a.js n=1 m=2 1"}, 0},
		{"doubled quotes", header + `old,a.js,"s=""x, y""",1,2`, []string{`old a.js s="x, y" 1`}, 0},
		{"doubled quotes behind a backslash", header + `old,a.js,"s=""x\""y""",1,2`, []string{`old a.js s="x\"y" 1`}, 0},
		{"a backslash quote at the end", header + `old,a.js,"s=\"x\"",1,2`, []string{`old a.js s="x" 1`}, 0},
		{"backslashes are kept", header + `old,a.js,"p='C:\\dir\\'",1,2`, []string{`old a.js p='C:\\dir\\' 1`}, 0},
		{"a line end in quotes", header + "old,a.js,\"l=[\n  1,\n  2 ]\",1,2\nnew,a.js,\"l=[ 1, 2 ]\",3,4\n",
			[]string{"old a.js l=[ 1, 2 ] 1", "new a.js l=[ 1, 2 ] 3"}, 0},
		{"blank lines", header + "\n\n\"old\",\"a.js\",\"\",1,2\n\n", []string{"old a.js 1"}, 0},
		{"a second header", header + "old,a.js,,1,2\n" + header + "new,a.js,,3,4\n", []string{"old a.js 1", "new a.js 3"}, 0},
		{"zero and negative rates are data", header + "old,a.js,,0,2\nold,a.js,,-5e-1,2\n", []string{"old a.js 0", "old a.js -0.5"}, 0},
		{"rates that are no finite numbers", header + "old,a.js,,NaN,2\nold,a.js,,-Infinity,2\nold,a.js,,NA,\nold,a.js,,,\nold,a.js,,1e999,1\n",
			[]string{"old a.js !NaN", "old a.js !-Infinity", "old a.js !NA", "old a.js !NA", "old a.js !1e999"}, 0},
		{"no number", header + "old,a.js,,fast,2\nold,a.js,,\"1,204.5\",2\nold,a.js,,0x10,2\nold,a.js,,1_0,2\n", nil, 4},
		{"a comma outside quotes is never guessed at", header + "old,a.js,v=1,5,3,7\n", nil, 1},
		{"too few fields", header + "old,a.js,\"n=1\"\n", nil, 1},
		{"a stray quote costs one line", header + "old,a.js,\"n=1,5,1\nold,a.js,\"n=1\",6,1\n", []string{"old a.js n=1 6"}, 1},
		{"a stray quote at the end", header + "old,a.js,\"n=1\",6,1\nold,a.js,\"n=1,5,1\n", []string{"old a.js n=1 6"}, 1},
		{"no benchmark", header + "old,,,1,2\n", nil, 1},
		{"an unknown side beside a known one", header + "base,a.js,,1,2\nnew,a.js,,1,2\n", []string{"new a.js 1"}, 1},
		{"a very long row", header + "old,a.js," + strings.Repeat("x", 900_000) + "\nold,a.js,,1,2\n", []string{"old a.js 1"}, 1},
		{"a very long quoted row", header + "old,a.js,\"" + strings.Repeat("x", 900_000) + "\",1,1\nold,a.js,,1,2\n", []string{"old a.js 1"}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, chunk := range []bool{false, true} {
				r := io.Reader(strings.NewReader(c.in))
				if chunk {
					r = oneByte{r}
				}
				recs, rd := readAll(t, r, nodeCSV)
				var got []string
				for _, r := range recs {
					v := fmt.Sprint(r.Sample.Value)
					if r.Sample.Invalid != "" {
						v = "!" + r.Sample.Invalid
					}
					got = append(got, fmt.Sprintf("%s %s %s", r.Side, r.Sample.Name(), v))
				}
				if d := cmp.Diff(c.want, got); d != "" {
					t.Errorf("records: %s", d)
				}
				if n := rd.Problems().Count; n != c.problems {
					t.Errorf("got %d problems, want %d: %v", n, c.problems, rd.Problems())
				}
			}
		})
	}
}

// oneByte gives one byte a read.
type oneByte struct{ r io.Reader }

func (o oneByte) Read(p []byte) (int, error) {
	return o.r.Read(p[:min(1, len(p))])
}

func TestAHeaderThatIsNoneIsNamed(t *testing.T) {
	for in, want := range map[string]string{
		"":                "samples: empty, expected CSV with a header",
		"hello\n":         `samples:1: expected a CSV header with at least the columns filename and rate (or benchmark and value), got "hello"`,
		"\nname,value\n1": `samples:2: the header has no column "binary": give one file for each side, or add the column with old or new`,
	} {
		_, rd := readAll(t, strings.NewReader(in), nodeCSV)
		if rd.Err() == nil || rd.Err().Error() != want {
			t.Errorf("%q: got %v, want %s", in, rd.Err(), want)
		}
	}
}

func TestOneFileForEachSideTakesTheSideOfTheFile(t *testing.T) {
	recs, rd := readAll(t, strings.NewReader("benchmark,value,unit\na,5,ms\n"), Options{Format: job.FormatCSV, Side: job.New})
	if rd.Err() != nil || len(recs) != 1 || recs[0].Side != job.New {
		t.Fatalf("got %v, %v", recs, rd.Err())
	}
	if s := recs[0].Sample; s.Value != 5e6 || s.Unit != "ns" || s.Better != job.Lower {
		t.Errorf("got %+v", s)
	}
	if p := rd.Properties(); p.Sides || p.Interleaved {
		t.Errorf("properties: %+v", p)
	}
}

func TestPublishedRunsAreReadWhole(t *testing.T) {
	for file, want := range map[string][2]int{ // records, series
		"jenkins-150": {6000, 100}, "confidence": {0, 0}, "http-2-runs": {0, 0}, "one-run": {4, 2},
	} {
		raw := mustRead(t, "testdata/node/"+file+".csv")
		recs, rd := readFile(t, "testdata/node/"+file+".csv", nodeCSV)
		lines := bytes.Count(bytes.TrimSpace(raw), []byte("\n"))
		t.Log(file, len(recs), rd.Series(), lines, want)
		if len(recs) != lines || rd.Problems().Count != 0 || !rd.Properties().Interleaved {
			t.Errorf("%s: %d records of %d lines, %v", file, len(recs), lines, rd.Problems())
		}
	}
}

func TestAQuotedLineIsShortAndValid(t *testing.T) {
	for in, want := range map[string]string{
		"abc":                         "abc",
		strings.Repeat("é", 120):      strings.Repeat("é", 100) + "…",
		strings.Repeat("a\xff", 200):  strings.Repeat("a\uFFFD", 50) + "…",
		"x" + strings.Repeat("語", 90): "x" + strings.Repeat("語", 66) + "…",
	} {
		if got := quote([]byte(in)); got != want {
			t.Errorf("%q: got %q", in, got)
		}
	}
}

// nodeRows makes a compare.js CSV with the given number of rows over 5,000
// benchmarks at most.
func nodeRows(rows int) []byte {
	rng := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	b.WriteString(`"binary","filename","configuration","rate","time"` + "\n")
	series := max(1, min(5000, rows/200))
	for i := range rows {
		side := "old"
		if i%2 == 1 {
			side = "new"
		}
		k := i / 2 % series
		rate := 1e6 * (1 + rng.Float64())
		fmt.Fprintf(&b, "\"%s\",\"buffers/buffer-%02d.js\",\"n=%d len=1024 type='fast-alloc'\",%s,%.9f\n",
			side, k%100, k/100, strconv.FormatFloat(rate, 'f', -1, 64), 1e6/rate)
	}
	return b.Bytes()
}

func BenchmarkNodeCSV(b *testing.B) {
	for _, rows := range []int{1e4, 1e5, 1e6} {
		in := nodeRows(rows)
		b.Run(fmt.Sprintf("rows=%d", rows), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(in)))
			for b.Loop() {
				rd := NewReader(bytes.NewReader(in), "", nodeCSV)
				n := 0
				for rd.Scan() {
					n++
				}
				if n != rows || rd.Err() != nil {
					b.Fatalf("%d rows, %v", n, rd.Err())
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows), "ns/row")
		})
	}
}
