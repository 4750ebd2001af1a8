package report

import (
	"github.com/prbench/prbench/internal/benchfmt"
	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report/stats"
)

// Input lays a series out as the statistics take it. The units in exact are
// compared exactly; see benchfmt.ExactUnits.
func (s *Series) Input(exact map[string]bool) stats.Input {
	in := stats.Input{
		Better: stats.LowerIsBetter,
		Count:  exact[s.Unit],
		Time:   benchfmt.QuantityOf(s.Unit) == benchfmt.TimeQuantity,
	}
	if benchfmt.BetterOf(s.Better, s.Unit) == job.Higher {
		in.Better = stats.HigherIsBetter
	}
	return in.Lay(s.Old.arrived(), s.New.arrived(), s.Attempted)
}

func (v *Values) arrived() stats.Arrived {
	return stats.Arrived{Values: v.Value, Pairs: v.Pair, Lost: v.Lost}
}

// Process identifies the command that prints the benchmark: series that have it
// in common come from the same processes. Where a file of samples does not
// tell, each series is taken to have processes of its own.
func (s *Series) Process() string {
	if s.suite == "" && s.Case == "" {
		return s.Benchmark + "\x00" + s.Config
	}
	return s.suite + "\x00" + s.Case
}
