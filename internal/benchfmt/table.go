package benchfmt

import (
	"bytes"
	"io"
	"math"
	"strings"

	"github.com/prbench/prbench/internal/job"
)

// FormatTable is a table that compare.R printed, as people paste it. It holds
// no samples: a TableReader reads it.
const FormatTable job.Format = "table"

// A TableRow is one row of a printed table. What the table does not say is NaN;
// what it prints as NA or NaN is NaN too.
type TableRow struct {
	Table int    // numbers the tables of an input from 0
	Name  string // trimmed and single-spaced
	// Improvement is what compare.R prints under this heading, as a fraction:
	// the change of the rate, relative to the old one.
	Improvement float64
	// Accuracy holds the half-widths at 5, 1 and 0.1 % risk, as fractions.
	Accuracy [3]float64
	P        float64
	Stars    string // "", "*", "**", "***" or "NA"
	Line     int
}

// maxTable bounds the rows of the tables in one input.
const maxTable = 100_000

// A column of a printed table.
type tableColumn int

const (
	colStars tableColumn = iota
	colImprovement
	colAccuracy1
	colAccuracy2
	colAccuracy3
	colP
)

// A TableReader reads printed tables in compare.R's three layouts, aligned or
// with white space collapsed, with or without their heading:
//
//	confidence improvement accuracy (*) (**) (***)
//	improvement confidence p.value
//	improvement significant p.value
//
// A table that R broke into blocks for its width is put together again. It is
// used like a bufio.Scanner; the row is overwritten by the next Scan.
type TableReader struct {
	file     string
	lines    *lineReader
	problems Problems
	err      error

	begun  bool
	rows   []TableRow
	byName map[string]int // the last row of a name in the present table
	at     int
	row    TableRow

	columns []tableColumn // of the heading; nil without one
	table   int
	open    bool // the present table has rows
	gap     bool // a blank line was seen since its last row
}

// NewTableReader reads tables from r; file stands in errors only.
func NewTableReader(r io.Reader, file string) *TableReader {
	return &TableReader{file: file, lines: newLineReader(decode(r)), byName: map[string]int{}}
}

// Scan goes to the next row and tells whether there is one.
func (t *TableReader) Scan() bool {
	if !t.begun {
		t.begun = true
		t.err = t.read()
	}
	if t.err != nil || t.at == len(t.rows) {
		return false
	}
	t.row = t.rows[t.at]
	t.at++
	return true
}

// Row is the row that the last Scan read.
func (t *TableReader) Row() *TableRow { return &t.row }

// Err is the error that ended the reading. An input without any row is one.
func (t *TableReader) Err() error { return t.err }

// Problems counts the lines that looked like rows and were none.
func (t *TableReader) Problems() Problems { return t.problems }

