package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report/stats"
)

// Analyse judges the data. It fails where the options make no design (a margin
// out of range, an unknown analysis, looks that do not rise), never because of
// the data: what they lack becomes a warning or a missing verdict.
func Analyse(d *Data, o Options) (*Report, error) {
	r := &Report{Design: o.design(), Runs: o.Runs, About: o.About, Data: d}
	if err := r.Design.Validate(); err != nil {
		return nil, fmt.Errorf("judge the samples: %w", err)
	}
	r.Design = r.Design.WithDefaults()
	for _, s := range d.Series {
		r.Rows = append(r.Rows, newRow(s))
	}
	identify(r.Rows)
	markTwins(r.Rows)
	if o.Gate {
		for _, row := range r.Rows {
			if !row.Twin {
				r.Design.Declared++
			}
		}
	}
	counts := map[string]bool{}
	for _, u := range o.Counts {
		counts[u] = true
	}
	for _, row := range r.Rows {
		row.Stat = stats.Compare(input(row.series, counts), r.Design)
		r.judge(row, o.Earlier, row.series.WithinProcess && !o.Independent)
	}
	r.finish(d, o)
	return r, nil
}

// design is what the options decide before the first sample.
func (o Options) design() stats.Design {
	return stats.Design{Margin: o.Margin, Alpha: o.Alpha, Analysis: stats.Analysis(o.Analysis),
		Runs: int(o.Runs), Looks: o.Looks, Attempt: o.Attempt}
}

func newRow(s *Series) *Row {
	row := &Row{Key: s.Key, Better: betterOf(s.Better, s.Unit), Case: s.Case, series: s}
	// A side whose processes all failed is lost, not removed.
	switch {
	case len(s.New.Value) == 0 && s.New.Lost == 0:
		row.OnlyOn = job.Old
	case len(s.Old.Value) == 0 && s.Old.Lost == 0:
		row.OnlyOn = job.New
	}
	return row
}

// identify gives each row a name of its own: with the unit where two rows
// differ only in it.
func identify(rows []*Row) {
	n := map[string]int{}
	for _, row := range rows {
		n[row.Name()]++
	}
	for _, row := range rows {
		row.ID = row.Name()
		if n[row.ID] > 1 && row.Unit != "" {
			row.ID += " [" + row.Unit + "]"
		}
	}
}

// markTwins finds rates that stand beside a time of the same benchmark (MB/s
// beside ns/op): the same measurement, counted once.
func markTwins(rows []*Row) {
	timed := map[string]bool{}
	for _, row := range rows {
		if row.OnlyOn == "" && unitKind(row.Unit) == kindTime {
			timed[row.Name()] = true
		}
	}
	for _, row := range rows {
		row.Twin = timed[row.Name()] && unitKind(row.Unit) == kindRate
	}
}

// judge gives a row its verdict, over all attempts, and its words.
func (r *Report) judge(row *Row, earlier []Attempt, within bool) {
	c := row.Stat
	row.Verdict, row.Interval = c.Verdict, c.Interval
	if within && row.OnlyOn == "" {
		row.Verdict = stats.NoVerdict
		row.Warnings = append(row.Warnings, Warning{codeWithinProcess, "values of one process: not independent, no verdict"})
	}
	by := c.ByMargin
	if row.Verdict != stats.NotComparable {
		if v, b, contradict, ok := row.overAttempts(earlier, r.Design.Margin); ok {
			row.Verdict, by = v, b
			if contradict {
				row.Warnings = append(row.Warnings, Warning{codeContradict, "attempts contradict each other: their intervals have nothing in common"})
			}
		}
	}
	if row.OnlyOn != "" {
		row.Verdict = stats.NoVerdict
	}
	row.Words = verdictLabel(row.Verdict, by, row.Unit, r.Design.Margin)
	row.sentence = verdictSentence(row.Verdict, by, row.Unit, r.Design.Margin)
	row.Why = whyOf(row)
	for _, w := range c.Warnings {
		row.Warnings = append(row.Warnings, rowWarning(w, row, r.Design.Margin))
	}
	if row.OnlyOn != "" && row.warning(codeMissingSide) == nil {
		row.Warnings = append(row.Warnings, Warning{codeMissingSide, "only in " + string(row.OnlyOn)})
	}
}

