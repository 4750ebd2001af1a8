package forge

import (
	"context"
	"fmt"

	"github.com/google/go-github/v60/github"
)

// read makes a request that changes nothing.
func (c *Client) read(ctx context.Context, op string, fn func(context.Context, *github.Client) error) error {
	return c.call(ctx, op, false, fn)
}

// mutate makes a request that changes something, when its turn has come.
func (c *Client) mutate(ctx context.Context, op string, fn func(context.Context, *github.Client) error) error {
	return c.call(ctx, op, true, fn)
}

func (c *Client) call(ctx context.Context, op string, mutation bool, fn func(context.Context, *github.Client) error) error {
	if err := c.pace.wait(ctx, mutation); err != nil {
		// Nothing was sent, so nothing can be unclear.
		return c.fail(ctx, op, false, err)
	}
	// Not http.Client.Timeout: it keeps a goroutine until the body is closed,
	// and go-github closes a copy of a failure's body instead.
	limited, cancel := context.WithTimeout(ctx, c.forge.timeout)
	defer cancel()
	return c.fail(ctx, op, mutation, fn(limited, c.github()))
}

// maxPages bounds a listing: 100 entries a page, and no pull request or
// installation that this product serves comes near 50,000 of anything.
const maxPages = 500

// pages reads every page of a listing, 100 entries at a time.
func pages(ctx context.Context, c *Client, op string, fn func(context.Context, *github.Client, github.ListOptions) (*github.Response, error)) error {
	opts := github.ListOptions{PerPage: 100, Page: 1}
	for range maxPages {
		var next int
		err := c.read(ctx, op, func(ctx context.Context, gh *github.Client) error {
			resp, err := fn(ctx, gh, opts)
			if resp != nil {
				next = resp.NextPage
			}
			return err
		})
		if err != nil {
			return err
		}
		if next <= opts.Page {
			return nil
		}
		opts.Page = next
	}
	return fmt.Errorf("forge: %s: more than %d pages", op, maxPages)
}
