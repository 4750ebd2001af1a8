package measure_test

import (
	"fmt"
	"testing"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report/stats"
	"github.com/prbench/prbench/runner/measure"
)

// gated measures for a roll-up, or not, and gives the looks.
func gated(t *testing.T, gate bool, cv, effect map[string]float64, names []string) (*bench, []measure.Look) {
	t.Helper()
	b := newAdaptive(t, &machine{prints: rated(cv, effect)}, names...)
	b.Spec.Gate = gate
	var looks []measure.Look
	b.Looked = func(l measure.Look) { looks = append(looks, l) }
	b.run(t)
	return b, looks
}

// last is what the looks said last of the first case.
func last(t *testing.T, looks []measure.Look, name string) measure.Judged {
	t.Helper()
	for _, j := range looks[len(looks)-1].Benchmarks {
		if j.Name == name+" n=1" {
			return j
		}
	}
	t.Fatalf("no look has %s", name)
	return measure.Judged{}
}

func TestForALineABenchmarkThatIsNoWorseIsResolved(t *testing.T) {
	cv, effect := map[string]float64{"a.js": 0.02}, map[string]float64{"a.js": 0.008}
	b, looks := gated(t, true, cv, effect, []string{"a.js"})
	got := last(t, looks, "a.js")
	if got.Verdict != stats.NoWorse || !got.Resolved || got.Pairs == 100 {
		t.Errorf("for a line: %+v", got)
	}
	ordinary, _ := gated(t, false, cv, effect, []string{"a.js"})
	if line, alone := b.pairs("a.js"), ordinary.pairs("a.js"); line >= alone {
		t.Errorf("%d pairs for a line, %d alone", line, alone)
	}
}

// many are K declared benchmarks, of which the first has an effect.
func many(k int, first string, spread, effectOfFirst float64) (names []string, cv, effect map[string]float64) {
	names, cv, effect = []string{first}, map[string]float64{first: spread}, map[string]float64{first: effectOfFirst}
	for i := 1; i < k; i++ {
		name := fmt.Sprintf("%c%d.js", 'b'+i%25, i)
		names, cv[name] = append(names, name), 0.003
	}
	return names, cv, effect
}

func TestForALineARegressionIsResolvedAmongAllItsBenchmarksOrAtTheEnd(t *testing.T) {
	waited := 0
	for _, effect := range []float64{-0.026, -0.028, -0.030, -0.032, -0.035, -0.045} {
		names, cv, effects := many(40, "a.js", 0.02, effect)
		_, looks := gated(t, true, cv, effects, names)
		for _, l := range looks {
			for _, j := range l.Benchmarks {
				if j.Verdict != stats.Regression || j.Pairs != l.Pairs { // settled at an earlier look
					continue
				}
				end := j.Pairs == 100
				if j.Resolved != (j.FamilyRegression || end) {
					t.Errorf("effect %v, after %d pairs: resolved %v, among all benchmarks %v", effect, j.Pairs, j.Resolved, j.FamilyRegression)
				}
				if !j.Resolved {
					waited++
				}
			}
		}
	}
	if waited == 0 {
		t.Error("no regression had to wait for the level among all benchmarks")
	}
}

func TestForALineABenchmarkIsFutileWhenNeitherLevelIsInReach(t *testing.T) {
	// Between the margin and what 40 benchmarks let show, far above any hope of
	// being no worse: alone it can still be a regression.
	names, cv, effects := many(40, "a.js", 0.035, -0.026)
	line, looks := gated(t, true, cv, effects, names)
	alone, _ := gated(t, false, cv, effects, names)
	if got := last(t, looks, "a.js"); !got.Futile || got.Resolved {
		t.Errorf("for a line: %+v", got)
	}
	if l, a := line.pairs("a.js"), alone.pairs("a.js"); l >= a {
		t.Errorf("%d pairs for a line, %d alone", l, a)
	}
}

func TestForALineARateBesideATimeIsDeclaredOnce(t *testing.T) {
	// K counts what decides: 3 benchmarks that print a rate beside their time are
	// 3, so that the level is that of 3.
	regression := func(effect float64, twins bool) int {
		names, cv, effects := many(3, "a.js", 0.012, effect)
		rate := rated(cv, effects)
		m := &machine{prints: func(c string, side job.SideName, run int) string {
			var v float64
			if _, err := fmt.Sscanf(rate(c, side, run), c+" n=1: %f", &v); err != nil {
				t.Error(err)
			}
			text := fmt.Sprintf("BenchmarkX-1 100 %.6f ns/op", 1e6/v)
			if twins {
				text += fmt.Sprintf(" %.6f MB/s", v)
			}
			return text + "\n"
		}}
		b := newAdaptive(t, m, names...)
		b.Spec.Gate = true
		b.Spec.Suites[0].Format = job.FormatGo
		b.run(t)
		return b.pairs("a.js")
	}
	for _, effect := range []float64{-0.0575, -0.0372} { // at which the level of 6 takes longer
		if plain, twins := regression(effect, false), regression(effect, true); plain != twins {
			t.Errorf("effect %.4f: %d pairs with one value each, %d with a rate beside the time", effect, plain, twins)
		}
	}
}
