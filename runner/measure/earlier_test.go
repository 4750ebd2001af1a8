package measure_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/runner/measure"
)

// kept describes runs by what they measured, in an order of their own: the sides
// of a pair are run in random order.
func kept(runs []job.Run) []string {
	var out []string
	for _, r := range runs {
		out = append(out, fmt.Sprint(r.Case, r.Pair, r.Side, r.Samples[0].Value))
	}
	slices.Sort(out)
	return out
}

// mixed is a measuring of cases that end at different looks.
func mixed(t *testing.T) (*bench, *[]measure.Look) {
	m := &machine{prints: rated(map[string]float64{"calm.js": 0.002, "middling.js": 0.025, "wild.js": 0.15}, nil)}
	b := newAdaptive(t, m, "calm.js", "middling.js", "wild.js")
	looks := &[]measure.Look{}
	b.Looked = func(l measure.Look) {
		l.Left = 0
		*looks = append(*looks, l)
	}
	return b, looks
}

func TestAMeasuringThatWasInterruptedEndsAsOneThatWasNot(t *testing.T) {
	whole, wholeLooks := mixed(t)
	whole.run(t)
	for _, after := range []int{1, 6, 47, 48, 49, len(whole.runs) - 2} {
		b, looks := mixed(t)
		var first []job.Run
		b.Sink = func(r job.Run) error { first = append(first, r); return nil }
		// It leaves with the pair: the look would come too late.
		b.End = func() (time.Time, bool) { return time.Time{}, len(first) >= after }
		o, err := measure.Run(t.Context(), b.Options)
		if err != nil || o.Kind != job.Stopped || len(first) != after+after%2 || o.Runs != len(first) {
			t.Fatalf("interrupted after %d: %+v, %v, %d runs", after, o, err, len(first))
		}
		*looks = nil
		var again []job.Run
		b.Earlier, b.End = first, nil
		b.Again = func(r job.Run) error { again = append(again, r); return nil }
		b.Sink = func(r job.Run) error { b.runs = append(b.runs, r); return nil }
		o, err = measure.Run(t.Context(), b.Options)
		if err != nil || o.Kind != job.Measured || o.Runs != len(whole.runs) {
			t.Fatalf("taken up after %d: %+v, %v", after, o, err)
		}
		if len(again) != len(first) || !slices.Equal(kept(append(again, b.runs...)), kept(whole.runs)) {
			t.Errorf("taken up after %d: %d runs again and %d more, %d in one go", after, len(again), len(b.runs), len(whole.runs))
		}
		if got, want := fmt.Sprint(*looks), fmt.Sprint(*wholeLooks); got != want {
			t.Errorf("taken up after %d, the looks found\n%s\nwant\n%s", after, got, want)
		}
		if n := strings.Join(o.Notes, "\n"); !strings.Contains(n, fmt.Sprintf("stopped after %d of the runs", len(first))) {
			t.Errorf("notes: %s", n)
		}
	}
}

func TestHalfAPairIsRunAgainWhole(t *testing.T) {
	b := newBench(t, map[string]string{"run.sh": says("100")}, job.Suite{Command: "./run.sh"})
	ctx, stop := context.WithCancelCause(t.Context())
	var first []job.Run
	b.Sink = func(r job.Run) error {
		if first = append(first, r); len(first) == 3 {
			stop(errors.New("enough"))
		}
		return nil
	}
	if o, err := measure.Run(ctx, b.Options); err != nil || o.Kind != job.Stopped || len(first) != 3 {
		t.Fatalf("%+v, %v", o, err)
	}
	again := 0
	b.Earlier, b.Again = first, func(job.Run) error { again++; return nil }
	b.Sink = func(r job.Run) error { b.runs = append(b.runs, r); return nil }
	if o, err := measure.Run(t.Context(), b.Options); err != nil || o.Kind != job.Measured || o.Runs != 4 || again != 2 || len(b.runs) != 2 {
		t.Errorf("%+v, %v; %d again, %d more", o, err, again, len(b.runs))
	}
}

func TestAMeasuringThatIsAskedToEndEndsWithItsLook(t *testing.T) {
	for name, c := range map[string]struct {
		within time.Duration
		runs   int
	}{
		"in time":          {5 * time.Minute, 2 * 15},  // seven pairs to the look take 14 minutes, of which ten have passed
		"it would be late": {time.Minute, 2 * (8 + 5)}, // with the pair
	} {
		t.Run(name, func(t *testing.T) {
			m := &machine{takes: time.Minute, prints: rated(map[string]float64{"a.js": 0.03}, nil)}
			b := newAdaptive(t, m, "a.js")
			var asked time.Time
			b.End = func() (time.Time, bool) {
				if len(b.runs) == 2*(8+5) && asked.IsZero() {
					asked = m.now
				}
				return asked.Add(c.within), !asked.IsZero()
			}
			if o := b.run(t); o.Kind != job.Stopped || len(b.runs) != c.runs {
				t.Errorf("%+v, %d runs", o, len(b.runs))
			}
		})
	}
}

func TestAMeasuringThatIsAskedToEndInItsLastLookIsComplete(t *testing.T) {
	b, _ := mixed(t)
	b.End = func() (time.Time, bool) { return b.Now().Add(time.Hour), true }
	b.Spec.Looks = []int{8}
	if o := b.run(t); o.Kind != job.Measured || len(b.runs) != 3*16 {
		t.Errorf("%+v, %d runs", o, len(b.runs))
	}
}

func TestTheTimeOfEarlierRunsCountsInTheBudget(t *testing.T) {
	m := &machine{takes: time.Minute, prints: rated(map[string]float64{"a.js": 0.03}, nil)}
	b := newAdaptive(t, m, "a.js")
	b.Spec.Budget = job.Duration(40 * time.Minute) // 15 pairs take half an hour, 25 fifty minutes
	b.End = func() (time.Time, bool) { return b.Now(), len(b.Earlier) == 16 }
	b.Sink = func(r job.Run) error { b.Earlier = append(b.Earlier, r); return nil }
	if o, err := measure.Run(t.Context(), b.Options); err != nil || o.Kind != job.Stopped {
		t.Fatalf("%+v, %v", o, err)
	}
	m.now = m.now.Add(24 * time.Hour) // which nobody measured in
	b.End = nil
	b.Sink = func(r job.Run) error { b.runs = append(b.runs, r); return nil }
	b.Again = func(r job.Run) error { b.runs = append(b.runs, r); return nil }
	o := b.run(t)
	if o.Kind != job.Measured || b.pairs("a.js") != 15 {
		t.Errorf("%+v, %d pairs", o, b.pairs("a.js"))
	}
}
