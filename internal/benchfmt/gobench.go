package benchfmt

import (
	"bytes"
	"io"

	"github.com/prbench/prbench/internal/job"
)

// goSource reads the text of Go benchmarks, the format described at
// https://golang.org/design/14313-benchmark-format.
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
	lines  *lineReader
	pkg    []byte
	key    []byte
	better map[string]job.Better // by unit as printed

	values []goValue // of the present line
	at     int       // the next of them
	runs   []int     // by series: the run of its last value
	run    int       // counts the runs of test binaries
	ended  bool      // an end was seen since the last benchmark
}

// A goValue is one measurement of a line.
type goValue struct {
	printed, unit []byte
	s             *series
	seconds       float64 // of the line, 0 unknown
}

func newGo(r io.Reader, e *env) *goSource {
	return &goSource{env: e, lines: newLineReader(r), run: 1, better: map[string]job.Better{}}
}

func (g *goSource) next(rec *Record) error {
	for g.at == len(g.values) {
		if g.env.names.tooMany {
			return ErrTooMany
		}
		line, long, err := g.lines.scan()
		if err != nil {
			return err
		}
		g.values, g.at = g.values[:0], 0
		if why := g.line(line, long); why != "" {
			g.values = g.values[:0]
			g.env.problems.add(g.lines.n, line, why)
		}
	}
	v := g.values[g.at]
	g.at++
	rec.Side, rec.Pair, rec.Position, rec.Line = g.env.opt.Side, -1, -1, g.lines.n
	rec.set(v.s)
	rec.Sample.Time = v.seconds
	value, _ := parseNumber(v.printed, v.s.scale)
	rec.value(value, v.printed)
	for len(g.runs) <= v.s.index {
		g.runs = append(g.runs, 0)
	}
	rec.Within = g.runs[v.s.index] == g.run
	g.runs[v.s.index] = g.run
	g.env.props.WithinProcess = g.env.props.WithinProcess || rec.Within
	return nil
}

var (
	benchmarkWord = []byte("Benchmark")
	pkgWord       = []byte("pkg: ")
	unitWord      = []byte("Unit ")
	// goEnds start the lines around the benchmarks of one test binary.
	goEnds = [][]byte{[]byte("goos: "), []byte("PASS"), []byte("FAIL"), []byte("ok  \t")}
)

// line reads one line into g.values. It tells what is wrong with a line that
// should be a result.
func (g *goSource) line(line []byte, long bool) (why string) {
	switch {
	case bytes.HasPrefix(line, benchmarkWord):
		rest := line[len(benchmarkWord):]
		if len(rest) > 0 && ('a' <= rest[0] && rest[0] <= 'z' || rest[0] == ':') {
			return "" // "Benchmarking …" is talk
		}
		if long {
			return "a result longer than 64 KiB"
		}
		return g.result(rest)
	case bytes.HasPrefix(line, pkgWord):
		if len(line) <= MaxName {
			g.pkg = append(g.pkg[:0], bytes.TrimSpace(line[len(pkgWord):])...)
		}
	case bytes.HasPrefix(line, unitWord):
		g.unit(line[len(unitWord):])
	default:
		for _, end := range goEnds {
			if bytes.HasPrefix(line, end) {
				g.ended = true
			}
		}
	}
	return ""
}

// unit reads what a unit line says of the unit's direction.
func (g *goSource) unit(line []byte) {
	unit, rest := goField(line)
	for len(rest) > 0 && len(g.better) < maxUnits {
		var f []byte
		f, rest = goField(rest)
		switch string(f) {
		case "better=higher":
			g.better[string(unit)] = job.Higher
		case "better=lower":
			g.better[string(unit)] = job.Lower
		}
	}
}

// result reads a benchmark line behind the word "Benchmark": a name, the number
// of iterations, and pairs of value and unit.
func (g *goSource) result(line []byte) (why string) {
	name, rest := goField(line)
	if len(rest) == 0 {
		return "" // go test -v names a benchmark before it runs
	}
	f, rest := goField(rest)
	iterations, ok := parseNumber(f, 0)
	if !ok || !allDigits(f) {
		return "no iteration count behind the name"
	}
	seconds := 0.0
	for len(rest) > 0 {
		var v goValue
		v.printed, rest = goField(rest)
		v.unit, rest = goField(rest)
		value, ok := parseNumber(v.printed, 0)
		if !ok {
			return "no number where a measurement is expected"
		}
		if len(v.unit) == 0 {
			return "no unit behind the last measurement"
		}
		if string(v.unit) == "ns/op" && value > 0 && value*iterations < 1e27 {
			seconds = value * iterations / 1e9
		}
		g.values = append(g.values, v)
	}
	if len(g.values) == 0 {
		return "no measurement behind the iteration count"
	}
	if g.ended {
		g.run++
		g.ended = false
	}
	return g.series(name, seconds)
}

// series finds the series of the line's values and drops those that the filter
// does not want.
func (g *goSource) series(name []byte, seconds float64) (why string) {
	e := g.entry(name)
	if e == nil {
		return "a name longer than 4096 bytes"
	}
	kept := g.values[:0]
	for i, v := range g.values {
		if i < len(e.series) && e.series[i].rawUnit == string(v.unit) {
			v.s = e.series[i]
		} else {
			v.s = g.env.names.in(e, string(v.unit), g.better[string(v.unit)])
		}
		v.seconds = seconds
		if g.env.names.tooMany {
			break
		}
		if !v.s.dropped {
			kept = append(kept, v)
		}
	}
	g.values = kept
	return ""
}

func (g *goSource) entry(name []byte) *entry {
	g.key = append(append(append(g.key[:0], g.pkg...), '\n'), name...)
	if e := g.env.names.raw[string(g.key)]; e != nil {
		return e
	}
	if g.env.opt.limit > 0 && len(g.key) > MaxName {
		return nil
	}
	if len(name) == 0 {
		name = benchmarkWord
	}
	var e *entry
	if len(g.pkg) > 0 {
		e = g.env.names.entry(string(g.pkg), string(name))
	} else {
		e = g.env.names.entry(string(name), "")
	}
	g.env.names.remember(g.key, e)
	return e
}

// goField cuts the first word off x and the white space behind it.
func goField(x []byte) (field, rest []byte) {
	i := 0
	for i < len(x) && !goSpace(x[i]) {
		i++
	}
	j := i
	for j < len(x) && goSpace(x[j]) {
		j++
	}
	return x[:i], x[j:]
}

func goSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }
