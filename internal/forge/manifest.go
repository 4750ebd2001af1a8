package forge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"strings"

	"github.com/google/go-github/v60/github"
)

// Manifest describes the App that the product needs, in the form that GitHub
// takes from a page to create it.
type Manifest struct {
	Name        string       `json:"name"`
	URL         string       `json:"url"` // the App's home page
	Public      bool         `json:"public"`
	Hook        ManifestHook `json:"hook_attributes"`
	RedirectURL string       `json:"redirect_url"` // where GitHub sends the browser with the code
	// CallbackURLs are where GitHub may send a browser back after a sign-in.
	CallbackURLs []string          `json:"callback_urls"`
	Permissions  map[string]string `json:"default_permissions"`
	Events       []string          `json:"default_events"`
}

// ManifestHook is where the App's webhooks go.
type ManifestHook struct {
	URL    string `json:"url"`
	Active bool   `json:"active"`
}

// CallbackPath is where, under the server's address, GitHub sends browsers back
// after a sign-in.
const CallbackPath = "/r/callback"

// NewManifest is a private App with the permissions and events of the product,
// whose webhooks go to the server at publicURL.
func NewManifest(name, publicURL, redirectURL string) Manifest {
	return Manifest{
		Name: name, URL: publicURL, RedirectURL: redirectURL,
		Hook:         ManifestHook{URL: strings.TrimRight(publicURL, "/") + "/webhook", Active: true},
		CallbackURLs: []string{strings.TrimRight(publicURL, "/") + CallbackPath},
		Permissions: map[string]string{
			"checks": "write", "contents": "read", "issues": "read", "metadata": "read", "pull_requests": "write",
		},
		Events: []string{"check_run", "issue_comment", "pull_request", "repository"},
	}
}

// Sites gives the address of a GitHub's pages and that of its API, from either
// one; empty means github.com. Plain http is for this machine only: a private
// key comes back over it.
func Sites(address string) (web, api string, err error) {
	if address == "" {
		return "https://github.com", DefaultURL, nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" ||
		(strings.TrimRight(u.Path, "/") != "" && strings.TrimRight(u.Path, "/") != "/api/v3") {
		return "", "", fmt.Errorf("want GitHub's address, such as https://github.com or https://HOST, got %q", cleanMessage(address))
	}
	host := strings.ToLower(u.Host)
	switch local := u.Hostname() == "127.0.0.1" || u.Hostname() == "::1" || u.Hostname() == "localhost"; {
	case u.Scheme != "https" && (u.Scheme != "http" || !local):
		return "", "", fmt.Errorf("want https, got %q", cleanMessage(address))
	case host == "github.com" || host == "api.github.com":
		return "https://github.com", DefaultURL, nil
	case strings.HasSuffix(host, ".ghe.com"): // GitHub Enterprise Cloud with data residency
		host = strings.TrimPrefix(host, "api.")
		return "https://" + host, "https://api." + host, nil
	}
	web = u.Scheme + "://" + host
	return web, web + "/api/v3", nil
}

// CreatedApp is an App that GitHub has made of a Manifest. It prints as its name.
type CreatedApp struct {
	ID      int64
	Slug    string
	Owner   string // login of the account that it belongs to
	HTMLURL string // its page

	// ClientID names the App's sign-in.
	ClientID string

	key, webhookSecret, clientSecret string
}

// PrivateKey is the App's key, PEM. GitHub gives it this once.
func (a *CreatedApp) PrivateKey() string { return a.key }

// WebhookSecret is what GitHub signs the App's webhooks with.
func (a *CreatedApp) WebhookSecret() string { return a.webhookSecret }

// ClientSecret is that of the App's sign-in.
func (a *CreatedApp) ClientSecret() string { return a.clientSecret }

func (a *CreatedApp) String() string { return fmt.Sprintf("app %s (%d)", a.Slug, a.ID) }

// GoString keeps %#v from printing the secrets.
func (a *CreatedApp) GoString() string { return a.String() }

// LogValue keeps slog from printing the secrets.
func (a *CreatedApp) LogValue() slog.Value { return slog.StringValue(a.String()) }

// MarshalJSON refuses: the secrets go to files only by their methods.
func (a *CreatedApp) MarshalJSON() ([]byte, error) {
	return nil, errors.New("forge: a CreatedApp is not to be marshalled")
}

// manifestCode is the shape of GitHub's codes, which become part of a path.
var manifestCode = regexp.MustCompile(`^[A-Za-z0-9_-]{1,200}$`)

// CompleteManifest exchanges the code with which GitHub sent the browser back
// for the App and its secrets. A code works once, within an hour. Of cfg it uses
// what says where GitHub is and how to reach it, and no credential.
func CompleteManifest(ctx context.Context, cfg Config, code string) (*CreatedApp, error) {
	if !manifestCode.MatchString(code) {
		return nil, refuse("create the App: that is no code of GitHub's")
	}
	f, err := unsigned(cfg)
	if err != nil {
		return nil, err
	}
	var got *github.AppConfig
	err = f.client(f.transport).mutate(ctx, "create the App", func(ctx context.Context, gh *github.Client) (err error) {
		got, _, err = gh.Apps.CompleteAppManifest(ctx, code)
		return err
	})
	if err != nil {
		return nil, err
	}
	a := &CreatedApp{ID: got.GetID(), Slug: got.GetSlug(), Owner: got.GetOwner().GetLogin(), HTMLURL: got.GetHTMLURL(),
		ClientID: got.GetClientID(), key: got.GetPEM(), webhookSecret: got.GetWebhookSecret(), clientSecret: got.GetClientSecret()}
	cfg.AppID, cfg.PrivateKey, cfg.Token = a.ID, []byte(a.key), ""
	if _, err := New(cfg); err != nil || a.webhookSecret == "" || a.ClientID == "" || a.clientSecret == "" {
		return nil, &Error{Op: "create the App", Class: Class{Kind: BadAnswer}, Message: "the answer has no id, or lacks the private key, the webhook secret or the client's id or secret"}
	}
	return a, nil
}
