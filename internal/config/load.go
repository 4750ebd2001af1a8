package config

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
)

// ServeFlags are the flags of bot serve that beat its configuration file. No
// flag takes a secret itself: every user of a machine may read its arguments.
type ServeFlags struct {
	Listen, PublicURL, GitHubURL, StateDir, StateListen, NATS string
	PrivateKeyFile, WebhookSecretFile, TokenFile              string
	ClientSecretFile                                          string
}

// Register adds the flags to a flag set.
func (f *ServeFlags) Register(fs *pflag.FlagSet) {
	fs.StringVar(&f.Listen, "listen", "", "host:port of webhooks and pages")
	fs.StringVar(&f.PublicURL, "public-url", "", "where people and GitHub reach this server")
	fs.StringVar(&f.GitHubURL, "github-url", "", "GitHub's API, for GitHub Enterprise Server")
	fs.StringVar(&f.StateDir, "state-dir", "", "folder of the embedded state")
	fs.StringVar(&f.StateListen, "state-listen", "", "host:port where runners dial in")
	fs.StringVar(&f.NATS, "nats", "", "addresses of an external NATS server instead of the embedded state")
	fs.StringVar(&f.PrivateKeyFile, "private-key-file", "", "file with the App's private key")
	fs.StringVar(&f.WebhookSecretFile, "webhook-secret-file", "", "file with the webhook's secret")
	fs.StringVar(&f.ClientSecretFile, "client-secret-file", "", "file with the secret of the App's sign-in")
	fs.StringVar(&f.TokenFile, "token-file", "", "file with a token, instead of an App")
}

// LoadServe reads the configuration of bot serve and its secrets. A flag beats
// the environment beats the file. Paths in the file are relative to its folder.
func LoadServe(path string, env Env, flags ServeFlags) (*Serve, error) {
	s, l, err := openServe(path, env, flags)
	if err != nil {
		return nil, err
	}
	g := &s.GitHub
	for _, one := range []struct {
		to   *Secret
		from secretSource
	}{{&g.PrivateKey, g.privateKey}, {&g.WebhookSecret, g.webhook}, {&g.Token, g.token}, {&g.ClientSecret, g.client}} {
		if *one.to, err = l.secret(one.from); err != nil {
			return nil, err
		}
	}
	g.PrivateKey = NewSecret(unfolded(g.PrivateKey.Reveal()))
	if err := asError(append(s.gitHubFits(), s.stateFits()...)); err != nil {
		return nil, err
	}
	s.Warnings = append(l.warnings, s.warn()...)
	return s, nil
}

// LoadState reads the configuration of bot serve for a command that needs its
// state and pools alone: the secrets are neither read nor asked for, so that
// they may be closed to whoever runs it.
func LoadState(path string, flags ServeFlags) (*Serve, error) {
	s, _, err := openServe(path, nil, flags)
	if err != nil {
		return nil, err
	}
	if err := asError(s.stateFits()); err != nil {
		return nil, err
	}
	return s, nil
}

// openServe reads the file and the flags, and settles what neither says.
func openServe(path string, env Env, flags ServeFlags) (*Serve, *loading, error) {
	data, err := readConfig(path)
	if err != nil {
		return nil, nil, err
	}
	s, err := ParseServe(data, path)
	if err != nil {
		return nil, nil, err
	}
	if err := s.apply(flags); err != nil {
		return nil, nil, err
	}
	l := &loading{dir: filepath.Dir(path), config: path, env: env}
	for _, p := range []*string{&s.State.Dir, &s.State.TLSCert, &s.State.TLSKey, &s.State.Credentials} {
		l.absolute(p)
	}
	if s.DuplicateWindow == 0 {
		s.DuplicateWindow = enterpriseWindow
		if s.GitHub.URL == PublicAPI {
			s.DuplicateWindow = publicWindow
		}
	}
	return s, l, nil
}

func (s *Serve) apply(f ServeFlags) error {
	sets := []struct {
		flag, value string
		to          *string
		check       func() error
	}{
		{"--listen", f.Listen, &s.Listen, func() error { return checkListen(s.Listen) }},
		{"--public-url", f.PublicURL, &s.PublicURL, checkURL(&s.PublicURL, "https", "http")},
		{"--github-url", f.GitHubURL, &s.GitHub.URL, checkURL(&s.GitHub.URL, "https", "http")},
		{"--state-listen", f.StateListen, &s.State.Listen, func() error { return checkListen(s.State.Listen) }},
		{"--nats", f.NATS, &s.State.NATS, func() error { return checkServers(s.State.NATS) }},
		{"--state-dir", f.StateDir, &s.State.Dir, nil},
	}
	for _, set := range sets {
		if set.value == "" {
			continue
		}
		*set.to = set.value
		if set.check != nil {
			if err := set.check(); err != nil {
				return &FlagError{Flag: set.flag, Reason: err.Error()}
			}
		}
	}
	// A flag that chooses one kind of state takes the file's other kind back.
	switch {
	case f.NATS != "" && f.StateDir == "":
		s.State.Dir = ""
	case f.StateDir != "" && f.NATS == "":
		s.State.NATS, s.State.Credentials = "", ""
	}
	if f.StateDir != "" {
		dir, err := filepath.Abs(f.StateDir)
		if err != nil {
			return fmt.Errorf("--state-dir: %w", err)
		}
		s.State.Dir = dir
	}
	s.GitHub.privateKey.flag = f.PrivateKeyFile
	s.GitHub.webhook.flag = f.WebhookSecretFile
	s.GitHub.token.flag = f.TokenFile
	s.GitHub.client.flag = f.ClientSecretFile
	return nil
}

