package report

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// dataFrame is a table as R prints a data.frame of strings: row names to the
// left, columns right-aligned below their names, wrapped into several blocks
// where the lines would be wider than options(width).
type dataFrame struct {
	names []string // of the rows, as R would escape them
	head  []string
	cells [][]string // by row
}

// rWidth is compare.R's options(width = 200).
const rWidth = 200

// print writes the frame. R fills a block with as many columns as leave its
// lines narrower than the page, at least one, and repeats the row names in the
// next block.
func (d dataFrame) print(w io.Writer) error {
	nameWidth := 0
	for _, n := range d.names {
		nameWidth = max(nameWidth, displayWidth(n))
	}
	widths := make([]int, len(d.head))
	for i, h := range d.head {
		widths[i] = displayWidth(h)
		for _, row := range d.cells {
			widths[i] = max(widths[i], displayWidth(row[i]))
		}
	}
	var b strings.Builder
	for first := 0; first < len(d.head); {
		last, total := first+1, nameWidth+1+widths[first]
		for last < len(d.head) && total+1+widths[last] < rWidth {
			total += 1 + widths[last]
			last++
		}
		pad(&b, "", nameWidth, false)
		for i := first; i < last; i++ {
			b.WriteByte(' ')
			pad(&b, d.head[i], widths[i], true)
		}
		b.WriteByte('\n')
		for j, n := range d.names {
			pad(&b, n, nameWidth, false)
			for i := first; i < last; i++ {
				b.WriteByte(' ')
				pad(&b, d.cells[j][i], widths[i], true)
			}
			b.WriteByte('\n')
		}
		first = last
		if _, err := io.WriteString(w, b.String()); err != nil {
			return err
		}
		b.Reset()
	}
	return nil
}

// pad writes s filled up with spaces to a display width, on the left or the right.
func pad(b *strings.Builder, s string, w int, left bool) {
	fill := strings.Repeat(" ", max(0, w-displayWidth(s)))
	if left {
		b.WriteString(fill)
	}
	b.WriteString(s)
	if !left {
		b.WriteString(fill)
	}
}

// displayWidth is the number of columns that a terminal gives to s: two for the
// wide characters of East Asia and for emoji, none for combining ones.
func displayWidth(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// rEscape spells a row name as R's print does: backslashes are doubled, control
// characters escaped. Direction marks, which R prints as they are, are escaped
// too, since a terminal would let them reorder the table.
func rEscape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n <= 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\\':
			b.WriteString(`\\`)
		case strings.ContainsRune("\a\b\f\n\r\t\v", r):
			b.WriteByte('\\')
			b.WriteByte("abtnvfr"[r-'\a'])
		case r < 0x80 && unicode.IsControl(r):
			fmt.Fprintf(&b, `\%03o`, r)
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), unicode.In(r, unicode.Zl, unicode.Zp):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}
