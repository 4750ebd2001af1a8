package report

import (
	"fmt"
	"math"

	"github.com/prbench/prbench/internal/benchfmt"
	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report/stats"
)

// Printed judges a printed table with the words of any other report, as far as
// its columns go: the standard error comes from the accuracy, or from the
// improvement, the p-value and Options.Runs, the runs a side. Rows of several
// pasted tables with one name are kept apart by a number. It fails where the
// options make no design.
func Printed(rows []benchfmt.TableRow, problems benchfmt.Problems, o Options) (*Report, error) {
	o.Looks, o.Analysis = nil, ""
	r := &Report{Design: o.design(), Runs: o.Runs, About: o.About, Data: &Data{Unreadable: problems.Count, Quoted: problems.Quoted()}}
	if err := r.Design.Validate(); err != nil {
		return nil, fmt.Errorf("judge the printed table: %w", err)
	}
	r.Design = r.Design.WithDefaults()
	if o.Gate {
		r.Design.Declared = len(rows)
	}
	seen := map[string]int{}
	for i := range rows {
		p := &rows[i]
		row := &Row{Key: Key{Benchmark: p.Name, Unit: nodeUnit}, ID: p.Name, Better: job.Higher, printed: p}
		if seen[p.Name]++; seen[p.Name] > 1 {
			row.ID = fmt.Sprintf("%s (%d)", p.Name, seen[p.Name])
		}
		row.Stat = stats.ComparePrinted(stats.PrintedRow{Improvement: p.Improvement, Accuracy: p.Accuracy, P: p.P, Runs: int(o.Runs)}, r.Design)
		row.Stat.NoPercentage = math.IsInf(p.Improvement, 0) || math.IsNaN(p.Improvement)
		r.Rows = append(r.Rows, row)
		r.judge(row, nil, false)
	}
	r.finish(r.Data, o)
	return r, nil
}

// printedCells are the row's cells as they were printed, in the present layout.
func (row *Row) printedCells() []string {
	p := row.printed
	cells := []string{p.Stars, rNumber(p.Improvement*100) + " %", notAvailable, notAvailable, notAvailable}
	for i, a := range row.Stat.Accuracy {
		if !math.IsNaN(p.Accuracy[i]) {
			a = p.Accuracy[i]
		}
		if !math.IsNaN(a) && p.Stars != notAvailable {
			cells[2+i] = "±" + rNumber(a*100) + "%"
		}
	}
	return cells
}
