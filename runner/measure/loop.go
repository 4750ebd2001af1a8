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
	"github.com/prbench/prbench/report/stats"
)

// giveUp is after how many failed runs, with none that went well before, a side
// of a case is no longer tried.
const giveUp = 3

// turn is a case with what has happened to it.
type turn struct {
	Case
	pairs   int            // tried so far
	order   []job.SideName // of the next pair; nil: not drawn yet
	samples int
	ok      map[job.SideName]int // runs that ended well
	bad     map[job.SideName]int
	first   map[job.SideName]job.Run // the first failed run of each side
	silent  string                   // what the first run without any result printed
	ended   string                   // why it is not tried any more; empty: it is
	settled bool                     // ended because each benchmark is resolved or futile
	tested  tested                   // for the stop rule
	spent   time.Duration
}

func (t *turn) active() bool { return t.ended == "" && !t.settled }

// loop is one measuring.
type loop struct {
	runner
	turns  []*turn
	looks  []int
	at     int   // the look that is being measured for
	rule   *rule // nil: the number of runs is fixed
	before earlier
	began  time.Time
	runs   int
	taken  int // of runs, those that an earlier measuring has left
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
	if err := l.leaveAhead(); err != nil && l.failed == nil {
		l.failed = &job.Outcome{Kind: job.Fault, Text: err.Error()}
	}
	return l.outcome(), nil
}

// newLoop finds the cases. An outcome says that there is nothing to measure.
func newLoop(o Options) (*loop, *job.Outcome, error) {
	if len(o.Earlier) > 0 && o.Again == nil {
		return nil, nil, errors.New("measure: want to know who gets the earlier runs")
	}
	if o.Exec == nil || o.Sink == nil || o.Old == "" || o.New == "" || o.Dir == "" {
		return nil, nil, errors.New("measure: want an executor, a sink, two trees and a directory")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	}
	l := &loop{runner: runner{Options: o}, looks: planLooks(o.Spec), before: newEarlier(o.Earlier)}
	var err error
	if l.rule, err = newRule(o.Spec, o.Attempt, l.looks); err != nil {
		return nil, nil, err
	}
	if o.Spec.Filter != "" {
		if l.filter, err = regexp.Compile(o.Spec.Filter); err != nil {
			return nil, nil, fmt.Errorf("measure: filter: %w", err)
		}
	}
	cases, err := Cases(o.Spec, o.Old, o.New)
	if err != nil {
		return nil, &job.Outcome{Kind: job.NothingMeasured, Text: "the cases could not be listed: " + err.Error()}, nil
	}
	if len(cases) == 0 {
		return nil, &job.Outcome{Kind: job.NothingMeasured, Text: nowhere(o.Line)}, nil
	}
	l.notes = append(l.notes, withoutCases(o.Spec, cases)...)
	for _, c := range cases {
		l.turns = append(l.turns, &turn{Case: c, ok: map[job.SideName]int{}, bad: map[job.SideName]int{}, first: map[job.SideName]job.Run{}})
	}
	l.notes = append(l.notes, oneSidedNotes(cases)...)
	if o.Spec.Adhoc != "" {
		if l.adhoc, err = writeAdhoc(o.Dir, o.Spec.Adhoc, cases); err != nil {
			return nil, nil, err
		}
	}
	return l, nil, nil
}

// nowhere says that there is no case at all.
func nowhere(line string) string {
	if line == "" {
		return "no file of either side matches the suite's cases"
	}
	return fmt.Sprintf("the benchmarks do not exist on %s: no file there matches the suite's cases, with or without the change", line)
}

// withoutCases names the suites of which nothing is measured, as what the others
// show says nothing of theirs.
func withoutCases(s job.Spec, cases []Case) []string {
	if s.Adhoc != "" || s.Filter != "" {
		return nil // then some were left out on purpose
	}
	var notes []string
	for _, suite := range s.Suites {
		if !slices.ContainsFunc(cases, func(c Case) bool { return c.Suite.Name == suite.Name }) {
			notes = append(notes, fmt.Sprintf("no file of either side matches the cases of %s, of which nothing was measured", suite.Name))
		}
	}
	return notes
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
		return stats.DefaultLooks()
	}
	return looks
}

// writeAdhoc writes the text of an ad-hoc benchmark under the name that each of
// the suites gives it, in a folder of the suite's. The names come with the job,
// so that the root is not left whatever they hold.
func writeAdhoc(dir, text string, cases []Case) (string, error) {
	at := filepath.Join(dir, "adhoc")
	write := func() error {
		if err := os.Mkdir(at, 0o755); err != nil {
			return err
		}
		root, err := os.OpenRoot(at)
		if err != nil {
			return err
		}
		defer root.Close()
		for _, c := range cases {
			if err := root.MkdirAll(c.Suite.Name, 0o755); err != nil {
				return err
			}
			if err := root.WriteFile(filepath.Join(c.Suite.Name, adhocFile(c.Suite)), []byte(text), 0o644); err != nil {
				return err
			}
		}
		return nil
	}
	if err := write(); err != nil {
		return "", fmt.Errorf("measure: keep the ad-hoc benchmark: %w", err)
	}
	return at, nil
}

