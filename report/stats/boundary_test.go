package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// The published nominal levels of the default looks, as printed.
var publishedBoundary = map[float64][]string{
	0.05:  {".00032", ".00088", ".00232", ".00593", ".0163", ".0392"},
	0.01:  {"6.4e-5", "1.72e-4", "4.47e-4", "1.13e-3", "3.09e-3", "7.29e-3"},
	0.001: {"6.4e-6", "1.68e-5", "4.32e-5", "1.08e-4", "2.93e-4", "6.78e-4"},
}

// halfUnit is half a unit of the last printed digit.
func halfUnit(text string) float64 {
	mantissa, exponent, _ := strings.Cut(text, "e")
	_, decimals, _ := strings.Cut(mantissa, ".")
	e, _ := strconv.Atoi(exponent)
	return 0.5 * math.Pow10(e-len(decimals))
}

func TestBoundaryOfTheDefaultLooksAgreesWithThePublishedTable(t *testing.T) {
	for alpha, row := range publishedBoundary {
		got := Boundary(DefaultLooks(), alpha)
		for k, text := range row {
			want, _ := strconv.ParseFloat(text, 64)
			if math.Abs(got[k]-want) > halfUnit(text) {
				t.Errorf("alpha %g, look %d: %.6g, want %s", alpha, k+1, got[k], text)
			}
		}
	}
}

func TestBoundaryOfOneLookIsTheLevelItself(t *testing.T) {
	for _, alpha := range []float64{0.3, 0.05, 1e-3, 1e-9} {
		if got := Boundary([]int{30}, alpha); len(got) != 1 || relativeError(got[0], alpha) > 1e-11 {
			t.Errorf("level %g: %v", alpha, got)
		}
	}
}

// The chance of any crossing is counted on simulated Brownian motions, which
// know nothing of the integration.
func TestBoundarySpendsItsLevelOnAnyListOfLooks(t *testing.T) {
	const replicates = 60_000
	for _, plan := range []struct {
		looks []int
		alpha float64
	}{
		{DefaultLooks(), 0.05},
		{[]int{5, 6, 7, 100}, 0.10},
		{[]int{10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 101}, 0.05},
		{[]int{2, 1000}, 0.05},
		{[]int{990, 1000}, 0.2},
	} {
		t.Run(fmt.Sprint(plan.looks), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(1, uint64(len(plan.looks))))
			p := Boundary(plan.looks, plan.alpha)
			z := make([]float64, len(p))
			for k := range p {
				z[k] = normalTwoSided(math.Log(p[k]))
			}
			crossed := 0
			for range replicates {
				s, before := 0.0, 0
				for k, n := range plan.looks {
					s += rng.NormFloat64() * math.Sqrt(float64(n-before))
					before = n
					if math.Abs(s) > z[k]*math.Sqrt(float64(n)) {
						crossed++
						break
					}
				}
			}
			share := float64(crossed) / replicates
			if se := math.Sqrt(plan.alpha * (1 - plan.alpha) / replicates); math.Abs(share-plan.alpha) > 4*se {
				t.Errorf("crossed in %.4f, want %.4f ± %.4f", share, plan.alpha, se)
			}
		})
	}
}

func TestBoundaryStaysFiniteAtTinyLevels(t *testing.T) {
	for _, alpha := range []float64{1e-3 / 30, 1e-9, 1e-15} {
		spent := 0.0
		for k, p := range Boundary(DefaultLooks(), alpha) {
			if !(p > 0 && p <= alpha) {
				t.Errorf("alpha %g, look %d: nominal level %g", alpha, k+1, p)
			}
			spent += p
		}
		if spent < alpha*(1-1e-9) {
			t.Errorf("alpha %g: nominal levels sum to %g, which cannot spend it", alpha, spent)
		}
	}
}

func TestBoundaryIsTheCallersOwn(t *testing.T) {
	first := Boundary(DefaultLooks(), 0.05)
	want := first[0]
	first[0] = 7
	if got := Boundary(DefaultLooks(), 0.05)[0]; got != want {
		t.Errorf("a caller's change reached the next caller: %g", got)
	}
}

func TestBoundaryMayBeAskedFromManyGoroutines(t *testing.T) {
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			for j := range 50 {
				Boundary([]int{8, 15 + j%5}, 0.05/float64(1+i%3))
			}
		})
	}
	wait.Wait()
}

func TestBoundaryRefusesAPlanThatIsNone(t *testing.T) {
	for _, looks := range [][]int{nil, {1}, {8, 8}, {15, 8}, {8, MaxPairs + 1}, make([]int, MaxLooks+1)} {
		if err := ValidateLooks(looks); err == nil {
			t.Errorf("looks %v were accepted", looks)
		}
	}
}

func TestMoreLooksGoOnToFourTimesTheLargest(t *testing.T) {
	got := MoreLooks(DefaultLooks())
	if want := "[8 15 25 40 65 100 159 252 400]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
	if err := ValidateLooks(MoreLooks([]int{2})); err != nil {
		t.Error(err)
	}
}

func BenchmarkBoundary(b *testing.B) {
	for i := range b.N {
		spend(DefaultLooks(), 0.05/float64(1+i%7))
	}
}
