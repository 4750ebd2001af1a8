package stats

import "testing"

func TestRollUp(t *testing.T) {
	held := []RollUpItem{{Verdict: Faster}, {Verdict: Equivalent}, {Verdict: SlowerWithin}, {Verdict: NoWorse}}
	with := func(items ...RollUpItem) []RollUpItem { return append(append([]RollUpItem{}, held...), items...) }
	family := RollUpItem{Verdict: Regression, FamilyRegression: true}
	for _, c := range []struct {
		name     string
		items    []RollUpItem
		declared int
		unfit    bool
		want     RollUpVerdict
	}{
		{"all hold", held, 4, false, Safe},
		{"one is missing", held, 5, false, RollUpInconclusive},
		{"nothing was declared", nil, 0, false, RollUpInconclusive},
		{"the host was unfit", held, 4, true, RollUpInconclusive},
		{"a regression of the family", with(family), 5, false, Regresses},
		{"a regression of the family on an unfit host", with(family), 5, true, Regresses},
		{"a regression, but not of the family", with(RollUpItem{Verdict: Regression}), 5, false, RollUpInconclusive},
		{"a slower one", with(RollUpItem{Verdict: Slower}), 5, false, RollUpInconclusive},
		{"one not comparable", with(RollUpItem{Verdict: NotComparable}), 5, false, RollUpInconclusive},
		{"one without a verdict", with(RollUpItem{}), 5, false, RollUpInconclusive},
		{"one that lost samples", with(RollUpItem{Verdict: Equivalent, Lost: true}), 5, false, RollUpInconclusive},
		{"one that lost samples and regresses", with(RollUpItem{Verdict: Regression, FamilyRegression: true, Lost: true}), 5, false, Regresses},
	} {
		got := Combine(c.items, c.declared, c.unfit)
		if got.Verdict != c.want {
			t.Errorf("%s: %+v, want %q", c.name, got, c.want)
		}
		if got.Held+got.Regressing+got.Open != got.Declared {
			t.Errorf("%s: the counts do not add up: %+v", c.name, got)
		}
		if got.HostUnfit != (c.name == "the host was unfit") {
			t.Errorf("%s: host unfit %v", c.name, got.HostUnfit)
		}
	}
}

func TestLostSamplesReachTheRollUp(t *testing.T) {
	in := pairsOf(1, 20, 0.003, 0)
	in.Old, in.New, in.LostNew = append(in.Old, 100), append(in.New, nan), 1
	c := Compare(in, Design{Declared: 1})
	if item := c.RollUpItem(); c.Verdict != Equivalent || !item.Lost {
		t.Errorf("verdict %q, item %+v", c.Verdict, item)
	}
}

func TestExpectedFalseStars(t *testing.T) {
	got := ExpectedFalseStars(142)
	for i, want := range []float64{7.1, 1.42, 0.142} {
		near(t, "expected", got[i], want, 1e-12)
	}
}
