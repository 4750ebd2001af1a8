package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/prbench/prbench/internal/config"
	"github.com/prbench/prbench/internal/forge"
)

// setupFiles are what bot setup leaves in its folder.
const (
	setupKey    = "app.pem"
	setupSecret = "webhook-secret"
	setupClient = "client-secret"
	setupConfig = "serve.yaml"
)

type setupPlan struct {
	org, github, public, dir, name string
	noBrowser                      bool
	timeout                        time.Duration

	web, api string
}

func newSetup(s stream) *cobra.Command {
	var p setupPlan
	cmd := &cobra.Command{
		Use:   "setup --public-url URL [--org ORG]",
		Short: "Create the GitHub App, and store its key, its secrets and a first serve.yaml",
		Long: "Shows a page on this machine that sends you to GitHub with all that the App needs; you look at it there and say yes.\n" +
			"The App's key, its webhook secret and its client secret come back and are stored with mode 0600, and a first serve.yaml beside them.\n" +
			"Files that are there are never overwritten. The App is private: only its owner can install it.",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := p.check(); err != nil {
				return err
			}
			return setup(cmd.Context(), p, s)
		},
	}
	f := cmd.Flags()
	f.StringVar(&p.public, "public-url", "", "where GitHub and people will reach bot serve; webhooks go to its /webhook")
	f.StringVar(&p.org, "org", "", "the organisation that the App is to belong to (default: you)")
	f.StringVar(&p.name, "name", "", "the App's name, which no other on GitHub has (default prbench, with the organisation's name)")
	f.StringVar(&p.github, "github-url", "", "GitHub Enterprise Server's address (default https://github.com)")
	f.StringVar(&p.dir, "dir", ".", "the folder for the key, the secrets and serve.yaml")
	f.BoolVar(&p.noBrowser, "no-browser", false, "print the page's address, and open no browser")
	f.DurationVar(&p.timeout, "timeout", 15*time.Minute, "how long to wait for you")
	return cmd
}

var (
	// accountName is a login of GitHub's; those of managed users have a _ in them.
	accountName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)
	appNameMost = 34 // characters that GitHub takes
)

func (p *setupPlan) check() (err error) {
	if p.web, p.api, err = forge.Sites(p.github); err != nil {
		return usageError("--github-url: %v", err)
	}
	if u, err := url.Parse(p.public); p.public == "" || err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") ||
		u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return usageError("--public-url: want the address at which GitHub will reach bot serve, such as https://bench.example.org, got %q", p.public)
	}
	p.public = strings.TrimRight(p.public, "/")
	if p.org != "" && !accountName.MatchString(p.org) {
		return usageError("--org: want an organisation's name, got %q", p.org)
	}
	if p.name == "" {
		p.name = "prbench"
		if p.org != "" {
			p.name += "-" + p.org
		}
		p.name = p.name[:min(len(p.name), appNameMost)]
	}
	if len(p.name) > appNameMost {
		return usageError("--name: want at most %d characters, got %q", appNameMost, p.name)
	}
	if p.timeout <= 0 {
		return usageError("--timeout: want a time, got %v", p.timeout)
	}
	return nil
}

// form is where GitHub takes manifests.
func (p *setupPlan) form() string {
	if p.org == "" {
		return p.web + "/settings/apps/new"
	}
	return p.web + "/organizations/" + url.PathEscape(p.org) + "/settings/apps/new"
}

func (p *setupPlan) file(name string) string { return filepath.Join(p.dir, name) }

func setup(ctx context.Context, p setupPlan, s stream) error {
	if err := p.makeRoom(); err != nil {
		return err
	}
	var app *forge.CreatedApp
	page, err := openSetupPage(p.form(),
		func(back string) forge.Manifest { return forge.NewManifest(p.name, p.public, back) },
		func(ctx context.Context, code string) (_ string, err error) {
			if app, err = forge.CompleteManifest(ctx, forge.Config{URL: p.api}, code); err != nil {
				return "", err
			}
			if err := p.store(app); err != nil {
				return "", fmt.Errorf("%w; the App is there (%s): make a new key and a new secret on its page", err, app.HTMLURL)
			}
			return app.HTMLURL, nil
		})
	if err != nil {
		return err
	}
	_, port, _ := strings.Cut(page.listener.Addr().String(), ":")
	if _, err := fmt.Fprintf(s.out, "Open this page in a browser, within %v:\n\n  %s\n\n"+
		"It is on this machine alone. From another one: ssh -L %s:127.0.0.1:%s THIS-MACHINE\n\n", p.timeout, page.address(), port, port); err != nil {
		return err
	}
	if !p.noBrowser {
		openBrowser(page.address())
	}
	waiting, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	if err := page.run(waiting); err != nil {
		if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
			return errSetupTimeout
		}
		return err
	}
	return p.tellNext(app, s)
}

