package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/prbench/prbench/report/stats"
)

// The codes of warnings, as they stand in the JSON.
const (
	codeVariance        = string(stats.WarnVariance)
	codeOneRun          = string(stats.WarnOneRun)
	codeNoData          = string(stats.WarnNoData)
	codeConstant        = string(stats.WarnConstant)
	codeMissingSide     = string(stats.WarnMissingSide)
	codeBimodal         = string(stats.WarnBimodal)
	codeOutliers        = string(stats.WarnOutliers)
	codeDrift           = string(stats.WarnDrift)
	codeAutocorrelation = string(stats.WarnAutocorrelation)
	codeUnderpowered    = string(stats.WarnUnderpowered)
	codeUnequalSpread   = string(stats.WarnUnequalSpread)
	codeLowResolution   = string(stats.WarnLowResolution)
	codeIncomplete      = string(stats.WarnIncomplete)

	codeUnreadable     = "unreadable-lines"
	codeWithinProcess  = "within-process"
	codeNotInterleaved = "not-interleaved"
	codeHostUnfit      = "host-unfit"
	codeHarness        = "harness-changed"
	codeOutdated       = "outdated"
	codeRepeatedRun    = "repeated-run"
	codeContradict     = "attempts-contradict"
	codeUnitsDiffer    = "units-differ"
)

// warning finds a warning of the whole report.
func (r *Report) warning(code string) *Warning { return findWarning(r.Warnings, code) }

// warning finds a warning of a row.
func (row *Row) warning(code string) *Warning { return findWarning(row.Warnings, code) }

func findWarning(all []Warning, code string) *Warning {
	for i := range all {
		if all[i].Code == code {
			return &all[i]
		}
	}
	return nil
}

// rowWarning puts a warning of the statistics into words.
func rowWarning(w stats.Warning, row *Row, margin float64) Warning {
	return Warning{Code: string(w.Code), Text: rowWarningText(w, row, margin)}
}

func rowWarningText(w stats.Warning, row *Row, margin float64) string {
	c := row.Stat
	switch w.Code {
	case stats.WarnVariance:
		return varianceText(w, row, margin)
	case stats.WarnOneRun:
		return "1 run" + onSide(w.Side) + ": one value says nothing about the spread"
	case stats.WarnNoData:
		return noDataText(w)
	case stats.WarnConstant:
		if c.Identical {
			return "all runs gave the same value on both sides"
		}
		return "no spread, no test: each side gave one value in all its runs, so chance cannot be judged"
	case stats.WarnMissingSide:
		return "no samples" + onSide(w.Side)
	case stats.WarnBimodal:
		return fmt.Sprintf("the values%s fall into two groups, around %s and %s (%s of the runs in the smaller): two different things may have been measured",
			onSide(w.Side), withUnit(w.Modes[0], row.Unit), withUnit(w.Modes[1], row.Unit), Percent(w.MinorWeight))
	case stats.WarnOutliers:
		return outlierText(w)
	case stats.WarnDrift:
		return "the values drift while the benchmark runs: the machine changed, or runs influence each other"
	case stats.WarnAutocorrelation:
		return fmt.Sprintf("runs resemble the ones before them (correlation %.2f, up to %.2f is usual): they are not independent", w.Value, w.Limit)
	case stats.WarnUnderpowered:
		return "the run was small for so little an effect: the direction stands, the size is probably overstated (about 1.3 times)"
	case stats.WarnUnequalSpread:
		return fmt.Sprintf("the %s side spreads %.1f times as widely as the other: with skewed values the error of the test can reach 8 %%", w.Side, w.Value)
	case stats.WarnLowResolution:
		if c.Reason == stats.ReasonConstant {
			return fmt.Sprintf("the clock steps by %s: equal times prove nothing", withUnit(w.Value*c.Old.Mean, row.Unit))
		}
		return fmt.Sprintf("the values come in steps of %s of the old mean, coarser than their spread: verdict and stars allow for one step", Percent(w.Value))
	case stats.WarnIncomplete:
		return lostText(c, w.Side)
	}
	return string(w.Code)
}

// oldNearZero says why a row has no percentages.
const oldNearZero = "the old mean cannot be told from zero"

// varianceText says why a row cannot be told and what would settle it, for a
// reader of this row alone.
func varianceText(w stats.Warning, row *Row, margin float64) string {
	m := exactPercent(margin)
	switch {
	case row.Stat.NoPercentage:
		return "variance too high: " + oldNearZero
	case math.IsNaN(w.Value):
		return "variance too high for a verdict; " + whatWouldDo(row, margin, true)
	}
	return fmt.Sprintf("variance too high: one run varies by %s (cv); a verdict is likely below a cv of %s, and a change of %s has even odds of a star up to a cv of %s; %s",
		Percent(w.Value), Percent(w.Limit), m, Percent(w.EvenOdds), whatWouldDo(row, margin, true))
}

