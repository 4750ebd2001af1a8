package measure

import (
	"fmt"
	"time"

	"github.com/prbench/prbench/internal/job"
)

// overrun is how many times its budget a measuring may take, and the pair that it
// is at. The budget itself is asked at looks, or between rounds where the number of
// runs is fixed, and the first look is always worth waiting for; but code that
// hangs in each of its cases would take days to come there. What ends then has
// ended by the time that its processes take, never by what they measured, and is
// judged by the looks that it has completed.
const overrun = 2

// cutShort ends a measuring that has spent its budget that many times over before
// the look that it is at. An adaptive one ends as soon as it is sure to: it would
// have nothing to show for the rest. It tells whether it has.
func (l *loop) cutShort(until int) bool {
	limit := overrun * l.Spec.Budget.Std()
	if limit <= 0 || l.runs == 0 {
		return false
	}
	spent := l.Now().Sub(l.began)
	why := fmt.Sprintf(": %s had passed", spent.Round(time.Second))
	switch need := l.needTo(until); {
	case spent >= limit:
	case l.rule != nil && l.allBegun() && spent+need/2 > limit: // the first pairs may be the slow ones
		why += fmt.Sprintf(", and %d pairs would have taken about %s more", until, need.Round(time.Second))
	default:
		return false
	}
	if l.rule != nil {
		why += fmt.Sprintf(". A job may take %d times its budget to come to a look; what has not come to its look at %d pairs is kept and not judged by it", overrun, until)
	}
	l.budgetNote(why)
	return true
}

// allBegun tells whether each case has shown how long it takes.
func (l *loop) allBegun() bool {
	for _, t := range l.turns {
		if t.active() && t.pairs == 0 {
			return false
		}
	}
	return true
}

// needTo is about how long it takes until each case has so many pairs, or is
// given up before.
func (l *loop) needTo(pairs int) time.Duration {
	var need time.Duration
	for _, t := range l.turns {
		if !t.active() || t.pairs == 0 {
			continue
		}
		until := min(pairs, l.planned(t))
		for _, side := range []job.SideName{job.Old, job.New} {
			if t.ok[side] == 0 && t.bad[side] > 0 {
				until = min(until, giveUp)
			}
		}
		need += t.spent / time.Duration(t.pairs) * time.Duration(max(0, until-t.pairs))
	}
	return need
}
