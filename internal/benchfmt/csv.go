package benchfmt

import (
	"bytes"
	"io"
	"strconv"
	"strings"

	"github.com/prbench/prbench/internal/job"
)

// columns are the places of the known columns in a row, -1 for a missing one.
type columns struct {
	side, benchmark, config, value, time      int
	unit, better, suite, kase, pair, position int
	guarded                                   int
	count                                     int
}

// columnNames are the spellings of the columns. The first of each is the one
// that WriteSamples writes; those of the first five are compare.js's.
var columnNames = []struct {
	names []string
	place func(*columns) *int
}{
	{[]string{"binary", "side"}, func(c *columns) *int { return &c.side }},
	{[]string{"filename", "benchmark", "name"}, func(c *columns) *int { return &c.benchmark }},
	{[]string{"configuration", "config"}, func(c *columns) *int { return &c.config }},
	{[]string{"rate", "value"}, func(c *columns) *int { return &c.value }},
	{[]string{"time"}, func(c *columns) *int { return &c.time }},
	{[]string{"unit"}, func(c *columns) *int { return &c.unit }},
	{[]string{"better"}, func(c *columns) *int { return &c.better }},
	{[]string{"suite"}, func(c *columns) *int { return &c.suite }},
	{[]string{"pair"}, func(c *columns) *int { return &c.pair }},
	{[]string{"position"}, func(c *columns) *int { return &c.position }},
	{[]string{"case"}, func(c *columns) *int { return &c.kase }},
	{[]string{guardColumn}, func(c *columns) *int { return &c.guarded }},
}

// csvSource reads CSV with a header: compare.js's, run.js's, our own and plain
// CSV. They differ in their columns only:
//
//	binary (or side)               old or new
//	filename (or benchmark, name)  needed
//	configuration (or config)
//	rate (or value)                needed, the number
//	time                           seconds that the value stands for
//	unit, better (higher, lower), suite, case, pair, position
//
// In a row that says yes in the column guarded, names have an apostrophe before
// what a spreadsheet program would take for a formula; it is taken off.
//
// A rate without a unit is in ops/s, as Node's are. Every row is a process of
// its own.
type csvSource struct {
	env     *env
	rows    *rowReader
	col     columns
	begun   bool
	node    bool // the value's column is called rate
	unit    string
	better  job.Better
	last    *entry // of the row before
	guarded bool   // the present row
	scratch [3][]byte
	words   map[string]string // suites and cases
}

func newCSV(r io.Reader, e *env) *csvSource {
	return &csvSource{env: e, rows: newRowReader(r), words: map[string]string{}}
}

func (c *csvSource) next(rec *Record) error {
	if !c.begun {
		if err := c.header(); err != nil {
			return err
		}
		c.begun = true
	}
	for {
		switch err := c.rows.scan(); err {
		case nil:
		case errRowQuotes, errRowLong:
			c.bad(err.Error())
			continue
		default:
			return err
		}
		if c.record(rec) {
			return nil
		}
		if c.env.names.tooMany {
			return ErrTooMany
		}
	}
}

// bad notes the present row as unreadable.
func (c *csvSource) bad(why string) {
	c.env.problems.add(c.rows.line, bytes.TrimRight(c.rows.row, "\r\n"), why)
}

// header reads the first row that is not blank and finds the columns.
func (c *csvSource) header() error {
	for {
		switch err := c.rows.scan(); err {
		case nil:
		case io.EOF:
			return c.env.fail(0, "empty, expected CSV with a header")
		case errRowQuotes, errRowLong:
			return c.env.fail(c.rows.line, "expected a CSV header, got %q", quote(c.rows.row))
		default:
			return err
		}
		if !c.blank() {
			break
		}
	}
	if err := c.findColumns(); err != nil {
		return err
	}
	e := c.env
	e.props.Sides = c.col.side >= 0
	e.props.Interleaved = e.props.Sides && (c.node || c.col.pair >= 0)
	e.names.labels = c.col.unit >= 0
	c.unit, c.better = e.opt.Unit, ""
	switch {
	case c.unit != "":
		c.better = e.opt.Better
	case e.opt.Better == job.Lower:
		c.better = job.Lower
	case c.node:
		c.unit = "ops/s"
	}
	if !e.props.Sides && e.opt.Side == "" && e.opt.limit == 0 {
		return e.fail(c.rows.line, "the header has no column \"binary\": give one file for each side, or add the column with old or new")
	}
	return nil
}

