package forgetest

import (
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// appManifest is what GitHub reads of an App's manifest.
type appManifest struct {
	Name string `json:"name"`
	URL  string `json:"url"`
	Hook struct {
		URL    string `json:"url"`
		Active *bool  `json:"active"`
	} `json:"hook_attributes"`
	Redirect    string            `json:"redirect_url"`
	Callbacks   []string          `json:"callback_urls"`
	Public      bool              `json:"public"`
	Permissions map[string]string `json:"default_permissions"`
	Events      []string          `json:"default_events"`
}

// pendingApp is an App whose secrets wait to be fetched with a code.
type pendingApp struct {
	app     *App
	expires time.Time
}

// SignIn makes a person the one whose browser opens the server's pages. There is
// one browser; before, nobody is signed in.
func (s *Server) SignIn(login string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	u, err := s.user(login)
	s.browser = u
	return err
}

// newAppPath tells whether a path is a form for new Apps, and of which account.
func newAppPath(path string) (org string, ok bool) {
	if path == "/settings/apps/new" {
		return "", true
	}
	parts := strings.Split(path, "/")
	if len(parts) == 6 && parts[1] == "organizations" && strings.Join(parts[3:], "/") == "settings/apps/new" {
		return parts[2], true
	}
	return "", false
}

// serveNewApp is the form of a new App. A manifest that another site posts is
// shown first; the App is made when the person posts what was shown.
func (s *Server) serveNewApp(w http.ResponseWriter, r *http.Request, org string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'")
	s.mu.Lock()
	defer s.mu.Unlock()
	owner := s.browser
	if owner == nil {
		http.Error(w, "Sign in to GitHub", http.StatusUnauthorized)
		return
	}
	if org != "" {
		if owner = s.users[strings.ToLower(org)]; owner == nil || owner.Type != "Organization" {
			http.NotFound(w, r)
			return
		}
	}
	shown := shownApp{Owner: owner.Login, Action: r.URL.Path, State: r.FormValue("state")}
	if r.Method == http.MethodPost {
		shown.Manifest = r.PostFormValue("manifest")
		m, err := s.readManifest(shown.Manifest, r.PostFormValue("name"))
		if err == nil && r.PostFormValue("name") != "" {
			var back string
			if back, err = s.createPending(m, owner, shown.State); err == nil {
				http.Redirect(w, r, back, http.StatusFound)
				return
			}
		}
		if shown.Name = m.Name; err != nil {
			shown.Problem = err.Error()
			w.WriteHeader(http.StatusUnprocessableEntity)
		}
	}
	newAppTemplate.Execute(w, shown)
}

// manifestNeeds says which permissions an event needs, any one of them.
var manifestNeeds = map[string][]string{
	"check_run": {"checks"}, "issue_comment": {"issues", "pull_requests"}, "pull_request": {"pull_requests"}, "repository": {"metadata"},
	"push": {"contents"}, "issues": {"issues"}, "status": {"statuses"}, "check_suite": {"checks"}, "label": {"metadata"},
}

// readManifest reads a manifest, and the name that the person gave instead of
// its own; the caller holds mu.
func (s *Server) readManifest(text, name string) (m appManifest, err error) {
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return m, fmt.Errorf("manifest: %w", err)
	}
	if name != "" {
		m.Name = name
	}
	if slugOf(m.Name) == "" || len(m.Name) > 34 || s.slugTaken(slugOf(m.Name)) {
		return m, fmt.Errorf("name: %q is empty, longer than 34 characters, or taken", m.Name)
	}
	for name, address := range map[string]string{"url": m.URL, "redirect_url": m.Redirect, "hook_attributes.url": m.Hook.URL} {
		if u, err := url.Parse(address); err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
			return m, fmt.Errorf("%s: %q is no address", name, address)
		}
	}
	for _, address := range m.Callbacks {
		if u, err := url.Parse(address); err != nil || u.Host == "" || len(m.Callbacks) > 10 {
			return m, fmt.Errorf("callback_urls: want at most 10 addresses, got %q", address)
		}
	}
	for name, level := range m.Permissions {
		if levels[level] < 1 {
			return m, fmt.Errorf("default_permissions: %s: %q is no level", name, level)
		}
	}
	for _, event := range m.Events {
		needs, known := manifestNeeds[event]
		if !known || !slices.ContainsFunc(needs, func(p string) bool { return levels[m.Permissions[p]] > 0 }) {
			return m, fmt.Errorf("default_events: %q is not supported by the permissions", event)
		}
	}
	return m, nil
}

var noSlug = regexp.MustCompile(`[^a-z0-9]+`)

func slugOf(name string) string {
	return strings.Trim(noSlug.ReplaceAllString(strings.ToLower(name), "-"), "-")
}

// slugTaken; the caller holds mu.
func (s *Server) slugTaken(slug string) bool {
	for _, a := range s.apps {
		if a.Slug == slug {
			return true
		}
	}
	return false
}

// createPending makes the App, and gives the address to which the browser brings
// the code that fetches its secrets; the caller holds mu.
func (s *Server) createPending(m appManifest, owner *User, state string) (back string, err error) {
	spec := AppSpec{Slug: slugOf(m.Name), Owner: owner.Login, Permissions: m.Permissions, Events: m.Events, WebhookSecret: randomText(40)}
	if m.Hook.Active == nil || *m.Hook.Active {
		spec.WebhookURL = m.Hook.URL
	}
	to, err := url.Parse(m.Redirect)
	if err != nil {
		return "", err
	}
	a, err := s.addApp(spec)
	if err != nil {
		return "", err
	}
	a.name, a.site, a.private, a.callbacks = m.Name, m.URL, !m.Public, m.Callbacks
	code := randomText(40)
	s.pending[code] = &pendingApp{app: a, expires: s.now().Add(time.Hour)}
	q := to.Query()
	q.Set("code", code)
	if state != "" {
		q.Set("state", state)
	}
	to.RawQuery = q.Encode()
	return to.String(), nil
}

// convertManifest gives the secrets of an App for its code, once.
func (c *call) convertManifest() (answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	code := c.r.PathValue("code")
	p := c.pending[code]
	if p == nil || !c.now().Before(p.expires) {
		return answer{}, notFound()
	}
	delete(c.pending, code)
	out := c.appJSON(p.app)
	delete(out, "installations_count")
	out["client_secret"], out["webhook_secret"], out["pem"] = p.app.oauthSecret, p.app.hookSecret, string(p.app.PrivateKey)
	return created(out)
}

type shownApp struct{ Owner, Name, Manifest, State, Action, Problem string }

var newAppTemplate = template.Must(template.New("app").Parse(`<!doctype html><meta charset="utf-8"><title>New GitHub App</title>
<h1>New GitHub App of {{.Owner}}</h1>
{{if .Problem}}<p>{{.Problem}}</p>{{else if .Manifest}}<pre>{{.Manifest}}</pre><form method="post" action="{{.Action}}"><input name="name" value="{{.Name}}">
<input type="hidden" name="manifest" value="{{.Manifest}}"><input type="hidden" name="state" value="{{.State}}">
<button>Create GitHub App for {{.Owner}}</button></form>{{end}}`))
