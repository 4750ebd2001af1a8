package benchfmt

import (
	"bytes"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prbench/prbench/internal/job"
)

func write(t testing.TB, recs []Record) string { return writeWith(t, NewWriter, recs) }

func writeWith(t testing.TB, writer func(io.Writer) *Writer, recs []Record) string {
	t.Helper()
	var b bytes.Buffer
	w := writer(&b)
	for i := range recs {
		if err := w.Write(&recs[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTheSamplesOfTwoUnitsAreWrittenAsTwoRowsOfNodesColumns(t *testing.T) {
	got := write(t, []Record{
		{Side: job.Old, Pair: 0, Position: 1, Suite: "process", Case: "benchmark/a.js", Sample: job.Sample{
			Benchmark: "process/a.js", Config: `n=1 s="x, y"`, Unit: "ops/s", Better: job.Higher, Value: 1996.1311625193812, Time: .512992342}},
		{Side: job.New, Pair: 3, Position: 0, Suite: "go", Sample: job.Sample{
			Benchmark: "example.test/codec", Config: "Parse-8", Unit: "B/op", Better: job.Lower, Value: 64}},
		{Side: job.New, Pair: -1, Position: -1, Sample: job.Sample{Benchmark: "x", Unit: "ns", Better: job.Lower, Invalid: "-inf"}},
	})
	want := `"binary","filename","configuration","rate","time","unit","better","suite","pair","position","case"
"old","process/a.js","n=1 s=""x, y""",1996.1311625193812,0.512992342,"ops/s","higher","process",0,1,"benchmark/a.js"
"new","example.test/codec","Parse-8 [B/op]",64,,"B/op","lower","go",3,0,""
"new","x","[ns]",-Inf,,"ns","lower","",,,""
`
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestAFileWithoutSamplesHasItsHeader(t *testing.T) {
	if got := write(t, nil); got != csvHeader {
		t.Errorf("got %q", got)
	}
}

func TestWhatIsWrittenComesBackTheSame(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	units := []string{"", "ops/s", "ns/op", "B/op", "odd unit"}
	pieces := []string{"a.js", "n=1", `"`, `""`, `\`, `\\`, `\"`, ",", " ", "'", "[ns/op]", "日本", ": 5", "x"}
	name := func(n int) string {
		var b strings.Builder
		for range 1 + rng.IntN(n) {
			b.WriteString(pieces[rng.IntN(len(pieces))])
		}
		return cleanName(b.String())
	}
	var recs []Record
	for i := range 3000 {
		r := Record{Side: []job.SideName{job.Old, job.New}[rng.IntN(2)], Pair: rng.IntN(5) - 1, Position: rng.IntN(3) - 1,
			Suite: name(2), Case: name(2), Line: i + 2}
		r.Sample = job.Sample{Benchmark: "b" + name(6), Config: name(6), Unit: units[rng.IntN(len(units))], Count: 1,
			Value: math.Float64frombits(rng.Uint64())}
		r.Sample.Better = Direction(r.Sample.Unit)
		if math.IsNaN(r.Sample.Value) || math.IsInf(r.Sample.Value, 0) {
			r.Sample.Value = 0
		}
		if !strings.Contains(r.Sample.Benchmark+r.Sample.Config+r.Suite+r.Case, `\`) {
			recs = append(recs, r)
			continue
		}
		// A backslash before a quote may get a space behind it.
		r.Sample.Benchmark = strings.ReplaceAll(r.Sample.Benchmark, `\`, "/")
		r.Sample.Config = strings.ReplaceAll(r.Sample.Config, `\`, "/")
		r.Suite, r.Case = "s", `a"c`
		recs = append(recs, r)
	}
	for i := range recs {
		recs[i].Line = i + 2
	}
	got, rd := readAll(t, strings.NewReader(write(t, recs)), nodeCSV)
	if rd.Err() != nil || rd.Problems().Count != 0 {
		t.Fatal(rd.Err(), rd.Problems().Quoted())
	}
	for i := range got {
		got[i].Series = 0
	}
	if d := cmp.Diff(recs, got); d != "" {
		t.Error(d[:min(len(d), 2000)])
	}
}

func TestBackslashesAtBadPlacesSurvive(t *testing.T) {
	for name, want := range map[string]string{
		`dir=C:\`:    `dir=C:\`,
		`dir=C:\\`:   `dir=C:\\`,
		`s="x\"y"`:   `s="x\"y"`,
		`s="x\"`:     `s="x\"`,
		`s="\\"`:     `s="\\"`,
		`s="a\", b"`: `s="a\ ", b"`,
	} {
		recs, rd := readAll(t, strings.NewReader(write(t, []Record{
			{Side: job.Old, Sample: job.Sample{Benchmark: "a", Config: name, Value: 1}},
			{Side: job.New, Sample: job.Sample{Benchmark: "a", Config: name, Value: 2}},
		})), nodeCSV)
		if rd.Err() != nil || rd.Problems().Count != 0 || len(recs) != 2 || recs[0].Sample.Config != want {
			t.Errorf("%s: got %+v, %v, %v", name, recs, rd.Err(), rd.Problems().Quoted())
		}
	}
}

func BenchmarkOwnCSV(b *testing.B) {
	const rows = 100_000
	var recs []Record
	rd := NewReader(bytes.NewReader(nodeRows(rows)), "", nodeCSV)
	for rd.Scan() {
		r := *rd.Record()
		r.Suite, r.Case, r.Pair, r.Position = "buffers", "benchmark/"+r.Sample.Benchmark, len(recs)/2, len(recs)%2
		r.Sample.Unit, r.Sample.Better = "ns/op", job.Lower
		recs = append(recs, r)
	}
	in := write(b, recs)
	b.Run("write", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(in)))
		for b.Loop() {
			write(b, recs)
		}
	})
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(in)))
		for b.Loop() {
			rd := NewReader(strings.NewReader(in), "", nodeCSV)
			for rd.Scan() {
			}
			if rd.Err() != nil || rd.Series() == 0 {
				b.Fatal(rd.Err())
			}
		}
	})
}
