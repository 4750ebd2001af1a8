package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/prbench/prbench/internal/hostile"
	"github.com/prbench/prbench/report/stats"
)

// Text writes Node's table and note as compare.R prints them, from all samples,
// rows sorted bytewise. Three things differ. Where a t-test would stop compare.R
// for lack of spread, the row has NA. The name has the unit, where it is not
// Node's ops/s. And a change is printed under the heading "improvement" whatever
// the unit, as it is there. The figures of an adaptive comparison are those of
// its last completed look, and the note says so.
func (r *Report) Text(w io.Writer) error {
	rows := slices.Clone(r.Rows)
	names := make(map[*Row]string, len(rows))
	for _, row := range rows {
		names[row] = row.textName()
	}
	slices.SortStableFunc(rows, func(a, b *Row) int { return strings.Compare(names[a], names[b]) })
	frame := dataFrame{head: textHead}
	for _, row := range rows {
		frame.names = append(frame.names, rEscape(names[row]))
		frame.cells = append(frame.cells, row.textCells(r.Design.Adaptive()))
	}
	if len(rows) > 0 {
		if err := frame.print(w); err != nil {
			return fmt.Errorf("write the table: %w", err)
		}
	}
	n := float64(len(rows))
	expect := "expect"
	if r.Design.Adaptive() {
		expect = "expect at most"
	}
	if _, err := fmt.Fprintf(w, textNote, len(rows), expect, n*.05, n*.01, n*.001); err != nil {
		return fmt.Errorf("write the note: %w", err)
	}
	if r.Design.Adaptive() {
		if _, err := io.WriteString(w, adaptiveNote); err != nil {
			return fmt.Errorf("write the note: %w", err)
		}
	}
	return nil
}

var textHead = []string{"confidence", "improvement", "accuracy (*)", "(**)", "(***)"}

// textNote is the note that readers of compare.R's output look for.
const textNote = `
Be aware that when doing many comparisons the risk of a false-positive
result increases. In this case, there are %d comparisons, you can thus
%s the following amount of false-positive results:
  %.2f false positives, when considering a   5%% risk acceptance (*, **, ***),
  %.2f false positives, when considering a   1%% risk acceptance (**, ***),
  %.2f false positives, when considering a 0.1%% risk acceptance (***)
`

// adaptiveNote says what sets the figures of an adaptive comparison apart from
// compare.R's, which would be too sure of them.
const adaptiveNote = `
Confidence and accuracy are paired and adjusted for the looks.
`

// textName is the row's name as compare.R makes it from our CSV: with a space
// before an empty configuration too, and with the unit where it is not Node's.
func (row *Row) textName() string {
	if row.printed != nil {
		return hostile.MaskTokens(row.ID)
	}
	return hostile.MaskTokens(row.Benchmark + " " + row.nodeConfig())
}

// nodeConfig is the configuration with the unit at its end, since compare.js has
// no column for it.
func (k Key) nodeConfig() string {
	if k.Unit == "" || k.Unit == nodeUnit {
		return k.Config
	}
	return strings.TrimSpace(k.Config + " [" + k.Unit + "]")
}

func (row *Row) textCells(adaptive bool) []string {
	switch {
	case row.printed != nil:
		return row.printedCells()
	case adaptive:
		return row.adaptiveCells()
	}
	t := stats.WelchTable(row.series.Old.Value, row.series.New.Value)
	cells := []string{notAvailable, rNumber(t.Change*100) + " %", notAvailable, notAvailable, notAvailable}
	if t.Tested {
		cells[0] = t.Stars
		for i, a := range t.Accuracy {
			// compare.R divides by the old mean, not by its absolute value.
			cells[2+i] = "±" + rNumber(math.Copysign(a, t.OldMean)*100) + "%"
		}
	}
	return cells
}

// adaptiveCells are those of the last completed look. compare.R's test on all
// samples would not know that the samples decided how many there are.
func (row *Row) adaptiveCells() []string {
	c := row.Stat
	cells := []string{notAvailable, rNumber(c.Change*100) + " %", notAvailable, notAvailable, notAvailable}
	if !math.IsNaN(c.Accuracy[0]) {
		cells[0] = c.Stars
		for i, a := range c.Accuracy {
			cells[2+i] = "±" + rNumber(a*100) + "%"
		}
	}
	return cells
}

// rNumber is R's sprintf("%.2f").
func rNumber(x float64) string {
	switch {
	case math.IsNaN(x):
		return "NaN"
	case math.IsInf(x, 1):
		return "Inf"
	case math.IsInf(x, -1):
		return "-Inf"
	}
	return strconv.FormatFloat(x, 'f', 2, 64)
}
