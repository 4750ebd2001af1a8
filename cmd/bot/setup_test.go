package main

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prbench/prbench/internal/config"
	"github.com/prbench/prbench/internal/forge"
	"github.com/prbench/prbench/internal/forgetest"
)

// person has a browser.
type person struct {
	t *testing.T
	http.Client
}

func newPerson(t *testing.T) *person {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &person{t, http.Client{Jar: jar, Transport: &http.Transport{DisableKeepAlives: true}}}
}

// do gives a page's status and text.
func (p *person) do(req *http.Request) (int, string) {
	p.t.Helper()
	resp, err := p.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func (p *person) open(address string) (int, string) {
	p.t.Helper()
	req, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	return p.do(req)
}

var (
	formAction = regexp.MustCompile(`<form method="post" action="([^"]+)"`)
	formField  = regexp.MustCompile(`name="(\w+)" value="([^"]*)"`)
)

// press posts the form of a page, whose address is base.
func (p *person) press(base, page string) (int, string) {
	p.t.Helper()
	action := formAction.FindStringSubmatch(page)
	if action == nil {
		p.t.Fatalf("no form on the page:\n%s", page)
	}
	to, err := url.Parse(base)
	if err == nil {
		to, err = to.Parse(html.UnescapeString(action[1]))
	}
	if err != nil {
		p.t.Fatal(err)
	}
	values := url.Values{}
	for _, f := range formField.FindAllStringSubmatch(page, -1) {
		if f[1] != "viewport" {
			values.Set(f[1], html.UnescapeString(f[2]))
		}
	}
	req, err := http.NewRequest(http.MethodPost, to.String(), strings.NewReader(values.Encode()))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return p.do(req)
}

var setupAddress = regexp.MustCompile(`http://127\.0\.0\.1:\d+/\w+/`)

// setup starts `bot setup` against the world's GitHub, and gives the page's address.
func (w *world) setup(args ...string) (*process, string) {
	w.t.Helper()
	p := start(w.t, w.dir, append([]string{"setup", "--no-browser", "--github-url", w.URL(), "--public-url", "http://" + w.listen}, args...)...)
	var address string
	eventually(w.t, "the page's address is printed", func() bool {
		if p.ended() {
			w.t.Fatalf("setup ended: %s", p.text())
		}
		address = setupAddress.FindString(p.out.String())
		return address != ""
	})
	return p, address
}

func TestSetupMakesAnAppThatWorks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldSpec{private: true})
	w.ok(w.SignIn("writer"))
	p, address := w.setup("--org", "acme", "--dir", "new")
	me := newPerson(t)
	_, page := me.open(address)
	for _, word := range []string{"prbench-acme", "http://" + w.listen + "/webhook", "pull_requests", "issue_comment"} {
		if !strings.Contains(page, word) {
			t.Errorf("the page does not say %q:\n%s", word, page)
		}
	}
	_, confirm := me.press(address, page)
	status, last := me.press(w.URL(), confirm)
	if status != http.StatusOK || !strings.Contains(last, "The App is there") {
		t.Fatalf("after GitHub: %d\n%s", status, last)
	}
	eventually(t, "setup has ended", p.ended)
	said := p.out.String()
	for _, word := range []string{"The App prbench-acme is there: " + w.URL() + "/apps/prbench-acme", "bot serve --config new/serve.yaml", "/apps/prbench-acme/installations/new"} {
		if p.err != nil || !strings.Contains(said, word) {
			t.Errorf("setup (%v) does not say %q:\n%s", p.err, word, said)
		}
	}
	for name, mode := range map[string]os.FileMode{"app.pem": 0o600, "webhook-secret": 0o600, "client-secret": 0o600, "serve.yaml": 0o644} {
		if info, err := os.Stat(filepath.Join(w.dir, "new", name)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v; want mode %o", name, info, err, mode)
		}
	}
	cfg, err := config.LoadServe(filepath.Join(w.dir, "new", "serve.yaml"), nil, config.ServeFlags{})
	w.ok(err)
	if len(cfg.Warnings) > 0 || cfg.GitHub.URL != w.APIURL() || len(cfg.Allowed("acme/engine", 1)) != 1 || len(cfg.Allowed("other/engine", 1)) != 0 {
		t.Errorf("the configuration: %+v", cfg)
	}
	if secrets := w.Secrets(); !slices.Contains(secrets, cfg.GitHub.ClientSecret.Reveal()) || cfg.GitHub.ClientID == "" {
		t.Errorf("the sign-in of client %q has another secret than the App's", cfg.GitHub.ClientID)
	}
	for _, secret := range append(w.Secrets(), cfg.GitHub.WebhookSecret.Reveal(), cfg.GitHub.ClientSecret.Reveal()) {
		if secret != "" && strings.Contains(said+p.text()+last, secret) {
			t.Error("a secret is shown")
		}
	}

	// It mints tokens, and serve takes what GitHub signs.
	app := w.AppByID(cfg.GitHub.AppID)
	if app == nil {
		t.Fatalf("GitHub knows no App %d", cfg.GitHub.AppID)
	}
	start(t, w.dir, "serve", "--config", "new/serve.yaml", "--listen", w.listen, "--state-listen", w.state, "--pace", "-1ns").says(`"msg":"serving"`)
	inst, err := w.Install(app, "acme", w.repo)
	w.ok(err)
	f, err := forge.New(forge.Config{URL: cfg.GitHub.URL, AppID: cfg.GitHub.AppID, PrivateKey: []byte(cfg.GitHub.PrivateKey.Reveal()),
		Transport: &http.Transport{DisableKeepAlives: true}})
	w.ok(err)
	token, err := f.RepoToken(t.Context(), inst.ID, w.repo.ID, forge.CloneOnly)
	w.ok(err)
	w.ok(token.Revoke(t.Context()))
	eventually(t, "serve takes the App's webhooks", func() bool {
		for _, d := range w.Deliveries() {
			if d.App == app && d.Done {
				if d.StatusCode != http.StatusAccepted {
					t.Fatalf("a webhook is answered %d", d.StatusCode)
				}
				return true
			}
		}
		return false
	})
	w.label()
	w.wait("the App's check run", func(c forgetest.Conversation) bool { return len(c.CheckRuns) == 1 })
}

func TestSetupOverwritesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldSpec{}) // its folder has app.pem and serve.yaml
	w.ok(w.SignIn("writer"))
	key, own := w.read("app.pem"), w.read("serve.yaml")
	if out := w.refuses(exitUsage, "setup", "--no-browser", "--public-url", "https://bench.example.org"); !strings.Contains(out, "app.pem is there already") {
		t.Errorf("setup says:\n%s", out)
	}
	w.ok(os.Rename(filepath.Join(w.dir, "app.pem"), filepath.Join(w.dir, "old.pem")))
	p, address := w.setup("--name", "Mine")
	me := newPerson(t)
	_, page := me.open(address)
	_, confirm := me.press(address, page)
	me.press(w.URL(), confirm)
	eventually(t, "setup has ended", p.ended)
	if said := p.out.String(); !strings.Contains(said, "serve.yaml was there and is as it was") || !strings.Contains(said, "private_key_file: app.pem") {
		t.Errorf("setup says:\n%s", said)
	}
	if w.read("serve.yaml") != own || w.read("old.pem") != key || w.read("app.pem") == key {
		t.Error("a file that was there is changed, or the new key is not the App's")
	}
}

func TestSetupNamesTheFlagThatIsWrong(t *testing.T) {
	t.Parallel()
	for flag, args := range map[string][]string{
		"--public-url": {"setup"},
		"--github-url": {"setup", "--public-url", "https://b.example.org", "--github-url", "http://ghe.example.org"},
		"--org":        {"setup", "--public-url", "https://b.example.org", "--org", "a/b"},
		"--name":       {"setup", "--public-url", "https://b.example.org", "--name", strings.Repeat("x", 35)},
		"--timeout":    {"setup", "--public-url", "https://b.example.org", "--timeout", "0s"},
	} {
		if code, _, errs := bot(t, args...); code != exitUsage || !strings.Contains(errs, flag) {
			t.Errorf("%v: exit %d: %s", args, code, errs)
		}
	}
}

