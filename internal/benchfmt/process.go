package benchfmt

import (
	"fmt"
	"io"

	"github.com/prbench/prbench/internal/job"
)

// ReadProcess reads what one benchmark process printed and gives one sample for
// each benchmark and unit in it, in the order of their first values. Several
// values of one benchmark are combined: times and counts by their mean, rates
// by total work over total time. Where the time of a rate is unknown, every
// value stands for the same work, so that the harmonic mean is its total work
// over its total time. One unusable value makes the combined sample unusable: a
// mean of the survivors would flatter.
//
// The memory used is bounded whatever r holds. An error comes with the samples
// read until then; it is ErrTooMany beyond MaxBenchmarks different benchmarks.
func ReadProcess(r io.Reader, opt Options) ([]job.Sample, Problems, error) {
	opt.limit = MaxBenchmarks
	rd := NewReader(r, "", opt)
	var sums []sum
	for rd.Scan() {
		rec := rd.Record()
		if rd.env.names.tooMany {
			break
		}
		if rec.Series == len(sums) {
			sums = append(sums, sum{first: rec.Sample, rate: isRate(rec.Sample.Unit)})
		}
		sums[rec.Series].add(&rec.Sample)
	}
	err := rd.Err()
	if rd.env.names.tooMany {
		err = ErrTooMany
	}
	samples := make([]job.Sample, len(sums))
	for i := range sums {
		samples[i] = sums[i].sample()
	}
	if err != nil {
		err = fmt.Errorf("read %s benchmarks: %w", opt.Format, err)
	}
	return samples, rd.Problems(), err
}

// A sum combines the values of one benchmark.
type sum struct {
	first job.Sample
	rate  bool

	n       int
	mean    float64 // of the values
	time    float64 // of all values
	work    float64 // Σ value·time
	inverse float64 // Σ 1/value
	timed   int     // values whose time is known
	above0  int     // values above 0
	invalid string
}

func (s *sum) add(v *job.Sample) {
	n := max(v.Count, 1)
	if v.Invalid != "" && s.invalid == "" {
		s.invalid = v.Invalid
	}
	s.n += n
	// A running mean cannot overflow where the sum of the values would.
	s.mean += (v.Value - s.mean) * (float64(n) / float64(s.n))
	if v.Time > 0 {
		s.timed += n
		s.time += v.Time
		s.work += v.Value * v.Time
	}
	if v.Value > 0 {
		s.above0 += n
		s.inverse += float64(n) / v.Value
	}
}

func (s *sum) sample() job.Sample {
	out := s.first
	out.Count = s.n
	out.Time = s.time
	if s.timed < s.n {
		out.Time = 0
	}
	switch {
	case s.invalid != "":
		out.Invalid, out.Value = s.invalid, 0
	case s.n == s.first.Count:
	case s.rate && s.timed == s.n:
		out.Value = s.work / s.time
	case s.rate && s.above0 == s.n:
		out.Value = float64(s.n) / s.inverse
	default:
		out.Value = s.mean
	}
	return out
}
