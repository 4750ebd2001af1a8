package backport

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/prbench/prbench/internal/job"
)

// The samples of a record are JSON lines: one job.Run a line, without its log, in
// any order. Runs that failed are among them: a verdict depends on them too.
//
// Their digest does not depend on the order. Of each line without its line end
// the SHA-256 is taken, in lower-case hex; these are sorted, each once, and a line
// end put behind each; the digest is the SHA-256 of that, in hex.

// Samples tells of the samples of a record.
type Samples struct {
	Runs   int    `json:"runs"`   // lines, each once
	Digest string `json:"digest"` // SHA-256, hex
	Bytes  int64  `json:"bytes"`
	// Kept is false where they were too many to be kept with the record.
	Kept bool `json:"kept"`
}

// Digester makes the digest of samples. Its zero value is ready.
type Digester struct {
	sums  [][sha256.Size]byte
	bytes int64
}

// Add takes a line without its line end.
func (d *Digester) Add(line []byte) {
	d.sums = append(d.sums, sha256.Sum256(line))
	d.bytes += int64(len(line)) + 1
}

// AddRun takes the line of a run.
func (d *Digester) AddRun(r job.Run) error {
	line, err := RunLine(r)
	if err == nil {
		d.Add(line)
	}
	return err
}

// Samples gives the digest of what was taken.
func (d *Digester) Samples() Samples {
	sums := slices.Clone(d.sums)
	slices.SortFunc(sums, func(a, b [sha256.Size]byte) int { return bytes.Compare(a[:], b[:]) })
	sums = slices.Compact(sums)
	h := sha256.New()
	for _, s := range sums {
		fmt.Fprintf(h, "%x\n", s)
	}
	return Samples{Runs: len(sums), Digest: hex.EncodeToString(h.Sum(nil)), Bytes: d.bytes, Kept: true}
}

// RunLine is the line of a run: its JSON without its log and its quotes, which
// are hostile text that no verdict depends on.
func RunLine(r job.Run) ([]byte, error) {
	r.Log, r.Quoted = "", nil
	line, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("write a run of case %q: %w", r.Case, err)
	}
	return line, nil
}

// WriteSamples writes runs as the samples of a record, and digests them.
func WriteSamples(w io.Writer, runs iter.Seq2[job.Run, error]) (Samples, error) {
	var d Digester
	out := bufio.NewWriterSize(w, 64<<10)
	for run, err := range runs {
		if err != nil {
			return Samples{}, err
		}
		line, err := RunLine(run)
		if err != nil {
			return Samples{}, err
		}
		d.Add(line)
		if _, err := out.Write(append(line, '\n')); err != nil {
			return Samples{}, fmt.Errorf("write the samples: %w", err)
		}
	}
	if err := out.Flush(); err != nil {
		return Samples{}, fmt.Errorf("write the samples: %w", err)
	}
	return d.Samples(), nil
}

// maxLine bounds a line of samples: a process may print 20,000 benchmarks.
const maxLine = 64 << 20

// ReadSamples reads the samples of a record, strictly, and digests what it reads
// into d, which may be nil. name is what errors call the file; they give its line.
// After an error nothing more comes.
func ReadSamples(in io.Reader, name string, d *Digester) iter.Seq2[job.Run, error] {
	return func(yield func(job.Run, error) bool) {
		s := bufio.NewScanner(in)
		s.Buffer(make([]byte, 0, 64<<10), maxLine)
		n := 0
		for s.Scan() {
			n++
			run, err := parseRun(s.Bytes())
			if err != nil {
				yield(job.Run{}, fmt.Errorf("%s:%d: %w", name, n, err))
				return
			}
			if d != nil {
				d.Add(s.Bytes())
			}
			if !yield(run, nil) {
				return
			}
		}
		if err := s.Err(); err != nil {
			yield(job.Run{}, fmt.Errorf("%s:%d: read the samples: %w", name, n+1, err))
		}
	}
}

// parseRun reads the line of one run.
func parseRun(line []byte) (job.Run, error) {
	var run job.Run
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&run); err != nil {
		return run, fmt.Errorf("want the JSON of one run: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return run, errors.New("want one run a line, got more behind it")
	}
	switch {
	case run.Side != job.Old && run.Side != job.New:
		return run, fmt.Errorf("side: want old or new, got %q", run.Side)
	case run.Pair < 0 || run.Pair > maxPair:
		return run, fmt.Errorf("pair: want a number from 0 to %d, got %d", maxPair, run.Pair)
	}
	return run, nil
}

// maxPair bounds the number of a pair.
const maxPair = 10_000_000
