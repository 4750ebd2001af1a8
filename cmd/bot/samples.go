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
	if err := s.csv.WriteRun(r); err != nil {
		return fmt.Errorf("keep the samples in %s: %w", s.path, err)
	}
	if err := s.csv.Flush(); err != nil {
		return fmt.Errorf("keep the samples in %s: %w", s.path, err)
	}
	return nil
}

func (s *sampleFile) close() error {
	if err := errors.Join(s.csv.Flush(), s.file.Close()); err != nil {
		return fmt.Errorf("keep the samples in %s: %w", s.path, err)
	}
	return nil
}
