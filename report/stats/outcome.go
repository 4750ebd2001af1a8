package stats

import "slices"

// Outcome is the part of a Comparison that the measuring loop acts on. It is
// the same as the Comparison's, at a tenth of the price.
type Outcome struct {
	Verdict          Verdict
	ByMargin         Beyond
	Reason           Reason
	Stars            string
	FamilyRegression bool
	Resolved, Futile bool
	Look, Pairs      int // the last completed look and its attempted pairs
	N                int // usable samples of the smaller side
	Improvement, CV  float64
}

// Decide judges the samples of one benchmark so far.
func (j *Judge) Decide(in Input) Outcome {
	c, _ := j.compare(in, false)
	return Outcome{
		Verdict: c.Verdict, ByMargin: c.ByMargin, Reason: c.Reason, Stars: c.Stars, FamilyRegression: c.FamilyRegression,
		Resolved: c.Resolved, Futile: c.Futile, Look: c.Look, Pairs: c.LookReached, N: c.fewest(),
		Improvement: c.Improvement, CV: c.CV,
	}
}

// Contains reports whether the data do not contradict an improvement: whether
// it lies in the set of which Comparison.Interval is the hull. It is true
// where there is no test.
func (j *Judge) Contains(in Input, improvement float64) bool {
	u := in.judged(j.design)
	if len(u.old) < 2 || len(u.new) < 2 || j.design.Adaptive() && u.look == 0 {
		return true
	}
	return j.at(u.look).exceeds(newContrast(in, u, j.design), improvement, verdictLevel) == 0
}

// NextLook returns the number of attempted pairs at which the measuring loop
// is to ask again, after the given number of them: the next look, or the runs
// of a fixed design. It is false where the plan is complete, or says nothing.
func (d Design) NextLook(attempted int) (pairs int, ok bool) {
	if !d.Adaptive() {
		return d.Runs, attempted < d.Runs
	}
	k, _ := slices.BinarySearch(d.Looks, attempted+1)
	if k == len(d.Looks) {
		return d.MaxRuns(), false
	}
	return d.Looks[k], true
}

// CaseDecision says whether a case, whose process prints some benchmarks,
// needs further runs.
type CaseDecision struct {
	// Stop says that every benchmark is resolved or futile, or that the plan
	// is complete. It is true of a case that printed no benchmark by its
	// first look.
	Stop bool
	// Complete says that the plan is: no look is left.
	Complete               bool
	Resolved, Futile, Open int
	Outcomes               []Outcome // in the order of the benchmarks
}

// DecideCase is to be asked at each look of a case, with the samples so far of
// every benchmark that either side has printed. Between looks, or before the
// first, it answers as of the last completed look.
func (j *Judge) DecideCase(attempted int, benchmarks []Input) CaseDecision {
	var out CaseDecision
	for _, in := range benchmarks {
		o := j.Decide(in)
		switch {
		case o.Resolved:
			out.Resolved++
		case o.Futile:
			out.Futile++
		default:
			out.Open++
		}
		out.Outcomes = append(out.Outcomes, o)
	}
	_, more := j.design.NextLook(attempted)
	out.Complete = !more
	looked := j.design.Adaptive() && attempted >= j.design.Looks[0]
	out.Stop = out.Complete || looked && out.Open == 0
	return out
}
