package main

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
	// samplesOfPage is how a result page calls the samples of its record.json.
	samplesOfPage = "-samples.jsonl"
	partEnd       = ".part" // behind either, while it is not whole
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

// newRecordFile begins the files of a line. Those that an earlier run left stay
// until keep replaces them.
func newRecordFile(dir, line string) (*recordFile, error) {
	name := fileName(line)
	f := &recordFile{record: filepath.Join(dir, name+recordEnd), samples: filepath.Join(dir, name+samplesEnd)}
	var err error
	if f.file, err = os.Create(f.samples + partEnd); err != nil {
		return nil, fmt.Errorf("keep the samples: %w", err)
	}
	f.out = bufio.NewWriter(f.file)
	return f, nil
}

// longestName leaves room for the ends of a file's name, in bytes.
const longestName = 200

// fileName is the name of a line's files: a line may have a slash in its name, and
// be longer than a file's name can be.
func fileName(line string) string {
	name := url.PathEscape(line)
	if len(name) <= longestName {
		return name
	}
	sum := sha256.Sum256([]byte(line))
	return fmt.Sprintf("%s~%x", name[:longestName-33], sum[:16])
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

// keep writes the record beside the samples, in place of those of an earlier run.
// Samples that there are none of get no file.
func (f *recordFile) keep(r *backport.Record) error {
	err := writeFile(f.record+partEnd, nil, r.Write)
	switch {
	case err != nil:
	case r.Samples == nil:
		err = errors.Join(ignore(os.Remove(f.samples), fs.ErrNotExist), os.Remove(f.samples+partEnd))
	default:
		err = os.Rename(f.samples+partEnd, f.samples)
	}
	if err == nil {
		err = os.Rename(f.record+partEnd, f.record)
	}
	if err != nil {
		return fmt.Errorf("keep the record: %w", err)
	}
	return nil
}

// discard leaves no file of a line on which nothing was decided, but for what was
// measured of it.
func (f *recordFile) discard() error {
	if f.digest.Samples().Runs > 0 {
		return nil
	}
	if err := os.Remove(f.samples + partEnd); err != nil {
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

// samplesOf is the file beside a record that holds its samples, by the name that
// this command gives it, or that of a result page where only that is there.
func samplesOf(record string) string {
	name := strings.TrimSuffix(strings.TrimSuffix(record, recordEnd), ".json")
	page := name + samplesOfPage
	if _, err := os.Stat(page); err == nil {
		if _, err := os.Stat(name + samplesEnd); errors.Is(err, fs.ErrNotExist) {
			return page
		}
	}
	return name + samplesEnd
}
