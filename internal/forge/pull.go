package forge

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/go-github/v60/github"
)

// Account is a person, an organisation or a bot. The zero value stands for an
// account that was deleted.
type Account struct {
	Login string
	ID    int64
	Type  string // "User", "Organization", "Bot"
}

func account(u *github.User) Account {
	return Account{Login: u.GetLogin(), ID: u.GetID(), Type: u.GetType()}
}

// Repository is what the product needs to know of a repository.
type Repository struct {
	ID            int64
	Repo          Repo
	Private       bool
	Archived      bool
	Disabled      bool
	Fork          bool
	DefaultBranch string
	CloneURL      string
	HTMLURL       string
}

func repository(r *github.Repository) Repository {
	return Repository{
		ID:      r.GetID(),
		Repo:    Repo{Owner: r.GetOwner().GetLogin(), Name: r.GetName()},
		Private: r.GetPrivate(), Archived: r.GetArchived(), Disabled: r.GetDisabled(), Fork: r.GetFork(),
		DefaultBranch: r.GetDefaultBranch(), CloneURL: r.GetCloneURL(), HTMLURL: r.GetHTMLURL(),
	}
}

// Branch is one side of a pull request.
type Branch struct {
	Ref   string // the branch's name, without refs/heads/
	SHA   string
	Label string // owner:ref
	// Repo is nil when the repository was deleted or may not be seen.
	Repo *Repository
}

func branch(b *github.PullRequestBranch) Branch {
	out := Branch{Ref: b.GetRef(), SHA: b.GetSHA(), Label: b.GetLabel()}
	if b.GetRepo() != nil {
		r := repository(b.GetRepo())
		out.Repo = &r
	}
	return out
}

// PullRequest is the state of a pull request at the time it was read.
type PullRequest struct {
	Number int
	State  string // "open" or "closed"
	Merged bool   // false where it came from a listing
	// MergeCommit is the commit on the base branch that a merge ended in: the
	// merge commit, the squashed one, or the last of the rebased ones. It is empty
	// unless Merged: what GitHub calls merge_commit_sha before may merge an old
	// head into an old base, and is nobody's commit.
	MergeCommit string
	MergedAt    time.Time // zero unless Merged
	Draft       bool
	Locked      bool
	Title       string
	Author      Account
	Labels      []string
	Head        Branch
	Base        Branch
	Commits     int // 0 where it came from a listing
	// Mergeable is nil while GitHub has not computed it; false: it conflicts.
	Mergeable *bool
	HTMLURL   string
	CreatedAt time.Time
	UpdatedAt time.Time
}

// HasLabel reports whether the pull request carries the label. GitHub's labels
// differ by more than case.
func (p PullRequest) HasLabel(name string) bool {
	for _, l := range p.Labels {
		if strings.EqualFold(l, name) {
			return true
		}
	}
	return false
}

func pullRequest(p *github.PullRequest) PullRequest {
	out := PullRequest{
		Number: p.GetNumber(), State: p.GetState(), Merged: p.GetMerged(), Draft: p.GetDraft(), Locked: p.GetLocked(),
		Title: p.GetTitle(), Author: account(p.GetUser()), Head: branch(p.GetHead()), Base: branch(p.GetBase()),
		Commits: p.GetCommits(), Mergeable: p.Mergeable, HTMLURL: p.GetHTMLURL(),
		CreatedAt: p.GetCreatedAt().Time, UpdatedAt: p.GetUpdatedAt().Time,
	}
	if out.Merged {
		out.MergeCommit, out.MergedAt = p.GetMergeCommitSHA(), p.GetMergedAt().Time
	}
	for _, l := range p.Labels {
		out.Labels = append(out.Labels, l.GetName())
	}
	return out
}

// Repository reads a repository's present state. A renamed repository answers
// under its new name.
func (c *Client) Repository(ctx context.Context, r Repo) (Repository, error) {
	var out Repository
	if err := r.check(); err != nil {
		return out, err
	}
	err := c.read(ctx, "read repository "+r.String(), func(ctx context.Context, gh *github.Client) error {
		got, _, err := gh.Repositories.Get(ctx, r.Owner, r.Name)
		if err == nil {
			out = repository(got)
		}
		return err
	})
	return out, err
}

// PullRequest reads a pull request's present state.
func (c *Client) PullRequest(ctx context.Context, r Repo, number int) (PullRequest, error) {
	var out PullRequest
	if err := r.check(); err != nil {
		return out, err
	}
	err := c.read(ctx, fmt.Sprintf("read pull request %s#%d", r, number), func(ctx context.Context, gh *github.Client) error {
		got, _, err := gh.PullRequests.Get(ctx, r.Owner, r.Name, number)
		if err == nil {
			out = pullRequest(got)
		}
		return err
	})
	return out, err
}

// PullsWithLabel reads all open pull requests that carry the label. GitHub's
// filter cannot express a name with a comma.
func (c *Client) PullsWithLabel(ctx context.Context, r Repo, label string) ([]PullRequest, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	if strings.Contains(label, ",") || label == "" {
		return nil, refuse("label %q: want a name without a comma", label)
	}
	var numbers []int
	op := fmt.Sprintf("list open pull requests of %s with label %q", r, label)
	err := pages(ctx, c, op, func(ctx context.Context, gh *github.Client, page github.ListOptions) (*github.Response, error) {
		got, resp, err := gh.Issues.ListByRepo(ctx, r.Owner, r.Name, &github.IssueListByRepoOptions{
			State: "open", Labels: []string{label}, ListOptions: page,
		})
		for _, issue := range got {
			if issue.IsPullRequest() {
				numbers = append(numbers, issue.GetNumber())
			}
		}
		return resp, err
	})
	if err != nil {
		return nil, err
	}
	var out []PullRequest
	for _, n := range numbers {
		p, err := c.PullRequest(ctx, r, n)
		if IsNotFound(err) {
			continue // taken away since the listing
		}
		if err != nil {
			return nil, err
		}
		// The listing may be older than the pull request.
		if p.State == "open" && p.HasLabel(label) {
			out = append(out, p)
		}
	}
	return out, nil
}

// ErrNoMergeBase is wrapped by MergeBase's error where the two histories have
// nothing in common.
var ErrNoMergeBase = errors.New("no common ancestor")

// MergeBase asks GitHub's compare endpoint for the merge base of two commits
// (full ids) that the repository's network knows.
func (c *Client) MergeBase(ctx context.Context, r Repo, base, head string) (string, error) {
	if err := r.check(); err != nil {
		return "", err
	}
	if !IsSHA(base) || !IsSHA(head) {
		return "", refuse("merge base of %q and %q: want two full commit ids", base, head)
	}
	var sha string
	op := fmt.Sprintf("compare %.12s...%.12s in %s", base, head, r)
	err := c.read(ctx, op, func(ctx context.Context, gh *github.Client) error {
		got, _, err := gh.Repositories.CompareCommits(ctx, r.Owner, r.Name, base, head, &github.ListOptions{PerPage: 1})
		if err == nil {
			sha = got.GetMergeBaseCommit().GetSHA()
		}
		return err
	})
	var failed *Error
	if errors.As(err, &failed) && failed.Status == 404 && strings.Contains(strings.ToLower(failed.Message), "no common ancestor") {
		failed.cause = ErrNoMergeBase
		return "", failed
	}
	if err == nil && !IsSHA(sha) {
		return "", &Error{Op: op, Class: Class{Kind: BadAnswer}, Message: "the answer has no merge_base_commit"}
	}
	return sha, err
}
