package backport

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"math"
	"strings"
	"time"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report"
	"github.com/prbench/prbench/report/stats"
)

// recordSchema is the version of the record.
const recordSchema = 1

// Record is the decision on one release line, kept for good: what was put on
// which commit, where and how it was measured, and what came out. With its
// samples every verdict in it can be reached again (Verify).
//
// It is written once, when the line's job ends; what happens later (a line that
// moves, a regression that is accepted) is no part of it.
type Record struct {
	Schema int `json:"schema"`
	// Prbench is the version of the program that judged.
	Prbench     string           `json:"prbench"`
	Job         job.ID           `json:"job,omitempty"`
	Repository  RecordRepository `json:"repository"`
	PullRequest int              `json:"pull_request,omitempty"`
	Head        string           `json:"head,omitempty"` // of the pull request
	Line        string           `json:"line"`           // hostile text
	Tip         string           `json:"tip"`
	Change      job.Change       `json:"change"`
	Picked      *job.Picked      `json:"picked"` // null: that was not reached
	Asked       Asked            `json:"asked"`
	Started     time.Time        `json:"started,omitzero"`
	Finished    time.Time        `json:"finished,omitzero"`

	Host Fingerprint `json:"host"`
	// Spec is what was asked for, and Design how it was judged.
	Spec   job.Spec     `json:"spec"`
	Design RecordDesign `json:"design"`
	// Earlier is what earlier attempts at the same comparison had found, by benchmark.
	Earlier []map[string]EarlierFound `json:"earlier,omitempty"`
	Ended   Ending                    `json:"ended"`
	// Samples tells of the samples; null where nothing was measured.
	Samples *Samples `json:"samples"`
	// Accepted are the accepted regressions that counted.
	Accepted []job.Accepted `json:"accepted,omitempty"`

	Verdict    Kind            `json:"verdict"`
	Words      string          `json:"words"`
	RollUp     *RollUpSaid     `json:"roll_up"` // null where nothing was compared
	Benchmarks []BenchmarkSaid `json:"benchmarks"`
}

// RecordRepository names the repository.
type RecordRepository struct {
	ID    int64  `json:"id,omitempty"`
	Owner string `json:"owner,omitempty"`
	Name  string `json:"name,omitempty"`
	URL   string `json:"url,omitempty"` // for people
}

// Asked says who asked, how and when.
type Asked struct {
	By      string    `json:"by,omitempty"`
	ByID    int64     `json:"by_id,omitempty"`
	Command string    `json:"command,omitempty"`
	At      time.Time `json:"at,omitzero"`
}

// Fingerprint is the machine that measured, in plain facts and as one figure.
type Fingerprint struct {
	job.Host
	// SHA256 is over the name, the CPU, the cores, the kernel, the OS and the
	// sandbox: the JSON array of the six, without spaces.
	SHA256 string `json:"sha256"`
}

// FingerprintOf makes the fingerprint of a machine.
func FingerprintOf(h job.Host) Fingerprint {
	b, err := json.Marshal([]any{h.Name, h.CPU, h.Cores, h.Kernel, h.OS, h.Sandbox})
	if err != nil {
		panic("backport: " + err.Error()) // texts and a number
	}
	sum := sha256.Sum256(b)
	return Fingerprint{h, hex.EncodeToString(sum[:])}
}

// RecordDesign is the design that the verdicts rest on. Its numbers are fractions.
type RecordDesign struct {
	Margin   float64        `json:"margin"`
	Alpha    float64        `json:"alpha"`
	Analysis stats.Analysis `json:"analysis"`
	Runs     job.Runs       `json:"runs"`
	Looks    []int          `json:"looks"`
	Attempt  int            `json:"attempt"`
	// Declared is K, the number of benchmarks of the roll-up.
	Declared int `json:"declared"`
}

// Ending is how the line's job ended. Text and Log are hostile.
type Ending struct {
	Kind  job.OutcomeKind `json:"kind"`
	Side  job.SideName    `json:"side,omitempty"`
	Text  string          `json:"text,omitempty"`
	Log   string          `json:"log,omitempty"` // the last lines
	Runs  int             `json:"runs"`          // of the try that was judged
	Notes []string        `json:"notes,omitempty"`
}

// EarlierFound is what an earlier attempt found of a benchmark.
type EarlierFound struct {
	Attempt          int           `json:"attempt"`
	Interval         [2]Bound      `json:"interval"`
	Verdict          stats.Verdict `json:"verdict"`
	ByMargin         stats.Beyond  `json:"by_margin,omitempty"`
	FamilyRegression bool          `json:"family_regression,omitempty"`
	Lost             bool          `json:"lost,omitempty"`
}

// Of is the comparison that a record is made of.
type Of struct {
	Job     job.Job
	Cell    Cell
	Options report.Options // with which Cell.Report was judged
	Samples Samples        // of its runs; not used where Cell.Report is nil
	Version string         // of this program
}

