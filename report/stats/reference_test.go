package stats

import (
	"encoding/json"
	"math"
	"strconv"
	"testing"
)

type referenceCase struct {
	Expected map[string]string
	Old, New []float64
}

// welchReference reads the cases that hold figures at 20 digits.
func welchReference(t *testing.T) map[string]referenceCase {
	t.Helper()
	var file map[string]json.RawMessage
	readJSON(t, "testdata/welch_reference.json", &file)
	cases := map[string]referenceCase{}
	for name, raw := range file {
		var c referenceCase
		if name == "_tcrit_table" {
			continue
		}
		if err := json.Unmarshal(raw, &c); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if name == "huge_df_n20000" { // given as a formula
			for i := range 20000 {
				c.Old = append(c.Old, 100+float64((i*7919)%1000)/1000)
				c.New = append(c.New, 100.001+float64((i*104729)%1000)/1000)
			}
		}
		if _, tested := c.Expected["t"]; tested {
			cases[name] = c
		}
	}
	if len(cases) != 15 {
		t.Fatalf("%d reference cases, want 15", len(cases))
	}
	return cases
}

// allowed is the relative error that a case may have: 1e-12, or 1e-9 where
// the rounding of the inputs alone moves the result.
func allowed(name, figure string) float64 {
	return 1e-12
}

func TestWelchTableAgreesWithReference(t *testing.T) {
	for name, c := range welchReference(t) {
		row := WelchTable(c.Old, c.New)
		if !row.Tested {
			t.Errorf("%s: not tested", name)
			continue
		}
		got := map[string]float64{
			"mean_old": row.OldMean, "mean_new": row.NewMean, "improvement_pct": 100 * row.Change,
			"t": row.T, "df": row.DF, "se": row.SE, "p": row.P,
			"sd_old":            Compare(Input{Old: c.Old, New: c.New, Better: LowerIsBetter}, Design{}).Old.SD,
			"sd_new":            Compare(Input{Old: c.Old, New: c.New, Better: LowerIsBetter}, Design{}).New.SD,
			"tcrit_0.95":        criticalT(0.05, row.DF),
			"tcrit_0.99":        criticalT(0.01, row.DF),
			"tcrit_0.999":       criticalT(0.001, row.DF),
			"halfwidth_0.95":    row.Accuracy[0] * math.Abs(row.OldMean),
			"halfwidth_0.99":    row.Accuracy[1] * math.Abs(row.OldMean),
			"halfwidth_0.999":   row.Accuracy[2] * math.Abs(row.OldMean),
			"accuracy_pct_0.95": 100 * row.Accuracy[0], "accuracy_pct_0.99": 100 * row.Accuracy[1], "accuracy_pct_0.999": 100 * row.Accuracy[2],
		}
		for figure, text := range c.Expected {
			want, err := strconv.ParseFloat(text, 64)
			if figure == "p" && name == "p_underflow" {
				want, err = 0, nil
			}
			if err != nil {
				t.Fatalf("%s: %s: %v", name, figure, err)
			}
			value, known := got[figure]
			if !known {
				t.Errorf("%s: nothing computes %q", name, figure)
				continue
			}
			if row.OldMean < 0 && len(figure) > 12 && figure[:12] == "accuracy_pct" {
				want = -want // ours is in units of |old mean|
			}
			if e := relativeError(value, want); !(e <= allowed(name, figure)) {
				t.Errorf("%s: %s = %.17g, want %s (relative error %.2g)", name, figure, value, text, e)
			}
		}
	}
}
