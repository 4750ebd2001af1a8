package benchfmt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/prbench/prbench/internal/job"
)

// A JSON document is held in memory: MaxDocument bounds its bytes in a file,
// maxOutput in what a process gives. maxValues bounds the values of a process.
const (
	MaxDocument = 64 << 20
	maxOutput   = 16 << 20
	maxValues   = 500_000
)

// A documentSource reads the formats that are JSON: all of the input first,
// then value by value.
//
// Lines of talk before and between the documents are stepped over. Several
// documents in one input are the output of several processes.
type documentSource struct {
	env    *env
	r      io.Reader
	values func(*documentSource, json.RawMessage) error
	text   func(*documentSource, []byte, int) // takes the lines of talk, may be nil
	want   string                             // the format in words

	begun    bool
	list     []measured
	at       int
	document int
	line     int         // of the present document
	own      bool        // each value comes from a process of its own
	last     map[int]int // by series: the document of its last value
}

// A measured is one value that waits to be given out.
type measured struct {
	s       *series
	printed string
	v       float64
	seconds float64
	within  bool
}

func (d *documentSource) next(rec *Record) error {
	if !d.begun {
		d.begun, d.last = true, map[int]int{}
		if err := d.read(); err != nil {
			return err
		}
	}
	if d.env.names.tooMany {
		return ErrTooMany
	}
	if d.at == len(d.list) {
		return io.EOF
	}
	m := d.list[d.at]
	d.at++
	rec.Side, rec.Pair, rec.Position, rec.Line = d.env.opt.Side, -1, -1, 0
	rec.set(m.s)
	rec.Sample.Time = m.seconds
	rec.value(m.v, []byte(m.printed))
	rec.Within = m.within
	d.env.props.WithinProcess = d.env.props.WithinProcess || m.within
	return nil
}

func (d *documentSource) read() error {
	limit := MaxDocument
	if d.env.opt.limit > 0 {
		limit = maxOutput
	}
	doc, err := io.ReadAll(io.LimitReader(d.r, int64(limit)+1))
	if err != nil {
		return err
	}
	if len(doc) > limit {
		return d.env.fail(0, "more than %d MiB of JSON", limit>>20)
	}
	rest, line := doc, 1
	for len(rest) > 0 && !d.env.names.tooMany {
		n := 0
		if startsJSON(rest) {
			if n, err = d.documentAt(rest, line); err != nil {
				return err
			}
		} else {
			n = bytes.IndexByte(rest, '\n') + 1
			if n == 0 {
				n = len(rest)
			}
			if d.text != nil {
				d.text(d, bytes.TrimRight(rest[:n], "\r\n"), line)
			}
		}
		line += bytes.Count(rest[:n], []byte{'\n'})
		rest = rest[n:]
	}
	if d.document == 0 && len(d.list) == 0 {
		return d.env.fail(1, "expected %s, got %q", d.want, quote(bytes.TrimSpace(doc)))
	}
	return nil
}

// documentAt reads the document at the start of b and gives its length.
func (d *documentSource) documentAt(b []byte, line int) (int, error) {
	end := jsonEnd(b)
	raw := quoteBareNumbers(b[:end])
	if !json.Valid(raw) {
		var v json.RawMessage
		err := json.Unmarshal(raw, &v)
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			line += bytes.Count(raw[:min(int(syntax.Offset), len(raw))], []byte{'\n'})
		}
		return 0, d.env.fail(line, "expected %s: %v", d.want, err)
	}
	d.document++
	d.line = line
	return end, d.values(d, raw)
}

