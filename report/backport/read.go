package backport

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report"
	"github.com/prbench/prbench/report/stats"
)

// MaxRecord is the most bytes of a record.
const MaxRecord = 16 << 20

// RecordError says what is wrong with a record, and where.
type RecordError struct {
	Name  string // of the file
	Place string // a line, or a field: "line 3", "change.picks[0].sha"
	Text  string
}

func (e *RecordError) Error() string {
	if e.Place == "" {
		return fmt.Sprintf("%s: %s", e.Name, e.Text)
	}
	return fmt.Sprintf("%s: %s: %s", e.Name, e.Place, e.Text)
}

// IsRecord tells whether a file that begins so may be a record: a JSON object
// with the fields schema and prbench first, as Write writes them.
func IsRecord(beginning []byte) bool { return recordStart.Match(beginning) }

var recordStart = regexp.MustCompile(`^(?:\xef\xbb\xbf)?\s*\{\s*"schema"\s*:\s*[0-9]+\s*,\s*"prbench"\s*:`)

// ReadRecord reads a record strictly: what it does not know is an error, a
// *RecordError that names the place. name is what errors call the file.
func ReadRecord(in io.Reader, name string) (*Record, error) {
	text, err := io.ReadAll(io.LimitReader(in, MaxRecord+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	fault := func(place, format string, args ...any) error {
		return &RecordError{name, place, fmt.Sprintf(format, args...)}
	}
	if len(text) > MaxRecord {
		return nil, fault("", "want a record of at most %d bytes", MaxRecord)
	}
	var head struct{ Schema int }
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, fault(placeOf(text, err), "want the JSON of a record: %v", err)
	}
	if head.Schema != recordSchema {
		return nil, fault("schema", "want %d, got %d: another version of prbench may have written it", recordSchema, head.Schema)
	}
	var r Record
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&r); err != nil {
		return nil, fault(placeOf(text, err), "%v", err)
	}
	if place, problem := r.problem(); problem != "" {
		return nil, fault(place, "%s", problem)
	}
	return &r, nil
}

// placeOf is where in the text an error of the JSON reader is.
func placeOf(text []byte, err error) string {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Sprintf("line %d", 1+bytes.Count(text[:min(int(syntax.Offset), len(text))], []byte("\n")))
	case errors.As(err, &kind) && kind.Field != "":
		return kind.Field
	}
	return ""
}

