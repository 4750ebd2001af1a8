package calibrate

import (
	"math"
	"slices"
	"time"

	"github.com/prbench/prbench/internal/benchfmt"
	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report/stats"
)

// Tally takes the runs of an A/A comparison. It is used by one goroutine.
type Tally struct {
	series []*series
	index  map[key]*series
	pairs  map[caseKey][2]int // begun, by side
	failed int
}

type caseKey struct{ suite, name string }

type key struct {
	caseKey
	benchmark, unit string
}

type series struct {
	key
	better job.Better
	sides  [2]stats.Arrived
}

// NewTally makes an empty one.
func NewTally() *Tally {
	return &Tally{index: map[key]*series{}, pairs: map[caseKey][2]int{}}
}

// Add takes a finished run.
func (t *Tally) Add(r job.Run) {
	side := 0
	if r.Side == job.New {
		side = 1
	}
	c := caseKey{r.Suite, r.Case}
	begun := t.pairs[c]
	begun[side] = max(begun[side], r.Pair+1)
	t.pairs[c] = begun
	if !r.OK() {
		t.failed++
		return
	}
	for _, s := range r.Samples {
		k := key{c, s.Name(), s.Unit}
		one := t.index[k]
		if one == nil {
			one = &series{key: k, better: s.Better}
			t.index[k] = one
			t.series = append(t.series, one)
		}
		value := s.Value
		if s.Invalid != "" {
			value = math.NaN()
		}
		a := &one.sides[side]
		a.Values, a.Pairs = append(a.Values, value), append(a.Pairs, int32(r.Pair))
	}
}

// Judge sums up what was taken, under the design of a spec.
func (t *Tally) Judge(spec job.Spec, commit job.Side, host job.Host, at time.Time) (*Result, error) {
	d := stats.Design{Margin: spec.Margin, Alpha: spec.Alpha}
	if spec.Runs == job.Adaptive {
		if d.Looks = spec.Looks; len(d.Looks) == 0 {
			d.Looks = stats.DefaultLooks()
		}
	}
	var counts []string
	r := &Result{Schema: schema, At: at.UTC().Truncate(time.Second), Host: host, Commit: commit, Benchmarks: []Benchmark{}, Suites: []string{}}
	r.Host.Calibration = nil
	for _, s := range spec.Suites {
		r.Suites = append(r.Suites, s.Name)
		counts = append(counts, s.Counts...)
	}
	if len(spec.Suites) == 1 {
		d.Analysis = stats.Analysis(spec.Suites[0].Analysis)
	}
	if err := d.Validate(); err != nil {
		return nil, err
	}
	judge := stats.NewJudge(d)
	d = judge.Design()
	r.Design = Design{Margin: d.Margin, Alpha: d.Alpha, Analysis: d.Analysis, Runs: spec.Runs, Looks: d.Looks}
	exact := benchfmt.ExactUnits(counts)
	timed := map[key]bool{}
	for _, s := range t.series {
		if benchfmt.QuantityOf(s.unit) == benchfmt.TimeQuantity {
			timed[s.name()] = true
		}
	}
	for _, s := range t.series {
		if benchfmt.QuantityOf(s.unit) == benchfmt.RateQuantity && timed[s.name()] {
			continue // the same measurement in another unit
		}
		begun := t.pairs[s.caseKey]
		r.Benchmarks = append(r.Benchmarks, s.judge(judge, exact, min(begun[0], begun[1])))
	}
	r.Summary = sum(r.Benchmarks)
	r.Summary.FailedProcesses = t.failed
	return r, nil
}

// name is the key of what differs in its unit alone.
func (s *series) name() key {
	k := s.key
	k.unit = ""
	return k
}

