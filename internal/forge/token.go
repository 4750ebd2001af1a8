package forge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/google/go-github/v60/github"
	"golang.org/x/oauth2"
)

// Permissions narrow a token. Each is "", "read" or "write".
type Permissions struct {
	Contents, PullRequests, Issues, Checks, Statuses string
}

// CloneOnly is what a runner needs to fetch the code, and no more.
var CloneOnly = Permissions{Contents: "read"}

// RepoToken is an installation token that is good for one repository. It
// prints as its name; only Secret gives the value.
type RepoToken struct {
	secret    string
	forge     *Forge
	ExpiresAt time.Time
	RepoID    int64
}

// Secret is the token's value, to be given to whom it is for and to nobody else.
func (t *RepoToken) Secret() string { return t.secret }

func (t *RepoToken) String() string { return fmt.Sprintf("token for repository %d", t.RepoID) }

// GoString keeps %#v from printing the value.
func (t *RepoToken) GoString() string { return t.String() }

// LogValue keeps slog from printing the value.
func (t *RepoToken) LogValue() slog.Value { return slog.StringValue(t.String()) }

// MarshalJSON refuses: a token goes on a wire only by Secret.
func (t *RepoToken) MarshalJSON() ([]byte, error) {
	return nil, errors.New("forge: a RepoToken is not to be marshalled")
}

// Revoke makes the token useless at once.
func (t *RepoToken) Revoke(ctx context.Context) error { return t.forge.RevokeToken(ctx, t.secret) }

// RepoToken mints a token for one repository of an installation with the given
// permissions (metadata:read comes with every token). It fails with
// ErrNotAnApp in plain-token mode, where there is nothing narrower to hand out:
// public repositories need no token to be cloned, and private ones need an App.
func (f *Forge) RepoToken(ctx context.Context, installation, repoID int64, p Permissions) (*RepoToken, error) {
	if !f.IsApp() {
		return nil, ErrNotAnApp
	}
	if installation <= 0 || repoID <= 0 || p == (Permissions{}) {
		return nil, refuse("token for repository %d of installation %d: want both ids and at least one permission", repoID, installation)
	}
	op := fmt.Sprintf("mint a token for repository %d of installation %d", repoID, installation)
	out := &RepoToken{forge: f, RepoID: repoID}
	var granted *github.InstallationToken
	// Not a mutation for the pacer: it is no content, and a runner waits.
	err := f.top.read(ctx, op, func(ctx context.Context, gh *github.Client) (err error) {
		granted, _, err = gh.Apps.CreateInstallationToken(ctx, installation, &github.InstallationTokenOptions{
			RepositoryIDs: []int64{repoID},
			Permissions: &github.InstallationPermissions{
				Contents: optional(p.Contents), PullRequests: optional(p.PullRequests), Issues: optional(p.Issues),
				Checks: optional(p.Checks), Statuses: optional(p.Statuses),
			},
		})
		return err
	})
	if err != nil {
		var failed *Error
		if errors.As(err, &failed) && failed.Class.Kind == NotFound {
			failed.Class.Kind = Uninstalled
		}
		return nil, err
	}
	out.secret, out.ExpiresAt = granted.GetToken(), granted.GetExpiresAt().Time
	if why := tooWide(granted, repoID, p); why != "" {
		out.Revoke(ctx)
		return nil, &Error{Op: op, Class: Class{Kind: BadAnswer}, Message: why}
	}
	return out, nil
}

// tooWide says how a minted token is wider than what was asked for, if it is.
func tooWide(t *github.InstallationToken, repoID int64, p Permissions) string {
	if t.GetToken() == "" {
		return "the answer has no token"
	}
	if len(t.Repositories) != 1 || t.Repositories[0].GetID() != repoID {
		return "the token is not for the one repository that was asked for"
	}
	got := t.GetPermissions()
	for _, c := range []struct{ name, got, want string }{
		{"contents", got.GetContents(), p.Contents}, {"pull_requests", got.GetPullRequests(), p.PullRequests},
		{"issues", got.GetIssues(), p.Issues}, {"checks", got.GetChecks(), p.Checks}, {"statuses", got.GetStatuses(), p.Statuses},
	} {
		if c.got != c.want {
			return fmt.Sprintf("the token has %s:%q where %q was asked for", c.name, c.got, c.want)
		}
	}
	return ""
}

// RevokeToken makes an installation token useless at once. One that is already
// useless is no error.
func (f *Forge) RevokeToken(ctx context.Context, secret string) error {
	if secret == "" {
		return nil
	}
	own := f.client(&oauth2.Transport{
		Source: oauth2.StaticTokenSource(&oauth2.Token{AccessToken: secret}),
		Base:   f.transport,
	})
	err := own.read(ctx, "revoke a token", func(ctx context.Context, gh *github.Client) error {
		_, err := gh.Apps.RevokeInstallationToken(ctx)
		return err
	})
	var failed *Error
	if errors.As(err, &failed) && failed.Status == http.StatusUnauthorized {
		return nil
	}
	return err
}
