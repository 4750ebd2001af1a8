package webhook

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prbench/prbench/internal/forge"
	"github.com/prbench/prbench/internal/forgetest"
	"github.com/prbench/prbench/internal/job"
)

// twoCommits gives the pull request a second commit, and all its own, oldest first.
func (w *world) twoCommits() []string {
	w.t.Helper()
	first := w.Head(w.pull)
	w.later()
	second, err := w.Push("contributor", w.fork, "faster", forgetest.WriteFiles("a second change", map[string]string{"more.txt": "1\n"}))
	w.ok(err)
	w.settle()
	return []string{first, second}
}

// merge merges the pull request after a while.
func (w *world) merge(style forgetest.MergeStyle) {
	w.t.Helper()
	w.later()
	w.ok(w.Merge("writer", w.pull, style))
	w.settle()
}

func (w *world) at(rev string) string {
	w.t.Helper()
	sha, err := w.Commit(w.repo, rev)
	w.ok(err)
	return sha
}

// onlyChange is the change of the one job on a line, without the words.
func (w *world) onlyChange() job.Change {
	w.t.Helper()
	on, _ := w.backports()
	if len(on) != 1 {
		w.t.Fatalf("%d jobs on lines, want 1; replies %q", len(on), w.replies())
	}
	c := on[0].Backport.Change
	if c.Note == "" {
		w.t.Error("nothing says what the picks are")
	}
	c.Note = ""
	return c
}

func TestTheChangeOfAMergedPullRequestIsWhatItsMergeMade(t *testing.T) {
	t.Parallel()
	for style, want := range map[forgetest.MergeStyle]func(*world) job.Change{
		forgetest.MergeCommit: func(w *world) job.Change {
			return job.Change{Picks: []job.Pick{{SHA: w.at("main"), Mainline: 1}}, Merged: job.MergedByCommit}
		},
		forgetest.MergeSquash: func(w *world) job.Change {
			return job.Change{Picks: []job.Pick{{SHA: w.at("main")}}, Merged: job.MergedBySquash}
		},
		forgetest.MergeRebase: func(w *world) job.Change {
			return job.Change{Picks: []job.Pick{{SHA: w.at("main~1")}, {SHA: w.at("main")}}, Merged: job.MergedByRebase}
		},
	} {
		t.Run(string(style), func(t *testing.T) {
			t.Parallel()
			w, tips := newLines(t, linesConfig)
			w.twoCommits()
			w.merge(style)
			made := want(w)
			_, err := w.Push("writer", w.repo, "main", forgetest.WriteFiles("main goes on", map[string]string{"later.txt": "x\n"}))
			w.ok(err)
			w.comment("writer", "/benchmark backport v1.x")
			if diff := cmp.Diff(made, w.onlyChange()); diff != "" {
				t.Errorf("want - got +\n%s", diff)
			}
			on, others := w.backports()
			if on[0].Base.SHA != tips["v1.x-staging"] || on[0].Head.SHA != w.Head(w.pull) {
				t.Errorf("job %+v", on[0])
			}
			if len(others) != 1 || others[0].Base.SHA != w.mergeBase || others[0].Head.SHA != w.Head(w.pull) {
				t.Errorf("beside it %+v, want a comparison with %s", others, w.mergeBase)
			}
		})
	}
}

// Such a line has the change, unless it was taken back there since: the runner
// tries, and needs to know that only where it does not go on.
func TestALineThatWasCutAfterTheMergeIsKnownToHoldTheChange(t *testing.T) {
	t.Parallel()
	for _, style := range []forgetest.MergeStyle{forgetest.MergeCommit, forgetest.MergeSquash, forgetest.MergeRebase} {
		t.Run(string(style), func(t *testing.T) {
			t.Parallel()
			w, _ := newLines(t, linesConfig)
			w.twoCommits()
			w.merge(style)
			_, err := w.Push("writer", w.repo, "main", func(b *forgetest.Work) error {
				_, err := b.Git("branch", "v9.x", "main")
				return err
			})
			w.ok(err)
			w.moveLine("v9.x")
			w.comment("writer", "/benchmark backport v1.x v9.x")
			got := map[string]bool{}
			on, _ := w.backports()
			for _, j := range on {
				got[j.Backport.Line] = j.Backport.Held
			}
			if diff := cmp.Diff(map[string]bool{"v1.x-staging": false, "v9.x": true}, got); diff != "" {
				t.Errorf("want - got +\n%s; replies %q", diff, w.replies())
			}
		})
	}
}

