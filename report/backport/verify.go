package backport

import (
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report"
)

// Verify reads the samples of a record, digests and judges them anew, and gives
// what differs from the record, in plain sentences; none: the record is what
// comes out of its samples. samples may be nil for a record without any. The
// error is of reading.
func (r *Record) Verify(samples io.Reader, name string) (differences []string, err error) {
	cell := CellOf(r.job(), nil)
	if r.Samples != nil {
		if samples == nil {
			return nil, fmt.Errorf("verify the record: want its samples (%s)", report.Plural(r.Samples.Runs, "run", "runs"))
		}
		var again Samples
		if cell, again, err = r.judge(samples, name); err != nil {
			return nil, err
		}
		if again.Digest != r.Samples.Digest {
			return []string{fmt.Sprintf("the samples are others: their digest is %s, the record has %s (%s and %s)", again.Digest, r.Samples.Digest,
				report.Plural(again.Runs, "run", "runs"), report.Plural(r.Samples.Runs, "run", "runs"))}, nil
		}
		if again.Runs != r.Samples.Runs {
			differences = append(differences, fmt.Sprintf("the samples are %s, the record says %d", report.Plural(again.Runs, "run", "runs"), r.Samples.Runs))
		}
	}
	return append(differences, r.differences(cell)...), nil
}

// judge reads the samples and judges them as the record's job was.
func (r *Record) judge(samples io.Reader, name string) (Cell, Samples, error) {
	var d Digester
	c := report.NewCollector()
	for run, err := range ReadSamples(samples, name, &d) {
		if err != nil {
			return Cell{}, Samples{}, err
		}
		c.AddRun(run)
	}
	j := r.job()
	rep, err := report.Analyse(c.Data(), r.options(j))
	if err != nil {
		return Cell{}, Samples{}, fmt.Errorf("judge the samples of the record: %w", err)
	}
	return CellOf(j, rep), d.Samples(), nil
}

// Judge gives the whole report that the record sums up, from its samples.
func (r *Record) Judge(samples io.Reader, name string) (*report.Report, error) {
	cell, _, err := r.judge(samples, name)
	return cell.Report, err
}

// options are those with which the record's job was judged.
func (r *Record) options(j job.Job) report.Options {
	o := report.OptionsOf(&j)
	o.Earlier, o.Accepted = r.earlier(), r.Accepted
	return o
}

// job is the record's job as far as a judgement depends on it.
func (r *Record) job() job.Job {
	return job.Job{ID: r.Job, State: job.Done, PR: r.PullRequest, Spec: r.Spec, Attempt: r.Design.Attempt,
		Repository: job.Repository{ID: r.Repository.ID, Owner: r.Repository.Owner, Name: r.Repository.Name, HTMLURL: r.Repository.URL},
		Base:       job.Side{SHA: r.Tip, Ref: r.Line}, Head: job.Side{SHA: r.Head},
		Backport: &job.Backport{Line: r.Line, Lines: []string{r.Line}, Change: r.Change},
		Wish:     job.Wish{Sender: r.Asked.By, SenderID: r.Asked.ByID, Command: r.Asked.Command, At: r.Asked.At},
		Started:  r.Started, Finished: r.Finished,
		Outcome: &job.Outcome{Kind: r.Ended.Kind, Side: r.Ended.Side, Text: r.Ended.Text, Log: r.Ended.Log, Picked: r.Picked,
			Runs: r.Ended.Runs, Host: r.Host.Host, Notes: r.Ended.Notes}}
}

// differences compares what comes out now with what the record says.
func (r *Record) differences(c Cell) []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if c.Kind != r.Verdict {
		say("the verdict is %s, the record says %s", c.Kind.Words(), r.Verdict.Words())
	}
	var rollUp *RollUpSaid
	var benchmarks []BenchmarkSaid
	if c.Report != nil {
		if now, then := designOf(c.Report), r.Design; !reflect.DeepEqual(now, then) {
			say("the design of what was asked for is %q, the record says %q", now.words(), then.words())
		}
		rollUp, benchmarks = rollUpOf(c.Report), benchmarksOf(c.Report)
	}
	switch {
	case (rollUp == nil) != (r.RollUp == nil):
		say("only one of the record and its samples has a roll-up")
	case rollUp != nil && *rollUp != *r.RollUp:
		say("the roll-up is %s, the record says %s", rollUp.words(), r.RollUp.words())
	case c.Kind == r.Verdict && c.Kind != Cancelled && c.Sentence() != r.Words:
		say("the words are %q, the record says %q", c.Sentence(), report.Visible(r.Words))
	}
	said := map[string][]BenchmarkSaid{} // two names may look the same
	for _, b := range r.Benchmarks {
		said[b.Benchmark] = append(said[b.Benchmark], b)
	}
	for _, b := range benchmarks {
		old := said[b.Benchmark]
		if len(old) == 0 {
			say("%s is not in the record", b.Benchmark)
			continue
		}
		said[b.Benchmark] = old[1:]
		if !b.same(old[0]) {
			say("%s: it comes out as %s, the record says %s", b.Benchmark, b.words(), old[0].words())
		}
	}
	for _, b := range r.Benchmarks {
		if left := said[b.Benchmark]; len(left) > 0 {
			say("%s is in the record and not in its samples", report.Visible(b.Benchmark))
			said[b.Benchmark] = left[1:]
		}
	}
	return out
}