var (
	commitName = regexp.MustCompile(`^(?:[0-9a-f]{40}|[0-9a-f]{64})$`)
	digestText = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

const wantCommit = "want a commit's name of 40 or 64 hex digits, got %q"

// problem finds what makes no sense in a record, and where.
func (r *Record) problem() (place, text string) {
	checks := []func() (string, string){r.lineProblem, r.changeProblem, r.designProblem, r.samplesProblem, r.verdictProblem, r.pickedProblem}
	for _, check := range checks {
		if place, text := check(); text != "" {
			return place, text
		}
	}
	return "", ""
}

func (r *Record) lineProblem() (place, text string) {
	switch {
	case r.Line == "":
		return "line", "want the name of a release line, got none"
	case !commitName.MatchString(r.Tip):
		return "tip", fmt.Sprintf(wantCommit, r.Tip)
	case r.Head != "" && !commitName.MatchString(r.Head):
		return "head", fmt.Sprintf(wantCommit, r.Head)
	case r.Job != "" && !r.Job.Valid():
		return "job", fmt.Sprintf("want a job's id, got %q", r.Job)
	case r.PullRequest < 0:
		return "pull_request", fmt.Sprintf("want a number from 1, got %d", r.PullRequest)
	case FingerprintOf(r.Host.Host).SHA256 != r.Host.SHA256:
		return "host.sha256", "it is not that of the facts beside it"
	}
	return "", ""
}

func (r *Record) changeProblem() (place, text string) {
	if n := len(r.Change.Picks); n == 0 || n > job.MaxPicks {
		return "change.picks", fmt.Sprintf("want 1 to %d commits, got %d", job.MaxPicks, n)
	}
	for i, p := range r.Change.Picks {
		at := fmt.Sprintf("change.picks[%d].", i)
		switch {
		case !commitName.MatchString(p.SHA):
			return at + "sha", fmt.Sprintf(wantCommit, p.SHA)
		case p.Since != "" && !commitName.MatchString(p.Since):
			return at + "since", fmt.Sprintf(wantCommit, p.Since)
		case p.Mainline < 0:
			return at + "mainline", fmt.Sprintf("want the number of a parent, got %d", p.Mainline)
		}
	}
	return "", ""
}

// pickedProblem finds a way of going onto the line that the verdict cannot come from.
func (r *Record) pickedProblem() (place, text string) {
	p := r.Picked
	if p == nil {
		if r.Verdict.Decided() {
			return "picked", fmt.Sprintf("want one with the verdict %s, got null", report.Visible(string(r.Verdict)))
		}
		return "", ""
	}
	kinds := []job.PickKind{job.PickApplies, job.PickAppliesInPart, job.PickThere, job.PickConflicts}
	want := kinds[:2]
	switch r.Verdict {
	case Contained:
		want = kinds[2:3]
	case Conflicts:
		want = kinds[3:]
	case Unfetched, Fault, Cancelled, Forgotten:
		want = kinds
	}
	switch {
	case !slices.Contains(want, p.Kind):
		return "picked.kind", fmt.Sprintf("want one of %v with the verdict %s, got %q", want, report.Visible(string(r.Verdict)), p.Kind)
	case (p.Kind == job.PickApplies || p.Kind == job.PickAppliesInPart) && !commitName.MatchString(p.SHA):
		return "picked.sha", fmt.Sprintf(wantCommit, p.SHA)
	case p.Kind == job.PickConflicts && !commitName.MatchString(p.Commit):
		return "picked.commit", fmt.Sprintf(wantCommit, p.Commit)
	}
	return "", ""
}

func (r *Record) designProblem() (place, text string) {
	d := r.Design
	design := stats.Design{Margin: d.Margin, Alpha: d.Alpha, Analysis: d.Analysis, Runs: int(d.Runs), Attempt: d.Attempt, Declared: d.Declared}
	if len(d.Looks) > 0 {
		design.Looks = d.Looks
	}
	if err := design.Validate(); err != nil {
		return "design", err.Error()
	}
	asked := stats.Design{Margin: r.Spec.Margin, Alpha: r.Spec.Alpha, Runs: int(r.Spec.Runs), Attempt: d.Attempt}
	if len(r.Spec.Looks) > 0 {
		asked.Looks = r.Spec.Looks
	}
	if err := asked.Validate(); err != nil {
		return "spec", err.Error()
	}
	for i, found := range r.Earlier {
		for name, f := range found {
			if f.Attempt < 1 || !slices.Contains(stats.Verdicts(), f.Verdict) {
				return fmt.Sprintf("earlier[%d][%q]", i, name), "want the number of an attempt from 1, and a verdict"
			}
		}
	}
	return "", ""
}

func (r *Record) samplesProblem() (place, text string) {
	switch s := r.Samples; {
	case s == nil && r.RollUp != nil:
		return "samples", "want them where there is a roll_up, got null"
	case s == nil:
	case !digestText.MatchString(s.Digest):
		return "samples.digest", fmt.Sprintf("want 64 hex digits, got %q", s.Digest)
	case s.Runs < 0 || s.Bytes < 0:
		return "samples", "want no negative numbers"
	}
	return "", ""
}

func (r *Record) verdictProblem() (place, text string) {
	if !slices.Contains(Kinds(), r.Verdict) || !r.Verdict.Ended() {
		return "verdict", fmt.Sprintf("want how a line can end, got %q", r.Verdict)
	}
	measured := r.Verdict == Safe || r.Verdict == Regresses || r.Verdict == Accepted || r.Verdict == Inconclusive
	if measured && r.RollUp == nil {
		return "roll_up", fmt.Sprintf("want one with the verdict %s, got null", r.Verdict)
	}
	for i, b := range r.Benchmarks {
		if b.Verdict != nil && !slices.Contains(stats.Verdicts(), *b.Verdict) {
			return fmt.Sprintf("benchmarks[%d].verdict", i), fmt.Sprintf("want one of %v or null, got %q", stats.Verdicts(), *b.Verdict)
		}
	}
	return "", ""
}
