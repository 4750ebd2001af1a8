package config

import (
	"slices"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/prbench/prbench/internal/job"
)

// Serve is the configuration of bot serve with its defaults filled in.
type Serve struct {
	File      string // the name that problems carry
	Listen    string // host:port of webhooks, pages and metrics
	PublicURL string // where people and GitHub reach Listen; no slash at its end
	GitHub    GitHub
	State     State
	Pools     []Pool
	Limits    Limits // of pools that name none
	// Retention is how long samples and pages are kept.
	Retention job.Duration
	// DuplicateWindow is how long a delivery's GUID is remembered, which is as
	// long as GitHub lets it be redelivered.
	DuplicateWindow job.Duration
	TrustedBots     []int64 // ids of other bots that may ask for jobs
	// Warnings are what works and should be changed, in plain sentences.
	Warnings []string
}

// GitHub says which GitHub, and as whom. It is either an App, with its id and
// key, or a plain token.
type GitHub struct {
	URL           string // of the API, without a slash at its end
	AppID         int64  // 0: a token is used
	PrivateKey    Secret // of the App, PEM
	Token         Secret
	WebhookSecret Secret
	// ClientID and ClientSecret are those of the App's sign-in, which pages of
	// private repositories ask for; empty: there is none.
	ClientID     string
	ClientSecret Secret

	privateKey, token, webhook, client secretSource
	appLine, clientLine                int
}

// State says where the state is: in an embedded server at Dir, or on the
// external one at NATS.
type State struct {
	Dir     string // absolute, or relative to the configuration's folder until loaded
	Listen  string // host:port where runners dial in
	MaxSize int64  // of the store, in bytes
	TLSCert string // file; empty: no TLS
	TLSKey  string // file

	NATS        string // URLs with commas between them; empty: embedded
	Credentials string // file

	line int
}

// Defaults of bot serve.
const (
	DefaultListen      = "127.0.0.1:8080"
	DefaultStateListen = "127.0.0.1:4222"
	DefaultStateSize   = int64(10 << 30)
	DefaultRetention   = job.Duration(90 * day)
	PublicAPI          = "https://api.github.com"

	day = 24 * time.Hour
	// GitHub keeps deliveries for 3 days, GitHub Enterprise Server for 7.
	publicWindow     = job.Duration(3 * day)
	enterpriseWindow = job.Duration(7 * day)
)

// Pool finds a pool by its name.
func (s *Serve) Pool(name string) (Pool, bool) {
	i := slices.IndexFunc(s.Pools, func(p Pool) bool { return p.Name == name })
	if i < 0 {
		return Pool{}, false
	}
	return s.Pools[i], true
}

// Allowed lists the pools that a repository may use.
func (s *Serve) Allowed(repository string, installation int64) []string {
	var out []string
	for _, p := range s.Pools {
		if p.Allows(repository, installation) {
			out = append(out, p.Name)
		}
	}
	return out
}

// ParseServe reads the configuration of bot serve without looking at the files
// and variables that hold its secrets; LoadServe does both. The error is of type
// Problems.
func ParseServe(data []byte, name string) (*Serve, error) {
	s := &Serve{
		File:      name,
		Listen:    DefaultListen,
		GitHub:    GitHub{URL: PublicAPI},
		State:     State{Listen: DefaultStateListen, MaxSize: DefaultStateSize},
		Limits:    unset,
		Retention: DefaultRetention,
	}
	g := &s.GitHub
	g.privateKey = secretSource{name: "github.private_key", env: EnvPrivateKey, check: checkPEM}
	g.token = secretSource{name: "github.token", env: EnvToken, check: checkToken}
	g.webhook = secretSource{name: "github.webhook_secret", env: EnvWebhookSecret, check: checkToken}
	g.client = secretSource{name: "github.client_secret", env: EnvClientSecret, check: checkToken}
	d := &document{file: name}
	root := d.parse(data)
	if root == nil {
		return nil, d.err()
	}
	d.mapping(root, "", d.serveKeys(s))
	if err := d.err(); err != nil {
		return nil, err
	}
	s.Limits = s.Limits.or(DefaultLimits)
	for i := range s.Pools {
		s.Pools[i].Limits = s.Pools[i].Limits.or(s.Limits)
	}
	return s, nil
}

func (d *document) serveKeys(s *Serve) []key {
	return []key{
		{name: "version", read: d.version().read}, // may be left out: no stranger's build reads an operator's file
		d.textKey("listen", &s.Listen, checkListen),
		d.textKey("public_url", &s.PublicURL, nil).then(d, checkURL(&s.PublicURL, "https", "http")),
		{name: "github", read: func(n ast.Node, path string) { d.mapping(n, path, d.gitHubKeys(&s.GitHub)) }},
		{name: "state", read: func(n ast.Node, path string) {
			s.State.line = lineOf(n)
			d.mapping(n, path, d.stateKeys(&s.State))
		}},
		{name: "pools", required: true, read: func(n ast.Node, path string) { s.Pools = d.pools(n, path) }},
		{name: "limits", read: func(n ast.Node, path string) { d.mapping(n, path, d.limitKeys(&s.Limits)) }},
		d.timeKey("retention", &s.Retention, time.Hour, 3650*day),
		d.timeKey("duplicate_window", &s.DuplicateWindow, time.Hour, 30*day),
		d.idsKey("trusted_bots", &s.TrustedBots),
	}
}

