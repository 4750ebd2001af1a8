package measure

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/prbench/prbench/internal/job"
)

// earlier is what an earlier measuring of the same two builds has left: the
// pairs of each case. They stand in for pairs that would be run again. Why that
// measuring ended had nothing to do with what it had measured, so that each look
// finds what it would have found without the interruption.
type earlier map[earlierPair][]job.Run

type earlierPair struct {
	suite, name string
	pair        int
}

func newEarlier(runs []job.Run) earlier {
	e := earlier{}
	for _, r := range runs {
		k := earlierPair{r.Suite, r.Case, r.Pair}
		e[k] = append(e[k], r)
	}
	return e
}

// take gives a pair of a case in the order in which it was run, nil where not
// each of its sides is there.
func (e earlier) take(c Case, pair int) []job.Run {
	runs := slices.Clone(e[earlierPair{c.Suite.Name, c.Name, pair}])
	if len(runs) != len(c.Sides) {
		return nil
	}
	slices.SortFunc(runs, func(a, b job.Run) int { return cmp.Compare(a.Position, b.Position) })
	for i, r := range runs {
		if !slices.Contains(c.Sides, r.Side) || i > 0 && runs[i-1].Side == r.Side {
			return nil
		}
	}
	return runs
}

// again takes a pair in that was run earlier. It tells whether to go on.
func (l *loop) again(t *turn, runs []job.Run) bool {
	var took time.Duration
	for _, rec := range runs {
		t.count(rec)
		if l.rule != nil {
			t.tested.add(rec)
		}
		l.runs++
		l.taken++
		l.child += rec.Wall
		took += time.Duration(rec.Wall * float64(time.Second))
		if err := l.Again(rec); err != nil {
			l.failed = &job.Outcome{Kind: job.Fault, Text: "a record could not be kept: " + err.Error()}
			return false
		}
	}
	t.pairs++
	t.spent += took
	l.began = l.began.Add(-took) // what was spent counts in the budget
	l.end(t)
	l.tell(t)
	return true
}

// leaves tells whether the measuring is to end before the look that it is at:
// it was asked to end, and will not be there in time.
func (l *loop) leaves(until int) bool {
	if l.End == nil {
		return false
	}
	end, asked := l.End()
	return asked && l.Now().Add(l.timeTo(until)).After(end)
}

// ends tells whether the measuring was asked to end.
func (l *loop) ends() bool {
	if l.End == nil {
		return false
	}
	_, asked := l.End()
	return asked
}

// leave ends the measuring as one that was asked to.
func (l *loop) leave() {
	l.failed = &job.Outcome{Kind: job.Stopped, Text: fmt.Sprintf("stopped after %d runs", l.runs)}
}
