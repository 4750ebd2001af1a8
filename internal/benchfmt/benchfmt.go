// Package benchfmt reads what benchmark tools print, and files of samples.
//
// It has two uses. ReadProcess reads the output of one benchmark process and
// gives one job.Sample for each benchmark in it. A Reader reads a file of
// samples record by record, for a report on measurements that others made. Both
// share one reader for each format.
//
// Units are brought to a base (see Normalise), so that a tool which prints us
// on one side and ms on the other is still compared rightly. Numbers that are
// finite are passed on as they are, zero and negative ones too: whether they
// can be used is for the statistics to say. A value that is no finite number
// (nan, inf, NA) is passed on as a sample with Invalid set. What cannot be read
// at all is counted and quoted in Problems.
package benchfmt

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/prbench/prbench/internal/job"
)

// Options say how to read.
type Options struct {
	// Format is the format of the input; it has to be set (see Detect).
	Format job.Format
	// Side is the side of all samples, for files that hold one side only. It
	// overrides nothing: rows that name their side keep it.
	Side job.SideName
	// Unit is the unit of the values in a format that does not print one (node,
	// node-csv, csv). In the other formats it names a further measure to read
	// beside the primary one, as Counts does.
	Unit string
	// Better is the direction of Unit or, without Unit, of every unit whose
	// direction is unknown.
	Better job.Better
	// Counts are units that are compared exactly. Their direction is Lower
	// where nothing else is known, and formats that hold optional measures
	// (Google Benchmark's counters, JMH's secondary metrics) give these ones.
	Counts []string
	// Filter, when set, keeps only the benchmarks whose job.Sample.Name it
	// matches.
	Filter *regexp.Regexp
	// Name is the benchmark's name in files that hold none (criterion's
	// sample.json and estimates.json).
	Name string

	// limit bounds the number of different series; 0 is no bound.
	limit int
}

// A Record is one value of a file of samples.
type Record struct {
	Side job.SideName
	// Pair and Position are those of job.Run, -1 where the file does not say.
	Pair, Position int
	Suite, Case    string
	// Series numbers the different benchmarks (benchmark, config and unit) of
	// this Reader from 0, in the order of their first value, so that a caller
	// can group by an index instead of hashing names.
	Series int
	// Within is set when the value is one of several that one process measured.
	Within bool
	// Line is the line of the value, from 1; 0 in formats that are no lines.
	Line   int
	Sample job.Sample
}

// Properties are what is known about how the samples of a file came about.
type Properties struct {
	// WithinProcess: some benchmarks have several values from one process.
	WithinProcess bool
	// Interleaved: the runs of the two sides took turns.
	Interleaved bool
	// Sides: the file says for each row which side it belongs to.
	Sides bool
}

// A Problem is a place that could not be read.
type Problem struct {
	Line int    // from 1; 0 unknown
	Text string // the start of what stands there; hostile
	Why  string
}

func (p Problem) String() string {
	if p.Line == 0 {
		return fmt.Sprintf("%s: %q", p.Why, p.Text)
	}
	return fmt.Sprintf("line %d: %s: %q", p.Line, p.Why, p.Text)
}

// Problems counts what could not be read. It is bounded: only the first few are
// kept.
type Problems struct {
	Count int
	First []Problem
	// NoSide counts those rows among Count that name neither side.
	NoSide int
}

const (
	keptProblems  = 5
	quotedProblem = 200 // bytes
)

func (p *Problems) add(line int, text []byte, why string) {
	p.Count++
	if len(p.First) < keptProblems {
		p.First = append(p.First, Problem{Line: line, Text: quote(text), Why: why})
	}
}

// quote gives the start of text as valid UTF-8 of at most quotedProblem bytes,
// cut between runes.
func quote(text []byte) string {
	cut := len(text) > quotedProblem
	s := strings.ToValidUTF8(string(text[:min(len(text), quotedProblem+utf8.UTFMax)]), "\uFFFD")
	if len(s) > quotedProblem {
		cut = true
		n := quotedProblem
		for !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n]
	}
	if cut {
		s += "…"
	}
	return s
}

