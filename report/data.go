package report

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/prbench/prbench/internal/benchfmt"
	"github.com/prbench/prbench/internal/job"
)

// Key identifies a benchmark: what Node calls filename and configuration, and
// the unit, since one benchmark may print a time, a rate and an allocation count.
type Key struct {
	Benchmark string
	Config    string
	Unit      string
}

// Name is the benchmark's name in tables: "filename configuration". Unlike
// compare.R it has no trailing space where there is no configuration.
func (k Key) Name() string {
	return job.Sample{Benchmark: k.Benchmark, Config: k.Config}.Name()
}

// Values are the samples of one benchmark on one side, in the order in which
// they were taken. All slices have the same length, except Pair, which is nil
// where the samples carry no pair numbers.
type Values struct {
	Value []float64 // in the benchmark's unit; NaN or ±Inf where the tool printed no number
	Time  []float64 // seconds that the value stands for, 0 unknown
	Pair  []int32
	// Lost counts the processes that ended badly and left no value of this benchmark.
	Lost int
	// Invalid quotes the first of what the tool printed where a number belongs.
	Invalid string
}

// Series holds the samples of one benchmark on both sides.
type Series struct {
	Key
	Better   job.Better
	Case     string // the case that printed it, "" for samples from files
	Old, New Values
	// Attempted is the number of pairs of which both sides ran, 0 unknown.
	Attempted int
	// WithinProcess says that one process gave several of the values.
	WithinProcess bool

	suite      string
	fromFailed [2]int // samples of processes that ended badly afterwards
}

// Side gives the samples of one side.
func (s *Series) Side(side job.SideName) *Values {
	if side == job.New {
		return &s.New
	}
	return &s.Old
}

// attempted is the number of pairs that were begun, as far as it is known.
func (s *Series) attempted() int {
	if s == nil {
		return 0
	}
	return max(s.Attempted, len(s.Old.Value), len(s.New.Value))
}

// LossKind sorts the ways in which a benchmark process ends badly.
type LossKind string

// The kinds of loss.
const (
	Crash   LossKind = "crash"
	Timeout LossKind = "timeout"
	Limit   LossKind = "limit"
)

// Loss counts the processes of one case and side that ended badly in one way.
type Loss struct {
	Suite string
	Case  string
	Side  job.SideName
	Kind  LossKind
	Count int
	// Text says how the first of them ended ("exit 1", "signal: killed"); Log is
	// the tail of what it printed. Both are hostile text.
	Text string
	Log  string
}

// Data is everything that was measured: the samples grouped by benchmark, and
// the facts that a verdict has to take into account.
type Data struct {
	Series []*Series // in the order in which the benchmarks were first seen
	Losses []Loss
	// Processes counts the benchmark processes of the old and the new side, 0
	// where the samples come from files.
	Processes [2]int
	// Unreadable counts lines that looked like results and were none; Quoted
	// holds the first of them, hostile text.
	Unreadable int
	Quoted     []string
	// NotInterleaved says that the sides ran one after the other.
	NotInterleaved bool
	// Silent are the cases of which processes ran and printed no benchmark on
	// either side, whether they failed or not.
	Silent []Silent
}

// Silent is a case that printed no benchmark.
type Silent struct{ Suite, Case string }

// maxQuoted bounds how many unreadable lines are kept for the report.
const maxQuoted = 5

// Collector groups samples as they are read. It keeps about 20 bytes a sample.
// Use NewCollector; a Collector is not safe for concurrent use.
type Collector struct {
	data    Data
	index   map[seriesID]*Series
	recent  []recent     // by the number that the reader of a file gives its series
	losses  map[Loss]int // the countable part of a loss, to its place in data.Losses
	cases   map[caseID]*progress
	seen    map[recordID]struct{}
	counted map[recordID]struct{} // by record, whatever its parts
}

type seriesID struct {
	suite, cas string
	Key
}

// recent is a series as it was looked up last. The strings are those that the
// reader gives time and again, so that comparing them costs next to nothing.
type recent struct {
	id     seriesID
	series *Series
}

