package webhook

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/prbench/prbench/internal/forge"
)

// refusal is an error whose words are for the person who asked.
type refusal struct{ text string }

func (r *refusal) Error() string { return r.text }

func refuse(format string, args ...any) error { return &refusal{fmt.Sprintf(format, args...)} }

// errHeadUnknown asks for the event to come again a little later.
var errHeadUnknown = errors.New("the pull request's head has not been seen yet")

// pinHead decides which commit is measured. A label's event names it. A
// comment means the head that its author could see: one that was pushed after
// the comment was written would be a stranger's code run on a maintainer's word.
func (a *Acceptor) pinHead(ctx context.Context, q asked, pr forge.PullRequest) (string, error) {
	if q.flags.SHA != "" {
		return a.ownCommit(ctx, q)
	}
	if q.head != "" {
		return q.head, nil
	}
	if pr.Merged && pr.MergedAt.Before(q.at) {
		return pr.Head.SHA, nil // it cannot move any more, and was what its author saw
	}
	since, told, err := a.headSince(ctx, q.event.Repository.ID, q.event.PR, pr.Head.SHA)
	if err != nil {
		return "", fmt.Errorf("look up the head: %w", err)
	}
	if !told && a.Now().Sub(q.event.Received) < unknownHeadPatience {
		return "", errHeadUnknown
	}
	// Both times are GitHub's and whole seconds: equal ones prove nothing.
	if told && !since.IsZero() && since.Before(q.at) {
		return pr.Head.SHA, nil
	}
	name, again := fmt.Sprintf("then name it: `%s --sha %s`", Word, short(pr.Head.SHA)), ", or name a commit"
	if q.whole {
		// It cannot be named: the command written after this one is to be taken.
		name, again = "then ask again", ""
		if err := a.seeHead(ctx, q.event.Repository.ID, q.event.PR, pr.Head.SHA); err != nil {
			return "", fmt.Errorf("keep the head: %w", err)
		}
	} else {
		again += fmt.Sprintf(": `%s --sha %s`", Word, short(pr.Head.SHA))
	}
	if since.IsZero() {
		return "", refuse("this server had not been told of the head of this pull request, %s, when this command was written, so it is not clear which commit was meant. "+
			"Please look at that commit, %s", code(short(pr.Head.SHA)), name)
	}
	return "", refuse("the head of this pull request moved to %s at about the time of this command, so it is not clear which commit was meant. "+
		"Please look at that commit, then ask again%s", code(short(pr.Head.SHA)), again)
}

// headSince tells since when the commit is the head of the pull request. A commit
// that was pushed, replaced and pushed again is the head since the last of these.
// told is false when no event has told of it yet: either nothing is known of the
// pull request's head (since is zero), or the newest event named another one.
func (a *Acceptor) headSince(ctx context.Context, repoID int64, pr int, sha string) (since time.Time, told bool, err error) {
	newest, ok, err := a.Store.Head(ctx, repoID, pr)
	if err != nil {
		return time.Time{}, false, err
	}
	if ok {
		return newest.Since, newest.SHA == sha, nil
	}
	// A head that was noted before the newest one was kept too.
	return a.Store.Seen(ctx, repoID, pr, sha)
}

// ownCommit resolves --sha among the pull request's own commits only.
func (a *Acceptor) ownCommit(ctx context.Context, q asked) (string, error) {
	want := strings.ToLower(q.flags.SHA)
	commits, err := q.hub.PullCommits(ctx, q.repo, q.event.PR)
	if err != nil {
		return "", fmt.Errorf("list the pull request's commits: %w", err)
	}
	var found []string
	for _, c := range commits {
		if strings.HasPrefix(c.SHA, want) {
			found = append(found, c.SHA)
		}
	}
	switch {
	case len(want) < 7:
		return "", refuse("`--sha %s` is too short: at least 7 digits are wanted", want)
	case len(found) == 0:
		return "", refuse("no commit of this pull request starts with %s", code(want))
	case len(found) > 1:
		return "", refuse("%d commits of this pull request start with %s: more digits are wanted", len(found), code(want))
	}
	return found[0], nil
}

// pinBase is the merge base of the head with the tip of the pull request's base
// branch, or of the branch or tag that --base names. merge_commit_sha is never
// looked at before the merge: it may be stale, and is nobody's commit.
func pinBase(ctx context.Context, q asked, pr forge.PullRequest, head string) (sha, ref string, err error) {
	name := pr.Base.Ref
	if q.flags.Base != "" {
		name = q.flags.Base
	}
	tip, err := q.hub.ResolveRef(ctx, q.repo, name)
	if errors.Is(err, forge.ErrNoSuchRef) {
		return "", "", refuse("%s is no branch or tag of this repository", code(name))
	}
	if err != nil {
		return "", "", fmt.Errorf("resolve the base %s: %w", name, err)
	}
	sha, err = q.hub.MergeBase(ctx, q.repo, tip.SHA, head)
	if err == nil && sha == head && pr.Merged && name == pr.Base.Ref {
		// The base has the head already, by a merge commit or as it is.
		sha, err = beforeMerge(ctx, q, pr, head)
	}
	if isRefusal(err) {
		return "", "", err
	}
	if errors.Is(err, forge.ErrNoMergeBase) {
		return "", "", refuse("%s and %s have no common ancestor", code(name), code(short(head)))
	}
	if forge.IsNotFound(err) {
		return "", "", refuse("GitHub no longer has the commit %s of this pull request", code(short(head)))
	}
	if err != nil {
		return "", "", fmt.Errorf("find the merge base: %w", err)
	}
	return sha, name, nil
}

// beforeMerge is the merge base of the head with the base branch as it was before
// the head became part of it.
func beforeMerge(ctx context.Context, q asked, pr forge.PullRequest, head string) (string, error) {
	before := pr.Base.SHA // GitHub keeps that of the time of the merge
	if pr.MergeCommit != head {
		last, err := q.hub.CommitsEndingAt(ctx, q.repo, pr.MergeCommit, 1)
		if err != nil {
			return "", err
		}
		if n := mainline(last[0], pr.Head.SHA); n > 0 {
			before = last[0].Parents[n-1]
		}
	}
	sha, err := q.hub.MergeBase(ctx, q.repo, before, head)
	if err == nil && sha == head {
		return "", refuse("GitHub does not tell what %s was before this pull request was merged, so there is nothing to compare %s with. "+
			"Name a branch or tag: `%s --base REF`", code(pr.Base.Ref), code(short(head)), Word)
	}
	return sha, err
}

// mainline is the number of the parent of a merge commit that was the base, from
// 1; 0 for another commit.
func mainline(c forge.Commit, head string) int {
	switch {
	case len(c.Parents) < 2:
		return 0
	case c.Parents[0] == head:
		return 2 // merged by hand, the other way round
	default:
		return 1
	}
}

func short(sha string) string {
	if len(sha) > 10 {
		return sha[:10]
	}
	return sha
}
