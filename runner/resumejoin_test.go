package runner

import (
	"fmt"
	"slices"
	"testing"

	"github.com/prbench/prbench/internal/job"
)

func TestAPairIsTakenUpFromOneStartOfTheRunnerAlone(t *testing.T) {
	t.Parallel()
	run := func(pair int, side job.SideName, wall float64) job.Run {
		return job.Run{Suite: "s", Case: "c", Pair: pair, Side: side, Wall: wall}
	}
	first := []job.Run{run(0, job.Old, 1), run(0, job.New, 1), run(1, job.Old, 1)}
	for name, c := range map[string]struct {
		last []job.Run
		want []string
	}{
		"killed before anything was delivered again": {nil, []string{"0 old 1", "0 new 1", "1 old 1"}},
		"killed while a pair was delivered again":    {first[:1], []string{"0 old 1", "0 new 1", "1 old 1"}},
		"the half pair was run again whole": {[]job.Run{first[0], first[1], run(1, job.New, 2), run(1, job.Old, 2), run(2, job.New, 2)},
			[]string{"0 old 1", "0 new 1", "1 new 2", "1 old 2", "2 new 2"}},
		"killed in the middle of it again": {[]job.Run{first[0], first[1], run(1, job.New, 2)}, []string{"0 old 1", "0 new 1", "1 old 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, r := range joinPairs(first, c.last) {
				got = append(got, fmt.Sprint(r.Pair, " ", r.Side, " ", r.Wall))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
