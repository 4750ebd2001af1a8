package measure

import (
	"fmt"
	"math"
	"slices"

	"github.com/prbench/prbench/internal/benchfmt"
	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report/stats"
)

// rule is the stop rule of an adaptive measuring: at each planned look it
// judges what is there, with the statistics and the layout of the report.
type rule struct {
	design stats.Design // Analysis and Declared unset
	gate   bool
	exact  map[string]bool           // units that are compared exactly
	suites map[string]stats.Analysis // where a suite declares one
	judges map[variant]*stats.Judge
}

// variant is what a judge has beside the design.
type variant struct {
	analysis stats.Analysis
	declared int
}

// newRule makes the rule of a spec, nil where the number of runs is fixed. The
// error says what makes the spec no design.
func newRule(s job.Spec, attempt int, looks []int) (*rule, error) {
	if s.Runs != job.Adaptive {
		return nil, nil
	}
	r := &rule{gate: s.Gate, suites: map[string]stats.Analysis{}, judges: map[variant]*stats.Judge{},
		design: stats.Design{Margin: s.Margin, Alpha: s.Alpha, Looks: looks, Attempt: attempt}}
	if err := r.design.Validate(); err != nil {
		return nil, fmt.Errorf("measure: plan the looks: %w", err)
	}
	var counts []string
	for _, suite := range s.Suites {
		r.suites[suite.Name] = stats.Analysis(suite.Analysis)
		counts = append(counts, suite.Counts...)
		d := r.design
		d.Analysis = stats.Analysis(suite.Analysis)
		if err := d.Validate(); err != nil {
			return nil, fmt.Errorf("measure: suite %s: %w", suite.Name, err)
		}
	}
	r.exact = benchfmt.ExactUnits(counts)
	return r, nil
}

func (r *rule) judge(suite string, declared int) *stats.Judge {
	v := variant{r.suites[suite], declared}
	j := r.judges[v]
	if j == nil {
		d := r.design
		d.Analysis, d.Declared = v.analysis, v.declared
		j = stats.NewJudge(d)
		r.judges[v] = j
	}
	return j
}

// look judges every case that is still measured and settles those of which
// each benchmark is resolved or futile.
func (r *rule) look(turns []*turn) {
	declared := 0
	for _, t := range turns {
		t.tested.markTwins()
		if r.gate {
			declared += len(t.tested.deciding())
		}
	}
	for _, t := range turns {
		if !t.active() {
			continue
		}
		deciding := t.tested.deciding()
		var inputs []stats.Input
		for _, b := range deciding {
			inputs = append(inputs, t.tested.input(b, r.exact))
		}
		decision := r.judge(t.Suite.Name, declared).DecideCase(t.pairs, inputs)
		for i, b := range deciding {
			now := decision.Outcomes[i]
			b.fresh = now.Resolved && !b.Resolved || now.Futile && !b.Futile
			b.Outcome = now
		}
		t.settled = decision.Stop && !decision.Complete
	}
}

// tested is the samples of one case so far.
type tested struct {
	benchmarks    []*benchmark // in the order in which they were first seen
	index         map[benchmarkKey]*benchmark
	failed, begun [2]int
}

type benchmarkKey struct{ name, unit string }

// benchmark is one that a case prints.
type benchmark struct {
	benchmarkKey
	better     job.Better
	sides      [2]stats.Arrived
	fromFailed [2]int // values of processes that ended badly afterwards
	twin       bool
	// Outcome is that of the last look at it, and fresh says that the look before
	// had found otherwise.
	stats.Outcome
	fresh bool
}

// add takes a finished run. The rules are those of report.Collector.
func (c *tested) add(r job.Run) {
	side := 0
	if r.Side == job.New {
		side = 1
	}
	c.begun[side] = max(c.begun[side], r.Pair+1)
	if !r.OK() {
		c.failed[side]++
	}
	for _, s := range r.Samples {
		key := benchmarkKey{s.Name(), s.Unit}
		b := c.index[key]
		if b == nil {
			b = &benchmark{benchmarkKey: key, better: s.Better}
			if c.index == nil {
				c.index = map[benchmarkKey]*benchmark{}
			}
			c.index[key] = b
			c.benchmarks = append(c.benchmarks, b)
		}
		if b.better == "" {
			b.better = s.Better
		}
		value := s.Value
		if s.Invalid != "" {
			value = math.NaN()
		}
		a := &b.sides[side]
		a.Values, a.Pairs = append(a.Values, value), append(a.Pairs, int32(r.Pair))
		if !r.OK() {
			b.fromFailed[side]++
		}
	}
}

func (c *tested) input(b *benchmark, exact map[string]bool) stats.Input {
	in := stats.Input{Better: stats.LowerIsBetter, Count: exact[b.unit], Time: benchfmt.QuantityOf(b.unit) == benchfmt.TimeQuantity}
	if benchfmt.BetterOf(b.better, b.unit) == job.Higher {
		in.Better = stats.HigherIsBetter
	}
	return in.Lay(c.arrived(b, 0), c.arrived(b, 1), min(c.begun[0], c.begun[1]))
}

func (c *tested) arrived(b *benchmark, side int) stats.Arrived {
	a := b.sides[side]
	a.Lost = max(0, c.failed[side]-b.fromFailed[side])
	return a
}

// markTwins finds rates that stand beside a time of the same benchmark: the
// same measurement, which decides once.
func (c *tested) markTwins() {
	timed := map[string]bool{}
	for _, b := range c.benchmarks {
		both := true
		for side := range b.sides {
			a := c.arrived(b, side)
			both = both && len(a.Values)+a.Lost > 0
		}
		if both && benchfmt.QuantityOf(b.unit) == benchfmt.TimeQuantity {
			timed[b.name] = true
		}
	}
	for _, b := range c.benchmarks {
		b.twin = timed[b.name] && benchfmt.QuantityOf(b.unit) == benchfmt.RateQuantity
	}
}

// deciding are the benchmarks that the case waits for.
func (c *tested) deciding() []*benchmark {
	return slices.DeleteFunc(slices.Clone(c.benchmarks), func(b *benchmark) bool { return b.twin })
}
