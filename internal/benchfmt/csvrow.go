package benchfmt

import (
	"bytes"
	"errors"
	"io"
)

// Bounds of a CSV file.
const (
	csvBuffer = 256 << 10
	maxRow    = 64 << 10 // bytes of a row; a longer one is a problem
	maxFields = 64
)

// A field is the place of a field in its row, without its quotes.
type field struct {
	start, end int
	escaped    bool // it holds quotes in their escaped form
}

// A rowReader cuts CSV into rows and fields. It reads what R's read.csv and
// compare.js's own writers understand by CSV: a comma with white space around
// it, fields in double quotes with doubled quotes or backslash quotes inside,
// line ends inside quotes. Nothing is allocated for a row.
type rowReader struct {
	r          io.Reader
	buf        []byte
	start, end int
	eof        bool
	err        error

	line   int // of the present row
	next   int // line of the row after it
	row    []byte
	fields [maxFields]field
	n      int // fields of the present row; maxFields+1 when there are more
}

func newRowReader(r io.Reader) *rowReader {
	return &rowReader{r: r, buf: make([]byte, csvBuffer), next: 1}
}

// State of a row.
type rowState int

const (
	rowOK rowState = iota
	rowBad
	rowMore // the row is not all in the buffer
)

var errRowQuotes = errors.New("quotes do not match")
var errRowLong = errors.New("longer than 64 KiB")

// scan reads the next row. It gives io.EOF at the end, errRowQuotes or
// errRowLong for a row that cannot be read, of which row holds the first line;
// the row after it can be read.
func (s *rowReader) scan() error {
	s.line = s.next
	for {
		if s.start < s.end {
			used, state := s.split(s.buf[s.start:s.end])
			switch {
			case state == rowOK:
				s.take(used)
				return nil
			case state == rowBad || s.eof || s.end-s.start > maxRow:
				return s.resync()
			}
		} else if s.eof {
			if s.err != nil {
				return s.err
			}
			return io.EOF
		}
		s.fill()
	}
}

// take makes the first used bytes the present row.
func (s *rowReader) take(used int) {
	s.row = s.buf[s.start : s.start+used]
	s.start += used
	s.next++
	// Only a quoted field can hold a line end.
	if i := bytes.IndexByte(s.row, '\n'); i >= 0 && i+1 < used {
		s.next += bytes.Count(s.row[i+1:], []byte{'\n'})
	}
}

// resync gives up the row and goes on behind its first line end, so that a
// stray quote costs one line and not the rest of the file.
func (s *rowReader) resync() error {
	i := bytes.IndexByte(s.buf[s.start:s.end], '\n')
	s.n = 0
	if i >= 0 && i <= maxRow {
		s.take(i + 1)
		return errRowQuotes
	}
	head := min(s.end-s.start, maxRow)
	line := bytes.Clone(s.buf[s.start : s.start+min(head, 2*quotedProblem)])
	for i < 0 && !s.eof {
		s.start = s.end
		s.fill()
		i = bytes.IndexByte(s.buf[s.start:s.end], '\n')
	}
	if i < 0 {
		s.start = s.end
	} else {
		s.start += i + 1
	}
	s.next++
	s.row = line
	if head < maxRow {
		return errRowQuotes
	}
	return errRowLong
}

// fill fills the buffer behind the unread bytes. It waits for all of it, so that
// a writer of single bytes does not make a row be looked at once for each.
func (s *rowReader) fill() {
	if s.start > 0 {
		s.end = copy(s.buf, s.buf[s.start:s.end])
		s.start = 0
	}
	n, err := io.ReadFull(s.r, s.buf[s.end:])
	s.end += n
	if err != nil {
		s.eof = true
		if err != io.EOF && err != io.ErrUnexpectedEOF {
			s.err = err
		}
	}
}

// split finds the fields of the row at the start of b and gives its length with
// the line end.
func (s *rowReader) split(b []byte) (used int, state rowState) {
	s.n = 0
	i := 0
	for {
		for i < len(b) && (b[i] == ' ' || b[i] == '\t') {
			i++
		}
		if i < len(b) && b[i] == '"' {
			end, escaped, state := s.quoted(b, i+1)
			if state != rowOK {
				return 0, state
			}
			s.put(field{i + 1, end, escaped})
			i = end + 1
			for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r') {
				i++
			}
		} else {
			start := i
			for i < len(b) && b[i] != ',' && b[i] != '\n' {
				i++
			}
			end := i
			for end > start && (b[end-1] == ' ' || b[end-1] == '\t' || b[end-1] == '\r') {
				end--
			}
			s.put(field{start: start, end: end})
		}
		switch {
		case i == len(b):
			if s.eof {
				return i, rowOK
			}
			return 0, rowMore
		case b[i] == '\n':
			return i + 1, rowOK
		case b[i] == ',':
			i++
		default:
			return 0, rowBad
		}
	}
}

func (s *rowReader) put(f field) {
	if s.n < maxFields {
		s.fields[s.n] = f
	}
	s.n = min(s.n+1, maxFields+1)
}

// quoted finds the closing quote of a field whose text starts at i.
func (s *rowReader) quoted(b []byte, i int) (end int, escaped bool, state rowState) {
	start := i
	for {
		k := bytes.IndexByte(b[i:], '"')
		if k < 0 {
			return 0, false, rowMore
		}
		q := i + k
		if q+2 >= len(b) && !s.eof {
			return 0, false, rowMore // what follows decides
		}
		doubled := q+1 < len(b) && b[q+1] == '"'
		switch {
		case q > start && b[q-1] == '\\' && oddBackslashes(b[start:q]):
			escaped = true
			// \"" may be a backslash quote and the end, or a backslash and a
			// doubled quote; it is the end when a field ends there.
			if doubled && !endsField(b[q+2:], s.eof) {
				i = q + 2
			} else {
				i = q + 1
			}
		case doubled:
			escaped = true
			i = q + 2
		default:
			return q, escaped, rowOK
		}
	}
}

func oddBackslashes(b []byte) bool {
	n := 0
	for n < len(b) && b[len(b)-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

// endsField tells whether b starts with a separator or a line end.
func endsField(b []byte, eof bool) bool {
	for _, c := range b {
		switch c {
		case ' ', '\t', '\r':
		case ',', '\n':
			return true
		default:
			return false
		}
	}
	return eof
}

// text gives a field with its quotes resolved. The bytes are the row's own, or
// scratch's when there was something to resolve.
func (s *rowReader) text(i int, scratch []byte) []byte {
	if i < 0 || i >= min(s.n, maxFields) {
		return nil
	}
	f := s.fields[i]
	b := s.row[f.start:f.end]
	if !f.escaped {
		return b
	}
	out := scratch[:0]
	for i := 0; i < len(b); i++ {
		next := byte(0)
		if i+1 < len(b) {
			next = b[i+1]
		}
		switch {
		case b[i] == '\\' && next == '"':
			if i+2 < len(b) && b[i+2] == '"' {
				out = append(out, '\\', '"')
				i += 2
			} else {
				out = append(out, '"')
				i++
			}
		case b[i] == '\\' && next == '\\':
			out = append(out, '\\', '\\')
			i++
		case b[i] == '"' && next == '"':
			out = append(out, '"')
			i++
		default:
			out = append(out, b[i])
		}
	}
	return out
}