// progress is what is known of a case from its run records.
type progress struct {
	failed [2]int // processes that ended badly
	pairs  [2]int // begun
}

type caseID struct{ suite, cas string }

// recordID identifies a run record, so that one delivered twice counts once.
type recordID struct {
	suite, cas string
	side       job.SideName
	pair, part int
}

// NewCollector makes an empty collector.
func NewCollector() *Collector {
	return &Collector{
		index:   map[seriesID]*Series{},
		losses:  map[Loss]int{},
		cases:   map[caseID]*progress{},
		seen:    map[recordID]struct{}{},
		counted: map[recordID]struct{}{},
	}
}

// Add takes one sample from a file. pair is the number of the pair of runs that
// it belongs to, or -1 where the file does not tell.
func (c *Collector) Add(side job.SideName, s job.Sample, pair int) {
	c.series("", "", &s).add(side, &s, pair)
}

// series finds the series of a sample, or begins it.
func (c *Collector) series(suite, cas string, s *job.Sample) *Series {
	id := seriesID{suite, cas, Key{s.Benchmark, s.Config, s.Unit}}
	series := c.index[id]
	if series == nil {
		// The strings may be parts of a large line or message; the copies let it go.
		id = seriesID{strings.Clone(suite), strings.Clone(cas),
			Key{strings.Clone(s.Benchmark), strings.Clone(s.Config), strings.Clone(s.Unit)}}
		series = &Series{Key: id.Key, Case: id.cas, suite: id.suite}
		c.index[id] = series
		c.data.Series = append(c.data.Series, series)
	}
	return series
}

func (series *Series) add(side job.SideName, s *job.Sample, pair int) {
	if series.Better == "" {
		series.Better = s.Better
	}
	v := series.Side(side)
	if v.Value == nil {
		const few = 16 // spares growing from one sample on
		v.Value, v.Time = make([]float64, 0, few), make([]float64, 0, few)
	}
	value := s.Value
	if s.Invalid != "" {
		value = invalidValue(s.Invalid)
		if v.Invalid == "" {
			v.Invalid = strings.Clone(s.Invalid)
		}
	}
	if pair >= 0 && v.Pair == nil && len(v.Value) == 0 {
		v.Pair = make([]int32, 0, cap(v.Value))
	}
	v.Value = append(v.Value, value)
	v.Time = append(v.Time, s.Time)
	if v.Pair != nil {
		if pair < 0 || pair > math.MaxInt32 {
			v.Pair = nil // one sample without a place makes all places useless
		} else {
			v.Pair = append(v.Pair, int32(pair))
		}
	}
}

// invalidValue gives the number that R would read for what the tool printed, so
// that the text table says NaN or Inf as Node's does.
func invalidValue(s string) float64 {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "inf", "+inf", "infinity", "+infinity":
		return math.Inf(1)
	case "-inf", "-infinity":
		return math.Inf(-1)
	}
	return math.NaN()
}

// AddRun takes the record of one finished process, of which a part that was
// taken before counts once. A process that ended badly is counted as lost, and
// the values that it had printed before are kept.
func (c *Collector) AddRun(r job.Run) {
	rec := recordID{r.Suite, r.Case, r.Side, r.Pair, r.Part}
	if _, again := c.seen[rec]; again {
		return
	}
	c.seen[rec] = struct{}{}
	side := sideIndex(r.Side)
	rec.part = 0
	if _, counted := c.counted[rec]; !counted {
		c.counted[rec] = struct{}{}
		c.data.Processes[side]++
		p := c.cases[caseID{r.Suite, r.Case}]
		if p == nil {
			p = &progress{}
			c.cases[caseID{r.Suite, r.Case}] = p
		}
		p.pairs[side] = max(p.pairs[side], r.Pair+1)
		if !r.OK() {
			p.failed[side]++
			c.addLoss(r)
		}
	}
	for i := range r.Samples {
		series := c.series(r.Suite, r.Case, &r.Samples[i])
		series.add(r.Side, &r.Samples[i], r.Pair)
		if !r.OK() {
			series.fromFailed[side]++
		}
	}
	c.Unreadable(r.Unreadable, r.Quoted...)
}

