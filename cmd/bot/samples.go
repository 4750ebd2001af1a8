package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/prbench/prbench/internal/benchfmt"
	"github.com/prbench/prbench/internal/job"
)

// sampleFile keeps the samples of a comparison as they come, so that whatever
// ends it leaves them.
type sampleFile struct {
	path  string
	count int // finished runs
	file  *os.File
	csv   *benchfmt.Writer
}

// newSampleFile makes the file, or one with a name of its own among the
// temporary files.
func newSampleFile(path string) (*sampleFile, error) {
	var f *os.File
	var err error
	if path == "" {
		f, err = os.CreateTemp("", "prbench-samples-*.csv")
	} else {
		f, err = os.Create(path)
	}
	if err != nil {
		return nil, fmt.Errorf("keep the samples: %w", err)
	}
	return &sampleFile{path: f.Name(), file: f, csv: benchfmt.NewWriter(f)}, nil
}

func (s *sampleFile) write(r job.Run) error {
	s.count++
	share := r.Wall / float64(max(1, differentNames(r.Samples)))
	for _, sample := range r.Samples {
		if sample.Time == 0 {
			sample.Time = share
		}
		rec := benchfmt.Record{Side: r.Side, Pair: r.Pair, Position: r.Position, Suite: r.Suite, Case: r.Case, Sample: sample}
		if err := s.csv.Write(&rec); err != nil {
			return fmt.Errorf("keep the samples in %s: %w", s.path, err)
		}
	}
	if err := s.csv.Flush(); err != nil {
		return fmt.Errorf("keep the samples in %s: %w", s.path, err)
	}
	return nil
}

// differentNames counts the benchmarks of a process, each once whatever the
// number of its units. Where the tool does not tell the time that a value stands
// for, a benchmark gets its share of the process's.
func differentNames(samples []job.Sample) int {
	names := map[string]bool{}
	for _, s := range samples {
		names[s.Name()] = true
	}
	return len(names)
}

func (s *sampleFile) close() error {
	if err := errors.Join(s.csv.Flush(), s.file.Close()); err != nil {
		return fmt.Errorf("keep the samples in %s: %w", s.path, err)
	}
	return nil
}
