package forgetest_test

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/prbench/prbench/internal/forgetest"
)

// jwt signs claims as an App does.
func jwt(t *testing.T, key *rsa.PrivateKey, alg string, claims map[string]any) string {
	t.Helper()
	part := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return base64.RawURLEncoding.EncodeToString(b)
	}
	text := part(map[string]any{"alg": alg, "typ": "JWT"}) + "." + part(claims)
	sum := sha256.Sum256([]byte(text))
	sig, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(sig)
}

func keyOf(t *testing.T, app *forgetest.App) *rsa.PrivateKey {
	t.Helper()
	block, _ := pem.Decode(app.PrivateKey)
	key, err := x509.ParsePKCS1PrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// claims are good ones of an App.
func claims(app *forgetest.App) map[string]any { return claimsAt(app, time.Now()) }

func claimsAt(app *forgetest.App, at time.Time) map[string]any {
	now := at.Unix()
	return map[string]any{"iss": strconv.FormatInt(app.ID, 10), "iat": now - 30, "exp": now + 500}
}

func with(claims map[string]any, key string, value any) map[string]any {
	claims[key] = value
	return claims
}

func TestAnAppIsKnownByItsSignatureOnly(t *testing.T) {
	w := newWorld(t, true)
	key := keyOf(t, w.app)
	foreign, err := rsa.GenerateKey(rand.Reader, 2048)
	w.ok(err)
	now := time.Now().Unix()
	good := jwt(t, key, "RS256", claims(w.app))
	for _, c := range []struct {
		name, token string
		want        int
	}{
		{"a good signature", good, 200},
		{"an issuer as a number", jwt(t, key, "RS256", with(claims(w.app), "iss", w.app.ID)), 200},
		{"somebody else's key", jwt(t, foreign, "RS256", claims(w.app)), 401},
		{"another algorithm", jwt(t, key, "none", claims(w.app)), 401},
		{"a changed claim", good[:len(good)-400] + "x" + good[len(good)-399:], 401},
		{"an unknown App", jwt(t, key, "RS256", with(claims(w.app), "iss", "1")), 404},
		{"an expired token", jwt(t, key, "RS256", with(claims(w.app), "exp", now-10)), 401},
		{"eleven minutes and more", jwt(t, key, "RS256", with(claims(w.app), "exp", now+12*60)), 401},
		{"a token from the future", jwt(t, key, "RS256", with(claims(w.app), "iat", now+600)), 401},
		{"no token", "", 401},
	} {
		if got, body := w.get(c.token, "/app"); got != c.want {
			t.Errorf("%s: %d %v, want %d", c.name, got, body["message"], c.want)
		}
	}
	if got, _ := w.get(good, "/repos/acme/engine"); got != 401 {
		t.Errorf("an App's JWT reads a repository: %d", got)
	}
	if got, _ := w.get(good, "/repos/acme/engine/installation"); got != 200 {
		t.Errorf("an App does not find its installation: %d", got)
	}
}

// mint asks for a token with the body.
func (w *world) mint(body string) (int, string) {
	w.t.Helper()
	at := time.Now()
	if w.now != nil {
		at = w.now()
	}
	status, out := w.send("POST", jwt(w.t, keyOf(w.t, w.app), "RS256", claimsAt(w.app, at)), fmt.Sprintf("/app/installations/%d/access_tokens", w.inst.ID), body)
	token, _ := out["token"].(string)
	return status, token
}

func TestATokenIsNoWiderThanItsScope(t *testing.T) {
	w := newWorld(t, true)
	forgetest.Must(w.AddRepo("acme/other", forgetest.RepoSpec{Private: true, Build: forgetest.WriteFiles("x", map[string]string{"a": "b"})}))
	_, whole := w.mint("")
	_, byID := w.mint(fmt.Sprintf(`{"repository_ids":[%d],"permissions":{"contents":"read"}}`, w.repo.ID))
	_, byName := w.mint(`{"repositories":["engine"],"permissions":{"issues":"write"}}`)
	comment := `{"body":"text"}`
	for _, c := range []struct {
		name, token, method, path, body string
		want                            int
	}{
		{"the whole token", whole, "POST", "/repos/acme/engine/issues/1/comments", comment, 201},
		{"the whole token", whole, "GET", "/repos/acme/other/contents/a", "", 200},
		{"contents:read", byID, "GET", "/repos/acme/engine/contents/speed.txt", "", 200},
		{"contents:read", byID, "GET", "/repos/acme/engine", "", 200},
		{"contents:read", byID, "GET", "/repos/acme/other/contents/a", "", 404},
		{"contents:read", byID, "GET", "/repos/acme/other", "", 404},
		{"contents:read", byID, "POST", "/repos/acme/engine/issues/1/comments", comment, 403},
		{"contents:read", byID, "GET", "/repos/acme/engine/issues/1/comments", "", 403},
		{"contents:read", byID, "POST", "/repos/acme/engine/check-runs", `{"name":"x","head_sha":"` + w.Head(w.pull) + `"}`, 403},
		{"issues:write", byName, "POST", "/repos/acme/engine/issues/1/comments", comment, 201},
		{"issues:write", byName, "GET", "/repos/acme/engine/contents/speed.txt", "", 403},
		{"nobody", "", "GET", "/repos/acme/engine", "", 404},
		{"a made-up token", "ghs_made_up", "GET", "/repos/acme/engine", "", 401},
	} {
		if got, out := w.send(c.method, c.token, c.path, c.body); got != c.want {
			t.Errorf("%s: %s %s: %d %v, want %d", c.name, c.method, c.path, got, out["message"], c.want)
		}
	}
	for name, body := range map[string]string{
		"more than the App has":    `{"permissions":{"contents":"write"}}`,
		"a permission it lacks":    `{"permissions":{"administration":"read"}}`,
		"a repository it lacks":    fmt.Sprintf(`{"repository_ids":[%d]}`, w.fork.ID),
		"a repository that is not": `{"repositories":["none"]}`,
	} {
		if got, token := w.mint(body); got != 422 || token != "" {
			t.Errorf("%s: %d", name, got)
		}
	}
}

func TestATokenEndsWithItsHourItsInstallationOrByItself(t *testing.T) {
	now := time.Now()
	s := forgetest.Must(forgetest.New(forgetest.Options{Now: func() time.Time { return now }}))
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	w := &world{Server: s, t: t, now: func() time.Time { return now }}
	w.repo = forgetest.Must(s.AddRepo("acme/engine", forgetest.RepoSpec{Private: true}))
	w.app = forgetest.Must(s.AddApp(forgetest.AppSpec{Slug: "prbench"}))
	w.inst = forgetest.Must(s.Install(w.app, "acme"))
	_, token := w.mint("")
	_, other := w.mint("")
	// Reading without a token would not be noticed in a public repository.
	reads := func(token string) int { status, _ := w.get(token, "/repos/acme/engine"); return status }
	if reads(token) != 200 || s.LiveTokens() != 2 {
		t.Fatal("a new token does not read")
	}
	if status, _ := w.send("DELETE", token, "/installation/token", ""); status != 204 || reads(token) != 401 || reads(other) != 200 {
		t.Fatal("a token does not end by itself alone")
	}
	now = now.Add(61 * time.Minute)
	if reads(other) != 401 || s.LiveTokens() != 0 {
		t.Fatal("a token lives longer than an hour")
	}
	_, third := w.mint("")
	w.ok(s.Suspend("acme", w.inst, true))
	if reads(third) != 403 {
		t.Fatal("a suspended installation still reads")
	}
	w.ok(s.Suspend("acme", w.inst, false))
	w.ok(s.Uninstall("acme", w.inst))
	if reads(third) != 401 {
		t.Fatal("a removed installation still reads")
	}
}

func TestTheLogNamesTheCredentialWithoutGivingItAway(t *testing.T) {
	w := newWorld(t, true)
	_, token := w.mint("")
	w.get(token, "/repos/acme/engine")
	got := w.RequestsTo("GET", "/repos/acme/engine")
	if len(got) != 1 || got[0].Token != forgetest.Fingerprint(token) || got[0].Who != fmt.Sprintf("installation ID %d", w.inst.ID) || got[0].Status != 200 {
		t.Fatalf("logged %+v", got)
	}
	if got[0].Header.Get("Authorization") != "" {
		t.Fatal("the log holds the credential")
	}
	found := false
	for _, secret := range w.Secrets() {
		found = found || secret == token
	}
	if !found {
		t.Fatal("the token is not among those that were handed out")
	}
	w.ok(w.Settle(context.Background()))
}