func (c *csvSource) findColumns() error {
	c.col = columns{-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, c.rows.n}
	for i := range min(c.rows.n, maxFields) {
		name := strings.ToLower(cleanName(string(c.text(i))))
		for _, known := range columnNames {
			for _, n := range known.names {
				if p := known.place(&c.col); n == name && *p < 0 {
					*p = i
				}
			}
		}
		c.node = c.node || name == "rate"
	}
	if c.rows.n > maxFields || c.col.benchmark < 0 || c.col.value < 0 {
		return c.env.fail(c.rows.line, "expected a CSV header with at least the columns filename and rate (or benchmark and value), got %q",
			quote(bytes.TrimRight(c.rows.row, "\r\n")))
	}
	return nil
}

func (c *csvSource) blank() bool {
	return c.rows.n == 1 && c.rows.fields[0].start == c.rows.fields[0].end
}

// text gives the field in column i.
func (c *csvSource) text(i int) []byte {
	return c.textIn(i, 0)
}

func (c *csvSource) textIn(i, scratch int) []byte {
	b := c.rows.text(i, c.scratch[scratch])
	if i >= 0 && i < min(c.rows.n, maxFields) && c.rows.fields[i].escaped {
		c.scratch[scratch] = b
	}
	return b
}

// record fills in rec from the present row and tells whether it is one.
func (c *csvSource) record(rec *Record) bool {
	if c.blank() {
		return false
	}
	side, ok := c.side()
	if !ok {
		return false
	}
	rows := c.rows
	if rows.n > c.col.count && !c.onlyEmptyFrom(c.col.count) {
		c.bad("more fields than the header has")
		return false
	}
	if c.col.value >= rows.n || c.col.benchmark >= rows.n {
		c.bad("fewer fields than the header has")
		return false
	}
	printed := c.text(c.col.value)
	v, ok := parseNumber(printed, 0)
	missing := len(printed) == 0 || string(printed) == "NA"
	if !ok && !missing {
		c.bad("no number in the column of values")
		return false
	}
	c.guarded = string(c.text(c.col.guarded)) == guardYes
	e := c.entry()
	if e == nil {
		return false
	}
	s := c.series(e)
	if s.dropped || c.env.names.tooMany {
		return false
	}
	rec.Side, rec.Line = side, rows.line
	rec.set(s)
	switch {
	case missing:
		rec.Sample.Invalid = "NA"
	case s.scale != 0:
		v, _ = parseNumber(printed, s.scale)
		fallthrough
	default:
		rec.value(v, printed)
	}
	if c.col.time >= 0 {
		if t, ok := parseNumber(c.text(c.col.time), 0); ok && t > 0 && t < 1e18 {
			rec.Sample.Time = t
		}
	}
	c.ours(rec)
	return true
}

// side decides the side of the present row. It is never guessed.
func (c *csvSource) side() (job.SideName, bool) {
	if c.col.side < 0 {
		return c.env.opt.Side, true
	}
	b := c.text(c.col.side)
	switch string(b) {
	case "old":
		return job.Old, true
	case "new":
		return job.New, true
	}
	if c.isHeader(b) {
		return "", false // files that were put one after the other
	}
	c.bad("the row names no binary, old or new is expected")
	p := &c.env.problems
	if p.NoSide == 0 {
		c.env.noSide = Problem{Line: c.rows.line, Text: quote(bytes.TrimRight(c.rows.row, "\r\n"))}
	}
	p.NoSide++
	return "", false
}