func TestOneCommitThatWasRebasedIsPicked(t *testing.T) {
	t.Parallel()
	w, _ := newLines(t, linesConfig)
	w.merge(forgetest.MergeRebase)
	w.comment("writer", "/benchmark backport v1.x")
	if c := w.onlyChange(); !cmp.Equal(c.Picks, []job.Pick{{SHA: w.at("main")}}) || c.Merged != job.MergedByRebase {
		t.Errorf("%+v", c)
	}
}

// The stand-in makes the trial merge behind merge_commit_sha for each open pull
// request, as GitHub does.
func TestTheChangeOfAnOpenPullRequestIsItsOwnCommitsAndNeverTheTrialMerge(t *testing.T) {
	t.Parallel()
	w, _ := newLines(t, linesConfig)
	own := w.twoCommits()
	w.comment("writer", "/benchmark backport v1.x")
	w.comment("writer", "/benchmark http")
	if diff := cmp.Diff(job.Change{Picks: []job.Pick{{SHA: own[0]}, {SHA: own[1]}}}, w.onlyChange()); diff != "" {
		t.Errorf("want - got +\n%s", diff)
	}
	trial := w.at("refs/pull/1/merge")
	for _, j := range w.jobs() {
		if s := fmt.Sprintf("%+v %+v", j, j.Backport); strings.Contains(s, trial) {
			t.Errorf("the trial merge %s is in %s", trial, s)
		}
	}
}

func TestWithAMergeInsideAPullRequestIsOneCommit(t *testing.T) {
	t.Parallel()
	w, _ := newLines(t, linesConfig)
	main := w.at("main")
	w.later()
	_, err := w.Push("contributor", w.fork, "faster", func(b *forgetest.Work) error {
		if _, err := b.Git("fetch", "-q", w.CloneURL(w.repo), "main"); err != nil {
			return err
		}
		_, err := b.Git("merge", "-q", "--no-ff", "-m", "catch up", main)
		return err
	})
	w.ok(err)
	w.settle()
	w.comment("writer", "/benchmark backport v1.x")
	if diff := cmp.Diff(job.Change{Picks: []job.Pick{{SHA: w.Head(w.pull), Since: main}}}, w.onlyChange()); diff != "" {
		t.Errorf("want - got +\n%s", diff)
	}
	if on, _ := w.backports(); !strings.Contains(on[0].Backport.Change.Note, "a merge among the 2 commits") {
		t.Errorf("note %q", on[0].Backport.Change.Note)
	}
}

func TestMoreCommitsThanGitHubListsAreNotPutOntoALine(t *testing.T) {
	t.Parallel()
	w, _ := newLines(t, linesConfig)
	w.later()
	_, err := w.Push("contributor", w.fork, "faster", func(b *forgetest.Work) error { return b.Empty(job.MaxPicks) })
	w.ok(err)
	w.settle()
	w.comment("writer", "/benchmark backport v1.x")
	w.refused("251 commits", "250")
}

func TestAnOrdinaryComparisonOfAMergedPullRequestIsWithWhatWasBefore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	w.merge(forgetest.MergeCommit)
	w.comment("writer", "/benchmark")
	if j := w.onlyJob(); j.Base.SHA != w.mergeBase || j.Base.Ref != "main" || j.Head.SHA != w.Head(w.pull) {
		t.Errorf("compares %s with %s, want %s", j.Head.SHA, j.Base.SHA, w.mergeBase)
	}
}

// handMerged is a GitHub whose main was at before and was pushed on to head, its
// child. It has no more commits.
type handMerged struct {
	Hub
	before, head string
}

