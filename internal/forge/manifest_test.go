package forge_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prbench/prbench/internal/forge"
	"github.com/prbench/prbench/internal/forgetest"
)

func TestTheManifestInTheDeployFolderIsTheProductsOwn(t *testing.T) {
	file, err := os.ReadFile("../../deploy/github-app/manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	ours, err := json.Marshal(forge.NewManifest("prbench", "https://bench.example.org", "https://bench.example.org/"))
	if err != nil {
		t.Fatal(err)
	}
	var want, got any
	if err := errors.Join(json.Unmarshal(file, &want), json.Unmarshal(ours, &got)); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("deploy/github-app/manifest.json (-) and NewManifest (+):\n%s", d)
	}
}

func TestTheSitesOfEveryKindOfGitHub(t *testing.T) {
	for address, want := range map[string][2]string{
		"":                               {"https://github.com", "https://api.github.com"},
		"https://github.com":             {"https://github.com", "https://api.github.com"},
		"https://api.github.com/":        {"https://github.com", "https://api.github.com"},
		"https://GHE.example.org":        {"https://ghe.example.org", "https://ghe.example.org/api/v3"},
		"https://ghe.example.org/api/v3": {"https://ghe.example.org", "https://ghe.example.org/api/v3"},
		"https://ghe.example.org:8443/":  {"https://ghe.example.org:8443", "https://ghe.example.org:8443/api/v3"},
		"https://octo.ghe.com":           {"https://octo.ghe.com", "https://api.octo.ghe.com"},
		"https://api.octo.ghe.com":       {"https://octo.ghe.com", "https://api.octo.ghe.com"},
		"http://127.0.0.1:8080/api/v3":   {"http://127.0.0.1:8080", "http://127.0.0.1:8080/api/v3"},
	} {
		web, api, err := forge.Sites(address)
		if err != nil || web != want[0] || api != want[1] {
			t.Errorf("%q: %s, %s, %v; want %v", address, web, api, err, want)
		}
	}
	for _, bad := range []string{"github.com", "http://ghe.example.org", "ftp://github.com", "https://", "https://u:p@ghe.example.org",
		"https://ghe.example.org/acme", "https://ghe.example.org/?x", "http://127.0.0.1.example.org", "://"} {
		if web, _, err := forge.Sites(bad); err == nil || strings.Contains(err.Error(), "u:p") {
			t.Errorf("%q is taken as %q, %v", bad, web, err)
		}
	}
}

var field = regexp.MustCompile(`name="(\w+)"(?: value|)="([^"]*)"`)