// whatWouldDo says how many runs would settle a row; in full, also what that means.
func whatWouldDo(row *Row, margin float64, full bool) string {
	c, m := row.Stat, exactPercent(margin)
	runs := "about " + plural(c.RunsNeeded, "run", "runs") + " a side"
	switch {
	case c.RunsFactor <= 0 && c.AtMargin:
		return "it is about at the margin, more runs will not settle it"
	case c.RunsFactor <= 0:
		return "more than 10,000 runs a side would be needed: a quieter benchmark or a wider margin would tell"
	case c.RunsNeeded <= 0:
		runs = fmt.Sprintf("about %s times as many runs", strconv.FormatFloat(c.RunsFactor, 'g', 2, 64))
	}
	switch {
	case row.Verdict == stats.Slower:
		return fmt.Sprintf("%s would tell on which side of %s it lies", runs, m)
	case full:
		return fmt.Sprintf("%s in a fixed run would show no change beyond ±%s, if there is none", runs, m)
	}
	return fmt.Sprintf("%s would settle ±%s", runs, m)
}

// settles is in short what would settle a row with too high a variance or whose
// change may be beyond the margin or not; empty for others.
func (row *Row) settles(margin float64) string {
	c := row.Stat
	tested := c.Critical > 0 && !c.WithinProcess
	if c.NoPercentage || row.warning(codeVariance) == nil && !(tested && row.Verdict == stats.Slower) {
		return ""
	}
	return whatWouldDo(row, margin, false)
}

func onSide(s stats.Side) string {
	if s == stats.BothSides {
		return ""
	}
	return " on the " + string(s) + " side"
}

// noDataText names the unusable samples of a side, or says that there is nothing else.
func noDataText(w stats.Warning) string {
	n := len(w.Runs)
	switch {
	case n == 0:
		return "no usable data" + onSide(w.Side)
	case n == 1:
		return fmt.Sprintf("1 value%s was not usable (missing, not a number, infinite, zero or negative): run %d", onSide(w.Side), w.Runs[0])
	}
	return fmt.Sprintf("%d values%s were not usable (missing, not a number, infinite, zero or negative): runs %s", n, onSide(w.Side), runList(w.Runs))
}

func outlierText(w stats.Warning) string {
	what := "run"
	if w.Pairs {
		what = "pair"
	}
	if w.SlowFirst {
		return fmt.Sprintf("the first %s was slow%s: something may have been cold; it is kept in the figures", what, onSide(w.Side))
	}
	if len(w.Runs) == 1 {
		return fmt.Sprintf("outlier%s: %s %d lies far from the others; kept in the figures", onSide(w.Side), what, w.Runs[0])
	}
	return fmt.Sprintf("outliers%s: %ss %s lie far from the others; kept in the figures", onSide(w.Side), what, runList(w.Runs))
}

// runList writes run numbers, the first ten of many.
func runList(runs []int) string {
	var s []string
	for _, n := range runs[:min(len(runs), 10)] {
		s = append(s, strconv.Itoa(n))
	}
	if len(runs) > 10 {
		s = append(s, fmt.Sprintf("and %d more", len(runs)-10))
	}
	return strings.Join(s, ", ")
}

func lostText(c stats.Comparison, side stats.Side) string {
	n := c.LostOld
	if side == stats.NewSide {
		n = c.LostNew
	}
	return plural(n, "run", "runs") + onSide(side) + " ended without a value: those that survived may flatter"
}

// reportWarnings collects what is wrong with the measurement as a whole.
func (r *Report) reportWarnings(d *Data, o Options) []Warning {
	var out []Warning
	add := func(code, format string, args ...any) {
		out = append(out, Warning{code, fmt.Sprintf(format, args...)})
	}
	if text := r.incompleteText(d, o.About); text != "" {
		add(codeIncomplete, "%s", text)
	}
	if names := r.Summary.OnlyOld; len(names) > 0 {
		add(codeMissingSide, "only in old: %s", nameList(names, 20))
	}
	if names := r.Summary.OnlyNew; len(names) > 0 {
		add(codeMissingSide, "only in new: %s", nameList(names, 20))
	}
	if names := unitsDiffer(r.Rows); len(names) > 0 {
		add(codeUnitsDiffer, "the sides print different units, which are not compared: %s", nameList(names, 20))
	}
	if d.Unreadable > 0 {
		add(codeUnreadable, "%s looked like results and could not be read%s", plural(d.Unreadable, "line", "lines"), firstQuoted(d.Quoted))
	}
	if n := r.countWarned(codeWithinProcess); n > 0 {
		add(codeWithinProcess, "the values of a benchmark come from one process and are not independent: stars are shown, no verdict is given")
	}
	if d.NotInterleaved {
		add(codeNotInterleaved, "the sides ran one after the other: whatever changed on the machine in between counts as a difference")
	}
	for _, why := range o.About.Host.Unfit {
		add(codeHostUnfit, "the machine was unfit for a verdict of safety: %s", shorten(Visible(why), 200))
	}
	for _, n := range o.About.Notes {
		if strings.HasPrefix(n, harnessNote) {
			add(codeHarness, "%s", shorten(Visible(n), 500))
		}
	}
	if o.About.Outdated {
		add(codeOutdated, "the pull request has newer commits than the ones measured here")
	}
	if r.Design.Attempt > 1 {
		add(codeRepeatedRun, "%s", repeatText(r.Design))
	}
	if n := r.countWarned(codeContradict); n > 0 {
		add(codeContradict, "%s: the attempts contradict each other", plural(n, "benchmark", "benchmarks"))
	}
	return out
}