func TestSetupEndsWhenNobodyComes(t *testing.T) {
	t.Parallel()
	code, _, errs := bot(t, "setup", "--no-browser", "--public-url", "https://b.example.org", "--dir", t.TempDir(), "--timeout", "1ms")
	if code != exitFailed || !strings.Contains(errs, "did not send the browser back in time") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

// page runs a setup page whose Apps are made by create.
func page(t *testing.T, create func(context.Context, string) (string, error)) (p *setupPage, ended chan error) {
	t.Helper()
	p, err := openSetupPage("https://github.example.org/settings/apps/new",
		func(back string) forge.Manifest { return forge.NewManifest("<b>&", "https://bench.example.org", back) }, create)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended = make(chan error, 1)
	done := make(chan struct{})
	go func() { ended <- p.run(ctx); close(done) }()
	t.Cleanup(func() { stop(); <-done })
	return p, ended
}

func TestTheSetupPageIsForOneBrowserOnThisMachine(t *testing.T) {
	t.Parallel()
	p, _ := page(t, func(context.Context, string) (string, error) { t.Error("a code was taken"); return "", nil })
	me, other := newPerson(t), newPerson(t)
	root := "http://" + p.listener.Addr().String()
	for _, name := range []string{"evil.example.org", "localhost:80", strings.Replace(p.listener.Addr().String(), "127.0.0.1", "localhost", 1), ""} {
		req, err := http.NewRequest(http.MethodGet, p.address(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if req.Host = name; name == "" {
			req.Host = "127.0.0.1"
		}
		if status, body := me.do(req); status != http.StatusMisdirectedRequest || strings.Contains(body, p.state) {
			t.Errorf("by the name %q: %d\n%s", name, status, body)
		}
	}
	for _, path := range []string{"/", "/created", "/x/", p.path + "x"} {
		if status, body := me.open(root + path); status != http.StatusNotFound || strings.Contains(body, p.state) {
			t.Errorf("%s: %d\n%s", path, status, body)
		}
	}
	status, body := me.open(p.address())
	if status != http.StatusOK || !strings.Contains(body, p.state) || strings.Contains(body, "<b>") {
		t.Fatalf("the page: %d\n%s", status, body)
	}
	if status, body := me.open(p.address()); status != http.StatusOK || !strings.Contains(body, p.state) {
		t.Errorf("the page again: %d", status)
	}
	if status, body := other.open(p.address()); status != http.StatusForbidden || strings.Contains(body, p.state) {
		t.Errorf("the page in another browser: %d\n%s", status, body)
	}
	for _, query := range []string{"", "?code=c", "?code=c&state=", "?code=c&state=" + p.state + "x", "?code=c&state=" + strings.ToLower(p.state)} {
		if status, _ := me.open(p.address() + "created" + query); status != http.StatusForbidden {
			t.Errorf("created%s: %d", query, status)
		}
	}
	if status, _ := me.open(p.address() + "created?state=" + p.state); status != http.StatusBadRequest {
		t.Errorf("without a code: %d", status)
	}
}

func TestTheSetupPageTakesOneCode(t *testing.T) {
	t.Parallel()
	codes := make(chan string, 10)
	asked := make(chan struct{})
	p, ended := page(t, func(_ context.Context, code string) (string, error) {
		codes <- code
		<-asked
		return "", errors.New("GitHub is away <script>")
	})
	me := newPerson(t)
	back := func(code string) string { return fmt.Sprintf("%screated?code=%s&state=%s", p.address(), code, p.state) }
	type answer struct {
		status int
		body   string
	}
	first := make(chan answer, 1)
	go func() {
		resp, err := newPerson(t).Get(back("one"))
		if err != nil {
			first <- answer{0, err.Error()}
			return
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body) // the status tells
		first <- answer{resp.StatusCode, string(b)}
	}()
	if code := <-codes; code != "one" {
		t.Errorf("the code is %q", code)
	}
	if status, _ := me.open(back("two")); status != http.StatusGone {
		t.Errorf("a second code: %d", status)
	}
	close(asked)
	if a := <-first; a.status != http.StatusBadGateway || !strings.Contains(a.body, "GitHub is away &lt;script&gt;") {
		t.Errorf("the page says %d\n%s", a.status, a.body)
	}
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(err.Error(), "GitHub is away") {
			t.Errorf("it ends with %v", err)
		}
		ended <- err
	case <-time.After(time.Minute): // against hanging
		t.Error("it does not end")
	}
	if len(codes) != 0 {
		t.Errorf("another code was taken: %s", <-codes)
	}
}
