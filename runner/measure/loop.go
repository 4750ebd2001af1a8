package measure

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/prbench/prbench/internal/job"
)

// giveUp is after how many failed runs, with none that went well before, a side
// of a case is no longer tried.
const giveUp = 3

// turn is a case with what has happened to it.
type turn struct {
	Case
	pairs   int // tried so far
	samples int
	ok      map[job.SideName]int // runs that ended well
	bad     map[job.SideName]int
	first   map[job.SideName]job.Run // the first failed run of each side
	silent  string                   // what the first run without any result printed
	ended   string                   // why it is not tried any more; empty: it is
	settled bool                     // ended because the stopper had enough
	runs    []job.Run                // for the stopper
	spent   time.Duration
}

func (t *turn) active() bool { return t.ended == "" && !t.settled }

// loop is one measuring.
type loop struct {
	runner
	turns  []*turn
	looks  []int
	began  time.Time
	runs   int
	child  float64
	notes  []string
	failed *job.Outcome // what ended it all
}

// Run measures both trees as the spec says and tells how that ended. The
// outcome is complete but for the facts about the machine. What was measured
// before a cancelled context, a fault or the end of the budget has gone to the
// sink. The error is for mistakes of the caller alone.
func Run(ctx context.Context, o Options) (job.Outcome, error) {
	l, out, err := newLoop(o)
	if err != nil || out != nil {
		if out == nil {
			return job.Outcome{}, err
		}
		return *out, err
	}
	l.began = l.Now()
	for look, until := range l.looks {
		if !l.toLook(ctx, look, until) {
			break
		}
	}
	return l.outcome(), nil
}

// newLoop finds the cases. An outcome says that there is nothing to measure.
func newLoop(o Options) (*loop, *job.Outcome, error) {
	if o.Exec == nil || o.Sink == nil || o.Old == "" || o.New == "" || o.Dir == "" {
		return nil, nil, errors.New("measure: want an executor, a sink, two trees and a directory")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	}
	l := &loop{runner: runner{Options: o}, looks: planLooks(o.Spec)}
	if o.Spec.Filter != "" {
		var err error
		if l.filter, err = regexp.Compile(o.Spec.Filter); err != nil {
			return nil, nil, fmt.Errorf("measure: filter: %w", err)
		}
	}
	cases, err := Cases(o.Spec, o.Old, o.New)
	if err != nil {
		return nil, &job.Outcome{Kind: job.NothingMeasured, Text: "the cases could not be listed: " + err.Error()}, nil
	}
	if len(cases) == 0 {
		return nil, &job.Outcome{Kind: job.NothingMeasured, Text: "no file of either side matches the suite's cases"}, nil
	}
	for _, c := range cases {
		l.turns = append(l.turns, &turn{Case: c, ok: map[job.SideName]int{}, bad: map[job.SideName]int{}, first: map[job.SideName]job.Run{}})
		if len(c.Sides) == 1 {
			l.notes = append(l.notes, fmt.Sprintf("only the %s side has %s", c.Sides[0], c.Label()))
		}
	}
	if o.Spec.Adhoc != "" {
		if l.adhoc, err = writeAdhoc(o.Dir, o.Spec.Adhoc); err != nil {
			return nil, nil, err
		}
	}
	return l, nil, nil
}

// planLooks gives the numbers of pairs after which is looked, the last being the
// end. A fixed number of runs has one look.
func planLooks(s job.Spec) []int {
	if s.Runs != job.Adaptive {
		return []int{int(s.Runs)}
	}
	looks := slices.Clone(s.Looks)
	slices.Sort(looks)
	looks = slices.DeleteFunc(slices.Compact(looks), func(n int) bool { return n < 1 })
	if len(looks) == 0 {
		return []int{int(job.DefaultFixedRuns)}
	}
	return looks
}

func writeAdhoc(dir, text string) (string, error) {
	at := filepath.Join(dir, "adhoc")
	if err := os.Mkdir(at, 0o755); err != nil {
		return "", fmt.Errorf("measure: keep the ad-hoc benchmark: %w", err)
	}
	if err := os.WriteFile(filepath.Join(at, adhocFile), []byte(text), 0o644); err != nil {
		return "", fmt.Errorf("measure: keep the ad-hoc benchmark: %w", err)
	}
	return at, nil
}