// overAttempts narrows the row's interval by those of earlier attempts and
// gives the verdict of what is left; ok is false where no earlier attempt knows
// the row.
func (row *Row) overAttempts(earlier []Attempt, margin float64) (v stats.Verdict, by stats.Beyond, contradict, ok bool) {
	all := [2]float64{math.Inf(-1), math.Inf(1)}
	if row.Verdict != stats.NoVerdict && !math.IsNaN(row.Stat.Interval[0]) {
		all = row.Stat.Interval
	}
	for _, a := range earlier {
		i, known := a.Intervals[row.ID]
		if !known || math.IsNaN(i[0]) || math.IsNaN(i[1]) {
			continue
		}
		ok = true
		all[0], all[1] = max(all[0], i[0]), min(all[1], i[1])
	}
	if !ok {
		return "", "", false, false
	}
	row.Interval = all
	if all[0] > all[1] {
		return stats.Inconclusive, stats.MarginUnknown, true, true
	}
	v, by = stats.VerdictOf(all, margin)
	return v, by, false, true
}

// AsAttempt is what a later attempt at the same comparison takes as Options.Earlier:
// the intervals of the rows that got a verdict in this attempt.
func (r *Report) AsAttempt() Attempt {
	a := Attempt{Number: r.Design.Attempt, Intervals: map[string][2]float64{}}
	for _, row := range r.Rows {
		i := row.Stat.Interval
		if row.Stat.Verdict == stats.NoVerdict || row.Stat.Verdict == stats.NotComparable ||
			row.withinProcess() || math.IsNaN(i[0]) || math.IsNaN(i[1]) {
			continue
		}
		a.Intervals[row.ID] = i
	}
	return a
}

// finish counts, sorts and warns once every row is judged.
func (r *Report) finish(d *Data, o Options) {
	s := Summary{ByVerdict: map[stats.Verdict]int{}}
	most := 0
	for _, row := range r.Rows {
		most = max(most, row.Stat.Old.N, row.Stat.New.N)
		switch {
		case row.Twin:
		case row.OnlyOn == job.Old:
			s.OnlyOld = append(s.OnlyOld, row.ID)
		case row.OnlyOn == job.New:
			s.OnlyNew = append(s.OnlyNew, row.ID)
		default:
			s.Compared++
			s.ByVerdict[row.Verdict]++
		}
	}
	for i, level := range stats.StarLevels {
		s.FalseStars[i] = float64(s.Compared) * level
	}
	slices.Sort(s.OnlyOld)
	slices.Sort(s.OnlyNew)
	r.Summary = s
	if len(o.Looks) == 0 && r.Runs == 0 {
		r.Runs = job.Runs(most)
	} else if len(o.Looks) > 0 {
		r.Runs = job.Adaptive
	}
	slices.SortStableFunc(r.Rows, compareRows)
	r.Warnings = r.reportWarnings(d, o)
	if o.Gate {
		r.Rollup = r.rollup()
	}
}

// compareRows orders rows worst first; what only one side has comes last.
func compareRows(a, b *Row) int {
	if x, y := rank(a), rank(b); x != y {
		return x - y
	}
	x, y := a.Stat.Improvement, b.Stat.Improvement
	switch {
	case math.IsNaN(x) != math.IsNaN(y):
		if math.IsNaN(x) {
			return 1
		}
		return -1
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return strings.Compare(a.ID, b.ID)
}

// rank is the place of a row's verdict, 0 the worst. A missing verdict stands
// where it hides least: among those that may still be regressions.
func rank(row *Row) int {
	order := stats.Verdicts()
	switch {
	case row.OnlyOn != "":
		return len(order) + 1
	case row.Verdict == stats.NoVerdict:
		return slices.Index(order, stats.Inconclusive)
	}
	return slices.Index(order, row.Verdict)
}

// rollup is the one verdict over all declared benchmarks: an intersection-union
// test for safe, a test at α/K for regresses.
func (r *Report) rollup() Rollup {
	safe := len(r.Rows) > 0 && len(r.Data.Losses) == 0 && len(r.About.Host.Unfit) == 0
	for _, row := range r.Rows {
		if row.Twin {
			continue
		}
		if row.Stat.FamilyRegression && row.OnlyOn == "" && !row.withinProcess() && row.warning(codeContradict) == nil {
			return Regresses
		}
		switch row.Verdict {
		case stats.Faster, stats.Equivalent, stats.SlowerWithin, stats.NoWorse:
			safe = safe && row.Stat.LostOld == 0 && row.Stat.LostNew == 0
		default:
			safe = false
		}
	}
	if safe {
		return Safe
	}
	return Undecided
}