func (h handMerged) ResolveRef(context.Context, forge.Repo, string) (forge.Ref, error) {
	return forge.Ref{Name: "refs/heads/main", SHA: h.head}, nil
}

func (h handMerged) MergeBase(_ context.Context, _ forge.Repo, base, _ string) (string, error) {
	return base, nil // each is an ancestor of head, or head
}

func (h handMerged) PullCommits(context.Context, forge.Repo, int) ([]forge.Commit, error) {
	return []forge.Commit{{SHA: h.head, Parents: []string{h.before}}}, nil
}

func (h handMerged) CommitsEndingAt(context.Context, forge.Repo, string, int) ([]forge.Commit, error) {
	return []forge.Commit{{SHA: h.head, Parents: []string{h.before}}}, nil
}

// GitHub calls a pull request merged, too, whose head somebody pushed to the base.
func TestABaseThatWasMovedToTheHeadByHandIsComparedWithWhatItWas(t *testing.T) {
	t.Parallel()
	head, before := strings.Repeat("a", 40), strings.Repeat("b", 40)
	pr := forge.PullRequest{State: "closed", Merged: true, MergeCommit: head, Commits: 1, MergedAt: testTime,
		Head: forge.Branch{SHA: head}, Base: forge.Branch{Ref: "main", SHA: before}}
	a := &Acceptor{Now: func() time.Time { return testTime }}
	q := asked{hub: handMerged{before: before, head: head}, at: testTime.Add(time.Minute)}
	if sha, _, err := pinBase(t.Context(), q, pr, head); err != nil || sha != before {
		t.Errorf("base %s, %v, want %s", sha, err, before)
	}
	want := job.Change{Picks: []job.Pick{{SHA: head}}, Merged: job.MergedByRebase, Note: "the commit aaaaaaaaaa"}
	if c, err := a.change(t.Context(), q, pr, head); err != nil || !cmp.Equal(c, want) {
		t.Errorf("change %+v, %v, want %+v", c, err, want)
	}
	pr.Base.SHA = head // GitHub has no memory of it
	if _, _, err := pinBase(t.Context(), q, pr, head); !isRefusal(err) || !strings.HasPrefix(err.Error(), "GitHub does not tell") {
		t.Errorf("error %v", err)
	}
}

// Dates are whole seconds, and messages such as "fix" come twice.
func TestARebaseIsToldFromASquashByWhoWroteWhatWhen(t *testing.T) {
	t.Parallel()
	when := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	commit := func(sha, parent, author, message string, seconds int) forge.Commit {
		return forge.Commit{SHA: sha, Parents: []string{parent}, Author: author, Message: message, When: when.Add(time.Duration(seconds) * time.Second)}
	}
	merge := commit("m", "b", "ann", "merge", 3)
	merge.Parents = append(merge.Parents, "x")
	own := []forge.Commit{commit("a", "0", "ann", "fix", 1), commit("b", "a", "ann", "fix", 2), merge, commit("c", "m", "bob", "more\n", 4)}
	before := commit("Z", "Y", "ann", "fix", 0)
	for name, c := range map[string]struct {
		last []forge.Commit // newest first
		want []string
	}{
		"all":                       {[]forge.Commit{commit("C", "B", "bob", "more", 4), commit("B", "A", "ann", "fix", 2), commit("A", "Z", "ann", "fix", 1), before}, []string{"A", "B", "C"}},
		"one was there already":     {[]forge.Commit{commit("C", "A", "bob", "more", 4), commit("A", "Z", "ann", "fix", 1), before}, []string{"A", "C"}},
		"a squash":                  {[]forge.Commit{commit("S", "Z", "ann", "fix (#1)\n\n* fix\n\n* fix", 9), before}, nil},
		"another's of the same day": {[]forge.Commit{commit("S", "Z", "eve", "more", 4), before}, nil},
		"one that comes twice":      {[]forge.Commit{commit("B", "A", "ann", "fix", 2), commit("A", "Z", "ann", "fix", 2), before}, []string{"B"}},
	} {
		var got []string
		for _, made := range rebased(own, c.last) {
			got = append(got, made.SHA)
		}
		if !cmp.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
