package simulate

import (
	"math"
	"testing"

	"github.com/prbench/prbench/report/stats"
)

func power(t *testing.T, s Scenario, replicates int) Power {
	t.Helper()
	p, err := PowerOf(s, Options{Replicates: replicates, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func within(t *testing.T, what string, got, want, by float64) {
	t.Helper()
	if !(math.Abs(got-want) <= by) {
		t.Errorf("%s = %.4f, want %.4f ± %.4f", what, got, want, by)
	}
}

// The figures are those of R's power.t.test for two samples of 30 of one
// spread. Here the new side's spread goes with its mean, up or down, so that
// the two directions lie on either side of them.
func TestPowerOfAFixedDesignAgreesWithR(t *testing.T) {
	s := Scenario{Design: stats.Design{Runs: 30}, CV: 0.03, Effect: -0.02}
	cost := power(t, s, 6000)
	s.Better = stats.HigherIsBetter
	rate := power(t, s, 6000)
	within(t, "a star at −2 %", (cost.Stars[0]+rate.Stars[0])/2, 0.718729408478, 0.018)
	within(t, "detectable with 80 %", (cost.Detectable[1]+rate.Detectable[1])/2, 0.0220564317128, 0.0008)
	within(t, "runs", cost.MeanRuns, 30, 0)
	if cost.Error <= 0 || cost.Error > 0.01 {
		t.Errorf("Monte-Carlo error %g of 6000 replicates", cost.Error)
	}
}

func TestTheChancesOfTheVerdictsSumToOne(t *testing.T) {
	for _, s := range []Scenario{
		{Design: stats.Design{Runs: 3}, CV: 0.02},
		{Design: stats.Design{Runs: 30}, CV: 0.02, Effect: 0.03},
		{Design: stats.Design{Looks: stats.DefaultLooks()}, CV: 0.02, Effect: -0.03, Correlation: 0.5},
		{Design: stats.Design{Looks: stats.DefaultLooks(), Declared: 10}, CV: 0.03},
	} {
		p := power(t, s, 500)
		var sum float64
		for _, share := range p.Verdicts {
			sum += share
		}
		within(t, "sum", sum, 1, 1e-12)
		if p.Stars[0] < p.Stars[1] || p.Stars[1] < p.Stars[2] || p.Verdicts[stats.Faster] < p.MoreThan+p.LessThan {
			t.Errorf("%+v", p)
		}
	}
	if p := power(t, Scenario{Design: stats.Design{Runs: 3}, CV: 0.02}, 500); p.Verdicts[stats.NoVerdict] != 1 {
		t.Errorf("three runs give a verdict: %+v", p.Verdicts)
	}
}

func TestAnAdaptiveDesignTakesFewerRunsWhereTheAnswerIsClear(t *testing.T) {
	d := stats.Design{Looks: stats.DefaultLooks()}
	calm, noisy := power(t, Scenario{Design: d, CV: 0.005}, 400), power(t, Scenario{Design: d, CV: 0.05}, 400)
	if calm.MeanRuns > 16 || noisy.MeanRuns < 50 || calm.Resolved < 0.99 || noisy.Resolved > 0.95 {
		t.Errorf("calm: %.1f runs, %.2f resolved; noisy: %.1f runs, %.2f resolved", calm.MeanRuns, calm.Resolved, noisy.MeanRuns, noisy.Resolved)
	}
	paired := power(t, Scenario{Design: d, CV: 0.03, Correlation: 0.6}, 400)
	alone := power(t, Scenario{Design: d, CV: 0.03}, 400)
	if paired.MeanRuns >= alone.MeanRuns || paired.Detectable[2] >= alone.Detectable[2] {
		t.Errorf("correlated pairs: %.1f runs, detectable %.4f; independent: %.1f, %.4f", paired.MeanRuns, paired.Detectable[2], alone.MeanRuns, alone.Detectable[2])
	}
}

func TestDetectableChangesReachTheirPower(t *testing.T) {
	s := Scenario{Design: stats.Design{Looks: stats.DefaultLooks()}, CV: 0.03}
	p := power(t, s, 2400)
	for i, want := range []float64{0.5, 0.8, 0.9} {
		s.Effect = p.Detectable[i]
		got, err := PowerOf(s, Options{Replicates: 1000, Seed: 99})
		if err != nil {
			t.Fatal(err)
		}
		within(t, "faster at the detectable change", got.Verdicts[stats.Faster], want, 0.06)
	}
}

func TestPowerMayBeDrawnFromMeasuredSamples(t *testing.T) {
	var from stats.Input
	for i := range 40 {
		x := math.Sin(float64(7 * i)) // a spread of 2 % with half of it shared
		from.Old = append(from.Old, 500*(1+0.02*x+0.02*math.Cos(float64(3*i))))
		from.New = append(from.New, 520*(1+0.02*x+0.02*math.Cos(float64(5*i+1))))
	}
	d := stats.Design{Looks: stats.DefaultLooks()}
	drawn := power(t, Scenario{Design: d, From: from, Effect: 0.03}, 1000)
	like := power(t, Scenario{Design: d, CV: 0.02, Correlation: 0.5, Effect: 0.03}, 1000)
	within(t, "faster", drawn.Verdicts[stats.Faster], like.Verdicts[stats.Faster], 0.06)
	within(t, "runs", drawn.MeanRuns, like.MeanRuns, 0.15*like.MeanRuns)

	from.New = from.New[:30] // no longer pairs
	apart := power(t, Scenario{Design: d, From: from, Effect: 0.03}, 1000)
	if apart.MeanRuns <= drawn.MeanRuns {
		t.Errorf("independent sides take %.1f runs, pairs %.1f", apart.MeanRuns, drawn.MeanRuns)
	}
}

func TestScenariosThatMakeNoSenseAreRefused(t *testing.T) {
	fixed := stats.Design{Runs: 30}
	for name, s := range map[string]Scenario{
		"no cv":            {Design: fixed},
		"no runs":          {CV: 0.02},
		"a huge effect":    {Design: fixed, CV: 0.02, Effect: 1},
		"a correlation":    {Design: fixed, CV: 0.02, Correlation: 1},
		"a bad margin":     {Design: stats.Design{Runs: 30, Margin: 2}, CV: 0.02},
		"too few samples":  {Design: fixed, From: stats.Input{Old: []float64{1, 2}, New: []float64{1, 2}}},
		"useless samples":  {Design: fixed, From: stats.Input{Old: []float64{0, 0, 0, 0, 0}, New: []float64{1, 2, 3, 4, 5}}},
		"a cv of NaN":      {Design: fixed, CV: math.NaN()},
		"an effect of NaN": {Design: fixed, CV: 0.02, Effect: math.NaN()},
	} {
		if _, err := PowerOf(s, Options{Replicates: 10}); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := PowerOf(Scenario{Design: fixed, CV: 0.02}, Options{}); err == nil {
		t.Error("no replicates: accepted")
	}
	if _, _, _, err := RollUpPower(Scenario{Design: fixed, CV: 0.02}, 30, 10, Options{Replicates: 10}); err == nil {
		t.Error("a roll-up of fixed runs: accepted")
	}
}

func TestThePowerOfARollUpFallsWithTheSpread(t *testing.T) {
	d := stats.Design{Looks: stats.DefaultLooks()}
	o := Options{Replicates: 80, Seed: 1}
	calm, alarm, _, err := RollUpPower(Scenario{Design: d, CV: 0.02}, 30, 10, o)
	if err != nil || calm < 0.95 || alarm > 0.03 {
		t.Errorf("cv 2 %%: safe %.2f, regresses %.2f, %v", calm, alarm, err)
	}
	noisy, _, deviation, err := RollUpPower(Scenario{Design: d, CV: 0.05}, 30, 10, o)
	if err != nil || noisy > 0.05 || deviation < 0 {
		t.Errorf("cv 5 %%: safe %.2f, %v", noisy, err)
	}
	_, alarm, _, err = RollUpPower(Scenario{Design: d, CV: 0.02, Effect: -0.06}, 30, 10, o)
	if err != nil || alarm < 0.99 {
		t.Errorf("at −6 %%: regresses %.2f, %v", alarm, err)
	}
}
