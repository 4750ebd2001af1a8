package benchfmt

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

func TestNumbersAreReadAsStrconvReadsThem(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range 30_000 {
		var s string
		switch i % 5 {
		case 0:
			s = strconv.FormatFloat(math.Exp(40*rng.Float64()-20), 'f', -1, 64)
		case 1:
			s = fmt.Sprintf("%d.%0*d", rng.Uint64N(1e9), 1+rng.IntN(9), rng.Uint64N(1e9))
		case 2:
			s = strconv.FormatFloat(rng.NormFloat64()*1e5, 'g', -1, 64)
		case 4:
			s = strconv.FormatFloat(rng.NormFloat64()*1e5, 'e', -1, 64)
		case 3: // half way between two floats, and next to it
			x := 1<<53 + 2*rng.Uint64N(1<<52) + 1
			s = fmt.Sprintf("%d.%s", x, []string{"0", "1", "001"}[rng.IntN(3)])
		}
		want, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := parseNumber([]byte(s), 0)
		if !ok || got != want {
			t.Fatalf("%s: got %v, want %v", s, got, want)
		}
		for _, by := range []scale{3, 6, 9, -3} {
			want, _ := strconv.ParseFloat(s+"e"+strconv.Itoa(int(by)), 64)
			if i%5 == 2 || i%5 == 4 {
				continue // has an exponent of its own
			}
			if got, ok := parseNumber([]byte(s), by); !ok || got != want {
				t.Fatalf("%s scaled by 10^%d: got %v, want %v", s, by, got, want)
			}
		}
	}
}

func TestWhatIsNoDecimalNumberIsRefused(t *testing.T) {
	for _, s := range []string{"", "-", ".", "1e", "0x10", "1_000", "1,000", "1 2", "1.2.3", "1e5e5", "ten", "--1"} {
		if v, ok := parseNumber([]byte(s), 0); ok {
			t.Errorf("%q was read as %v", s, v)
		}
		if v, ok := parseNumber([]byte(s), 6); ok {
			t.Errorf("%q was read as %v, scaled", s, v)
		}
	}
}
