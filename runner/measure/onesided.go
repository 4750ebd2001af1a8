package measure

import (
	"fmt"
	"strings"
)

// oneSidedRuns is how often a case that one side alone has is run where the number
// of runs is fixed: there is nothing to compare, and so many show that it works and
// about what it gives. An adaptive measuring has it resolved at its first look.
const oneSidedRuns = 5

// oneSidedNamed is how many of such cases are named.
const oneSidedNamed = 3

// planned is the number of pairs, or of runs of its one side, after which a case is
// complete.
func (l *loop) planned(t *turn) int {
	most := l.looks[len(l.looks)-1]
	if l.rule == nil && len(t.Sides) == 1 {
		return min(most, oneSidedRuns)
	}
	return most
}

// oneSidedNotes sums up the cases that one side alone has.
func oneSidedNotes(cases []Case) []string {
	var notes []string
	for _, side := range bothSides {
		var names []string
		n := 0
		for _, c := range cases {
			if len(c.Sides) == 1 && c.Sides[0] == side {
				if n++; n <= oneSidedNamed {
					names = append(names, c.Label())
				}
			}
		}
		what := strings.Join(names, ", ")
		switch {
		case n == 0:
			continue
		case n > oneSidedNamed:
			what = fmt.Sprintf("%d cases: %s and %d more", n, what, n-oneSidedNamed)
		case n > 1:
			what = fmt.Sprintf("%d cases: %s", n, what)
		}
		notes = append(notes, fmt.Sprintf("only the %s side has %s", side, what))
	}
	return notes
}