func (c *csvSource) isHeader(side []byte) bool {
	if s := string(side); s != "binary" && s != "side" {
		return false
	}
	for _, name := range columnNames[1].names {
		if string(c.textIn(c.col.benchmark, 1)) == name {
			return true
		}
	}
	return false
}

func (c *csvSource) onlyEmptyFrom(i int) bool {
	if c.rows.n > maxFields {
		return false
	}
	for ; i < c.rows.n; i++ {
		if f := c.rows.fields[i]; f.start != f.end {
			return false
		}
	}
	return true
}

// entry finds the benchmark of the present row. The bytes of the row from the
// one name to the other are the short way to it, so that quotes need not be
// resolved a second time.
func (c *csvSource) entry() *entry {
	g := c.env.names
	f := c.rows.fields[c.col.benchmark]
	raw, cached := c.rows.row[f.start:f.end], c.col.config < 0
	if c.col.config == c.col.benchmark+1 && c.col.config < c.rows.n {
		raw, cached = c.rows.row[f.start:c.rows.fields[c.col.config].end], true
	}
	cached = cached && !c.guarded // the same bytes are another name in another row
	if cached {
		if e := c.known(raw); e != nil {
			return e
		}
	}
	benchmark := c.named(c.textIn(c.col.benchmark, 1))
	config := c.named(c.textIn(c.col.config, 2))
	if c.env.opt.limit > 0 && (len(benchmark) > MaxName || len(config) > MaxName) {
		c.bad("a name longer than 4096 bytes")
		return nil
	}
	e := g.entry(string(benchmark), string(config))
	if e.benchmark == "" && e.config == "" {
		c.bad("the row names no benchmark")
		return nil
	}
	if cached {
		g.remember(raw, e)
	}
	return e
}

// named gives a field of the present row as it was before it was guarded.
func (c *csvSource) named(field []byte) []byte {
	if !c.guarded {
		return field
	}
	return []byte(unguardFormulas(string(field)))
}

// known finds the entry of bytes that were seen before.
func (c *csvSource) known(raw []byte) *entry {
	last := c.last
	if last != nil {
		if last.raw == string(raw) {
			return last
		}
		if next := last.next; next != nil && next.raw == string(raw) {
			c.last = next
			return next
		}
	}
	e := c.env.names.raw[string(raw)]
	if e != nil && last != nil {
		last.next = e
	}
	c.last = e
	return e
}

// series finds the unit of the present row.
func (c *csvSource) series(e *entry) *series {
	unit, better := c.unit, c.better
	if c.col.unit >= 0 {
		b := c.named(c.text(c.col.unit))
		if len(e.series) > 0 && e.series[0].rawUnit == string(b) {
			return e.series[0]
		}
		unit, better = string(b), ""
	} else if len(e.series) > 0 && e.series[0].rawUnit == unit {
		return e.series[0]
	}
	if c.col.better >= 0 {
		switch string(c.text(c.col.better)) {
		case "higher":
			better = job.Higher
		case "lower":
			better = job.Lower
		}
	}
	return c.env.names.in(e, unit, better)
}

// ours fills in the columns that only our own CSV has.
func (c *csvSource) ours(rec *Record) {
	rec.Pair, rec.Position = c.number(c.col.pair), c.number(c.col.position)
	rec.Suite, rec.Case = c.word(c.col.suite, rec.Suite), c.word(c.col.kase, rec.Case)
}

// number reads a small whole number, -1 where there is none.
func (c *csvSource) number(col int) int {
	if col < 0 {
		return -1
	}
	n, err := strconv.Atoi(string(c.text(col)))
	if err != nil || n < 0 {
		return -1
	}
	return n
}

// word reads a text that repeats from row to row; last is the one before.
func (c *csvSource) word(col int, last string) string {
	if col < 0 {
		return ""
	}
	b := c.named(c.text(col))
	if last == string(b) {
		return last
	}
	w, ok := c.words[string(b)]
	if !ok {
		w = strings.ToValidUTF8(string(b), "\uFFFD")
		if len(c.words) < MaxBenchmarks {
			c.words[string(b)] = w
		}
	}
	return w
}
