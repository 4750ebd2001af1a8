package webhook

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/prbench/prbench/internal/forge"
	"github.com/prbench/prbench/internal/job"
)

// change finds what of a pull request goes onto a release line.
func (a *Acceptor) change(ctx context.Context, q asked, pr forge.PullRequest, head string) (job.Change, error) {
	if !pr.Merged {
		return a.ownChange(ctx, q, pr, head, func() (string, error) {
			since, _, err := pinBase(ctx, q, pr, head)
			return since, err
		})
	}
	if !isSHA(pr.MergeCommit) {
		return job.Change{}, refuse("GitHub does not tell which commit this pull request was merged in")
	}
	last, err := q.hub.CommitsEndingAt(ctx, q.repo, pr.MergeCommit, min(max(pr.Commits, 1), job.MaxPicks))
	if forge.IsNotFound(err) {
		return job.Change{}, refuse("GitHub no longer has the commit %s, in which this pull request was merged", code(short(pr.MergeCommit)))
	}
	if err != nil {
		return job.Change{}, fmt.Errorf("read the commits that the merge made: %w", err)
	}
	if pr.MergeCommit == head {
		// Somebody moved the base to the head by hand: no commit was made.
		c, err := a.ownChange(ctx, q, pr, head, func() (string, error) { return beforeMerge(ctx, q, pr, head) })
		c.Merged = job.MergedByRebase
		return c, err
	}
	if n := mainline(last[0], pr.Head.SHA); n > 0 {
		return job.Change{Picks: []job.Pick{{SHA: pr.MergeCommit, Mainline: n}}, Merged: job.MergedByCommit,
			Note: "the merge commit " + short(pr.MergeCommit)}, nil
	}
	own, err := a.ownCommits(ctx, q, pr)
	if err != nil {
		return job.Change{}, err
	}
	if made := rebased(own, last); len(made) > 0 {
		return job.Change{Picks: picks(made), Merged: job.MergedByRebase, Note: named(made) + " that the rebase made"}, nil
	}
	return job.Change{Picks: []job.Pick{{SHA: pr.MergeCommit}}, Merged: job.MergedBySquash, Note: "the squash commit " + short(pr.MergeCommit)}, nil
}

// ownChange is the pull request's own commits in their order; with a merge among
// them, which has no order to follow, all of it as one from the commit that since
// gives.
func (a *Acceptor) ownChange(ctx context.Context, q asked, pr forge.PullRequest, head string, since func() (string, error)) (job.Change, error) {
	own, err := a.ownCommits(ctx, q, pr)
	if err != nil {
		return job.Change{}, err
	}
	if !slices.ContainsFunc(own, func(c forge.Commit) bool { return c.SHA == head }) {
		if a.Now().Sub(q.event.Received) < unknownHeadPatience {
			return job.Change{}, errOlderAnswer
		}
		return job.Change{}, refuse("GitHub does not list the commit %s among those of this pull request", code(short(head)))
	}
	if slices.ContainsFunc(own, func(c forge.Commit) bool { return len(c.Parents) > 1 }) {
		from, err := since()
		if err != nil {
			return job.Change{}, err
		}
		return job.Change{Picks: []job.Pick{{SHA: head, Since: from}},
			Note: fmt.Sprintf("all from %s to %s as one commit, because there is a merge among the %d commits", short(from), short(head), len(own))}, nil
	}
	line := upTo(head, own)
	return job.Change{Picks: picks(line), Note: named(line)}, nil
}

// ownCommits are all commits of the pull request.
func (a *Acceptor) ownCommits(ctx context.Context, q asked, pr forge.PullRequest) ([]forge.Commit, error) {
	if pr.Commits > job.MaxPicks {
		return nil, refuse("this pull request has %d commits, and GitHub lists only the first %d of one, so what would go onto a line is not known", pr.Commits, job.MaxPicks)
	}
	own, err := q.hub.PullCommits(ctx, q.repo, q.event.PR)
	if err != nil {
		return nil, fmt.Errorf("list the pull request's commits: %w", err)
	}
	return own, nil
}

// upTo orders commits without merges by their parents, the oldest first and the
// head last: GitHub's own order goes by dates that anybody can write.
func upTo(head string, commits []forge.Commit) []forge.Commit {
	bySHA := map[string]forge.Commit{}
	for _, c := range commits {
		bySHA[c.SHA] = c
	}
	var line []forge.Commit
	for c, ok := bySHA[head]; ok && len(line) < len(commits); {
		line = append(line, c)
		if len(c.Parents) == 0 {
			break
		}
		c, ok = bySHA[c.Parents[0]]
	}
	slices.Reverse(line)
	return line
}

// rebased gives the commits that a rebase of own made, oldest first: those at the
// end of a branch (newest first) that have the author, the date and the message
// of one of them each. A squash gives none. A rebase may leave out some of own.
func rebased(own, last []forge.Commit) []forge.Commit {
	type mark struct{ author, when, message string }
	of := func(c forge.Commit) mark {
		return mark{c.Author, c.When.UTC().Format("2006-01-02T15:04:05"), strings.TrimSpace(c.Message)}
	}
	left := map[mark]int{}
	for _, c := range own {
		if len(c.Parents) < 2 { // a rebase leaves merges out
			left[of(c)]++
		}
	}
	var made []forge.Commit
	for _, c := range last {
		follows := len(made) == 0 || slices.Contains(made[len(made)-1].Parents, c.SHA)
		if !follows || len(c.Parents) > 1 || left[of(c)] == 0 {
			break
		}
		left[of(c)]--
		made = append(made, c)
	}
	slices.Reverse(made)
	return made
}

func picks(commits []forge.Commit) []job.Pick {
	var out []job.Pick
	for _, c := range commits {
		out = append(out, job.Pick{SHA: c.SHA})
	}
	return out
}

// named says which commits these are, oldest first.
func named(commits []forge.Commit) string {
	if len(commits) == 1 {
		return "the commit " + short(commits[0].SHA)
	}
	return fmt.Sprintf("the %d commits from %s to %s", len(commits), short(commits[0].SHA), short(commits[len(commits)-1].SHA))
}
