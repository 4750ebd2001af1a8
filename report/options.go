package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report/stats"
)

// OptionsOf takes the options of a job's analysis from its record: the design
// from the spec, and what was compared from the record and its outcome. Page,
// Ledger and Earlier are left to the caller, who knows where they are kept.
func OptionsOf(j *job.Job) Options {
	o := Options{
		Margin: j.Spec.Margin, Alpha: j.Spec.Alpha, Runs: j.Spec.Runs, Attempt: j.Attempt, Gate: j.Spec.Gate || j.Backport != nil,
		About: AboutOf(j),
	}
	if j.Spec.Runs == job.Adaptive {
		if o.Looks = j.Spec.Looks; len(o.Looks) == 0 {
			o.Looks = stats.DefaultLooks()
		}
	}
	for _, s := range j.Spec.Suites {
		o.Counts = append(o.Counts, s.Counts...)
		if s.Analysis != "" {
			if o.SuiteAnalysis == nil {
				o.SuiteAnalysis = map[string]string{}
			}
			o.SuiteAnalysis[s.Name] = s.Analysis
		}
	}
	if len(j.Spec.Suites) == 1 {
		o.Analysis = j.Spec.Suites[0].Analysis
	}
	return o
}

// AboutOf tells what a job compared, from its record and its outcome.
func AboutOf(j *job.Job) About {
	a := About{
		Repository: j.Repository, PR: j.PR, Base: j.Base, Head: j.Head,
		Command: recipe(j.Spec), Started: j.Started, Finished: j.Finished, Outdated: j.Outdated,
		Notes: slices.Clone(j.Notes), LostTries: j.LostTries, Attempt: j.Attempt,
		Filtered: j.Spec.Filter != "",
	}
	for _, s := range j.Spec.Suites {
		a.Suites = append(a.Suites, s.Name)
	}
	if out := j.Outcome; out != nil {
		a.Host, a.Planned = out.Host, out.Pairs
		a.Notes = append(a.Notes, out.Notes...)
		if out.Kind == job.Stopped {
			a.Stopped = &job.Cancel{}
		}
	}
	if b := j.Backport; b != nil {
		a.Backport, a.Head = b, job.Side{Ref: "the change on " + b.Line}
		if out := j.Outcome; out != nil && out.Picked != nil {
			a.Head.SHA = out.Picked.SHA
		}
	}
	if j.Cancel != nil && a.Stopped != nil {
		a.Stopped = j.Cancel
	}
	return a
}

// recipe spells a spec as the flags of `bot compare`, which are those of the
// comment's command too.
func recipe(s job.Spec) string {
	var parts []string
	for _, suite := range s.Suites {
		parts = append(parts, shellWord(suite.Name))
	}
	if s.Filter != "" {
		parts = append(parts, "--filter", shellWord(s.Filter))
	}
	parts = append(parts, "--runs", s.Runs.String())
	if s.Margin > 0 {
		parts = append(parts, "--margin", strings.ReplaceAll(exactPercent(s.Margin), " ", ""))
	}
	for _, kv := range s.Set {
		parts = append(parts, "--set", shellWord(kv))
	}
	if s.Harness != "" && s.Harness != job.HarnessBase {
		parts = append(parts, "--harness", string(s.Harness))
	}
	return strings.Join(parts, " ")
}

// shellWord quotes a word for a shell where it needs that.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./:=,@%+", r)
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// shortSHA is the first seven digits of a commit's name, as people write it.
func shortSHA(sha string) string {
	if len(sha) > 7 {
		return sha[:7]
	}
	return sha
}

// commitURL is the address of a commit, empty where the repository has none or
// where the name is no commit's.
func commitURL(r job.Repository, sha string) string {
	if r.HTMLURL == "" || !isSHA(sha) {
		return ""
	}
	return fmt.Sprintf("%s/commit/%s", strings.TrimRight(r.HTMLURL, "/"), sha)
}

func isSHA(s string) bool {
	return len(s) >= 7 && len(s) <= 64 && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= '0' && r <= '9' || r >= 'a' && r <= 'f' || r >= 'A' && r <= 'F')
	})
}