// toLook runs every case up to the look's number of pairs, one pair of each at a
// time, and then looks. It tells whether to go on.
func (l *loop) toLook(ctx context.Context, look, until int) bool {
	l.at = look
	for l.anyActive(until) {
		if l.rule == nil && l.overBudget(0) {
			l.budgetNote("")
			return false
		}
		for _, t := range l.turns {
			if !t.active() || t.pairs >= until {
				continue
			}
			if runs := l.before.take(t.Case, t.pairs); runs != nil {
				if !l.again(t, runs) {
					return false
				}
				continue
			}
			if l.leaves(until) {
				l.leave()
				return false
			}
			if l.cutShort(until) {
				return false
			}
			if !l.pair(ctx, t, until) {
				return false
			}
		}
	}
	if l.rule == nil {
		return l.anyActive(until + 1)
	}
	l.rule.look(l.turns)
	more := look < len(l.looks)-1 && l.anyActive(until+1)
	if more {
		next := l.looks[look+1]
		if need := l.timeTo(next); l.overBudget(need) {
			l.budgetNote(fmt.Sprintf(": the next look, at %d, would have taken about %s more", next, need.Round(time.Second)))
			more = false
		}
	}
	l.tellLook(look, more)
	if more && l.ends() {
		l.leave()
		return false
	}
	return more
}

func (l *loop) anyActive(until int) bool {
	return slices.ContainsFunc(l.turns, func(t *turn) bool { return t.active() && t.pairs < until })
}

// overBudget tells whether the budget would be spent after so much more time.
func (l *loop) overBudget(more time.Duration) bool {
	b := l.Spec.Budget.Std()
	return b > 0 && l.runs > 0 && l.Now().Sub(l.began)+more >= b
}

// timeTo is about how long it takes until each case has so many pairs.
func (l *loop) timeTo(pairs int) time.Duration {
	var need time.Duration
	for _, t := range l.turns {
		if t.active() && t.pairs > 0 {
			need += t.spent / time.Duration(t.pairs) * time.Duration(max(0, pairs-t.pairs))
		}
	}
	return need
}

func (l *loop) budgetNote(why string) {
	most := 0
	for _, t := range l.turns {
		most = max(most, t.pairs)
	}
	l.notes = append(l.notes, fmt.Sprintf("the budget of %s ended after %d of %d pairs%s", l.Spec.Budget, most, l.looks[len(l.looks)-1], why))
}

// pair runs a case once on each of its sides, in random order. It tells whether
// to go on.
func (l *loop) pair(ctx context.Context, t *turn, until int) bool {
	began := l.Now()
	order := l.sides(t)
	t.order = nil
	for i, side := range order {
		if err := ctx.Err(); err != nil {
			l.failed = &job.Outcome{Kind: job.Stopped, Text: "stopped: " + context.Cause(ctx).Error()}
			return false
		}
		rec, err := l.one(ctx, step{t.Case, side}, l.after(t, order[i+1:], until))
		rec.Pair, rec.Position = t.pairs, i
		if err != nil {
			l.fault(ctx, rec, err)
			return false
		}
		t.count(rec)
		if l.rule != nil {
			t.tested.add(rec)
		}
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
	l.end(t)
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
		if p.network {
			l.failed.Clash = &job.Clash{Case: p.label, Side: p.side}
		}
	default:
		l.failed = &job.Outcome{Kind: job.Fault, Side: rec.Side, Text: err.Error()}
	}
}

func (t *turn) count(rec job.Run) {
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
}

// end ends a case that more runs would not make more telling.
func (l *loop) end(t *turn) {
	for _, side := range t.Sides {
		if t.ok[side] == 0 && t.bad[side] >= giveUp {
			t.ended = fmt.Sprintf("%s failed in all of its first %d runs on the %s side", t.Label(), t.bad[side], side)
			return
		}
	}
	if t.samples == 0 && (t.bad[job.Old]+t.bad[job.New] == 0 || t.pairs >= giveUp) {
		t.ended = t.Label() + " printed no benchmark"
		if l.filter != nil {
			t.ended = t.Label() + " printed no benchmark that the filter matches"
		}
	}
	t.settled = t.settled || l.rule == nil && t.pairs >= l.planned(t)
}
