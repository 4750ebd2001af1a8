package forge

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/go-github/v60/github"
)

// Identity is who the Forge acts as.
type Identity struct {
	// Login is the account that comments appear under: "slug[bot]" for an App.
	Login string
	// ID is that account's id in plain-token mode, and 0 for an App, whose
	// login nobody else can take.
	ID int64
	// AppID and Slug are the App's; zero in plain-token mode.
	AppID int64
	Slug  string
}

// Is reports whether the account is ourselves.
func (i Identity) Is(a Account) bool {
	if i.ID != 0 {
		return a.ID == i.ID
	}
	return i.Login != "" && a.Type == "Bot" && strings.EqualFold(a.Login, i.Login)
}

// Self asks who we are; the first answer is kept.
func (f *Forge) Self(ctx context.Context) (Identity, error) {
	f.mu.Lock()
	known := f.self
	f.mu.Unlock()
	if known != nil {
		return *known, nil
	}
	var out Identity
	err := f.top.read(ctx, "read own identity", func(ctx context.Context, gh *github.Client) error {
		if !f.IsApp() {
			u, _, err := gh.Users.Get(ctx, "")
			out = Identity{Login: u.GetLogin(), ID: u.GetID()}
			return err
		}
		app, _, err := gh.Apps.Get(ctx, "")
		out = Identity{Login: app.GetSlug() + "[bot]", AppID: app.GetID(), Slug: app.GetSlug()}
		return err
	})
	if err != nil {
		return Identity{}, err
	}
	f.mu.Lock()
	f.self = &out
	f.mu.Unlock()
	return out, nil
}

// Installation is one account's installation of the App.
type Installation struct {
	ID        int64
	Account   Account
	Suspended bool
	// Permissions maps a permission's name (contents, checks, …) to "read" or
	// "write", for those that the product asks for.
	Permissions map[string]string
	Events      []string
}

func installation(i *github.Installation) Installation {
	p := i.GetPermissions()
	out := Installation{
		ID: i.GetID(), Account: account(i.GetAccount()), Suspended: i.SuspendedAt != nil, Events: i.Events,
		Permissions: map[string]string{},
	}
	for name, level := range map[string]string{
		"metadata": p.GetMetadata(), "contents": p.GetContents(), "pull_requests": p.GetPullRequests(),
		"issues": p.GetIssues(), "checks": p.GetChecks(), "statuses": p.GetStatuses(),
	} {
		if level != "" {
			out.Permissions[name] = level
		}
	}
	return out
}

// Installations lists the App's installations.
func (f *Forge) Installations(ctx context.Context) ([]Installation, error) {
	if !f.IsApp() {
		return nil, ErrNotAnApp
	}
	var out []Installation
	err := pages(ctx, f.top, "list installations", func(ctx context.Context, gh *github.Client, page github.ListOptions) (*github.Response, error) {
		got, resp, err := gh.Apps.ListInstallations(ctx, &page)
		for _, one := range got {
			out = append(out, installation(one))
		}
		return resp, err
	})
	return out, err
}

// InstallationOf finds the installation that covers a repository; NotFound
// where the App is not installed there.
func (f *Forge) InstallationOf(ctx context.Context, r Repo) (Installation, error) {
	if !f.IsApp() {
		return Installation{}, ErrNotAnApp
	}
	if err := r.check(); err != nil {
		return Installation{}, err
	}
	var out Installation
	err := f.top.read(ctx, "find the installation of "+r.String(), func(ctx context.Context, gh *github.Client) error {
		got, _, err := gh.Apps.FindRepositoryInstallation(ctx, r.Owner, r.Name)
		if err == nil {
			out = installation(got)
		}
		return err
	})
	return out, err
}

// Repositories lists what the client's installation covers.
func (c *Client) Repositories(ctx context.Context) ([]Repository, error) {
	if !c.forge.IsApp() {
		return nil, ErrNotAnApp
	}
	var out []Repository
	err := pages(ctx, c, "list the installation's repositories", func(ctx context.Context, gh *github.Client, page github.ListOptions) (*github.Response, error) {
		got, resp, err := gh.Apps.ListRepos(ctx, &page)
		if err == nil {
			for _, one := range got.Repositories {
				out = append(out, repository(one))
			}
		}
		return resp, err
	})
	return out, err
}

// Delivery is one attempt to deliver a webhook of the App.
type Delivery struct {
	ID             int64
	GUID           string
	Event, Action  string
	InstallationID int64
	RepositoryID   int64
	At             time.Time
	OK             bool
	StatusCode     int
}

// FailedDeliveries lists the webhooks since a time that never arrived, oldest
// first: of every delivery id of which no attempt succeeded, the newest
// attempt. GitHub keeps deliveries for three days.
func (f *Forge) FailedDeliveries(ctx context.Context, since time.Time) ([]Delivery, error) {
	if !f.IsApp() {
		return nil, ErrNotAnApp
	}
	newest := map[string]Delivery{}
	arrived := map[string]bool{}
	var order []string
	opts := &github.ListCursorOptions{PerPage: 100}
	for range maxPages {
		var got []*github.HookDelivery
		var cursor string
		err := f.top.read(ctx, "list webhook deliveries", func(ctx context.Context, gh *github.Client) error {
			list, resp, err := gh.Apps.ListHookDeliveries(ctx, opts)
			if err == nil {
				got, cursor = list, resp.Cursor
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		past := false
		for _, h := range got {
			d := delivery(h)
			if d.At.Before(since) {
				past = true
				continue
			}
			arrived[d.GUID] = arrived[d.GUID] || d.OK
			if _, seen := newest[d.GUID]; !seen {
				newest[d.GUID] = d
				order = append(order, d.GUID)
			}
		}
		if past || cursor == "" || cursor == opts.Cursor {
			break
		}
		opts.Cursor = cursor
	}
	var out []Delivery
	for i := len(order) - 1; i >= 0; i-- {
		if !arrived[order[i]] {
			out = append(out, newest[order[i]])
		}
	}
	return out, nil
}

func delivery(h *github.HookDelivery) Delivery {
	return Delivery{
		ID: h.GetID(), GUID: h.GetGUID(), Event: h.GetEvent(), Action: h.GetAction(),
		InstallationID: h.GetInstallationID(), RepositoryID: h.GetRepositoryID(), At: h.GetDeliveredAt().Time,
		OK: h.GetStatusCode() >= 200 && h.GetStatusCode() <= 299, StatusCode: h.GetStatusCode(),
	}
}

// Redeliver asks GitHub to deliver a webhook again, under the same GUID.
func (f *Forge) Redeliver(ctx context.Context, id int64) error {
	if !f.IsApp() {
		return ErrNotAnApp
	}
	err := f.top.mutate(ctx, fmt.Sprintf("redeliver webhook %d", id), func(ctx context.Context, gh *github.Client) error {
		_, _, err := gh.Apps.RedeliverHookDelivery(ctx, id)
		return err
	})
	if Classify(err).Kind == NotReady {
		return nil // 202 is how GitHub says that it will
	}
	return err
}