func (d *document) gitHubKeys(g *GitHub) []key {
	keys := []key{
		d.textKey("url", &g.URL, nil).then(d, checkURL(&g.URL, "https", "http")),
		{name: "app_id", read: func(n ast.Node, path string) {
			if v, ok := d.integer(n, path, 1, 1<<53); ok {
				g.AppID, g.appLine = v, lineOf(n)
			}
		}},
		{name: "client_id", read: func(n ast.Node, path string) {
			d.textKey("client_id", &g.ClientID, checkClientID).read(n, path)
			g.clientLine = lineOf(n)
		}},
	}
	keys = append(keys, d.secretKeys("private_key", &g.privateKey)...)
	keys = append(keys, d.secretKeys("webhook_secret", &g.webhook)...)
	keys = append(keys, d.secretKeys("client_secret", &g.client)...)
	return append(keys, d.secretKeys("token", &g.token)...)
}

func (d *document) stateKeys(s *State) []key {
	return []key{
		d.textKey("dir", &s.Dir, checkFile),
		d.textKey("listen", &s.Listen, checkListen),
		d.sizeKey("max_size", &s.MaxSize, 64<<20, 1<<50),
		d.textKey("tls_cert_file", &s.TLSCert, checkFile),
		d.textKey("tls_key_file", &s.TLSKey, checkFile),
		d.textKey("nats", &s.NATS, checkServers),
		d.textKey("credentials_file", &s.Credentials, checkFile),
	}
}

// then runs a second step over the value that a key has read.
func (k key) then(d *document, step func() error) key {
	read := k.read
	k.read = func(n ast.Node, path string) {
		before := len(d.problems)
		read(n, path)
		if len(d.problems) > before {
			return
		}
		if err := step(); err != nil {
			d.at(n, path, "%v", err)
		}
	}
	return k
}

// gitHubFits looks at what the keys, the flags and the secrets together tell.
func (s *Serve) gitHubFits() Problems {
	var out Problems
	bad := func(line int, key, text string) {
		out = append(out, Problem{File: s.File, Line: line, Key: key, Text: text})
	}
	g := s.GitHub
	switch {
	case !g.PrivateKey.IsZero() && !g.Token.IsZero():
		bad(max(g.token.line, g.privateKey.line), "github", "an App's private key and a token exclude each other")
	case g.PrivateKey.IsZero() && g.Token.IsZero():
		bad(0, "github", "want app_id and private_key_file of the App, or token_file")
	case g.AppID == 0 && !g.PrivateKey.IsZero():
		bad(g.privateKey.line, "github.app_id", "is missing: the private key is an App's")
	case g.AppID != 0 && g.PrivateKey.IsZero():
		bad(g.appLine, "github.private_key_file", "is missing: app_id names an App")
	}
	switch {
	case g.ClientID != "" && g.AppID == 0:
		bad(g.clientLine, "github.client_id", "belongs to an App, and a token is configured")
	case g.ClientID != "" && g.ClientSecret.IsZero():
		bad(g.clientLine, "github.client_secret_file", "is missing: client_id names the App's sign-in")
	case g.ClientID == "" && !g.ClientSecret.IsZero():
		bad(g.client.line, "github.client_id", "is missing: the client secret is that of an App's sign-in")
	}
	if g.WebhookSecret.IsZero() {
		bad(0, "github.webhook_secret_file", "is missing; anyone could send webhooks otherwise")
	}
	if s.PublicURL == "" {
		bad(0, "public_url", "is missing; reports link to it")
	}
	return out
}

// stateFits looks at what the keys of state and their flags together tell.
func (s *Serve) stateFits() Problems {
	var out Problems
	bad := func(key, text string) {
		out = append(out, Problem{File: s.File, Line: s.State.line, Key: key, Text: text})
	}
	st := s.State
	switch {
	case st.Dir == "" && st.NATS == "":
		bad("state", "want dir for the embedded state, or nats for an external server")
	case st.Dir != "" && st.NATS != "":
		bad("state", "dir (embedded) and nats (external) exclude each other")
	case st.NATS == "" && st.Credentials != "":
		bad("state.credentials_file", "belongs to nats; the embedded state needs none")
	}
	if (st.TLSCert == "") != (st.TLSKey == "") {
		bad("state", "tls_cert_file and tls_key_file belong together")
	}
	return out
}