func (t *TableReader) read() error {
	for {
		line, long, err := t.lines.scan()
		switch {
		case err == io.EOF && len(t.rows) == 0:
			return &SyntaxError{File: t.file, Msg: "expected a table as compare.R prints it, found no row"}
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
		if long {
			continue
		}
		if len(t.rows) == maxTable {
			return &SyntaxError{File: t.file, Line: t.lines.n, Msg: "more than 100,000 rows"}
		}
		t.line(line)
	}
}

func (t *TableReader) line(line []byte) {
	words := tableWords(line)
	if len(words) == 0 {
		t.gap = true
		return
	}
	if columns := tableHeading(words); columns != nil {
		t.columns = columns
		// A block without the improvement goes on with the table before it.
		if hasColumn(columns, colImprovement) && t.open {
			t.next()
		}
		t.gap = false
		return
	}
	row, ok := parseTableRow(words, t.columns)
	if !ok {
		if looksLikeRow(line) {
			t.problems.add(t.lines.n, line, "no row of a table by compare.R")
		}
		return
	}
	if !hasColumn(t.columns, colImprovement) && t.columns != nil {
		if i, ok := t.byName[row.Name]; ok {
			t.rows[i].add(row, t.columns)
			return
		}
		t.problems.add(t.lines.n, line, "a row without an improvement")
		return
	}
	if t.gap && t.open && t.columns == nil {
		t.next()
	}
	t.gap, t.open = false, true
	row.Table, row.Line = t.table, t.lines.n
	t.byName[row.Name] = len(t.rows)
	t.rows = append(t.rows, row)
}

// next begins another table.
func (t *TableReader) next() {
	t.table++
	t.open = false
	clear(t.byName)
}

// add takes over what a further block says.
func (r *TableRow) add(more TableRow, columns []tableColumn) {
	for _, c := range columns {
		switch c {
		case colStars:
			r.Stars = more.Stars
		case colP:
			r.P = more.P
		case colAccuracy1, colAccuracy2, colAccuracy3:
			r.Accuracy[c-colAccuracy1] = more.Accuracy[c-colAccuracy1]
		}
	}
}

// tableWords splits a line at white space, without the marks of a quotation or
// a Markdown table around it. The sign for "plus or minus" becomes one byte
// sequence, and is joined to its number.
func tableWords(line []byte) []string {
	s := strings.ToValidUTF8(string(line), "±") // a lone Latin-1 byte
	s = strings.TrimLeft(s, "> \t")
	s = strings.Trim(s, "| \t")
	for _, other := range []string{"Â±", "+/-", "+-"} {
		s = strings.ReplaceAll(s, other, "±")
	}
	s = strings.ReplaceAll(s, "± ", "±")
	return strings.Fields(s)
}

func hasColumn(columns []tableColumn, c tableColumn) bool {
	for _, have := range columns {
		if have == c {
			return true
		}
	}
	return false
}

// tableHeading gives the columns of a heading, nil for another line.
func tableHeading(words []string) []tableColumn {
	var columns []tableColumn
	for _, w := range words {
		switch w {
		case "accuracy":
		case "confidence", "significant":
			columns = append(columns, colStars)
		case "improvement":
			columns = append(columns, colImprovement)
		case "(*)":
			columns = append(columns, colAccuracy1)
		case "(**)":
			columns = append(columns, colAccuracy2)
		case "(***)":
			columns = append(columns, colAccuracy3)
		case "p.value":
			columns = append(columns, colP)
		default:
			return nil
		}
	}
	return columns
}

// parseTableRow reads a row from its end, where the numbers are. Without a
// heading its columns follow from what stands there.
func parseTableRow(words []string, columns []tableColumn) (TableRow, bool) {
	nan := math.NaN()
	row := TableRow{Improvement: nan, Accuracy: [3]float64{nan, nan, nan}, P: nan}
	last := words[len(words)-1]
	withSign := strings.Contains(last, "±")
	switch {
	case columns == nil && withSign, withSign && !hasColumn(columns, colAccuracy3) && hasColumn(columns, colP):
		columns = []tableColumn{colStars, colImprovement, colAccuracy1, colAccuracy2, colAccuracy3}
	case columns == nil:
		columns = []tableColumn{colImprovement, colStars, colP}
	}
	for i := len(columns) - 1; i >= 0; i-- {
		if len(words) == 0 {
			return row, false
		}
		end := len(words) - 1
		word := words[end]
		ok := true
		switch c := columns[i]; c {
		case colStars:
			if !isStars(word) {
				continue // the cell is empty
			}
			row.Stars = word
		case colImprovement:
			if word == "%" && end > 0 {
				end--
				word = words[end]
			}
			row.Improvement, ok = tableNumber(strings.TrimSuffix(word, "%"), -2)
		case colP:
			if end > 0 && words[end-1] == "<" {
				end--
			}
			row.P, ok = tableNumber(strings.TrimPrefix(word, "<"), 0)
			ok = ok && !(row.P < 0 || row.P > 1)
		default:
			row.Accuracy[c-colAccuracy1], ok = tableNumber(strings.TrimSuffix(strings.TrimPrefix(word, "±"), "%"), -2)
		}
		if !ok {
			return row, false
		}
		words = words[:end]
	}
	row.Name = strings.Join(words, " ")
	return row, row.Name != ""
}

func isStars(w string) bool {
	return w == "*" || w == "**" || w == "***" || w == "NA"
}

// tableNumber reads a cell; NA is no number and no fault.
func tableNumber(w string, by scale) (float64, bool) {
	if w == "NA" {
		return math.NaN(), true
	}
	return parseNumber([]byte(w), by)
}

// looksLikeRow tells a row that is broken from the note under the table.
func looksLikeRow(line []byte) bool {
	if bytes.Contains(line, []byte("false")) {
		return false
	}
	return bytes.Contains(line, []byte("±")) || bytes.Contains(line, []byte(" % "))
}
