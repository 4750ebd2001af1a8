// Package calibrate says what a machine can see. It takes the runs of an A/A
// comparison, one build measured against itself as if it were two, and gives
// the noise of each benchmark, the changes that can be detected in it, the
// stars that were seen though nothing differs, and how the runs of a pair, and
// of one pair after the other, depend on each other.
package calibrate

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report/stats"
)

// schema is the version of the JSON form of a Result.
const schema = 1

// Runs is how many runs a side an A/A comparison has unless another number is
// asked for: it does not end early, since what it looks for is the noise.
const Runs job.Runs = 30

// PairedFrom is the correlation within pairs from which on the paired analysis
// is worth being declared: it sees what the independent one needs more than
// 1/(1 − ρ) times the runs for.
const PairedFrom = .3

// Result is what an A/A comparison found. A fraction is a fraction; what does
// not exist is null.
type Result struct {
	Schema int       `json:"schema"`
	At     time.Time `json:"at"`
	Host   job.Host  `json:"host"`
	// Commit is what was measured, and Suites whose benchmarks they are.
	Commit job.Side `json:"commit"`
	Suites []string `json:"suites"`
	// Repository is the forge's id of the one that both are of; 0: not known.
	Repository int64  `json:"repository,omitempty"`
	Design     Design `json:"design"`
	// Benchmarks are in the order in which they were first seen.
	Benchmarks []Benchmark `json:"benchmarks"`
	Summary    Summary     `json:"summary"`
}

// Design is how the runs were judged.
type Design struct {
	Margin   float64        `json:"margin"`
	Alpha    float64        `json:"alpha"`
	Analysis stats.Analysis `json:"analysis"`
	Runs     job.Runs       `json:"runs"`
	Looks    []int          `json:"looks,omitempty"`
}

// Benchmark is the noise of one benchmark.
type Benchmark struct {
	Suite string `json:"suite"`
	Name  string `json:"name"` // hostile text
	Unit  string `json:"unit,omitempty"`
	Pairs int    `json:"pairs"` // with a usable value on both sides
	// CV is the coefficient of variation of one run.
	CV          *float64 `json:"cv"`
	Improvement *float64 `json:"improvement"` // of one side on the other, by chance alone
	Stars       string   `json:"stars"`
	Detectable  Power    `json:"detectable"`
	// Correlation is Pearson's, of the two runs of a pair.
	Correlation *float64 `json:"correlation"`
	// Autocorrelation is that of a pair's mean with the one before, where it is
	// beyond chance, and Drift the p-value of a trend, likewise.
	Autocorrelation *float64 `json:"autocorrelation,omitempty"`
	Drift           *float64 `json:"drift,omitempty"`
	// Why says why there are no figures: no spread, too few runs.
	Why string `json:"why,omitempty"`
}

// Power holds the changes that are detected with 50, 80 and 90 % power.
type Power struct {
	P50 *float64 `json:"50"`
	P80 *float64 `json:"80"`
	P90 *float64 `json:"90"`
}

// Spread is a figure over all benchmarks.
type Spread struct {
	Median *float64 `json:"median"`
	Worst  *float64 `json:"worst"`
}

// Summary sums the benchmarks up.
type Summary struct {
	Benchmarks int               `json:"benchmarks"` // with figures
	CV         Spread            `json:"cv"`
	Detectable map[string]Spread `json:"detectable"` // by power: "50", "80", "90"
	// FalseStars are by level: "*", "**", "***".
	FalseStars map[string]FalseStars `json:"false_stars"`
	// Correlation is the median within pairs.
	Correlation *float64 `json:"correlation"`
	// Analysis is "paired" where declaring that is worth it, else empty.
	Analysis        string `json:"analysis,omitempty"`
	Autocorrelated  int    `json:"autocorrelated"` // benchmarks
	Drifting        int    `json:"drifting"`
	FailedProcesses int    `json:"failed_processes"`
}

// FalseStars are those of a level: nothing differs, so that each is false.
type FalseStars struct {
	Seen     int     `json:"seen"`
	Expected float64 `json:"expected"` // at most, in an adaptive design
	// Chance is that of so many or more, if the benchmarks are independent of
	// each other.
	Chance float64 `json:"chance"`
}

// unlikely is the chance from which on the false stars are too many for chance.
const unlikely = .01

// TooManyStars tells whether there are more false stars than chance explains:
// something on the machine changes while it measures.
func (s Summary) TooManyStars() bool {
	for _, f := range s.FalseStars {
		if f.Chance < unlikely {
			return true
		}
	}
	return false
}

// Sees is the short form that travels with each report; nil where nothing could
// be told.
func (r *Result) Sees() *job.Calibration {
	d := r.Summary.Detectable["80"]
	if r.Summary.CV.Median == nil || d.Median == nil || d.Worst == nil {
		return nil
	}
	stars := r.Summary.FalseStars["*"]
	c := &job.Calibration{At: r.At, Repository: r.Repository, Benchmarks: r.Summary.Benchmarks,
		CV: *r.Summary.CV.Median, Detectable80: *d.Median, Worst80: *d.Worst,
		Stars: stars.Seen, ExpectedStars: stars.Expected, TooManyStars: r.Summary.TooManyStars(), Drifting: r.Summary.Drifting,
		Unfit: r.Host.Unfit, Setup: r.Host.Setup}
	for i, s := range r.Suites {
		if i > 0 {
			c.Suite += ", "
		}
		c.Suite += s
	}
	for _, b := range r.Benchmarks {
		c.Pairs = max(c.Pairs, b.Pairs)
	}
	if r.Summary.Correlation != nil {
		c.Correlation = *r.Summary.Correlation
	}
	return c
}

// Write keeps a result in a file, in place of an earlier one at once.
func (r *Result) Write(path string) (err error) {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("keep the calibration: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".calibration-*")
	if err != nil {
		return fmt.Errorf("keep the calibration: %w", err)
	}
	_, err = f.Write(append(data, '\n'))
	if err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("keep the calibration: %w", err), os.Remove(f.Name()))
	}
	return nil
}

// maxFile bounds what is read of a kept result, in bytes.
const maxFile = 64 << 20

// Read reads a kept result. A missing file is fs.ErrNotExist.
func Read(path string) (*Result, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read the calibration: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, fmt.Errorf("read the calibration: %s: want a file of at most %d bytes that `bot calibrate --out` wrote", path, maxFile)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the calibration: %w", err)
	}
	var r Result
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("read the calibration: %s: want what `bot calibrate --out` wrote: %w", path, err)
	}
	if r.Schema != schema || r.At.IsZero() {
		return nil, fmt.Errorf("read the calibration: %s: want schema %d, got %d", path, schema, r.Schema)
	}
	return &r, nil
}