func (s *series) judge(j *stats.Judge, exact map[string]bool, begun int) Benchmark {
	in := stats.Input{Better: stats.LowerIsBetter, Count: exact[s.unit], Time: benchfmt.QuantityOf(s.unit) == benchfmt.TimeQuantity}
	if benchfmt.BetterOf(s.better, s.unit) == job.Higher {
		in.Better = stats.HigherIsBetter
	}
	in = in.Lay(s.sides[0], s.sides[1], begun)
	c := j.Compare(in)
	rho, pairs := correlation(in.Old, in.New)
	b := Benchmark{Suite: s.suite, Name: s.benchmark, Unit: s.unit, Pairs: pairs, Stars: c.Stars, Improvement: number(c.Improvement)}
	switch {
	case c.Verdict == stats.NoVerdict:
		b.Why = "too few runs"
	case c.Old.SD == 0 && c.New.SD == 0:
		b.Why = "no spread"
	case c.NoPercentage || math.IsNaN(c.CV):
		b.Why = "its mean is too close to zero for a percentage"
	default:
		b.CV, b.Correlation = number(c.CV), number(rho)
		b.Detectable = Power{number(c.Detectable[0]), number(c.Detectable[1]), number(c.Detectable[2])}
	}
	for _, w := range c.Warnings {
		switch w.Code {
		case stats.WarnAutocorrelation:
			b.Autocorrelation = number(w.Value)
		case stats.WarnDrift:
			b.Drift = number(w.Value)
		}
	}
	return b
}

// correlation is Pearson's, of the pairs that have both values.
func correlation(old, new []float64) (rho float64, pairs int) {
	var xs, ys []float64
	for i := range min(len(old), len(new)) {
		if usable(old[i]) && usable(new[i]) {
			xs, ys = append(xs, old[i]), append(ys, new[i])
		}
	}
	mx, my := mean(xs), mean(ys)
	var xx, yy, xy float64
	for i := range xs {
		x, y := xs[i]/mx-1, ys[i]/my-1 // of the means: no overflow
		xx, yy, xy = xx+x*x, yy+y*y, xy+x*y
	}
	return xy / math.Sqrt(xx) / math.Sqrt(yy), len(xs)
}

func usable(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

func mean(xs []float64) (m float64) {
	for i, x := range xs {
		m += (x - m) / float64(i+1)
	}
	return m
}

// number is nil where x does not exist.
func number(x float64) *float64 {
	if !usable(x) {
		return nil
	}
	return &x
}

var powers = []struct {
	name string
	of   func(Power) *float64
}{
	{"50", func(p Power) *float64 { return p.P50 }},
	{"80", func(p Power) *float64 { return p.P80 }},
	{"90", func(p Power) *float64 { return p.P90 }},
}

func sum(all []Benchmark) Summary {
	s := Summary{Detectable: map[string]Spread{}, FalseStars: map[string]FalseStars{}}
	told := slices.DeleteFunc(slices.Clone(all), func(b Benchmark) bool { return b.CV == nil })
	s.Benchmarks = len(told)
	s.CV = spread(told, func(b Benchmark) *float64 { return b.CV })
	for _, p := range powers {
		s.Detectable[p.name] = spread(told, func(b Benchmark) *float64 { return p.of(b.Detectable) })
	}
	if s.Correlation = spread(told, func(b Benchmark) *float64 { return b.Correlation }).Median; s.Correlation != nil && *s.Correlation > PairedFrom {
		s.Analysis = string(stats.Paired)
	}
	for _, b := range told {
		if b.Autocorrelation != nil {
			s.Autocorrelated++
		}
		if b.Drift != nil {
			s.Drifting++
		}
	}
	expected := stats.ExpectedFalseStars(len(told))
	for i, level := range []string{"*", "**", "***"} {
		f := FalseStars{Expected: expected[i]}
		for _, b := range told {
			if len(b.Stars) > i {
				f.Seen++
			}
		}
		f.Chance = atLeast(f.Seen, len(told), stats.StarLevels[i])
		s.FalseStars[level] = f
	}
	return s
}

// spread takes the median and the largest of a figure.
func spread(all []Benchmark, of func(Benchmark) *float64) Spread {
	var xs []float64
	for _, b := range all {
		if x := of(b); x != nil {
			xs = append(xs, *x)
		}
	}
	if len(xs) == 0 {
		return Spread{}
	}
	slices.Sort(xs)
	n := len(xs)
	middle, worst := xs[(n-1)/2]/2+xs[n/2]/2, xs[n-1]
	return Spread{&middle, &worst}
}

// atLeast is the chance of k or more of n at a chance of p each.
func atLeast(k, n int, p float64) float64 {
	below := 0.0
	for i := range k {
		a, _ := math.Lgamma(float64(n + 1))
		b, _ := math.Lgamma(float64(i + 1))
		c, _ := math.Lgamma(float64(n - i + 1))
		below += math.Exp(a - b - c + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return max(0, 1-below)
}
