package benchfmt

import (
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/prbench/prbench/internal/job"
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
	w       io.Writer
	buf     []byte
	begun   bool
	guarded bool
	err     error
}

// NewWriter makes a Writer; call Flush at the end.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// NewGuardedWriter makes a Writer of a file that may be opened in a spreadsheet
// program. There a name such as "=1+1" would be a formula, so that it gets an
// apostrophe before it, and a twelfth column, "guarded", says yes in its row. A
// Reader takes the apostrophe off again; R and others see it.
func NewGuardedWriter(w io.Writer) *Writer { return &Writer{w: w, guarded: true} }

const (
	csvHeader = `"binary","filename","configuration","rate","time","unit","better","suite","pair","position","case"` + "\n"
	// guardColumn and guardYes are the twelfth column of a guarded file.
	guardColumn = "guarded"
	guardYes    = "yes"
)

// writeBuffer is how much is gathered before it is written.
const writeBuffer = 64 << 10

// Write writes one record; of the record, Series, Within, Line and Sample.Count
// are not kept. The first write writes the header before it.
func (w *Writer) Write(rec *Record) error {
	w.header()
	s := &rec.Sample
	b := w.buf
	guard := ""
	text := func(b []byte, s string) []byte {
		if w.guarded {
			if g := guardFormulas(s); g != s {
				s, guard = g, guardYes
			}
		}
		return appendCSV(b, s)
	}
	b = append(appendCSV(b, string(rec.Side)), ',')
	b = append(text(b, s.Benchmark), ',')
	config := s.Config
	if label := unitLabel(s.Unit); label != "" {
		config = strings.TrimSpace(config + label)
	}
	b = append(text(b, config), ',')
	if s.Invalid != "" {
		b = append(b, invalidForR(s.Invalid)...)
	} else {
		b = appendNumber(b, s.Value)
	}
	b = append(b, ',')
	if s.Time > 0 {
		b = appendNumber(b, s.Time)
	}
	b = append(b, ',')
	b = append(text(b, s.Unit), ',')
	b = append(appendCSV(b, string(s.Better)), ',')
	b = append(text(b, rec.Suite), ',')
	b = append(appendIndex(b, rec.Pair), ',')
	b = append(appendIndex(b, rec.Position), ',')
	b = text(b, rec.Case)
	if w.guarded {
		b = appendCSV(append(b, ','), guard)
	}
	w.buf = append(b, '\n')
	if len(w.buf) >= writeBuffer {
		w.flush()
	}
	return w.err
}

// WriteRun writes the samples of one process. Where the tool does not tell the time
// that a value stands for, each benchmark gets its share of the process's, whatever
// the number of its units.
func (w *Writer) WriteRun(r job.Run) error {
	names := map[string]bool{}
	for _, sample := range r.Samples {
		names[sample.Name()] = true
	}
	share := r.Wall / float64(max(1, len(names)))
	for _, sample := range r.Samples {
		if sample.Time == 0 {
			sample.Time = share
		}
		if err := w.Write(&Record{Side: r.Side, Pair: r.Pair, Position: r.Position, Suite: r.Suite, Case: r.Case, Sample: sample}); err != nil {
			return err
		}
	}
	return w.err
}

func (w *Writer) header() {
	if !w.begun {
		w.begun = true
		w.buf = append(w.buf, csvHeader...)
		if w.guarded {
			w.buf = append(appendCSV(append(w.buf[:len(w.buf)-1], ','), guardColumn), '\n')
		}
	}
}

// Flush writes what is buffered. A file without samples gets its header.
func (w *Writer) Flush() error {
	w.header()
	w.flush()
	return w.err
}

func (w *Writer) flush() {
	if w.err == nil {
		_, w.err = w.w.Write(w.buf)
	}
	w.buf = w.buf[:0]
}

// appendCSV appends a quoted field as compare.js writes it, quotes doubled.
func appendCSV(b []byte, s string) []byte {
	b = append(b, '"')
	b = append(b, quoteCSV(s)...)
	return append(b, '"')
}

// appendIndex appends a number from 0, or nothing for -1.
func appendIndex(b []byte, n int) []byte {
	if n < 0 {
		return b
	}
	return strconv.AppendInt(b, int64(n), 10)
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

// appendNumber writes v as JavaScript would: without an exponent in the usual
// range.
func appendNumber(b []byte, v float64) []byte {
	if a := math.Abs(v); a != 0 && (a < 1e-6 || a >= 1e21) {
		return strconv.AppendFloat(b, v, 'e', -1, 64)
	}
	return strconv.AppendFloat(b, v, 'f', -1, 64)
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
