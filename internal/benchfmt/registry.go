package benchfmt

import (
	"slices"
	"strings"

	"github.com/prbench/prbench/internal/job"
)

// MaxBenchmarks bounds the different benchmarks that one process may print.
const MaxBenchmarks = 20_000

// MaxName bounds the bytes of a benchmark's name and of its configuration in
// what a process prints.
const MaxName = 4096

// maxUnits bounds the units of one benchmark of a process.
const maxUnits = 1000

// A series is one benchmark in one unit.
type series struct {
	benchmark, config string
	unit              string // normalised
	better            job.Better
	index             int

	rawUnit string // as printed
	scale   scale  // from rawUnit to unit
	dropped bool   // the filter does not want it
}

// An entry is a benchmark with the units that it was seen in.
type entry struct {
	benchmark, config string
	series            []*series

	// The bytes that name it in the input, and the entry that followed it last
	// time: files repeat their benchmarks in order, and comparing is faster than
	// hashing.
	raw  string
	next *entry
}

// A registry keeps names once, so that a file of a million rows holds each name
// one time, and numbers the series.
type registry struct {
	opt     Options
	raw     map[string]*entry // by the bytes as they stand in the input
	entries map[[2]string]*entry
	ids     map[seriesKey]*series
	count   int
	labels  bool // configurations end in a unitLabel
	tooMany bool // the limit was hit: stop reading
}

type seriesKey struct{ benchmark, config, unit string }

func newRegistry(opt Options) *registry {
	return &registry{
		opt:     opt,
		raw:     map[string]*entry{},
		entries: map[[2]string]*entry{},
		ids:     map[seriesKey]*series{},
	}
}

// remember makes raw a short way to e. The number of ways is bounded with the
// number of names: hostile output could spell one name in endless ways.
func (g *registry) remember(raw []byte, e *entry) {
	if g.opt.limit > 0 && len(g.raw) >= 2*g.opt.limit {
		clear(g.raw)
	}
	e.raw = string(raw)
	g.raw[e.raw] = e
}

// entry gives the benchmark of a name. Both parts are trimmed and single-spaced.
func (g *registry) entry(benchmark, config string) *entry {
	key := [2]string{cleanName(benchmark), cleanName(config)}
	if e := g.entries[key]; e != nil {
		return e
	}
	e := &entry{benchmark: key[0], config: key[1]}
	if g.opt.limit > 0 && len(g.entries) >= g.opt.limit {
		g.tooMany = true
		return e
	}
	g.entries[key] = e
	return e
}

// in gives the series of e in a unit as the tool prints it. better is what the
// input itself says of the direction, or empty.
func (g *registry) in(e *entry, rawUnit string, better job.Better) *series {
	for _, s := range e.series {
		if s.rawUnit == rawUnit {
			return s
		}
	}
	return g.addSeries(e, strings.Clone(rawUnit), better)
}

func (g *registry) addSeries(e *entry, rawUnit string, better job.Better) *series {
	s := &series{benchmark: e.benchmark, config: e.config, rawUnit: rawUnit}
	s.unit, s.scale = normalise(cleanName(rawUnit))
	s.better = g.direction(s.unit, better)
	if g.labels {
		s.config = withoutLabel(s.config, rawUnit)
	}
	if f := g.opt.Filter; f != nil {
		s.dropped = !f.MatchString(job.Sample{Benchmark: s.benchmark, Config: s.config}.Name())
	}
	if !s.dropped {
		key := seriesKey{s.benchmark, s.config, s.unit}
		if same := g.ids[key]; same != nil {
			s.index = same.index
			s.better = same.better
		} else {
			if g.opt.limit > 0 && g.count >= g.opt.limit {
				g.tooMany = true
				return s
			}
			g.ids[key] = s
			s.index = g.count
			g.count++
		}
	}
	if g.opt.limit > 0 && len(e.series) >= maxUnits {
		g.tooMany = true
		return s
	}
	e.series = append(e.series, s)
	return s
}

// direction decides between what the config says, what the input says, and the
// unit.
func (g *registry) direction(unit string, said job.Better) job.Better {
	if g.opt.Better != "" && g.opt.Unit != "" {
		if u, _ := normalise(g.opt.Unit); u == unit {
			return g.opt.Better
		}
	}
	if said != "" {
		return said
	}
	if b := Direction(unit); b != "" {
		return b
	}
	if slices.ContainsFunc(g.opt.Counts, func(c string) bool { u, _ := normalise(c); return u == unit }) {
		return job.Lower
	}
	if g.opt.Unit == "" {
		return g.opt.Better
	}
	return ""
}

// cleanName trims a name and makes every run of white space one space, so that
// names compare as people read them. Bytes that are no UTF-8 are replaced,
// since they would not survive JSON.
func cleanName(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	return strings.Clone(strings.Join(strings.Fields(s), " "))
}

// set makes the record one of series s.
func (rec *Record) set(s *series) {
	rec.Series = s.index
	rec.Sample.Benchmark = s.benchmark
	rec.Sample.Config = s.config
	rec.Sample.Unit = s.unit
	rec.Sample.Better = s.better
	rec.Sample.Value = 0
	rec.Sample.Time = 0
	rec.Sample.Invalid = ""
	rec.Sample.Count = 1
}