// toLook runs every case up to the look's number of pairs, one pair of each at a
// time, and then lets the stopper look. It tells whether to go on.
func (l *loop) toLook(ctx context.Context, look, until int) bool {
	for l.anyActive(until) {
		// With planned looks the budget may end only at a look, or the error rates
		// would not be those that were planned.
		if l.Stopper == nil && l.overBudget() {
			l.budgetNote()
			return false
		}
		for _, t := range l.turns {
			if !t.active() || t.pairs >= until {
				continue
			}
			if !l.pair(ctx, t) {
				return false
			}
		}
	}
	if l.Stopper == nil || look == len(l.looks)-1 {
		return l.anyActive(until + 1)
	}
	for _, t := range l.turns {
		if t.active() && l.Stopper.Enough(t.Case, look, t.pairs, t.runs) {
			t.settled = true
		}
	}
	if l.anyActive(until+1) && l.overBudget() {
		l.budgetNote()
		return false
	}
	return l.anyActive(until + 1)
}

func (l *loop) anyActive(until int) bool {
	return slices.ContainsFunc(l.turns, func(t *turn) bool { return t.active() && t.pairs < until })
}

func (l *loop) overBudget() bool {
	b := l.Spec.Budget.Std()
	return b > 0 && l.runs > 0 && l.Now().Sub(l.began) >= b
}

func (l *loop) budgetNote() {
	most := 0
	for _, t := range l.turns {
		most = max(most, t.pairs)
	}
	l.notes = append(l.notes, fmt.Sprintf("the budget of %s ended after %d of %d pairs", l.Spec.Budget, most, l.looks[len(l.looks)-1]))
}

// pair runs a case once on each of its sides, in random order. It tells whether
// to go on.
func (l *loop) pair(ctx context.Context, t *turn) bool {
	order := slices.Clone(t.Sides)
	if len(order) == 2 && l.Rand.IntN(2) == 1 {
		order[0], order[1] = order[1], order[0]
	}
	began := l.Now()
	for i, side := range order {
		if err := ctx.Err(); err != nil {
			l.failed = &job.Outcome{Kind: job.Stopped, Text: "stopped: " + context.Cause(ctx).Error()}
			return false
		}
		rec, err := l.one(ctx, t.Case, side)
		rec.Pair, rec.Position = t.pairs, i
		if err != nil {
			l.fault(ctx, rec, err)
			return false
		}
		t.count(rec, l.Stopper != nil)
		l.runs++
		l.child += rec.Wall
		if err := l.Sink(rec); err != nil {
			l.failed = &job.Outcome{Kind: job.Fault, Text: "a record could not be kept: " + err.Error()}
			return false
		}
		l.tell(t)
	}
	t.pairs++
	t.spent += l.Now().Sub(began)
	t.end(l.filter != nil)
	return true
}

// fault says what an error that is not the benchmark's means.
func (l *loop) fault(ctx context.Context, rec job.Run, err error) {
	var p *portClash
	switch {
	case ctx.Err() != nil:
		l.failed = &job.Outcome{Kind: job.Stopped, Text: "stopped: " + context.Cause(ctx).Error()}
	case errors.As(err, &p):
		l.failed = &job.Outcome{Kind: job.Fault, Side: rec.Side, Text: p.Error(), Log: p.log}
	default:
		l.failed = &job.Outcome{Kind: job.Fault, Side: rec.Side, Text: err.Error()}
	}
}

func (t *turn) count(rec job.Run, keep bool) {
	t.samples += len(rec.Samples)
	if len(rec.Samples) == 0 && t.silent == "" {
		t.silent = strings.Join(append(slices.Clone(rec.Quoted), rec.Log), "\n")
	}
	if rec.OK() {
		t.ok[rec.Side]++
	} else {
		if _, seen := t.first[rec.Side]; !seen {
			t.first[rec.Side] = rec
		}
		t.bad[rec.Side]++
	}
	if keep {
		rec.Log, rec.Quoted = "", nil
		t.runs = append(t.runs, rec)
	}
}

// end ends a case that more runs would not make more telling.
func (t *turn) end(filtered bool) {
	for _, side := range t.Sides {
		if t.ok[side] == 0 && t.bad[side] >= giveUp {
			t.ended = fmt.Sprintf("%s failed in all of its first %d runs on the %s side", t.Label(), t.bad[side], side)
			return
		}
	}
	if t.samples == 0 && (t.bad[job.Old]+t.bad[job.New] == 0 || t.pairs >= giveUp) {
		t.ended = t.Label() + " printed no benchmark"
		if filtered {
			t.ended = t.Label() + " printed no benchmark that the filter matches"
		}
	}
}