// makeRoom makes the folder, and refuses before anything is created on GitHub
// what could not be stored.
func (p *setupPlan) makeRoom() error {
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		return fmt.Errorf("make the folder for the App's key: %w", err)
	}
	for _, name := range []string{setupKey, setupSecret, setupClient} {
		if _, err := os.Lstat(p.file(name)); !errors.Is(err, fs.ErrNotExist) {
			return usageError("%s is there already and is not overwritten; move it away, or give another --dir", p.file(name))
		}
	}
	f, err := os.CreateTemp(p.dir, ".setup-*")
	if err != nil {
		return fmt.Errorf("write into the folder for the App's key: %w", err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

func (p *setupPlan) store(app *forge.CreatedApp) error {
	if err := newFile(p.file(setupKey), app.PrivateKey(), 0o600); err != nil {
		return err
	}
	if err := newFile(p.file(setupSecret), app.WebhookSecret()+"\n", 0o600); err != nil {
		return err
	}
	if err := newFile(p.file(setupClient), app.ClientSecret()+"\n", 0o600); err != nil {
		return err
	}
	// It holds no secret, and serve has an account of its own.
	if err := newFile(p.file(setupConfig), p.config(app), 0o644); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil // the operator's own; the lines that it needs are printed
}

// newFile writes a file, and none that is there.
func newFile(name, text string, mode os.FileMode) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return fmt.Errorf("store what GitHub gave: %w", err)
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("store what GitHub gave: %w", err)
	}
	return nil
}

// config is a first serve.yaml, with what is known.
func (p *setupPlan) config(app *forge.CreatedApp) string {
	state := "state" // beside the configuration
	if dir, err := filepath.Abs(p.dir); err == nil && strings.HasPrefix(dir, "/etc/") {
		state = "/var/lib/prbench"
	}
	owner := app.Owner
	if !accountName.MatchString(owner) {
		owner = "OWNER" // to be filled in
	}
	return fmt.Sprintf(`# Configuration of bot serve. Paths are relative to this file's folder.

listen: %s    # behind a reverse proxy with TLS
public_url: %q

github:
  url: %q
  app_id: %d
  private_key_file: %s
  webhook_secret_file: %s
  client_id: %q                  # for the sign-in that pages of private repositories ask for
  client_secret_file: %s

state:
  dir: %s
  max_size: 10GiB

# Who may use which runners: a repository that no pool allows gets one reply and
# no job.
pools:
  default:
    repositories: ["%s/*"]
`, config.DefaultListen, p.public, p.api, app.ID, setupKey, setupSecret, app.ClientID, setupClient, state, owner)
}

func (p *setupPlan) tellNext(app *forge.CreatedApp, s stream) error {
	text := fmt.Sprintf("The App %s is there: %s\nIts key is in %s, its webhook secret in %s, its client secret in %s (mode 0600).\n",
		app.Slug, app.HTMLURL, p.file(setupKey), p.file(setupSecret), p.file(setupClient))
	written, err := os.ReadFile(p.file(setupConfig))
	if err != nil {
		return err
	}
	if string(written) == p.config(app) {
		text += fmt.Sprintf("A first configuration is in %s: look at pools, which say who may use your runners.\n", p.file(setupConfig))
	} else {
		text += fmt.Sprintf("%s was there and is as it was. It needs, below github: url: %s, app_id: %d, private_key_file: %s, webhook_secret_file: %s, client_id: %s, client_secret_file: %s\n",
			p.file(setupConfig), p.api, app.ID, setupKey, setupSecret, app.ClientID, setupClient)
	}
	_, err = fmt.Fprintf(s.out, "%s\nNext:\n\n  1. bot serve --config %s, reachable at %s\n  2. Install the App on your repositories: %s/installations/new\n",
		text, p.file(setupConfig), p.public, app.HTMLURL)
	return err
}

// openBrowser tries; the address is printed anyway.
func openBrowser(address string) {
	var cmd *exec.Cmd
	switch runtime.GOOS {
	case "darwin":
		cmd = exec.Command("open", address)
	case "windows":
		cmd = exec.Command("rundll32", "url.dll,FileProtocolHandler", address)
	default:
		if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
			return
		}
		cmd = exec.Command("xdg-open", address)
	}
	if cmd.Start() == nil {
		go func() { _ = cmd.Wait() }() // its end tells nothing
	}
}
