package forgetest

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// grant is a person's yes to an App, waiting to be fetched with its code.
type grant struct {
	app      *App
	user     *User
	redirect string
	// challenge is that of PKCE, the hash of a text that only the asker knows.
	challenge string
	expires   time.Time
}

// oauthState is the web flow's: what waits, and who has said yes to which App.
type oauthState struct {
	grants map[string]*grant // by code
	agreed map[*App]map[*User]bool
}

// SetCallbacks says where the App may send people back after they signed in.
func (s *Server) SetCallbacks(a *App, urls ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.callbacks = urls
}

// ClientID names the App's sign-in, ClientSecret is what its server knows.
func (a *App) ClientID() string { return fmt.Sprintf("Iv23li%08d", a.ID) }

// ClientSecret is what the App's server proves itself with in a sign-in.
func (a *App) ClientSecret() string { return a.oauthSecret }

// client finds the App of a client id; the caller holds mu.
func (s *Server) client(id string) *App {
	for _, a := range s.apps {
		if a.ClientID() == id {
			return a
		}
	}
	return nil
}

// asClient is the App itself, by the id and the secret of its sign-in; nil where
// they are wrong.
func (s *Server) asClient(id, secret string) *App {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.client(id)
	if a == nil || subtle.ConstantTimeCompare([]byte(a.oauthSecret), []byte(secret)) != 1 {
		return nil
	}
	return a
}

// serveAuthorize asks the person in the browser once for each App, and sends the
// browser back with a code.
func (s *Server) serveAuthorize(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	s.mu.Lock()
	defer s.mu.Unlock()
	app, redirect := s.client(r.FormValue("client_id")), r.FormValue("redirect_uri")
	switch {
	case app == nil:
		http.NotFound(w, r)
		return
	case !slices.Contains(app.callbacks, redirect):
		http.Error(w, "The redirect_uri is not associated with this application.", http.StatusBadRequest)
		return
	case r.FormValue("code_challenge") != "" && r.FormValue("code_challenge_method") != "S256":
		http.Error(w, "code_challenge_method must be S256", http.StatusBadRequest)
		return
	case s.browser == nil:
		http.Error(w, "Sign in to GitHub", http.StatusUnauthorized)
		return
	}
	if s.oauth.agreed[app] == nil {
		s.oauth.agreed[app] = map[*User]bool{}
	}
	if r.Method == http.MethodPost && r.PostFormValue("authorize") == "1" {
		s.oauth.agreed[app][s.browser] = true
	}
	if !s.oauth.agreed[app][s.browser] {
		authorizeTemplate.Execute(w, map[string]any{"App": app.name, "Login": s.browser.Login, "Action": r.URL.Path, "Values": map[string]string{
			"client_id": r.FormValue("client_id"), "redirect_uri": redirect, "state": r.FormValue("state"),
			"code_challenge": r.FormValue("code_challenge"), "code_challenge_method": r.FormValue("code_challenge_method")}})
		return
	}
	code := randomText(20)
	s.oauth.grants[code] = &grant{app: app, user: s.browser, redirect: redirect, challenge: r.FormValue("code_challenge"), expires: s.now().Add(10 * time.Minute)}
	back, err := url.Parse(redirect)
	if err != nil {
		http.Error(w, "redirect_uri", http.StatusBadRequest)
		return
	}
	q := back.Query()
	q.Set("code", code)
	q.Set("state", r.FormValue("state"))
	back.RawQuery = q.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

// serveAccessToken gives a person's token for a code, once. As on GitHub, a
// refusal is a 200 that names an error.
func (s *Server) serveAccessToken(w http.ResponseWriter, r *http.Request) {
	out := url.Values{}
	app := s.asClient(r.PostFormValue("client_id"), r.PostFormValue("client_secret"))
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.oauth.grants[r.PostFormValue("code")]
	switch {
	case r.Method != http.MethodPost:
		http.NotFound(w, r)
		return
	case app == nil:
		out.Set("error", "incorrect_client_credentials")
	case g == nil || g.app != app || !s.now().Before(g.expires):
		out.Set("error", "bad_verification_code")
	case r.PostFormValue("redirect_uri") != g.redirect:
		out.Set("error", "redirect_uri_mismatch")
	case g.challenge != "" && !verifies(r.PostFormValue("code_verifier"), g.challenge):
		out.Set("error", "bad_verification_code")
	default:
		delete(s.oauth.grants, r.PostFormValue("code"))
		t := &token{value: "ghu_" + randomText(36), user: g.user, via: app, expires: s.stamp().Add(8 * time.Hour)}
		s.tokens[t.value] = t
		out = url.Values{"access_token": {t.value}, "token_type": {"bearer"}, "scope": {""}, "expires_in": {"28800"}}
	}
	w.Header().Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	w.Write([]byte(out.Encode()))
}

func verifies(verifier, challenge string) bool {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:]) == challenge
}

// revokeVisitor makes a person's token useless, for the App through which it came.
func (c *call) revokeVisitor() (answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var body struct {
		Token string `json:"access_token"`
	}
	if err := c.decode(&body); err != nil {
		return answer{}, err
	}
	if c.who.client == nil || c.who.client.ClientID() != c.r.PathValue("client") {
		return answer{}, notFound()
	}
	t := c.tokens[body.Token]
	if t == nil || t.via != c.who.client {
		return answer{}, invalid("OauthAccess", "access_token", "invalid")
	}
	t.revoked = true
	return noContent()
}

// reaches tells whether a person's token that came through an App may see the
// repository: those that the App is installed on, and public ones. The caller
// holds mu.
func (t *token) reaches(r *Repo, installed map[int64]*Installation) bool {
	if t.via == nil || !r.private {
		return true
	}
	for _, i := range installed {
		if i.App == t.via && i.covers(r) {
			return true
		}
	}
	return false
}

// LiveVisitorTokens counts the tokens of people who signed in that could still be used.
func (s *Server) LiveVisitorTokens() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, t := range s.tokens {
		if t.via != nil && !t.revoked && s.now().Before(t.expires) {
			n++
		}
	}
	return n
}

var authorizeTemplate = template.Must(template.New("authorize").Parse(`<!doctype html><meta charset="utf-8"><title>Authorize {{.App}}</title>
<h1>{{.App}} wants to know who {{.Login}} is</h1><form method="post" action="{{.Action}}">
{{range $name, $value := .Values}}<input type="hidden" name="{{$name}}" value="{{$value}}">{{end}}
<input type="hidden" name="authorize" value="1"><button id="yes">Authorize {{.App}}</button></form>`))
