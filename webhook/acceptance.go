package webhook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"github.com/prbench/prbench/internal/job"
)

// Acceptance is what a person says in accepting a regression.
type Acceptance struct {
	Benchmark string
	Reason    string
	Until     time.Time // the last second of a day, UTC; zero: for good
}

// maxReason bounds a reason, in characters: it stands in a report's row.
const maxReason = 500

// parseAcceptance reads all words of the command. A benchmark's name has spaces in
// it often enough, so that it may stand without quotes.
func parseAcceptance(c Command, words []string) Command {
	c.Verb, c.Text = Accept, Word
	for _, w := range words {
		if strings.ContainsAny(w, " \t\u00a0") {
			w = `"` + w + `"`
		}
		c.Text += " " + w
	}
	var until string
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	fs.StringVar(&c.Acceptance.Reason, "reason", "", "")
	fs.StringVar(&until, "until", "", "")
	if err := fs.Parse(words[1:]); errors.Is(err, pflag.ErrHelp) {
		return Command{Verb: Help, Text: c.Text}
	} else if err != nil {
		c.Err = fmt.Errorf("%w; `%s %s` takes a benchmark's name, --reason \"…\" and --until DATE", err, Word, Accept)
		return c
	}
	c.Acceptance.Benchmark = strings.TrimSpace(strings.Join(fs.Args(), " "))
	c.Acceptance.Reason = strings.TrimSpace(c.Acceptance.Reason)
	c.Acceptance.Until, c.Err = parseUntil(until)
	switch n := utf8.RuneCountInString(c.Acceptance.Reason); {
	case c.Err != nil:
	case c.Acceptance.Benchmark == "":
		c.Err = fmt.Errorf("it names no benchmark: `%s %s BENCHMARK --reason \"…\"`", Word, Accept)
	case n == 0:
		c.Err = errors.New("--reason is missing: whoever reads the report later wants to know why")
	case n > maxReason:
		c.Err = fmt.Errorf("--reason has %d characters, and may have %d", n, maxReason)
	}
	return c
}

func parseUntil(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	day, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return time.Time{}, fmt.Errorf("--until %s: want a day such as 2006-01-02", s)
	}
	return day.Add(24*time.Hour - time.Second), nil
}

// accept keeps that a regression which a report of this pull request shows is
// accepted, and has the reports composed anew. It gives what to reply.
func (a *Acceptor) accept(ctx context.Context, e job.Event, c Command) (string, error) {
	if !a.serves(e.Repository.FullName(), e.Installation) {
		return "", refuse("this repository may not use this server; its operators decide that")
	}
	wanted := c.Acceptance
	if today := e.At.UTC().Format(time.DateOnly); !wanted.Until.IsZero() && wanted.Until.Format(time.DateOnly) <= today {
		return "", refuse("`--until %s` is over: want a day after %s", wanted.Until.Format(time.DateOnly), today)
	}
	jobs, err := a.Store.List(ctx, e.Repository.ID, e.PR)
	if err != nil {
		return "", fmt.Errorf("read the pull request's jobs: %w", err)
	}
	found := regressions(jobs)
	name, err := findBenchmark(found, wanted.Benchmark)
	if err != nil {
		return "", err
	}
	if unbounded(found[name]) {
		return "", refuse("%s was too noisy to say how much slower it may be, so that nothing could ever be worse than what is accepted. Ask for more runs first", code(name))
	}
	err = a.Store.Accept(ctx, job.Accepted{Repository: e.Repository.ID, Benchmark: name, Reason: wanted.Reason, By: e.Sender.Login, ByID: e.Sender.ID,
		PR: e.PR, At: e.At.UTC(), Until: wanted.Until, Worst: found[name]})
	if err != nil {
		return "", fmt.Errorf("keep what was accepted: %w", err)
	}
	if err := a.refresh(ctx, jobs); err != nil {
		return "", err
	}
	until := "for good"
	if !wanted.Until.IsZero() {
		until = "until the end of " + wanted.Until.Format(time.DateOnly)
	}
	return fmt.Sprintf("%s is accepted as up to %.1f %% slower, %s: the reports say so with the reason, and go on to call it a regression where it is worse than that.",
		code(name), -100*found[name], until), nil
}

// regressions are the benchmarks that the published reports found slower, each
// with the lowest end of its intervals on the newest head that has it: what an
// older head did would let through more than anybody sees now. An end that is
// unbounded is -MaxFloat64, and counts only where there is no other.
func regressions(jobs []job.Job) map[string]float64 {
	worst, heads := map[string]float64{}, map[string]string{}
	for _, j := range slices.Backward(jobs) {
		if j.Published.Summary == nil {
			continue
		}
		for _, f := range j.Published.Summary.Slower {
			low, head := f.Interval[0], j.Head.SHA
			if f.Benchmark == "" || low >= 0 || heads[f.Benchmark] != "" && heads[f.Benchmark] != head {
				continue
			}
			heads[f.Benchmark] = head
			if before, ok := worst[f.Benchmark]; !ok || unbounded(before) || low < before && !unbounded(low) {
				worst[f.Benchmark] = low
			}
		}
	}
	return worst
}

func unbounded(low float64) bool { return low <= -math.MaxFloat64 }

// findBenchmark finds the benchmark that is meant: quotes and white space may have
// been lost on the way.
func findBenchmark(found map[string]float64, name string) (string, error) {
	if _, ok := found[name]; ok {
		return name, nil
	}
	var alike []string
	for known := range found {
		if folded(known) == folded(name) {
			alike = append(alike, known)
		}
	}
	names := slices.Sorted(maps.Keys(found))
	switch {
	case len(alike) == 1:
		return alike[0], nil
	case len(alike) > 1:
		slices.Sort(alike)
		return "", refuse("%s may be %s: please put the name in quotes as it stands in the report", code(name), codes(alike, "or"))
	case len(found) == 0:
		return "", refuse("no report of this pull request has found a benchmark slower, so there is nothing to accept")
	}
	return "", refuse("%s is not among the regressions that the reports of this pull request found. Those are %s", code(name), codes(names, "and"))
}

var foldedQuotes = strings.NewReplacer(`"`, "", "'", "", `\`, "")

func folded(name string) string {
	return strings.Join(strings.Fields(foldedQuotes.Replace(asciiQuotes.Replace(name))), " ")
}

// refresh has the published reports composed anew.
func (a *Acceptor) refresh(ctx context.Context, jobs []job.Job) error {
	for _, j := range jobs {
		if j.Published.Summary == nil {
			continue
		}
		_, err := a.Store.Update(ctx, j.ID, func(j *job.Job) error {
			j.Refresh++
			return nil
		})
		if err != nil {
			return fmt.Errorf("have the report of job %s composed anew: %w", j.ID, err)
		}
	}
	return nil
}