func (c *Collector) addLoss(r job.Run) {
	id := Loss{Suite: r.Suite, Case: r.Case, Side: r.Side, Kind: lossKind(r)}
	i, ok := c.losses[id]
	if !ok {
		i = len(c.data.Losses)
		c.losses[id] = i
		id.Text, id.Log = lossText(r), r.Log
		c.data.Losses = append(c.data.Losses, id)
	}
	c.data.Losses[i].Count++
}

// Unreadable counts n lines that looked like results and could not be read.
func (c *Collector) Unreadable(n int, quoted ...string) {
	c.data.Unreadable += n
	for _, q := range quoted {
		if len(c.data.Quoted) < maxQuoted {
			c.data.Quoted = append(c.data.Quoted, strings.Clone(q))
		}
	}
}

// AddRecord takes one value of a file of samples. The record may be overwritten
// afterwards.
func (c *Collector) AddRecord(r *benchfmt.Record) {
	for len(c.recent) <= r.Series {
		c.recent = append(c.recent, recent{})
	}
	known := &c.recent[r.Series]
	id := seriesID{r.Suite, r.Case, Key{r.Sample.Benchmark, r.Sample.Config, r.Sample.Unit}}
	if known.series == nil || known.id != id {
		*known = recent{id, c.series(r.Suite, r.Case, &r.Sample)}
	}
	known.series.add(r.Side, &r.Sample, r.Pair)
	known.series.WithinProcess = known.series.WithinProcess || r.Within
}

// EndFile takes what is known about a file once its last record is read.
func (c *Collector) EndFile(p benchfmt.Properties, q benchfmt.Problems) {
	c.recent = nil
	c.data.NotInterleaved = c.data.NotInterleaved || !p.Interleaved
	c.Unreadable(q.Count, q.Quoted()...)
}

// Data gives what was collected. The collector must not be used afterwards.
func (c *Collector) Data() *Data {
	names := map[Key]int{}
	printed := map[caseID]bool{}
	for _, s := range c.data.Series {
		names[s.Key]++
		printed[caseID{s.suite, s.Case}] = true
	}
	for id := range c.cases {
		if !printed[id] {
			c.data.Silent = append(c.data.Silent, Silent{id.suite, id.cas})
		}
	}
	slices.SortFunc(c.data.Silent, func(a, b Silent) int {
		return cmp.Or(strings.Compare(a.Suite, b.Suite), strings.Compare(a.Case, b.Case))
	})
	for _, s := range c.data.Series {
		if p := c.cases[caseID{s.suite, s.Case}]; p != nil {
			s.Attempted = min(p.pairs[0], p.pairs[1])
			s.Old.Lost = max(0, p.failed[0]-s.fromFailed[0])
			s.New.Lost = max(0, p.failed[1]-s.fromFailed[1])
		}
		if names[s.Key] > 1 {
			// Two cases print the same name: they are two benchmarks.
			s.Benchmark = strings.TrimSpace(strings.Join([]string{s.suite, s.Case}, " ")) + ": " + s.Benchmark
		}
		s.Old.sortByPair()
		s.New.sortByPair()
	}
	return &c.data
}

// sortByPair brings samples that arrived out of order back into the order of
// their pairs.
func (v *Values) sortByPair() {
	if v.Pair == nil || slices.IsSorted(v.Pair) {
		return
	}
	order := make([]int, len(v.Pair))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(v.Pair[a]) - int(v.Pair[b]) })
	old := *v
	v.Value, v.Time, v.Pair = nil, nil, nil
	for _, i := range order {
		v.Value = append(v.Value, old.Value[i])
		v.Time = append(v.Time, old.Time[i])
		v.Pair = append(v.Pair, old.Pair[i])
	}
}

func sideIndex(s job.SideName) int {
	if s == job.New {
		return 1
	}
	return 0
}