// NewRecord makes the record of a line's job that has ended.
func NewRecord(of Of) Record {
	j, c := of.Job, of.Cell
	r := Record{Schema: recordSchema, Prbench: of.Version, Job: j.ID, PullRequest: j.PR, Head: j.Head.SHA,
		Repository: RecordRepository{j.Repository.ID, j.Repository.Owner, j.Repository.Name, j.Repository.HTMLURL},
		Line:       c.Line, Tip: c.Tip, Picked: visiblePicked(c.Picked),
		Asked:   Asked{j.Wish.Sender, j.Wish.SenderID, report.Visible(j.Wish.Command), utc(j.Wish.At)},
		Started: utc(j.Started), Finished: utc(j.Finished), Spec: j.Spec, Accepted: of.Options.Accepted,
		Verdict: c.Kind, Words: c.Sentence(), Benchmarks: []BenchmarkSaid{}}
	if j.Backport != nil {
		r.Change = j.Backport.Change
	}
	if o := j.Outcome; o != nil {
		r.Host = FingerprintOf(o.Host)
		r.Ended = Ending{o.Kind, o.Side, report.Tail(o.Text, tailLines, tailBytes), report.Tail(o.Log, tailLines, tailBytes), o.Runs, o.Notes}
	}
	d := of.Options
	r.Design = RecordDesign{Margin: d.Margin, Alpha: d.Alpha, Runs: d.Runs, Looks: append([]int{}, d.Looks...), Attempt: max(1, d.Attempt)}
	if rep := c.Report; rep != nil {
		r.Design = designOf(rep)
		r.Samples, r.RollUp, r.Benchmarks = &of.Samples, rollUpOf(rep), benchmarksOf(rep)
		r.Earlier = earlierFound(d.Earlier)
	}
	return r
}

func designOf(r *report.Report) RecordDesign {
	d := r.Design
	return RecordDesign{d.Margin, d.Alpha, d.Analysis, r.Runs, append([]int{}, d.Looks...), d.Attempt, d.Declared}
}

// utc brings a time to the form that JSON gives back.
func utc(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Round(0)
}

func earlierFound(earlier []report.Attempt) []map[string]EarlierFound {
	var out []map[string]EarlierFound
	for _, attempt := range earlier {
		found := map[string]EarlierFound{}
		for name, a := range attempt {
			found[name] = EarlierFound{a.Number, [2]Bound{Bound(a.Interval[0]), Bound(a.Interval[1])}, a.Verdict, a.ByMargin, a.FamilyRegression, a.Lost}
		}
		out = append(out, found)
	}
	return out
}

// earlier is earlierFound read back.
func (r *Record) earlier() []report.Attempt {
	var out []report.Attempt
	for _, found := range r.Earlier {
		attempt := report.Attempt{}
		for name, f := range found {
			attempt[name] = stats.Attempt{Number: f.Attempt, Interval: [2]float64{float64(f.Interval[0]), float64(f.Interval[1])},
				Verdict: f.Verdict, ByMargin: f.ByMargin, FamilyRegression: f.FamilyRegression, Lost: f.Lost}
		}
		out = append(out, attempt)
	}
	return out
}

// Write writes the record as JSON, the same bytes for the same record.
func (r *Record) Write(w io.Writer) error { return writeJSON(w, r, "the record") }

// Bound is the end of an interval: a number or, in quotes, one of "NaN",
// "Infinity" and "-Infinity", which JSON has no numbers for.
type Bound float64

// MarshalJSON writes every value so that the same comes back.
func (b Bound) MarshalJSON() ([]byte, error) {
	switch x := float64(b); {
	case math.IsNaN(x):
		return []byte(`"NaN"`), nil
	case math.IsInf(x, 1):
		return []byte(`"Infinity"`), nil
	case math.IsInf(x, -1):
		return []byte(`"-Infinity"`), nil
	default:
		return json.Marshal(x)
	}
}

// UnmarshalJSON reads what MarshalJSON writes.
func (b *Bound) UnmarshalJSON(text []byte) error {
	var x float64
	switch strings.TrimSpace(string(text)) {
	case `"NaN"`:
		x = math.NaN()
	case `"Infinity"`:
		x = math.Inf(1)
	case `"-Infinity"`:
		x = math.Inf(-1)
	case "null":
		return &valueError{`want a number, "NaN", "Infinity" or "-Infinity", got null`}
	default:
		if err := json.Unmarshal(text, &x); err != nil {
			return &valueError{`want a number, "NaN", "Infinity" or "-Infinity"`}
		}
	}
	*b = Bound(x)
	return nil
}

// valueError says what was expected of a value.
type valueError struct{ text string }

func (e *valueError) Error() string { return e.text }
