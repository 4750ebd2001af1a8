package benchfmt

import (
	"bufio"
	"io"
	"math"
	"strconv"
	"strings"
)

// A Writer writes samples as CSV that both a Reader (job.FormatNodeCSV) and
// Node's compare.R read. The first five columns are compare.js's:
//
//	"binary","filename","configuration","rate","time"
//
// and behind them stand
//
//	"unit","better","suite","pair","position","case"
//
// in this order: compare.R gives types to five columns, and R repeats them for
// the rest, so that the ninth and tenth column have to be numbers.
//
// compare.R tells benchmarks apart by filename and configuration alone.
// Therefore the configuration ends in " [unit]" for every unit but Node's own
// ops/s: "Parse-8 [ns/op]" and "Parse-8 [B/op]" stay two rows, and it can be
// seen that less is better there. A Reader takes the label off again.
//
// Numbers are written with as many digits as bring the same float64 back. An
// unusable sample is written as NaN, Inf, -Inf or NA. Names come back as a
// Reader gives them, trimmed and single-spaced.
type Writer struct {
	w     *bufio.Writer
	begun bool
	num   []byte
	err   error
}

// NewWriter makes a Writer; call Flush at the end.
func NewWriter(w io.Writer) *Writer { return &Writer{w: bufio.NewWriter(w)} }

const csvHeader = `"binary","filename","configuration","rate","time","unit","better","suite","pair","position","case"` + "\n"

// Write writes one record; of the record, Series, Within, Line and Sample.Count
// are not kept. The first write writes the header before it.
func (w *Writer) Write(rec *Record) error {
	w.header()
	s := &rec.Sample
	w.text(string(rec.Side), ',')
	w.text(s.Benchmark, ',')
	w.text(strings.TrimSpace(s.Config+unitLabel(s.Unit)), ',')
	if s.Invalid != "" {
		w.string(invalidForR(s.Invalid))
	} else {
		w.float(s.Value)
	}
	w.string(",")
	if s.Time > 0 {
		w.float(s.Time)
	}
	w.string(",")
	w.text(s.Unit, ',')
	w.text(string(s.Better), ',')
	w.text(rec.Suite, ',')
	w.index(rec.Pair)
	w.string(",")
	w.index(rec.Position)
	w.string(",")
	w.text(rec.Case, '\n')
	return w.err
}

func (w *Writer) header() {
	if !w.begun {
		w.begun = true
		w.string(csvHeader)
	}
}

// Flush writes what is buffered. A file without samples gets its header.
func (w *Writer) Flush() error {
	w.header()
	if err := w.w.Flush(); err != nil && w.err == nil {
		w.err = err
	}
	return w.err
}

func (w *Writer) string(s string) {
	if _, err := w.w.WriteString(s); err != nil && w.err == nil {
		w.err = err
	}
}

// text writes a quoted field as compare.js does, quotes doubled.
func (w *Writer) text(s string, sep byte) {
	w.string(`"`)
	w.string(quoteCSV(s))
	w.string(`"`)
	w.string(string(sep))
}

// quoteCSV doubles quotes. Some readers take a backslash before a quote for an
// escape, so that a space is put between them where it would be misread: at the
// end of the field, and before a quote that a separator follows.
func quoteCSV(s string) string {
	if !strings.ContainsAny(s, `"\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		last := i+1 == len(s)
		b.WriteByte(s[i])
		switch {
		case s[i] == '"':
			b.WriteByte('"')
		case s[i] == '\\' && !last && s[i+1] == '\\':
			b.WriteByte('\\')
			i++
			if i+1 == len(s) {
				continue
			}
		case s[i] == '\\' && (last || s[i+1] == '"' && endsField([]byte(s[i+2:]), false)):
			b.WriteByte(' ')
		}
	}
	return b.String()
}

func (w *Writer) float(v float64) {
	w.num = appendNumber(w.num[:0], v)
	w.string(string(w.num))
}

// appendNumber writes v as JavaScript would: without an exponent in the usual
// range.
func appendNumber(b []byte, v float64) []byte {
	if a := math.Abs(v); a != 0 && (a < 1e-6 || a >= 1e21) {
		return strconv.AppendFloat(b, v, 'e', -1, 64)
	}
	return strconv.AppendFloat(b, v, 'f', -1, 64)
}

func (w *Writer) index(n int) {
	if n >= 0 {
		w.num = strconv.AppendInt(w.num[:0], int64(n), 10)
		w.string(string(w.num))
	}
}

// invalidForR gives the spelling that R reads as such a number.
func invalidForR(printed string) string {
	v, err := strconv.ParseFloat(printed, 64)
	switch {
	case math.IsInf(v, 1):
		return "Inf"
	case math.IsInf(v, -1):
		return "-Inf"
	case err == nil && math.IsNaN(v):
		return "NaN"
	}
	return "NA"
}
