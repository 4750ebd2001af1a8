package benchfmt

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strconv"

	"golang.org/x/perf/benchfmt"

	"github.com/prbench/prbench/internal/job"
)

// goSource reads the text of Go benchmarks through golang.org/x/perf/benchfmt.
//
// The package (the "pkg:" line) is the benchmark, as a script's file is in
// Node's words, and the name, without "Benchmark" and with the -8 for
// GOMAXPROCS, as benchstat shows it, is the configuration: "example.test/codec
// Parse/big-8". Two packages may have a benchmark of one name, and whether they
// do must not change what either is called. Without a "pkg:" line the name
// alone is the benchmark.
//
// Each value of a line is a record. A value is Within when the same benchmark
// had a value before in the same run of a test binary (-count); runs that were
// put one behind the other in a file are processes of their own. A line "Unit
// <unit> better=higher" tells the direction of a custom unit.
type goSource struct {
	env    *env
	lines  *goResultLines
	r      *benchfmt.Reader
	key    []byte
	better map[string]job.Better // by unit as printed

	values []goValue // of the present line
	at     int       // of the next of them
	runs   []int     // by series: the run of its last value
}

// A goValue is one measurement of a line.
type goValue struct {
	s     *series
	value float64 // as printed, in the unit as printed
	time  float64 // seconds of the line, 0 unknown
}

func newGo(r io.Reader, e *env) *goSource {
	l := &goResultLines{env: e, lines: newLineReader(r), run: 1}
	return &goSource{env: e, lines: l, r: benchfmt.NewReader(l, e.file), better: map[string]job.Better{}}
}

func (g *goSource) next(rec *Record) error {
	for g.at == len(g.values) {
		if g.env.names.tooMany {
			return ErrTooMany
		}
		if !g.r.Scan() {
			if g.lines.err != nil {
				return g.lines.err
			}
			if err := g.r.Err(); err != nil {
				return err
			}
			return io.EOF
		}
		switch r := g.r.Result().(type) {
		case *benchfmt.Result:
			g.result(r)
		case *benchfmt.UnitMetadata:
			if b := job.Better(r.Value); r.Key == "better" && (b == job.Higher || b == job.Lower) {
				g.better[r.OrigUnit] = b
			}
		case *benchfmt.SyntaxError:
			g.env.problems.add(g.lines.lines.n, g.lines.line, r.Msg)
		}
	}
	v := g.values[g.at]
	g.at++
	rec.Side, rec.Pair, rec.Position, rec.Line = g.env.opt.Side, -1, -1, g.lines.lines.n
	rec.set(v.s)
	rec.Sample.Time = v.time
	var printed []byte
	if math.IsNaN(v.value) || math.IsInf(v.value, 0) {
		printed = strconv.AppendFloat(nil, v.value, 'g', -1, 64)
	}
	rec.value(v.s.scale.apply(v.value), printed)
	for len(g.runs) <= v.s.index {
		g.runs = append(g.runs, 0)
	}
	rec.Within = g.runs[v.s.index] == g.lines.run
	g.runs[v.s.index] = g.lines.run
	g.env.props.WithinProcess = g.env.props.WithinProcess || rec.Within
	return nil
}

// result takes the values of one line.
func (g *goSource) result(r *benchfmt.Result) {
	e := g.entry(r)
	if e == nil {
		return
	}
	seconds := 0.0
	for _, v := range r.Values {
		if v.OrigUnit == "ns/op" {
			seconds = v.OrigValue * float64(r.Iters) / 1e9
		}
	}
	g.values, g.at = g.values[:0], 0
	for i, v := range r.Values {
		unit, value := v.Unit, v.Value
		if v.OrigUnit != "" {
			unit, value = v.OrigUnit, v.OrigValue
		}
		var s *series
		if i < len(e.series) && e.series[i].rawUnit == unit {
			s = e.series[i]
		} else {
			s = g.env.names.in(e, unit, g.better[unit])
		}
		if g.env.names.tooMany {
			return
		}
		if !s.dropped {
			g.values = append(g.values, goValue{s, value, max(seconds, 0)})
		}
	}
}

func (g *goSource) entry(r *benchfmt.Result) *entry {
	var pkg []byte
	if i, ok := r.ConfigIndex("pkg"); ok {
		pkg = r.Config[i].Value
	}
	g.key = append(append(append(g.key[:0], pkg...), '\n'), r.Name...)
	if e := g.env.names.raw[string(g.key)]; e != nil {
		return e
	}
	if g.env.opt.limit > 0 && len(g.key) > MaxName {
		g.env.problems.add(g.lines.lines.n, g.lines.line, "a name longer than 4096 bytes")
		return nil
	}
	name := string(r.Name)
	if name == "" {
		name = "Benchmark"
	}
	e := g.env.names.entry(name, "")
	if len(pkg) > 0 {
		e = g.env.names.entry(string(pkg), name)
	}
	g.env.names.remember(g.key, e)
	return e
}

// goResultLines is the filter before golang.org/x/perf's reader: that one stops at a
// line of 64 KiB and keeps every "key: value" that a test may log. Only lines
// that it must see pass, one a Read, so that the present line is known when it
// finds fault with it.
type goResultLines struct {
	env   *env
	lines *lineReader
	line  []byte // the present line
	out   []byte // what is left of it to read
	err   error
	run   int // counts the runs of test binaries
	ended bool
	units int
}

// Bounds of what passes to golang.org/x/perf's reader.
const (
	maxGoLine = 60_000
	maxGoUnit = 1000
)

func (l *goResultLines) Read(p []byte) (int, error) {
	for len(l.out) == 0 {
		line, long, err := l.lines.scan()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				l.err = err
			}
			return 0, io.EOF
		}
		if l.wants(line, long) {
			l.line = append(l.line[:0], line...)
			l.out = append(l.line, '\n')
			l.line = l.out[:len(line)]
		}
	}
	n := copy(p, l.out)
	l.out = l.out[n:]
	return n, nil
}

func (l *goResultLines) wants(line []byte, long bool) bool {
	long = long || len(line) > maxGoLine
	switch {
	case len(line) == 0:
		return false
	case bytes.HasPrefix(line, benchmarkWord):
		if c := line[len(benchmarkWord):]; len(c) > 0 && ('a' <= c[0] && c[0] <= 'z' || c[0] == ':') {
			return false // "Benchmarking …" is talk
		}
		if long {
			l.env.problems.add(l.lines.n, line, "a result longer than 60,000 bytes")
		}
		l.begin()
		return !long
	case bytes.HasPrefix(line, pkgWord) && len(line) <= MaxName:
		return true
	case bytes.HasPrefix(line, []byte("goos: ")), bytes.HasPrefix(line, []byte("PASS")),
		bytes.HasPrefix(line, []byte("FAIL")), bytes.HasPrefix(line, []byte("ok  \t")):
		l.ended = true
	case bytes.HasPrefix(line, []byte("Unit ")) && len(line) <= maxGoUnit && l.units < maxGoUnit && bytes.IndexByte(line, '=') >= 0:
		l.units++
		return true
	}
	return false
}

// begin notes a benchmark line: the first one behind an end starts a run.
func (l *goResultLines) begin() {
	if l.ended {
		l.run++
		l.ended = false
	}
}
