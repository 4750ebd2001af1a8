package backport

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/prbench/prbench/report"
	"github.com/prbench/prbench/report/stats"
)

const defaultMargin = stats.DefaultMargin

// Text writes the matrix for a terminal, as plain text.
func (m *Matrix) Text(w io.Writer) error {
	var b strings.Builder
	b.WriteString(m.Headline() + "\n\n")
	fmt.Fprintf(&b, "Backport of %s", m.changeWords(report.Visible))
	if head := report.Visible(report.ShortSHA(m.Head.SHA)); !strings.Contains(m.Change.Note, head) {
		fmt.Fprintf(&b, " (head %s)", head)
	}
	fmt.Fprintf(&b, ", each line compared with its own tip, at a margin of %s.\n\n", report.ExactPercent(m.margin()))
	rows := [][]string{{"line", "tip", "verdict", "the change there"}}
	for _, c := range m.Cells {
		verdict := c.Kind.Words()
		if c.Outdated {
			verdict = "outdated (" + verdict + ")"
		}
		how := c.how(report.Visible)
		if c.Picked != nil && c.Picked.SHA != "" {
			how += ", as " + report.Visible(report.ShortSHA(c.Picked.SHA))
		}
		rows = append(rows, []string{c.name(), report.Visible(report.ShortSHA(c.Tip)), verdict, how})
	}
	b.WriteString(strings.Join(aligned(rows), "\n") + "\n\n")
	for _, c := range m.present() {
		b.WriteString(c.text())
	}
	fmt.Fprintf(&b, "On its own base: %s.\n", m.mainWords())
	if lines := m.wideLines(); len(lines) > 1 {
		b.WriteString("\nThe improvement with its interval (plus is better), and the verdict:\n\n" + strings.Join(lines, "\n") + "\n")
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write the matrix: %w", err)
	}
	return nil
}

// text is what there is to say of a line, for a terminal.
func (c Cell) text() string {
	var b strings.Builder
	b.WriteString(capital(c.Sentence()) + ".\n")
	if worst := c.worst(report.Visible); worst != "" {
		b.WriteString("  worst: " + worst + "\n")
	}
	if how := c.Settles(); how != "" {
		b.WriteString("  to settle it: " + how + "\n")
	}
	if log := c.log(); log != "" {
		b.WriteString("    " + strings.ReplaceAll(log, "\n", "\n    ") + "\n")
	}
	return b.String() + "\n"
}

// aligned lays rows out in columns, the last one as long as it is.
func aligned(rows [][]string) []string {
	widths := map[int]int{}
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], report.Columns(cell))
		}
	}
	var out []string
	for _, row := range rows {
		var b strings.Builder
		for i, cell := range row {
			b.WriteString(cell)
			b.WriteString(strings.Repeat(" ", widths[i]-report.Columns(cell)+2))
		}
		out = append(out, strings.TrimRight(b.String(), " "))
	}
	return out
}

// wideRow is a benchmark on all lines.
type wideRow struct {
	name   string
	lowest float64
	on     []*report.Row // by line; nil where it is not
}

// wideLines are the benchmarks as rows and the lines as columns, the worst first,
// under a heading; nothing where no line was measured.
func (m *Matrix) wideLines() []string {
	var measured []Cell
	for _, c := range m.present() {
		if c.Report != nil && c.Kind.Decided() {
			measured = append(measured, c)
		}
	}
	rows := wideRows(measured)
	if len(rows) == 0 {
		return nil
	}
	head := []string{""}
	for _, c := range measured {
		head = append(head, c.name())
	}
	cells := [][]string{head}
	for _, row := range rows {
		line := []string{report.Short(row.name, nameColumns)}
		for _, on := range row.on {
			line = append(line, wideCell(on))
		}
		cells = append(cells, line)
	}
	return aligned(cells)
}

func wideRows(measured []Cell) []*wideRow {
	byName := map[string]*wideRow{}
	var rows []*wideRow
	for i, c := range measured {
		for _, r := range c.Report.Rows {
			if r.Twin {
				continue
			}
			row := byName[r.ID]
			if row == nil {
				row = &wideRow{name: r.ID, lowest: math.Inf(1), on: make([]*report.Row, len(measured))}
				byName[r.ID], rows = row, append(rows, row)
			}
			row.on[i] = r
			if x := r.Interval[0]; x < row.lowest {
				row.lowest = x
			}
		}
	}
	slices.SortStableFunc(rows, func(a, b *wideRow) int {
		switch {
		case a.lowest < b.lowest:
			return -1
		case a.lowest > b.lowest:
			return 1
		}
		return strings.Compare(a.name, b.name)
	})
	return rows
}

func wideCell(r *report.Row) string {
	switch {
	case r == nil:
		return "–"
	case r.OnlyOn != "":
		return "only in " + string(r.OnlyOn)
	}
	text := strings.TrimSpace(r.Range() + " " + r.Words)
	if r.Accepted != nil && r.Accepted.Worse {
		return text + ", worse than accepted"
	}
	if r.Accepted != nil {
		return text + ", accepted"
	}
	return text
}