// minSecret is the length below which a webhook secret can be guessed.
const minSecret = 16

func (s *Serve) warn() []string {
	var out []string
	if len(s.GitHub.WebhookSecret.Reveal()) < minSecret {
		out = append(out, fmt.Sprintf("the webhook secret has fewer than %d characters and can be guessed", minSecret))
	}
	if hosts := clearServers(s.State.NATS); len(hosts) > 0 {
		out = append(out, fmt.Sprintf("state.nats reaches %s without TLS; use tls://", strings.Join(hosts, ", ")))
	}
	host, _, err := net.SplitHostPort(s.State.Listen)
	if s.State.NATS == "" && s.State.TLSCert == "" && (err != nil || !isLoopback(host)) {
		out = append(out, "state.listen is open to the network without TLS, and runners get their clone tokens through it;"+
			" set state.tls_cert_file and state.tls_key_file, or listen on 127.0.0.1")
	}
	return out
}

// RunnerFlags are the flags of bot runner that beat its configuration file.
type RunnerFlags struct {
	Serve, KeyFile, Pool, Work string
	Sandbox                    string // "bwrap", "none" or empty
}

// Register adds the flags to a flag set.
func (f *RunnerFlags) Register(fs *pflag.FlagSet) {
	fs.StringVar(&f.Serve, "serve", "", "address of the state's server")
	fs.StringVar(&f.KeyFile, "key-file", "", "file with the runner's key")
	fs.StringVar(&f.Pool, "pool", "", "the pool that the runner takes jobs of")
	fs.StringVar(&f.Work, "work", "", "folder of checkouts and builds")
	fs.StringVar(&f.Sandbox, "sandbox", "", "bwrap, or none: pull requests then run with the runner's own rights")
}

// LoadRunner reads the configuration of bot runner and its key. A flag beats the
// environment beats the file. Paths in the file are relative to its folder.
func LoadRunner(path string, env Env, flags RunnerFlags) (*Runner, error) {
	r, closed, err := LookAtRunner(path, env, flags)
	if err == nil {
		err = closed
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// LookAtRunner is LoadRunner for whoever may read the configuration and perhaps
// not the key: closed says why there is no key, and the rest is as it is.
func LookAtRunner(path string, env Env, flags RunnerFlags) (r *Runner, closed, err error) {
	data, err := readConfig(path)
	if err != nil {
		return nil, nil, err
	}
	if r, err = ParseRunner(data, path); err != nil {
		return nil, nil, err
	}
	if err := r.apply(flags); err != nil {
		return nil, nil, err
	}
	l := &loading{dir: filepath.Dir(path), config: path, env: env}
	r.Key, closed = l.secret(r.key)
	r.Key = NewSecret(strings.TrimSpace(r.Key.Reveal()))
	if err := r.fits(closed == nil); err != nil {
		return nil, nil, err
	}
	l.absolute(&r.Work)
	l.absolute(&r.CAFile)
	if name := l.secretFile(r.key); name != "" {
		if r.KeyFile, err = filepath.Abs(name); err != nil {
			return nil, nil, fmt.Errorf("find the runner's key: %w", err)
		}
	}
	if r.Work == "/" {
		return nil, nil, Problems{{File: path, Key: "work", Text: "want a folder of its own, not /"}}
	}
	r.Warnings = l.warnings
	if hosts := clearServers(r.Serve); len(hosts) > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("serve reaches %s without TLS, and clone tokens come through it; use tls:// or wss://",
			strings.Join(hosts, ", ")))
	}
	return r, closed, nil
}

func (r *Runner) apply(f RunnerFlags) error {
	if f.Serve != "" {
		if err := checkServers(f.Serve); err != nil {
			return &FlagError{Flag: "--serve", Reason: err.Error()}
		}
		r.Serve = f.Serve
	}
	if f.Pool != "" {
		if err := checkPool(f.Pool); err != nil {
			return &FlagError{Flag: "--pool", Reason: err.Error()}
		}
		r.Pool = f.Pool
	}
	if f.Work != "" {
		work, err := filepath.Abs(f.Work)
		if err != nil {
			return fmt.Errorf("--work: %w", err)
		}
		r.Work = work
	}
	switch f.Sandbox {
	case "", "bwrap":
	case "none":
		r.Sandbox.None = true
	default:
		return &FlagError{Flag: "--sandbox", Reason: fmt.Sprintf("want bwrap or none, got %s", quoted(f.Sandbox))}
	}
	r.key.flag = f.KeyFile
	return nil
}

// absolute resolves a path of the file against the file's folder.
func (l *loading) absolute(p *string) {
	if *p == "" || filepath.IsAbs(*p) {
		return
	}
	if abs, err := filepath.Abs(filepath.Join(l.dir, *p)); err == nil {
		*p = abs
	}
}

// LoadRepo reads a repository's configuration from a file.
func LoadRepo(path string) (*Repo, error) {
	data, err := readConfig(path)
	if err != nil {
		return nil, err
	}
	return ParseRepo(data, path)
}

// readConfig reads one byte more than a configuration may have, so that the
// parser can tell.
func readConfig(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read the configuration %s: %w", path, err)
	}
	return data, nil
}
