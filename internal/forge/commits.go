package forge

import (
	"context"
	"fmt"
	"time"

	"github.com/google/go-github/v60/github"
)

// Commit is one commit as GitHub lists it.
type Commit struct {
	SHA     string
	Parents []string
	// Author is who the commit says wrote it: anybody can write anything there.
	// When is the author's date, to the second.
	Author string
	Email  string
	When   time.Time
	// Message is the author's text, unbounded and hostile.
	Message string
}

func commit(rc *github.RepositoryCommit) Commit {
	by := rc.GetCommit().GetAuthor()
	out := Commit{SHA: rc.GetSHA(), Author: by.GetName(), Email: by.GetEmail(), When: by.GetDate().Time, Message: rc.GetCommit().GetMessage()}
	for _, p := range rc.Parents {
		out.Parents = append(out.Parents, p.GetSHA())
	}
	return out
}

// PullCommits reads the pull request's own commits, oldest first. GitHub gives
// at most 250 of them; PullRequest.Commits tells how many there are.
func (c *Client) PullCommits(ctx context.Context, r Repo, number int) ([]Commit, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	var out []Commit
	op := fmt.Sprintf("list commits of %s#%d", r, number)
	err := pages(ctx, c, op, func(ctx context.Context, gh *github.Client, page github.ListOptions) (*github.Response, error) {
		got, resp, err := gh.PullRequests.ListCommits(ctx, r.Owner, r.Name, number, &page)
		for _, rc := range got {
			out = append(out, commit(rc))
		}
		return resp, err
	})
	return out, err
}

// CommitsEndingAt reads a commit (its full id) and what came before it, newest
// first, n commits where there are so many. On a line without merges each is the
// parent of the one before it.
func (c *Client) CommitsEndingAt(ctx context.Context, r Repo, sha string, n int) ([]Commit, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	if !IsSHA(sha) || n < 1 {
		return nil, refuse("%d commits that end at %q: want a number and a full commit id", n, sha)
	}
	var out []Commit
	op := fmt.Sprintf("list commits of %s up to %.12s", r, sha)
	for page, size := 1, min(n, 100); len(out) < n && page > 0; {
		err := c.read(ctx, op, func(ctx context.Context, gh *github.Client) error {
			got, resp, err := gh.Repositories.ListCommits(ctx, r.Owner, r.Name, &github.CommitsListOptions{SHA: sha,
				ListOptions: github.ListOptions{PerPage: size, Page: page}})
			if err != nil {
				return err
			}
			for _, rc := range got {
				out = append(out, commit(rc))
			}
			page = resp.NextPage
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if len(out) == 0 || out[0].SHA != sha {
		return nil, &Error{Op: op, Class: Class{Kind: BadAnswer}, Message: "the answer does not begin with that commit"}
	}
	return out[:min(n, len(out))], nil
}
