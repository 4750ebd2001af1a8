package report

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/prbench/prbench/internal/benchfmt"
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
	if err := r.compare(o); err != nil {
		return nil, err
	}
	for _, row := range r.Rows {
		r.judge(row, o.Earlier, row.series.WithinProcess && !o.Independent)
	}
	r.accept(o.Accepted)
	r.finish(d, o)
	return r, nil
}

// compare computes the comparison of every row, on all processors.
func (r *Report) compare(o Options) error {
	exact := benchfmt.ExactUnits(o.Counts)
	judge := stats.NewJudge(r.Design)
	suites := map[string]*stats.Judge{}
	for name, analysis := range o.SuiteAnalysis {
		d := r.Design
		d.Analysis = stats.Analysis(analysis)
		if err := d.Validate(); err != nil {
			return fmt.Errorf("judge the samples of suite %s: %w", name, err)
		}
		suites[name] = stats.NewJudge(d)
	}
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(r.Rows)) {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(r.Rows); i = int(next.Add(1)) - 1 {
				row, j := r.Rows[i], judge
				if own := suites[row.series.suite]; own != nil {
					j = own
				}
				row.Stat = j.Compare(row.series.Input(exact))
			}
		})
	}
	wait.Wait()
	return nil
}

// design is what the options decide before the first sample.
func (o Options) design() stats.Design {
	return stats.Design{Margin: o.Margin, Alpha: o.Alpha, Analysis: stats.Analysis(o.Analysis),
		Runs: int(o.Runs), Looks: o.Looks, Attempt: o.Attempt}
}

func newRow(s *Series) *Row {
	row := &Row{Key: s.Key, Better: benchfmt.BetterOf(s.Better, s.Unit), Case: s.Case, series: s}
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
		if row.OnlyOn == "" && benchfmt.QuantityOf(row.Unit) == benchfmt.TimeQuantity {
			timed[row.Name()] = true
		}
	}
	for _, row := range rows {
		row.Twin = timed[row.Name()] && benchfmt.QuantityOf(row.Unit) == benchfmt.RateQuantity
	}
}

// judge gives a row its verdict, over all attempts, and its words.
func (r *Report) judge(row *Row, earlier []Attempt, within bool) {
	if within && row.OnlyOn == "" {
		row.Stat.Verdict = stats.NoVerdict
		row.Warnings = append(row.Warnings, Warning{codeWithinProcess, "values of one process: not independent, no verdict"})
	}
	all := row.overAttempts(earlier, r.Design)
	row.Verdict, row.Interval, row.combined = all.Verdict, all.Interval, all
	if all.Contradict {
		row.Warnings = append(row.Warnings, Warning{codeContradict, "attempts contradict each other: their intervals have nothing in common"})
	}
	if within && row.OnlyOn == "" {
		row.Stat.WithinProcess = true
	}
	if row.overOthers() || row.Stat.WithinProcess {
		row.Stat.AdviseOn(all, r.Design)
	}
	by := all.ByMargin
	if row.OnlyOn != "" {
		row.Verdict = stats.NoVerdict
	}
	row.Words = VerdictWords(row.Verdict, by, row.Unit, r.Design.Margin)
	row.sentence = verdictSentence(row.Verdict, by, row.Unit, r.Design.Margin)
	row.Why = whyOf(row)
	for _, w := range row.Stat.Warnings {
		row.Warnings = append(row.Warnings, rowWarning(w, row, r.Design.Margin))
	}
	if row.OnlyOn != "" && row.warning(codeMissingSide) == nil {
		row.Warnings = append(row.Warnings, Warning{codeMissingSide, "only in " + string(row.OnlyOn)})
	}
}

// overAttempts is the verdict of this attempt and the earlier ones together.
func (row *Row) overAttempts(earlier []Attempt, d stats.Design) stats.Combined {
	attempts := []stats.Attempt{row.Stat.Attempt(d.Attempt)}
	for _, e := range earlier {
		if a, ok := e[row.ID]; ok {
			attempts = append(attempts, a)
		}
	}
	return stats.CombineAttempts(attempts, d.Margin, d.Alpha)
}

// AsAttempt is what a later attempt at the same comparison takes in Options.Earlier.
func (r *Report) AsAttempt() Attempt {
	a := Attempt{}
	for _, row := range r.Rows {
		if row.Stat.Verdict != stats.NoVerdict && row.OnlyOn == "" {
			a[row.ID] = row.Stat.Attempt(r.Design.Attempt)
		}
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
	s.FalseStars = stats.ExpectedFalseStars(s.Compared)
	for i := range s.FalseStars {
		// Each attempt is at half the level of the one before.
		s.FalseStars[i] = math.Ldexp(s.FalseStars[i], 1-r.Design.Attempt)
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
		r.RollUp = r.rollUp()
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
