package forge

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/google/go-github/v60/github"
)

// Comment is a comment of a pull request's conversation.
type Comment struct {
	ID        int64
	Author    Account
	Body      string // hostile
	HTMLURL   string
	CreatedAt time.Time
	UpdatedAt time.Time
}

func comment(c *github.IssueComment) Comment {
	return Comment{
		ID: c.GetID(), Author: account(c.GetUser()), Body: c.GetBody(), HTMLURL: c.GetHTMLURL(),
		CreatedAt: c.GetCreatedAt().Time, UpdatedAt: c.GetUpdatedAt().Time,
	}
}

// CreateComment writes a new comment on a pull request. When the error's class
// is Unclear, look with FindComment before trying again.
func (c *Client) CreateComment(ctx context.Context, r Repo, number int, body string) (Comment, error) {
	var out Comment
	if err := r.check(); err != nil {
		return out, err
	}
	err := c.mutate(ctx, fmt.Sprintf("create comment on %s#%d", r, number), func(ctx context.Context, gh *github.Client) error {
		got, _, err := gh.Issues.CreateComment(ctx, r.Owner, r.Name, number, &github.IssueComment{Body: &body})
		if err == nil {
			out = comment(got)
		}
		return err
	})
	return out, err
}

// EditComment replaces a comment's text. A comment that was deleted is
// NotFound; so is everything else in a repository that is gone.
func (c *Client) EditComment(ctx context.Context, r Repo, id int64, body string) (Comment, error) {
	var out Comment
	if err := r.check(); err != nil {
		return out, err
	}
	err := c.mutate(ctx, fmt.Sprintf("edit comment %d of %s", id, r), func(ctx context.Context, gh *github.Client) error {
		got, _, err := gh.Issues.EditComment(ctx, r.Owner, r.Name, id, &github.IssueComment{Body: &body})
		if err == nil {
			out = comment(got)
		}
		return err
	})
	return out, err
}

// DeleteComment deletes a comment; one that is already gone is no error.
func (c *Client) DeleteComment(ctx context.Context, r Repo, id int64) error {
	if err := r.check(); err != nil {
		return err
	}
	err := c.mutate(ctx, fmt.Sprintf("delete comment %d of %s", id, r), func(ctx context.Context, gh *github.Client) error {
		_, err := gh.Issues.DeleteComment(ctx, r.Owner, r.Name, id)
		return err
	})
	if IsNotFound(err) {
		return nil
	}
	return err
}

// Comment reads one comment.
func (c *Client) Comment(ctx context.Context, r Repo, id int64) (Comment, error) {
	var out Comment
	if err := r.check(); err != nil {
		return out, err
	}
	err := c.read(ctx, fmt.Sprintf("read comment %d of %s", id, r), func(ctx context.Context, gh *github.Client) error {
		got, _, err := gh.Issues.GetComment(ctx, r.Owner, r.Name, id)
		if err == nil {
			out = comment(got)
		}
		return err
	})
	return out, err
}

// Comments reads the whole conversation of a pull request, oldest first.
func (c *Client) Comments(ctx context.Context, r Repo, number int) ([]Comment, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	var out []Comment
	op := fmt.Sprintf("list comments of %s#%d", r, number)
	err := pages(ctx, c, op, func(ctx context.Context, gh *github.Client, page github.ListOptions) (*github.Response, error) {
		got, resp, err := gh.Issues.ListComments(ctx, r.Owner, r.Name, number, &github.IssueListCommentsOptions{ListOptions: page})
		for _, one := range got {
			out = append(out, comment(one))
		}
		return resp, err
	})
	return out, err
}

// FindComment looks through all pages for the oldest comment of our own whose
// text contains the marker. Somebody else's copy of the marker does not count.
func (c *Client) FindComment(ctx context.Context, r Repo, number int, marker string) (found Comment, ok bool, err error) {
	self, err := c.forge.Self(ctx)
	if err != nil {
		return Comment{}, false, err
	}
	all, err := c.Comments(ctx, r, number)
	if err != nil {
		return Comment{}, false, err
	}
	for _, one := range all {
		if self.Is(one.Author) && strings.Contains(one.Body, marker) {
			return one, true, nil
		}
	}
	return Comment{}, false, nil
}

// The reactions that the product gives, of those that GitHub knows.
const (
	ReactionRocket = "rocket"
	ReactionEyes   = "eyes"
)

// ReactToComment adds a reaction to a comment. Adding it twice shows once.
func (c *Client) ReactToComment(ctx context.Context, r Repo, id int64, content string) error {
	if err := r.check(); err != nil {
		return err
	}
	return c.mutate(ctx, fmt.Sprintf("react to comment %d of %s", id, r), func(ctx context.Context, gh *github.Client) error {
		_, _, err := gh.Reactions.CreateIssueCommentReaction(ctx, r.Owner, r.Name, id, content)
		return err
	})
}

// AddLabel puts a label on a pull request; GitHub creates it where the
// repository has none of that name.
func (c *Client) AddLabel(ctx context.Context, r Repo, number int, label string) error {
	if err := r.check(); err != nil {
		return err
	}
	return c.mutate(ctx, fmt.Sprintf("add label %q to %s#%d", label, r, number), func(ctx context.Context, gh *github.Client) error {
		_, _, err := gh.Issues.AddLabelsToIssue(ctx, r.Owner, r.Name, number, []string{label})
		return err
	})
}

// RemoveLabel takes a label off; one that is not there is no error.
func (c *Client) RemoveLabel(ctx context.Context, r Repo, number int, label string) error {
	if err := r.check(); err != nil {
		return err
	}
	err := c.mutate(ctx, fmt.Sprintf("remove label %q from %s#%d", label, r, number), func(ctx context.Context, gh *github.Client) error {
		// go-github puts the name into the path as it is.
		_, err := gh.Issues.RemoveLabelForIssue(ctx, r.Owner, r.Name, number, url.PathEscape(label))
		return err
	})
	if IsNotFound(err) {
		return nil
	}
	return err
}