// jsonEnd gives the end of the object or array at the start of b, or of b when
// it is not closed.
func jsonEnd(b []byte) int {
	depth := 0
	for i := 0; i < len(b); {
		switch b[i] {
		case '"':
			i = skipString(b, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
			if depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return len(b)
}

// elements calls f for each element of a JSON array, one at a time, so that a
// long array is never held as one slice.
func (d *documentSource) elements(raw json.RawMessage, f func(json.RawMessage) error) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('[') {
		return d.env.fail(d.line, "expected %s with an array of results", d.want)
	}
	for dec.More() && !d.env.names.tooMany {
		var element json.RawMessage
		if err := dec.Decode(&element); err != nil {
			return d.env.fail(d.line, "expected %s: %v", d.want, err)
		}
		if err := f(element); err != nil {
			return err
		}
	}
	return nil
}

// unmarshal reads a part of a document into v.
func (d *documentSource) unmarshal(raw json.RawMessage, v any) error {
	if err := json.Unmarshal(raw, v); err != nil {
		return d.env.fail(d.line, "expected %s: %v", d.want, err)
	}
	return nil
}

// startsJSON tells whether a document starts here, and not a line of talk such
// as "[INFO] building".
func startsJSON(b []byte) bool {
	if b[0] != '{' && b[0] != '[' {
		return false
	}
	rest := bytes.TrimLeft(b[1:min(len(b), 256)], " \t\r\n")
	return len(rest) > 0 && bytes.IndexByte([]byte(`"{}[]`), rest[0]) >= 0
}

// add puts one value on the list. unit is as printed; said is the direction
// when the format knows it.
func (d *documentSource) add(name [2]string, unit string, said job.Better, n number, seconds float64) {
	s := d.series(name, unit, said)
	if s == nil {
		return
	}
	v := n.parse(s.scale)
	if !(seconds > 0 && seconds < 1e18) {
		seconds = 0
	}
	m := measured{s: s, v: v, seconds: seconds, within: !d.own && d.last[s.index] == d.document}
	if v-v != 0 {
		m.printed = n.text
	}
	d.last[s.index] = d.document
	d.list = append(d.list, m)
	if d.env.opt.limit > 0 && len(d.list) > maxValues {
		d.env.names.tooMany = true
	}
}

// series gives the series of a name, or nil when it is not wanted.
func (d *documentSource) series(name [2]string, unit string, said job.Better) *series {
	if d.env.opt.limit > 0 && (len(name[0]) > MaxName || len(name[1]) > MaxName || len(unit) > MaxName) {
		d.env.problems.add(d.line, []byte(name[0]), "a name longer than 4096 bytes")
		return nil
	}
	e := d.env.names.entry(name[0], name[1])
	if e.benchmark == "" && e.config == "" {
		d.env.problems.add(d.line, nil, "a benchmark without a name")
		return nil
	}
	s := d.env.names.in(e, unit, said)
	if s.dropped || d.env.names.tooMany {
		return nil
	}
	return s
}

// wanted tells whether a measure beside the primary one was asked for.
func (e *env) wanted(measure string) bool {
	if e.opt.Unit == measure {
		return true
	}
	for _, c := range e.opt.Counts {
		if c == measure {
			return true
		}
	}
	return false
}

// A number is a JSON number as it is printed, or a string in the place of one
// ("NaN").
type number struct{ text string }

func (n *number) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &n.text)
	}
	if c := b[0]; c != '-' && (c < '0' || c > '9') && string(b) != "null" {
		return fmt.Errorf("expected a number, got %q", quote(b))
	}
	n.text = strings.TrimPrefix(string(b), "null")
	return nil
}

// parse gives the value scaled, NaN for what is no number.
func (n number) parse(by scale) float64 {
	v, ok := parseNumber([]byte(n.text), by)
	if !ok {
		return math.NaN()
	}
	return v
}

// over gives n divided by the number by.
func (n number) over(by number) number {
	v := n.parse(0) / by.parse(0)
	return number{string(appendNumber(nil, v))}
}

// numbers is a JSON array of numbers, kept as its text until it is looked at.
type numbers []byte

func (n *numbers) UnmarshalJSON(b []byte) error {
	if string(b) != "null" && b[0] != '[' {
		return fmt.Errorf("expected an array of numbers, got %q", quote(b))
	}
	*n = append((*n)[:0], bytes.Trim(b, "[] \t\r\n")...)
	if string(b) == "null" {
		*n = nil
	}
	return nil
}

// each calls f for every number; what is none becomes a number of that text.
func (n numbers) each(f func(i int, v number)) {
	for i, rest := 0, []byte(n); len(rest) > 0; i++ {
		var text []byte
		text, rest, _ = bytes.Cut(rest, []byte{','})
		f(i, number{quote(bytes.Trim(text, "\" \t\r\n"))})
	}
}

// count is the number of numbers.
func (n numbers) count() int {
	if len(n) == 0 {
		return 0
	}
	return bytes.Count(n, []byte{','}) + 1
}

// quoteBareNumbers puts quotes around bare nan and inf, which some writers
// print though they are no JSON.
func quoteBareNumbers(doc []byte) []byte {
	var out []byte // nil as long as nothing was changed
	copied := 0
	for i := 0; i < len(doc); {
		c := doc[i]
		switch {
		case c == '"':
			i = skipString(doc, i)
		case 'a' <= c|0x20 && c|0x20 <= 'z':
			end := i
			for end < len(doc) && 'a' <= doc[end]|0x20 && doc[end]|0x20 <= 'z' {
				end++
			}
			switch strings.ToLower(string(doc[i:min(end, i+9)])) {
			case "nan", "inf", "infinity":
				start := i
				if start > copied && (doc[start-1] == '-' || doc[start-1] == '+') {
					start--
				}
				out = append(append(append(append(out, doc[copied:start]...), '"'), doc[start:end]...), '"')
				copied = end
			}
			i = end
		default:
			i++
		}
	}
	if out == nil {
		return doc
	}
	return append(out, doc[copied:]...)
}

// skipString gives the place behind the string that starts at i.
func skipString(doc []byte, i int) int {
	for i++; i < len(doc); i++ {
		switch doc[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(doc)
}
