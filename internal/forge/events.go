package forge

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/go-github/v60/github"
)

// Labelling is who put a label on a pull request, and when.
type Labelling struct {
	By Account // zero where the account was deleted
	At time.Time
}

// LastLabelling finds who put the label on that a pull request carries now; ok is
// false where its history does not tell: the label was never put on, or was taken
// off since.
func (c *Client) LastLabelling(ctx context.Context, r Repo, number int, label string) (last Labelling, ok bool, err error) {
	if err := r.check(); err != nil {
		return Labelling{}, false, err
	}
	op := fmt.Sprintf("list events of %s#%d", r, number)
	err = pages(ctx, c, op, func(ctx context.Context, gh *github.Client, page github.ListOptions) (*github.Response, error) {
		got, resp, err := gh.Issues.ListIssueEvents(ctx, r.Owner, r.Name, number, &page)
		for _, e := range got {
			if !strings.EqualFold(e.GetLabel().GetName(), label) {
				continue
			}
			switch e.GetEvent() {
			case "labeled":
				last, ok = Labelling{By: account(e.GetActor()), At: e.GetCreatedAt().Time}, true
			case "unlabeled":
				last, ok = Labelling{}, false
			}
		}
		return resp, err
	})
	if err != nil {
		return Labelling{}, false, err
	}
	return last, ok, nil
}
