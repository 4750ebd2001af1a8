// Package forge is the product's GitHub client. It wraps go-github so that the
// rest of the product sees small structs of its own, one classifier of errors,
// tokens that are as narrow as their use, and mutations paced for GitHub's
// secondary limits.
//
// A method makes one attempt. Whether and when to try again is the caller's
// decision, by the Class of the error it got.
package forge

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/bradleyfalzon/ghinstallation/v2"
	"github.com/google/go-github/v60/github"
	"golang.org/x/oauth2"
)

// DefaultURL is the REST root of github.com.
const DefaultURL = "https://api.github.com"

// DefaultPace is the least distance between two mutations of one
// installation; GitHub asks for at least one second.
const DefaultPace = time.Second

// Config says which forge to talk to, and as whom: either as a GitHub App
// (AppID and PrivateKey) or with a plain token (Token).
type Config struct {
	// URL is the REST root: https://api.github.com (the default), or
	// https://HOST/api/v3 for GitHub Enterprise Server.
	URL string

	// AppID and PrivateKey (PEM, PKCS#1 or PKCS#8) select App mode.
	AppID      int64
	PrivateKey []byte

	// Token selects plain-token mode.
	Token string

	// Transport carries the requests; http.DefaultTransport when nil.
	Transport http.RoundTripper
	// Timeout bounds one request with its answer; 30 s when 0.
	Timeout time.Duration
	// UserAgent is sent with every request; "prbench" when empty.
	UserAgent string

	// Clock is the time that pacing and limits go by; the system's when nil.
	Clock Clock
	// Pace is the least distance between two mutations of one installation:
	// DefaultPace when 0. Negative: no pacing at all, for a forge of one's own.
	Pace time.Duration
}

// String leaves the key and the token out.
func (c Config) String() string {
	as := "a token"
	if c.AppID != 0 {
		as = fmt.Sprintf("app %d", c.AppID)
	}
	return fmt.Sprintf("forge %s as %s", c.URL, as)
}

// GoString keeps %#v from printing the key and the token.
func (c Config) GoString() string { return c.String() }

// LogValue keeps slog from printing the key and the token.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }

// Forge speaks to one GitHub as one App or as one token's owner. It is safe
// for concurrent use.
type Forge struct {
	base      *url.URL // with a trailing slash
	appID     int64
	key       []byte
	transport http.RoundTripper // without credentials
	timeout   time.Duration
	userAgent string
	clock     Clock
	pace      time.Duration

	top *Client // the App itself, or the token's owner

	mu      sync.Mutex
	clients map[int64]*Client
	self    *Identity
}

// ErrNotAnApp is returned by what only a GitHub App can do, when the Forge
// was set up with a plain token.
var ErrNotAnApp = errors.New("forge: needs a GitHub App, but a plain token is configured")

// New checks the configuration and returns a Forge; it makes no request.
func New(cfg Config) (*Forge, error) {
	f, err := unsigned(cfg)
	if err != nil {
		return nil, err
	}
	switch isApp := cfg.AppID != 0 || len(cfg.PrivateKey) > 0; {
	case isApp && cfg.Token != "":
		return nil, errors.New("forge: both an App (app id, private key) and a token are configured: choose one")
	case cfg.Token != "":
		f.top = f.client(&oauth2.Transport{
			Source: oauth2.StaticTokenSource(&oauth2.Token{AccessToken: cfg.Token}),
			Base:   f.transport,
		})
	case !isApp:
		return nil, errors.New("forge: neither an App (app id, private key) nor a token is configured")
	case cfg.AppID <= 0:
		return nil, fmt.Errorf("forge: app id %d: want the positive number of the App's settings page", cfg.AppID)
	default:
		apps, err := f.appsTransport()
		if err != nil {
			return nil, err
		}
		f.top = f.client(apps)
	}
	return f, nil
}

// unsigned is a Forge before it acts as anybody.
func unsigned(cfg Config) (*Forge, error) {
	base, err := parseBase(cfg.URL)
	if err != nil {
		return nil, err
	}
	f := &Forge{
		base:      base,
		appID:     cfg.AppID,
		key:       cfg.PrivateKey,
		transport: cfg.Transport,
		timeout:   cfg.Timeout,
		userAgent: cfg.UserAgent,
		clock:     cfg.Clock,
		pace:      cfg.Pace,
		clients:   map[int64]*Client{},
	}
	if f.transport == nil {
		f.transport = http.DefaultTransport
	}
	if f.timeout == 0 {
		f.timeout = 30 * time.Second
	}
	if f.userAgent == "" {
		f.userAgent = "prbench"
	}
	if f.clock == nil {
		f.clock = systemClock{}
	}
	if f.pace == 0 {
		f.pace = DefaultPace
	}
	return f, nil
}

func parseBase(s string) (*url.URL, error) {
	if s == "" {
		s = DefaultURL
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		return nil, fmt.Errorf("forge: URL %q: want https://api.github.com or https://HOST/api/v3", s)
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("forge: the forge's URL must carry no user, query or fragment")
	}
	u.Path = strings.TrimRight(u.Path, "/") + "/"
	return u, nil
}

// appsTransport returns a new transport that signs as the App. Each
// installation gets its own: ghinstallation writes to the one it is given at
// every refresh of a token.
func (f *Forge) appsTransport() (*ghinstallation.AppsTransport, error) {
	apps, err := ghinstallation.NewAppsTransport(f.transport, f.appID, f.key)
	if err != nil {
		// The parser's words could quote the key.
		return nil, errors.New("forge: the App's private key: want a PEM block of an RSA private key")
	}
	apps.BaseURL = strings.TrimRight(f.base.String(), "/")
	return apps, nil
}

// String leaves the key and the token out.
func (f *Forge) String() string { return fmt.Sprintf("forge %s (app %d)", f.URL(), f.appID) }

// GoString keeps %#v from printing the key and the token.
func (f *Forge) GoString() string { return f.String() }

// IsApp reports whether the Forge acts as a GitHub App.
func (f *Forge) IsApp() bool { return f.appID != 0 }

// URL is the REST root that the Forge speaks to, without a trailing slash.
func (f *Forge) URL() string { return strings.TrimRight(f.base.String(), "/") }

// Installation returns the client that acts as the App's installation id. In
// plain-token mode every id gives the token's client. Clients are shared: two
// calls with one id give one client, with one token and one pacing budget.
func (f *Forge) Installation(id int64) *Client {
	if !f.IsApp() {
		return f.top
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.clients[id]; c != nil {
		return c
	}
	c := f.client(&installationTransport{forge: f, id: id})
	f.clients[id] = c
	return c
}

// client wraps an authenticating transport with what every client has: the
// guard that keeps tokens on the forge's host, and the pacing.
func (f *Forge) client(auth http.RoundTripper) *Client {
	pace := &pacer{clock: f.clock, gap: f.pace}
	return &Client{
		forge: f,
		http: &http.Client{
			Transport:     &hostGuard{base: f.base, next: auth, answered: pace.told},
			CheckRedirect: f.checkRedirect,
		},
		pace: pace,
	}
}

// Client makes requests as one installation of the App, as the App itself, or
// as a plain token's owner. It is safe for concurrent use.
type Client struct {
	forge *Forge
	http  *http.Client
	pace  *pacer
}

// github returns a fresh go-github client. go-github remembers limits by the
// wall clock and then refuses requests on its own account; the pacer does that
// here, by the configured clock, so nothing may be remembered there.
func (c *Client) github() *github.Client {
	gh := github.NewClient(c.http)
	gh.BaseURL = c.forge.base
	gh.UserAgent = c.forge.userAgent
	return gh
}
