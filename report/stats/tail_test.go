package stats

import (
	"encoding/json"
	"math"
	"os"
	"strconv"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

func readJSON(t testing.TB, path string, into any) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func relativeError(got, want float64) float64 {
	if got == want {
		return 0
	}
	return math.Abs(got-want) / math.Abs(want)
}

// The reference holds [t, df, "p at 20 digits"].
func TestTailAgreesWithReferenceDownTo1e300(t *testing.T) {
	var rows [][3]any
	readJSON(t, "testdata/student_tail_reference.json", &rows)
	for _, row := range rows {
		x, df := row[0].(float64), row[1].(float64)
		want, _ := strconv.ParseFloat(row[2].(string), 64)
		if e := relativeError(tailT(x, df), want); !(e <= 1e-12) {
			t.Errorf("tail of t=%g at df=%g: %.17g, want %.17g (relative error %.2g)", x, df, tailT(x, df), want, e)
		}
		// The quantile is ill-conditioned where p is close to 1.
		if want > 0.999 {
			continue
		}
		slope := x * 2 * math.Exp(logDensityT(x, df)-math.Log(want)) // d ln p / d ln t
		if e := relativeError(criticalT(want, df), x); !(e <= 1e-12+4e-16/slope) {
			t.Errorf("quantile of p=%g at df=%g: %.17g, want %.17g (relative error %.2g)", want, df, criticalT(want, df), x, e)
		}
	}
}

func TestTailAgreesWithGonumInItsExactRange(t *testing.T) {
	for df := 1.0; df <= 1000; df *= 1.37 {
		s := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df}
		for x := 0.01; x < 50; x *= 1.3 {
			want := 2 * s.Survival(x)
			if want < 1e-7 {
				continue
			}
			if e := relativeError(tailT(x, df), want); !(e <= 1e-11) {
				t.Errorf("tail of t=%g at df=%g: relative error %.2g", x, df, e)
			}
		}
	}
}

func TestTailExistsWhereItUnderflows(t *testing.T) {
	if p := tailT(1.1489509572407546e10, 397.997823906733); p != 0 {
		t.Errorf("p = %g, want an underflow to 0", p)
	}
	want := math.Log(9.9324307551228) - 3489*math.Ln10
	if got := logTailT(1.1489509572407546e10, 397.997823906733); relativeError(got, want) > 1e-12 {
		t.Errorf("ln p = %.15g, want %.15g", got, want)
	}
}

func TestTailAtTheEdges(t *testing.T) {
	for _, c := range []struct{ t, df, want float64 }{
		{0, 7, 1}, {math.Inf(1), 7, 0}, {math.Inf(-1), 7, 0}, {1.959963984540054, math.Inf(1), 0.05}, {1e200, 1, 2 / math.Pi * 1e-200},
	} {
		if got := tailT(c.t, c.df); math.Abs(got-c.want) > 1e-12*c.want {
			t.Errorf("tail of t=%g at df=%g: %g, want %g", c.t, c.df, got, c.want)
		}
	}
	for _, bad := range []float64{tailT(math.NaN(), 5), tailT(1, math.NaN()), tailT(1, 0), criticalT(1.5, 5), criticalT(0.5, -1), criticalT(math.NaN(), 5)} {
		if !math.IsNaN(bad) {
			t.Errorf("got %g where nothing exists", bad)
		}
	}
	if criticalT(1, 5) != 0 || !math.IsInf(criticalT(0, 5), 1) {
		t.Error("the quantiles of p = 1 and p = 0 are 0 and +Inf")
	}
}

func TestCriticalValueOfTheReferenceTable(t *testing.T) {
	var file struct {
		Table map[string]map[string]string `json:"_tcrit_table"`
	}
	readJSON(t, "testdata/welch_reference.json", &file)
	if len(file.Table) < 9 {
		t.Fatalf("%d rows in the table, want 9", len(file.Table))
	}
	for dfText, row := range file.Table {
		df, _ := strconv.ParseFloat(dfText, 64)
		for level, text := range row {
			confidence, _ := strconv.ParseFloat(level, 64)
			want, _ := strconv.ParseFloat(text, 64)
			if e := relativeError(criticalT(1-confidence, df), want); !(e <= 1e-12) {
				t.Errorf("critical value at %s, df %s: %.17g, want %s (relative error %.2g)", level, dfText, criticalT(1-confidence, df), text, e)
			}
		}
	}
}

func BenchmarkCriticalT(b *testing.B) {
	for i := range b.N {
		criticalT(0.05, 20+float64(i%100)/3)
	}
}

func BenchmarkTailT(b *testing.B) {
	for i := range b.N {
		tailT(2.5, 20+float64(i%100)/3)
	}
}
