package stats

import "math"

// PrintedRow is one row of a comparison table as compare.R printed it, of
// which the samples are gone. Such tables are about rates: a positive
// improvement is better. NaN stands for a column that the layout did not have.
type PrintedRow struct {
	Improvement float64    // a fraction
	Accuracy    [3]float64 // at StarLevels, as fractions
	P           float64    // used where there is no accuracy
	Runs        int        // a side; zero where it is not known
}

// ComparePrinted judges a printed row as Compare judges samples, as far as it
// can: the standard error is that which gives the printed accuracy (or p) at
// 2N − 2 degrees of freedom, or with the normal distribution where the runs
// are not given. Of the design it uses margin, level and attempt.
//
// Where the printed figures do not determine a standard error (an improvement
// of 0.00 % beside a p), the verdict is NotComparable with ReasonRounded.
func ComparePrinted(row PrintedRow, d Design) Comparison {
	d.Looks, d.Analysis = nil, Welch
	j := NewJudge(d)
	d = j.design
	c := absent()
	c.Old, c.New = Summary{N: row.Runs, Mean: math.NaN(), SD: math.NaN(), CV: math.NaN()}, Summary{N: row.Runs, Mean: math.NaN(), SD: math.NaN(), CV: math.NaN()}
	c.Change, c.Improvement = row.Improvement, row.Improvement
	runs := math.MaxInt
	df := math.Inf(1)
	if row.Runs > 0 {
		runs, df = row.Runs, float64(2*row.Runs-2)
		c.PerSide = float64(row.Runs)
		c.EvenOddsCV = d.Margin * math.Sqrt(c.PerSide/8)
	}
	c.RelativeSE = row.relativeSE(df)
	if !(c.RelativeSE > 0) || math.IsInf(c.RelativeSE, 1) || math.IsNaN(row.Improvement) || math.IsInf(row.Improvement, 0) {
		c.RelativeSE = math.NaN()
		c.withhold(d, NotComparable, ReasonRounded, runs, MinRuns)
		return c
	}
	c.CV = c.RelativeSE * math.Sqrt(c.PerSide/2)
	c.T, c.DF = row.Improvement/c.RelativeSE, df
	c.P = tailT(c.T, df)
	c.test(printedContrast(row.Improvement, c.RelativeSE, df), j, runs, true)
	c.settle(j)
	return c
}

// relativeSE takes the first accuracy that is there, else the p.
func (row PrintedRow) relativeSE(df float64) float64 {
	for i, accuracy := range row.Accuracy {
		if !math.IsNaN(accuracy) {
			return accuracy / criticalT(StarLevels[i], df)
		}
	}
	return math.Abs(row.Improvement) / criticalT(row.P, df)
}
