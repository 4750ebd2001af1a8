package forge

import (
	"context"

	"github.com/google/go-github/v60/github"
)

// OpenPulls reads all open pull requests of a repository, all pages. Mergeable and Commits are
// not known from a listing.
func (c *Client) OpenPulls(ctx context.Context, r Repo) ([]PullRequest, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	var out []PullRequest
	err := pages(ctx, c, "list open pull requests of "+r.String(), func(ctx context.Context, gh *github.Client, page github.ListOptions) (*github.Response, error) {
		got, resp, err := gh.PullRequests.List(ctx, r.Owner, r.Name, &github.PullRequestListOptions{State: "open", ListOptions: page})
		for _, p := range got {
			out = append(out, pullRequest(p))
		}
		return resp, err
	})
	return out, err
}