// Quoted gives the kept problems as text, for job.Run.Quoted.
func (p Problems) Quoted() []string {
	var q []string
	for _, f := range p.First {
		q = append(q, f.String())
	}
	return q
}

// A SyntaxError says where an input is not what its format demands. Reading
// ends there.
type SyntaxError struct {
	File string // as given to NewReader, "" for a process
	Line int    // from 1; 0 unknown
	Msg  string
}

func (e *SyntaxError) Error() string {
	at := e.File
	if at == "" {
		at = "output"
	}
	if e.Line > 0 {
		at = fmt.Sprintf("%s:%d", at, e.Line)
	}
	return at + ": " + e.Msg
}

// A NoSideError says that no row of a file could be given to a side.
type NoSideError struct {
	File  string
	Rows  int
	First Problem
}

func (e *NoSideError) Error() string {
	rows := "rows name"
	if e.Rows == 1 {
		rows = "row names"
	}
	return fmt.Sprintf("%s:%d: %d %s no binary (\"old\" or \"new\" is expected), the first is %q",
		e.File, e.First.Line, e.Rows, rows, e.First.Text)
}

// ErrTooMany is returned when one process prints more different benchmarks than
// MaxBenchmarks.
var ErrTooMany = errors.New("more benchmarks than one process may print")

// A source reads one format. next fills in rec, whose Side, Pair, Position and
// Line are preset, and returns io.EOF at the end.
type source interface {
	next(rec *Record) error
}

// env is what the sources share with their Reader.
type env struct {
	opt      Options
	file     string
	names    *registry
	problems Problems
	props    Properties
	given    int     // records
	noSide   Problem // the first row that names no side
}

func (e *env) fail(line int, format string, args ...any) error {
	return &SyntaxError{File: e.file, Line: line, Msg: fmt.Sprintf(format, args...)}
}

// A Reader reads a file of samples. Use it like a bufio.Scanner:
//
//	r := benchfmt.NewReader(f, name, opt)
//	for r.Scan() {
//		rec := r.Record()
//		…
//	}
//	if err := r.Err(); err != nil { … }
//
// The Record is the Reader's own and is overwritten by the next Scan; a caller
// that keeps one copies it. The strings in it are never reused, so that a
// shallow copy is enough.
type Reader struct {
	env env
	src source
	rec Record
	err error
}

// NewReader reads samples in opt.Format from r. The file's name stands in
// errors only. A byte order mark is understood: UTF-8 and UTF-16 are read alike.
func NewReader(r io.Reader, file string, opt Options) *Reader {
	rd := &Reader{env: env{opt: opt, file: file, names: newRegistry(opt)}}
	rd.src, rd.err = newSource(decode(r), &rd.env)
	return rd
}

// Scan reads the next record and tells whether there is one.
func (r *Reader) Scan() bool {
	if r.err != nil {
		return false
	}
	r.err = r.src.next(&r.rec)
	if r.err != nil {
		return false
	}
	r.env.given++
	return true
}

// Record is the record that the last Scan read.
func (r *Reader) Record() *Record { return &r.rec }

// Err is the error that ended the reading, nil at a proper end. It is a
// *NoSideError where rows were there but none named its side.
func (r *Reader) Err() error {
	if r.err != nil && r.err != io.EOF {
		return r.err
	}
	if p := r.env.problems; r.err == io.EOF && r.env.given == 0 && p.NoSide > 0 {
		return &NoSideError{File: r.env.file, Rows: p.NoSide, First: r.env.noSide}
	}
	return nil
}

// Problems tells what could not be read so far.
func (r *Reader) Problems() Problems { return r.env.problems }

// Properties tells what is known about the file; all of it once Scan has
// returned false.
func (r *Reader) Properties() Properties { return r.env.props }

// Series is the number of different series so far.
func (r *Reader) Series() int { return r.env.names.count }