// harnessNote is how a note begins that says which benchmark files the pull
// request changes.
const harnessNote = "harness changed"

func (r *Report) countWarned(code string) int {
	n := 0
	for _, row := range r.Rows {
		if row.warning(code) != nil {
			n++
		}
	}
	return n
}

func repeatText(d stats.Design) string {
	n := d.Attempt
	return fmt.Sprintf("%d attempts; chance of any false star on an unchanged benchmark ≤ %s, for these two builds on this machine",
		n, Percent(stats.FalseStarRisk(n, d.Alpha)))
}

// lossesNamed is how many kinds of lost runs a warning names.
const lossesNamed = 5

// incompleteText says what is missing from the measurement.
func (r *Report) incompleteText(d *Data, a About) string {
	var parts []string
	if a.Stopped != nil {
		parts = append(parts, "the run was stopped")
	}
	for i, l := range d.Losses {
		if i == lossesNamed {
			parts = append(parts, fmt.Sprintf("and %d more kinds of failure", len(d.Losses)-i))
			break
		}
		parts = append(parts, lossSentence(l))
	}
	if silent := r.silentNames(); len(silent) > 0 {
		parts = append(parts, "no benchmark printed by "+nameList(silent, lossesNamed))
	}
	unjudged, attempted := 0, -1
	for _, row := range r.Rows {
		if row.Stat.Look > 0 {
			unjudged = max(unjudged, row.Stat.Unjudged)
		}
		if row.OnlyOn == "" { // what one side alone has is run a few times
			attempted = max(attempted, row.series.attempted())
		}
	}
	if a.Planned > 0 && !r.Design.Adaptive() && attempted >= 0 && attempted < a.Planned {
		parts = append(parts, fmt.Sprintf("%d of %s were measured", attempted, plural(a.Planned, "planned pair", "planned pairs")))
	}
	if unjudged > 0 {
		parts = append(parts, fmt.Sprintf("up to %s after the last completed look are kept and not judged", plural(unjudged, "pair", "pairs")))
	}
	unusable := 0
	for _, row := range r.Rows {
		if row.Stat.UnusableOld+row.Stat.UnusableNew > 0 {
			unusable++
		}
	}
	if unusable > 0 {
		parts = append(parts, plural(unusable, "benchmark", "benchmarks")+" gave values that were not usable")
	}
	if len(parts) == 0 {
		if n := r.countWarned(codeIncomplete); n > 0 {
			return fmt.Sprintf("%s lost runs on one side or both", plural(n, "benchmark", "benchmarks"))
		}
	}
	return strings.Join(parts, "; ")
}

// silentNames are the cases that printed nothing and did not even fail.
func (r *Report) silentNames() []string {
	failed := map[Silent]bool{}
	for _, l := range r.Data.Losses {
		failed[Silent{l.Suite, l.Case}] = true
	}
	var names []string
	for _, s := range r.silent() {
		if !failed[s] {
			names = append(names, cmp.Or(s.Case, s.Suite))
		}
	}
	return names
}

// unitsDiffer names benchmarks that each side prints in units of its own.
func unitsDiffer(rows []*Row) []string {
	old, new := map[string]bool{}, map[string]bool{}
	both := map[string]bool{}
	for _, row := range rows {
		switch row.OnlyOn {
		case "old":
			old[row.Name()] = true
		case "new":
			new[row.Name()] = true
		default:
			both[row.Name()] = true
		}
	}
	var names []string
	for n := range old {
		if new[n] && !both[n] {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	return names
}

// nameList writes the first names of a list.
func nameList(names []string, most int) string {
	var shown []string
	for _, n := range names[:min(len(names), most)] {
		shown = append(shown, shorten(Visible(n), nameColumns))
	}
	if len(names) > most {
		shown = append(shown, fmt.Sprintf("and %d more", len(names)-most))
	}
	return strings.Join(shown, ", ")
}

func firstQuoted(quoted []string) string {
	if len(quoted) == 0 {
		return ""
	}
	return ", the first: " + strconv.Quote(shorten(Visible(quoted[0]), 200))
}
