package forge_test

import (
	"strings"
	"testing"

	"github.com/prbench/prbench/internal/forge"
	"github.com/prbench/prbench/internal/forgetest"
)

// The stand-in computes a trial merge for an open pull request, as GitHub does.
func TestAMergeCommitIsKnownOfAMergedPullRequestAlone(t *testing.T) {
	w := newWorld(t)
	open, err := w.gh.PullRequest(w.ctx, w.name, 1)
	w.ok(err)
	if open.Merged || open.MergeCommit != "" {
		t.Errorf("open, it is %+v", open)
	}
	w.ok(w.ClosePull("dev-b", w.pull))
	closed, err := w.gh.PullRequest(w.ctx, w.name, 1)
	w.ok(err)
	if closed.Merged || closed.MergeCommit != "" {
		t.Errorf("closed, it is %+v", closed)
	}
	w.ok(w.ReopenPull("dev-b", w.pull))
	w.ok(w.Merge("dev-a", w.pull, forgetest.MergeSquash))
	merged, err := w.gh.PullRequest(w.ctx, w.name, 1)
	w.ok(err)
	tip, err := w.Server.Commit(w.repo, "main")
	w.ok(err)
	if !merged.Merged || merged.MergeCommit != tip || merged.MergedAt.IsZero() {
		t.Errorf("merged, it is %+v, want the commit %s", merged, tip)
	}
}

func TestCommitsAreReadBackFromOne(t *testing.T) {
	w := newWorld(t)
	const made = 120
	tip, err := w.Push("dev-a", w.repo, "main", func(b *forgetest.Work) error { return b.Empty(made) })
	w.ok(err)
	for _, n := range []int{1, 3, 110, 500} {
		got, err := w.gh.CommitsEndingAt(w.ctx, w.name, tip, n)
		w.ok(err)
		if want := min(n, made+1); len(got) != want {
			t.Fatalf("asked for %d, got %d, want %d", n, len(got), want)
		}
		for i := 1; i < len(got); i++ {
			if len(got[i-1].Parents) != 1 || got[i-1].Parents[0] != got[i].SHA {
				t.Fatalf("commit %d of %d is not the parent of the one before it", i, n)
			}
		}
		if c := got[0]; c.SHA != tip || c.Author != "dev-a" || c.Message != "120" || c.When.IsZero() || !strings.HasPrefix(c.Email, "dev-a@") {
			t.Errorf("the newest is %+v", c)
		}
	}
	_, err = w.gh.CommitsEndingAt(w.ctx, w.name, strings.Repeat("a", 40), 3)
	w.is(err, forge.NotFound)
	for sha, n := range map[string]int{"main": 1, tip: 0} {
		_, err = w.gh.CommitsEndingAt(w.ctx, w.name, sha, n)
		w.is(err, forge.Refused)
	}
}

func TestAPullRequestsCommitsCarryWhoWroteThemAndWhen(t *testing.T) {
	w := newWorld(t)
	got, err := w.gh.PullCommits(w.ctx, w.name, 1)
	w.ok(err)
	if len(got) != 1 || got[0].Author != "dev-b" || got[0].When.IsZero() || len(got[0].Parents) != 1 || got[0].Message != "change the speed" {
		t.Errorf("read %+v", got)
	}
}

func TestNoMoreThan250CommitsOfAPullRequestAreListed(t *testing.T) {
	w := newWorld(t)
	_, err := w.Push("dev-b", w.fork, "faster", func(b *forgetest.Work) error { return b.Empty(255) })
	w.ok(err)
	got, err := w.gh.PullCommits(w.ctx, w.name, 1)
	w.ok(err)
	p, err := w.gh.PullRequest(w.ctx, w.name, 1)
	w.ok(err)
	if len(got) != 250 || p.Commits != 256 || got[0].Message != "change the speed" || got[249].Message != "249" {
		t.Errorf("%d of %d are listed, the first %q", len(got), p.Commits, got[0].Message)
	}
}
