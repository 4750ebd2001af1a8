package job

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Duration is a time.Duration that is written as people write it ("5m") in
// JSON and YAML.
type Duration time.Duration

// Std is the standard library's duration.
func (d Duration) Std() time.Duration { return time.Duration(d) }

func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText writes "5m0s".
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what time.ParseDuration reads.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	if err != nil {
		return fmt.Errorf("want a duration such as 90s, 5m or 1h, got %q", b)
	}
	*d = Duration(v)
	return nil
}

// Format names the way in which a suite's tool prints its results.
type Format string

// The formats that a suite may declare.
const (
	FormatNode        Format = "node"
	FormatNodeCSV     Format = "node-csv"
	FormatGo          Format = "go"
	FormatGoogleBench Format = "googlebench"
	FormatHyperfine   Format = "hyperfine"
	FormatJMH         Format = "jmh"
	FormatPytest      Format = "pytest"
	FormatCriterion   Format = "criterion"
	FormatCSV         Format = "csv"
)

// Formats lists the formats in the order of the documentation.
func Formats() []Format {
	return []Format{FormatNode, FormatNodeCSV, FormatGo, FormatGoogleBench, FormatHyperfine,
		FormatJMH, FormatPytest, FormatCriterion, FormatCSV}
}

// Better says in which direction a value improves.
type Better string

// The two directions; the empty value means "by the unit".
const (
	Higher Better = "higher"
	Lower  Better = "lower"
)

// Build says how a side is built. It comes from the default branch's config,
// never from the pull request.
type Build struct {
	Run     string   `json:"run,omitempty"`     // a shell line, run inside the sandbox at /src; empty: nothing to build
	Network []string `json:"network,omitempty"` // host names that the build may reach
	Timeout Duration `json:"timeout,omitzero"`
}

// Suite says how one case is run once, and how to read what it prints.
type Suite struct {
	Name   string `json:"name"`
	Format Format `json:"format"`
	// Cases are glob patterns relative to the tree, or plain names that match no
	// file; none at all means one case without a name.
	Cases []string `json:"cases,omitempty"`
	// Command is split into argv before {case}, {set} and {out} are filled in.
	Command string `json:"command"`
	// Output is "stdout" (or empty), a path in the tree, or "{out}".
	Output  string   `json:"output,omitempty"`
	Harness []string `json:"harness,omitempty"`
	Timeout Duration `json:"timeout,omitzero"`
	Default bool     `json:"default,omitempty"`
	Adhoc   string   `json:"adhoc,omitempty"`
	// AdhocFile is the name of the file that holds the text of an ad-hoc
	// benchmark, for tools that go by its ending; empty: DefaultAdhocFile.
	AdhocFile string   `json:"adhoc_file,omitempty"`
	Unit      string   `json:"unit,omitempty"`
	Better    Better   `json:"better,omitempty"`
	Counts    []string `json:"counts,omitempty"`   // units that are compared exactly
	Analysis  string   `json:"analysis,omitempty"` // "welch", "paired" or empty: by design
}

// DefaultAdhocFile is what an ad-hoc benchmark's file is called where the suite
// does not say.
const DefaultAdhocFile = "benchmark"

// Runs is a number of runs a side, or adaptive (0).
type Runs int

// Adaptive lets the planned looks decide when to stop.
const Adaptive Runs = 0

// Limits of a fixed number of runs.
const (
	MinRuns = 1
	MaxRuns = 10_000
)

// ParseRuns reads "adaptive" or a number from MinRuns to MaxRuns.
func ParseRuns(s string) (Runs, error) {
	if s == "adaptive" {
		return Adaptive, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < MinRuns || n > MaxRuns {
		return 0, fmt.Errorf("runs: want adaptive or a whole number from %d to %d, got %q", MinRuns, MaxRuns, s)
	}
	return Runs(n), nil
}

func (r Runs) String() string {
	if r == Adaptive {
		return "adaptive"
	}
	return strconv.Itoa(int(r))
}

// MarshalText writes "adaptive" or the number.
func (r Runs) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads what ParseRuns reads.
func (r *Runs) UnmarshalText(b []byte) (err error) {
	*r, err = ParseRuns(string(b))
	return err
}

// MarshalJSON writes "adaptive" or a number, as the report's JSON does.
func (r Runs) MarshalJSON() ([]byte, error) {
	if r == Adaptive {
		return []byte(`"adaptive"`), nil
	}
	return []byte(strconv.Itoa(int(r))), nil
}

// UnmarshalJSON reads "adaptive" or a number.
func (r *Runs) UnmarshalJSON(b []byte) error {
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		return fmt.Errorf("read runs: %w", err)
	}
	var err error
	switch v := v.(type) {
	case string:
		*r, err = ParseRuns(v)
	case float64:
		*r, err = ParseRuns(strconv.FormatFloat(v, 'f', -1, 64))
	default:
		err = errors.New("runs: want \"adaptive\" or a number")
	}
	return err
}

// ParseFraction reads a percentage ("2%", "2 %") or a plain fraction ("0.02")
// and gives the fraction. A margin must lie in (0, 0.5].
func ParseFraction(s string) (float64, error) {
	t, percent := strings.CutSuffix(strings.TrimSpace(s), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(t), 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("want a percentage such as 2%% or a fraction such as 0.02, got %q", s)
	}
	if percent {
		v /= 100
	}
	return v, nil
}

// ParseMargin reads a margin: a fraction m with 0 < m <= 0.5.
func ParseMargin(s string) (float64, error) {
	v, err := ParseFraction(s)
	if err != nil {
		return 0, fmt.Errorf("margin: %w", err)
	}
	if v <= 0 || v > .5 {
		return 0, fmt.Errorf("margin: want more than 0%% and at most 50%%, got %q", s)
	}
	return v, nil
}

// HarnessFrom says whose benchmark files both sides run.
type HarnessFrom string

// The two choices; the base is the default.
const (
	HarnessBase HarnessFrom = "base"
	HarnessHead HarnessFrom = "head"
)

// Spec is everything that an execution needs to know beside the two commits. It
// is fixed when the wish is accepted: a runner reads no config of the repository.
type Spec struct {
	Pool    string      `json:"pool"`
	Build   Build       `json:"build"`
	Suites  []Suite     `json:"suites"`           // the chosen ones
	Filter  string      `json:"filter,omitempty"` // a regular expression over case and benchmark names
	Set     []string    `json:"set,omitempty"`    // k=v, handed to the command at {set}
	Runs    Runs        `json:"runs"`
	Looks   []int       `json:"looks,omitempty"` // pairs after which adaptive runs are judged
	Margin  float64     `json:"margin"`          // a fraction
	Alpha   float64     `json:"alpha"`
	Budget  Duration    `json:"budget,omitzero"`
	Harness HarnessFrom `json:"harness,omitempty"`
	Gate    bool        `json:"gate,omitempty"`
	History bool        `json:"history,omitempty"` // the whole history is fetched
	LFS     bool        `json:"lfs,omitempty"`
	// KeepLabel leaves the label on when its job has ended.
	KeepLabel bool   `json:"keep_label,omitempty"`
	Adhoc     string `json:"adhoc,omitempty"` // the text of an ad-hoc benchmark
}

// The defaults of a comparison.
const (
	DefaultMargin = .02
	DefaultAlpha  = .05
)
