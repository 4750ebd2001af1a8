package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report/backport"
)

// The ends of the names of a record's two files.
const (
	recordEnd  = ".record.json"
	samplesEnd = ".samples.jsonl"
)

// recordFolder makes the folder that records are kept in; one of its own among
// the temporary files where none is named.
func recordFolder(dir string) (string, error) {
	var err error
	if dir == "" {
		dir, err = os.MkdirTemp("", "prbench-records-")
	} else {
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		return "", fmt.Errorf("make the folder of the records: %w", err)
	}
	return dir, nil
}

// recordFile keeps the samples of a line as they come, and then its record.
type recordFile struct {
	record, samples string // the paths
	file            *os.File
	out             *bufio.Writer
	digest          backport.Digester
}

// newRecordFile begins the files of a line, which may have a slash in its name.
func newRecordFile(dir, line string) (*recordFile, error) {
	name := filepath.Join(dir, url.PathEscape(line))
	f := &recordFile{record: name + recordEnd, samples: name + samplesEnd}
	var err error
	if f.file, err = os.Create(f.samples); err != nil {
		return nil, fmt.Errorf("keep the samples: %w", err)
	}
	f.out = bufio.NewWriter(f.file)
	return f, nil
}

func (f *recordFile) write(r job.Run) error {
	line, err := backport.RunLine(r)
	if err != nil {
		return err
	}
	f.digest.Add(line)
	_, err = f.out.Write(append(line, '\n'))
	// Whatever ends this process, what was measured stays.
	if err = errors.Join(err, f.out.Flush()); err != nil {
		return fmt.Errorf("keep the samples in %s: %w", f.samples, err)
	}
	return nil
}

func (f *recordFile) close() error {
	if err := f.file.Close(); err != nil {
		return fmt.Errorf("keep the samples in %s: %w", f.samples, err)
	}
	return nil
}

// keep writes the record beside the samples. Samples that there are none of get
// no file.
func (f *recordFile) keep(r *backport.Record) error {
	if r.Samples == nil {
		if err := os.Remove(f.samples); err != nil {
			return fmt.Errorf("keep the record: %w", err)
		}
	}
	return writeFile(f.record, nil, r.Write)
}

// discard leaves no file of a line on which nothing was decided, but for samples.
func (f *recordFile) discard() error {
	if f.digest.Samples().Runs > 0 {
		return nil
	}
	if err := os.Remove(f.samples); err != nil {
		return fmt.Errorf("clear the samples: %w", err)
	}
	return nil
}

// readRecord reads the record in a file.
func readRecord(path string, stdin io.Reader) (*backport.Record, error) {
	in, err := open(path, stdin)
	if err != nil {
		return nil, err
	}
	r, err := backport.ReadRecord(in, path)
	return r, errors.Join(err, in.Close())
}

// openRecord reads the file as a record where it begins like one; nil: it does
// not. rest is the standard input to go on with, of which a beginning was read.
func openRecord(path string, stdin io.Reader) (rest io.Reader, r *backport.Record, err error) {
	in, err := open(path, stdin)
	if err != nil {
		return nil, nil, err
	}
	text := bufio.NewReader(in)
	beginning, err := text.Peek(beginningOfRecord)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		err = fmt.Errorf("read %s: %w", path, err)
	case backport.IsRecord(beginning):
		r, err = backport.ReadRecord(text, path)
	default:
		err = nil
	}
	if path == "-" {
		stdin = text
	}
	return stdin, r, errors.Join(err, in.Close())
}

// beginningOfRecord is how much of a file tells whether it is a record, in bytes.
const beginningOfRecord = 512

// samplesOf is the file beside a record that holds its samples.
func samplesOf(record string) string {
	return strings.TrimSuffix(strings.TrimSuffix(record, recordEnd), ".json") + samplesEnd
}