func (u RollUpSaid) words() string {
	text := fmt.Sprintf("%s with %d held, %d regressing and %d open of %d", u.Verdict, u.Held, u.Regressing, u.Open, u.Declared)
	if u.HostUnfit {
		text += " on an unfit machine"
	}
	return text
}

// same allows for the last digits, which may differ between processors.
func (b BenchmarkSaid) same(o BenchmarkSaid) bool {
	return b.Unit == o.Unit && b.Accepted == o.Accepted && equal(b.Verdict, o.Verdict) && equal(b.OnlyOn, o.OnlyOn) &&
		near(b.Improvement, o.Improvement) && near(b.Interval[0], o.Interval[0]) && near(b.Interval[1], o.Interval[1])
}

func equal[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// near tells whether two numbers are the same to nine digits. What is written
// as null is the same whatever it was.
func near(a, b report.Number) bool {
	x, y := float64(a), float64(b)
	none := func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }
	if none(x) || none(y) {
		return none(x) && none(y)
	}
	return math.Abs(x-y) <= 1e-9*max(1, math.Abs(x), math.Abs(y))
}

func (b BenchmarkSaid) words() string {
	verdict := "no verdict"
	if b.Verdict != nil {
		verdict = string(*b.Verdict)
	}
	return fmt.Sprintf("%s %v [%v, %v]", verdict, float64(b.Improvement), float64(b.Interval[0]), float64(b.Interval[1]))
}

// Repeated is what a repository shows of a record now.
type Repeated struct {
	// Picked is what putting the change on the record's tip gives.
	Picked job.Picked
	// Tip is the line's present last commit; empty: the line is gone.
	Tip string
	// Ahead is the number of commits that the line has gained since the record's
	// tip; negative: the record's tip is no part of it any more.
	Ahead int
}

// Standing is what a record is worth in the present repository.
type Standing struct {
	// Reproduced says that the change gives the same commit on the same tip.
	Reproduced bool
	// Moved says that the line's tip is another one now.
	Moved bool
	// Words say it in plain text, one sentence.
	Words string
}

// Holds tells whether the record is about the line as it is.
func (s Standing) Holds() bool { return s.Reproduced && !s.Moved }

// Standing compares a record with what the repository gives.
func (r *Record) Standing(now Repeated) Standing {
	if why := r.unlike(now.Picked); why != "" {
		return Standing{Words: "does not reproduce: " + why, Moved: now.Tip != r.Tip}
	}
	s := Standing{Reproduced: true, Moved: now.Tip != r.Tip}
	line, tip := report.Short(r.Line, lineColumns), report.ShortSHA(r.Tip)
	switch {
	case !s.Moved:
		s.Words = fmt.Sprintf("holds: %s is still at %s, and the change gives the same there", line, tip)
	case now.Tip == "":
		s.Words = fmt.Sprintf("the line %s is gone since; the record is right for %s", line, tip)
	case now.Ahead < 0:
		s.Words = fmt.Sprintf("the line %s has been rewritten since: %s is no part of it any more, its tip is %s", line, tip, report.Visible(report.ShortSHA(now.Tip)))
	default:
		s.Words = fmt.Sprintf("the line %s has moved since by %s, from %s to %s; the record is right for %s", line,
			report.Plural(now.Ahead, "commit", "commits"), tip, report.Visible(report.ShortSHA(now.Tip)), tip)
	}
	return s
}

// unlike says how a pick differs from the record's; empty where it does not.
func (r *Record) unlike(now job.Picked) string {
	if r.Picked == nil {
		return "" // it was never reached
	}
	then, again := r.Picked, visiblePicked(&now)
	short := func(sha string) string { return report.Visible(report.ShortSHA(sha)) }
	tip := short(r.Tip)
	switch {
	case then.Kind != again.Kind:
		return fmt.Sprintf("the record says %q, the change on %s gives %q", then.Kind, tip, again.Kind)
	case then.SHA != again.SHA && then.PatchID == again.PatchID:
		return fmt.Sprintf("the same difference on %s gives commit %s, the record has %s", tip, short(again.SHA), short(then.SHA))
	case then.SHA != again.SHA:
		return fmt.Sprintf("the change on %s gives commit %s with another difference, the record has %s", tip, short(again.SHA), short(then.SHA))
	case then.PatchID != again.PatchID:
		return fmt.Sprintf("commit %s has patch id %s, the record says %s", short(again.SHA), short(again.PatchID), short(then.PatchID))
	case !slices.Equal(then.Skipped, again.Skipped):
		return fmt.Sprintf("of the change %s on %s already, the record says %d, or others", report.Plural(len(again.Skipped), "commit is", "commits are"), tip, len(then.Skipped))
	case then.Commit != again.Commit:
		return fmt.Sprintf("on %s commit %s does not go on, the record says %s", tip, short(again.Commit), short(then.Commit))
	case !slices.Equal(then.Files, again.Files):
		return fmt.Sprintf("on %s commit %s does not go on in %s, the record says %s", tip, short(again.Commit), join(firstFiles(again.Files)), join(firstFiles(then.Files)))
	}
	return ""
}

// firstFiles are as many as a sentence names, of a conflict's files.
func firstFiles(files []string) []string {
	const most = 3
	var out []string
	for _, f := range files[:min(len(files), most)] {
		out = append(out, report.Short(f, nameColumns))
	}
	switch more := len(files) - most; {
	case more > 0:
		out = append(out, fmt.Sprintf("%d more", more))
	case len(files) == 0:
		out = append(out, "no file")
	}
	return out
}
