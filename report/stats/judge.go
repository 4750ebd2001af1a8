package stats

import (
	"math"
	"sync"
)

// A Judge is a Design made ready to judge many benchmarks: the levels of its
// looks are computed once. It may be used by several goroutines at once.
type Judge struct {
	design Design
	looks  []levels // of each look; one element for a fixed design

	// The normal deviates of the last look, at the attempt's own level and at
	// that of the roll-up.
	lastDeviate, lastFamilyDeviate float64
}

// levels are the nominal two-sided p-values of one look, and the critical
// values of the df that was asked for last, which in a paired analysis
// without lost runs is always the same.
type levels struct {
	p [levelKinds]float64

	mu       sync.Mutex
	df       float64
	critical [levelKinds]float64
}

// The levels that a look tests at: three for stars, in the order of
// StarLevels, then that of the verdict and that of the roll-up.
const (
	verdictLevel = 3 + iota
	familyLevel
	levelKinds
)

// NewJudge panics where Validate fails.
func NewJudge(d Design) *Judge {
	d = mustValid(d)
	j := &Judge{design: d, looks: make([]levels, max(1, len(d.Looks)))}
	family := d.Alpha / float64(max(1, d.Declared))
	for kind, level := range [levelKinds]float64{StarLevels[0], StarLevels[1], StarLevels[2], d.Alpha, family} {
		level = math.Ldexp(level, 1-d.Attempt)
		if !d.Adaptive() {
			j.looks[0].p[kind] = level
			continue
		}
		for k, p := range cachedBoundary(d.Looks, level) {
			j.looks[k].p[kind] = p
		}
	}
	last := &j.looks[len(j.looks)-1]
	j.lastDeviate = normalTwoSided(math.Log(last.p[verdictLevel]))
	j.lastFamilyDeviate = normalTwoSided(math.Log(last.p[familyLevel]))
	return j
}

func mustValid(d Design) Design {
	d = d.WithDefaults()
	if err := d.Validate(); err != nil {
		panic("stats: " + err.Error())
	}
	return d
}

// Design returns the design with its defaults filled in.
func (j *Judge) Design() Design { return j.design }

// at returns the levels of a look, numbered from 1; 0 in a fixed design.
func (j *Judge) at(look int) *levels { return &j.looks[max(0, look-1)] }

// criticalValue returns t_{1−p/2, df} for one of the levels.
func (l *levels) criticalValue(kind int, df float64) float64 {
	if df != math.Trunc(df) {
		return criticalT(l.p[kind], df)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.df != df {
		l.df, l.critical = df, [levelKinds]float64{}
	}
	if l.critical[kind] == 0 {
		l.critical[kind] = criticalT(l.p[kind], df)
	}
	return l.critical[kind]
}

// exceeds returns +1 where G(improvement) is above the critical value of a
// level, −1 where it is below its negative, and 0 between.
func (l *levels) exceeds(c contrast, improvement float64, kind int) int {
	g := c.g(improvement)
	df := c.df(c.sigma * improvement)
	var beyond bool
	if c.freedom != 0 {
		beyond = math.Abs(g) > l.criticalValue(kind, df)
	} else { // the tail costs less than the critical value of a new df
		beyond = logTailT(g, df) < math.Log(l.p[kind])
	}
	switch {
	case !beyond:
		return 0
	case g > 0:
		return +1
	}
	return -1
}

// stars returns how many of the levels of the stars the contrast passes at 0.
func (l *levels) stars(c contrast) int {
	n := 0
	for n < len(StarLevels) && l.exceeds(c, 0, n) != 0 {
		n++
	}
	return n
}
