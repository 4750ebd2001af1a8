package publish

import (
	"math"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report"
	"github.com/prbench/prbench/report/stats"
)

// summaryOf is what a report found, for those who may not read samples; nil of none.
func summaryOf(r *report.Report) *job.Summary {
	if r == nil {
		return nil
	}
	s := &job.Summary{Headline: r.Headline()}
	for _, row := range r.Rows { // worst first
		slower := row.Verdict == stats.Regression || row.Verdict == stats.Slower
		if !slower || row.Twin || row.OnlyOn != "" || row.Stat.NoPercentage || math.IsNaN(row.Stat.Improvement) || len(s.Slower) == job.MaxFindings {
			continue
		}
		s.Slower = append(s.Slower, job.Finding{Benchmark: row.ID, Verdict: string(row.Verdict), Improvement: finite(row.Stat.Improvement),
			Interval: [2]float64{finite(row.Interval[0]), finite(row.Interval[1])}})
	}
	return s
}

// finite brings an end of an interval to what JSON has a number for.
func finite(x float64) float64 {
	return min(max(x, -math.MaxFloat64), math.MaxFloat64)
}
