package stats

import "math"

// TableRow holds the figures that Node's compare.R prints for one benchmark,
// from all samples, whatever they are: R's Inf and NaN included.
type TableRow struct {
	OldN, NewN       int
	OldMean, NewMean float64
	// Change is (new − old)/old as a fraction. compare.R prints it under the
	// heading "improvement".
	Change float64
	// Tested says that there was a t-test. Where there was none (fewer than
	// two samples on a side, no spread, a value that is not finite),
	// compare.R has NA for stars and accuracies, and what follows is NaN.
	Tested       bool
	SE, T, DF, P float64
	Stars        string
	Accuracy     [3]float64 // at StarLevels, as a fraction of |OldMean|
}

// WelchTable computes compare.R's row for the samples of both sides.
func WelchTable(old, new []float64) TableRow {
	nan := math.NaN()
	row := TableRow{
		OldN: len(old), NewN: len(new), OldMean: plainMean(old), NewMean: plainMean(new),
		SE: nan, T: nan, DF: nan, P: nan, Accuracy: [3]float64{nan, nan, nan},
	}
	row.Change = (row.NewMean - row.OldMean) / row.OldMean
	if !allFinite(old) || !allFinite(new) || len(old) < 2 || len(new) < 2 {
		return row
	}
	scale := powerOfTwoScale(old, new)
	ct := welchContrast(scaled(old, scale), scaled(new, scale), +1)
	if ct.oldMean != 0 {
		row.Change = ct.difference / ct.oldMean
	}
	se := math.Sqrt(ct.v0)
	if !(se >= 10*epsilon*math.Max(math.Abs(ct.oldMean), math.Abs(ct.oldMean+ct.difference))) || se == 0 {
		return row
	}
	row.Tested = true
	row.SE, row.T, row.DF = se*scale, ct.difference/se, ct.df(0)
	row.P = tailT(row.T, row.DF)
	logTail := logTailT(row.T, row.DF)
	for i, risk := range StarLevels {
		row.Accuracy[i] = criticalT(risk, row.DF) * se / math.Abs(ct.oldMean)
		if logTail < math.Log(risk) {
			row.Stars = "***"[:i+1]
		}
	}
	return row
}

// plainMean is R's mean: shifted where the samples are finite, and whatever
// the sum gives where they are not.
func plainMean(xs []float64) float64 {
	if len(xs) > 0 && allFinite(xs) {
		scale := powerOfTwoScale(xs)
		return momentsOf(scaled(xs, scale)).mean * scale
	}
	var sum float64
	for _, x := range xs {
		sum += x
	}
	return sum / float64(len(xs))
}

func allFinite(xs []float64) bool {
	for _, x := range xs {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return false
		}
	}
	return true
}