// confirm lets a person see a manifest on GitHub and create the App. It gives the
// address to which the browser is sent, or what the page says.
func (w *world) confirm(path string, m forge.Manifest, state string) (*url.URL, string) {
	w.t.Helper()
	text, err := json.Marshal(m)
	w.ok(err)
	browser := &http.Client{Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	post := func(values url.Values) (*http.Response, string) {
		resp, err := browser.PostForm(w.URL()+path, values)
		w.ok(err)
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		w.ok(err)
		return resp, string(body)
	}
	resp, body := post(url.Values{"manifest": {string(text)}, "state": {state}})
	if resp.StatusCode != http.StatusOK {
		return nil, body
	}
	again := url.Values{}
	for _, f := range field.FindAllStringSubmatch(body, -1) {
		again.Set(f[1], html.UnescapeString(f[2]))
	}
	resp, body = post(again)
	to, err := resp.Location()
	if err != nil {
		return nil, body
	}
	return to, body
}

func TestAnAppThatIsMadeOfTheManifestMintsTokens(t *testing.T) {
	w := newWorld(t)
	w.ok(w.SignIn("dev-a"))
	m := forge.NewManifest("Our Bench", "https://bench.example.org/", "http://127.0.0.1:1/back?x=y")
	to, body := w.confirm("/organizations/acme/settings/apps/new", m, "a state & more")
	if to == nil {
		t.Fatalf("GitHub says: %s", body)
	}
	q := to.Query()
	if to.Host != "127.0.0.1:1" || to.Path != "/back" || q.Get("x") != "y" || q.Get("state") != "a state & more" {
		t.Fatalf("the browser is sent to %s", to)
	}
	ctx := t.Context()
	cfg := forge.Config{URL: w.APIURL(), Transport: &http.Transport{DisableKeepAlives: true}, Clock: w.clock}
	a, err := forge.CompleteManifest(ctx, cfg, q.Get("code"))
	w.ok(err)
	if a.Slug != "our-bench" || a.Owner != "acme" || a.HTMLURL != w.URL()+"/apps/our-bench" {
		t.Errorf("created %+v", a)
	}
	cfg.AppID, cfg.PrivateKey = a.ID, []byte(a.PrivateKey())
	f, err := forge.New(cfg)
	w.ok(err)
	self, err := f.Self(ctx)
	if w.ok(err); self.Login != "our-bench[bot]" {
		t.Errorf("it is %+v", self)
	}
	if _, err := w.Install(w.AppByID(a.ID), "dev-b"); err == nil {
		t.Error("a stranger may install the private App")
	}
	inst, err := w.Install(w.AppByID(a.ID), "acme")
	w.ok(err)
	token, err := f.RepoToken(ctx, inst.ID, w.repo.ID, forge.CloneOnly)
	w.ok(err)
	w.ok(token.Revoke(ctx))
	found := false
	for _, secret := range w.Secrets() {
		found = found || secret == a.WebhookSecret()
		if strings.Contains(fmt.Sprintf("%v %+v %#v %s", a, a, a, a), secret) && secret != "" {
			t.Error("a secret is printed")
		}
	}
	if !found {
		t.Error("the webhook secret is not what GitHub signs with")
	}
	if b, err := json.Marshal(a); err == nil {
		t.Errorf("it is marshalled: %s", b)
	}
	_, err = forge.CompleteManifest(ctx, cfg, q.Get("code"))
	w.is(err, forge.NotFound)
}

func TestACodeThatIsNoneNeverLeaves(t *testing.T) {
	w := newWorld(t)
	before := len(w.Requests())
	for _, code := range []string{"", "../../user", "a b", "a/b", "a?b", "%2e%2e", strings.Repeat("a", 201)} {
		_, err := forge.CompleteManifest(t.Context(), forge.Config{URL: w.APIURL()}, code)
		w.is(err, forge.Refused)
	}
	if n := len(w.Requests()); n != before {
		t.Errorf("%d requests were sent", n-before)
	}
}

func TestAnAnswerWithoutSecretsIsNoApp(t *testing.T) {
	w := newWorld(t)
	for _, body := range []string{`{}`, `{"id":1,"pem":"no key","webhook_secret":"s"}`, `{"id":0}`} {
		w.Fail(forgetest.Fault{Path: "/app-manifests/*/conversions", Status: http.StatusCreated, Body: body})
		_, err := forge.CompleteManifest(t.Context(), forge.Config{URL: w.APIURL(), Transport: &http.Transport{DisableKeepAlives: true}}, "code")
		w.is(err, forge.BadAnswer)
		if bytes.Contains([]byte(err.Error()), []byte("no key")) {
			t.Errorf("the error quotes the key: %v", err)
		}
	}
}

func TestGitHubRefusesAManifestThatDoesNotFit(t *testing.T) {
	w := newWorld(t)
	good := func() forge.Manifest {
		return forge.NewManifest("bench", "https://bench.example.org", "http://127.0.0.1:1/")
	}
	refused := func(want string, m forge.Manifest) {
		t.Helper()
		if to, body := w.confirm("/settings/apps/new", m, "s"); to != nil || !strings.Contains(body, want) {
			t.Errorf("want %q, got %v %s", want, to, body)
		}
	}
	refused("Sign in", good())
	w.ok(w.SignIn("dev-a"))
	for want, change := range map[string]func(*forge.Manifest){
		"or taken":         func(m *forge.Manifest) { m.Name = w.app.Slug },
		"longer than 34":   func(m *forge.Manifest) { m.Name = strings.Repeat("x", 35) },
		"default_events":   func(m *forge.Manifest) { delete(m.Permissions, "checks") },
		"redirect_url":     func(m *forge.Manifest) { m.RedirectURL = "/" },
		"no level":         func(m *forge.Manifest) { m.Permissions["checks"] = "all" },
		"hook_attributes.": func(m *forge.Manifest) { m.Hook.URL = "x" },
	} {
		m := good()
		change(&m)
		refused(want, m)
	}
	if to, body := w.confirm("/settings/apps/new", good(), "s"); to == nil {
		t.Errorf("one that fits: %s", body)
	}
}
