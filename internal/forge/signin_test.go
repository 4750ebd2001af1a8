package forge_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/oauth2"

	"github.com/prbench/prbench/internal/forge"
	"github.com/prbench/prbench/internal/forgetest"
)

const callback = "https://bench.example.org/r/callback"

// signIn is the sign-in of the world's App.
func (w *world) signIn() *forge.SignIn {
	w.t.Helper()
	w.SetCallbacks(w.app, callback)
	transport := &http.Transport{}
	w.t.Cleanup(transport.CloseIdleConnections)
	s, err := forge.NewSignIn(forge.Config{URL: w.APIURL(), Transport: transport, Pace: -1, Clock: w.clock}, w.app.ClientID(), w.app.ClientSecret(), callback)
	w.ok(err)
	return s
}

// agree says yes to the App as a person, and gives the code and the state with
// which the browser would go back.
func (w *world) agree(s *forge.SignIn, login, state, verifier string) (code, back string) {
	w.t.Helper()
	w.ok(w.SignIn(login))
	address, err := url.Parse(s.Address(state, verifier))
	w.ok(err)
	transport := &http.Transport{DisableKeepAlives: true}
	req, err := http.NewRequest(http.MethodPost, address.Scheme+"://"+address.Host+address.Path, strings.NewReader(address.RawQuery+"&authorize=1"))
	w.ok(err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := transport.RoundTrip(req)
	w.ok(err)
	w.ok(resp.Body.Close())
	to, err := resp.Location()
	w.ok(err)
	if !strings.HasPrefix(to.String(), callback+"?") {
		w.t.Fatalf("GitHub sends the browser to %s", to)
	}
	return to.Query().Get("code"), to.Query().Get("state")
}

func TestASignInTellsWhoMayReadTheRepository(t *testing.T) {
	w := newWorld(t)
	w.ok(w.Grant(w.repo, "dev-a", "read"))
	s := w.signIn()
	seen := map[int64]bool{}
	for login, may := range map[string]bool{"dev-a": true, "stranger": false} {
		verifier := oauth2.GenerateVerifier()
		code, state := w.agree(s, login, "the state", verifier)
		v, err := s.Visit(w.ctx, code, verifier, w.repo.ID)
		w.ok(err)
		if v.MayRead != may || v.ID == 0 || seen[v.ID] || state != "the state" {
			t.Errorf("%s: %+v, state %q", login, v, state)
		}
		seen[v.ID] = true
		if _, err := s.Visit(w.ctx, code, verifier, w.repo.ID); err == nil {
			t.Errorf("%s: the code worked twice", login)
		}
	}
	if n := w.LiveVisitorTokens(); n != 0 {
		t.Errorf("%d tokens of visitors still work", n)
	}
}

func TestASignInAsksByTheRepositorysID(t *testing.T) {
	w := newWorld(t)
	w.ok(w.Grant(w.repo, "dev-a", "read"))
	w.ok(w.Rename("dev-a", w.repo, "motor"))
	s := w.signIn()
	verifier := oauth2.GenerateVerifier()
	code, _ := w.agree(s, "dev-a", "s", verifier)
	if v, err := s.Visit(w.ctx, code, verifier, w.repo.ID); err != nil || !v.MayRead {
		t.Errorf("the renamed repository: %+v, %v", v, err)
	}
	r, err := w.gh.RepositoryByID(w.ctx, w.repo.ID)
	if err != nil || r.Repo.Name != "motor" || !r.Private {
		t.Errorf("by its id: %+v, %v", r, err)
	}
}

func TestACodeIsOfNoUseWithoutItsVerifier(t *testing.T) {
	w := newWorld(t)
	s := w.signIn()
	code, _ := w.agree(s, "dev-a", "s", oauth2.GenerateVerifier())
	for _, c := range []string{code, "another", "", "../user", strings.Repeat("x", 300)} {
		v, err := s.Visit(w.ctx, c, oauth2.GenerateVerifier(), w.repo.ID)
		if err == nil || v.MayRead {
			t.Errorf("code %q: %+v, %v", c, v, err)
		}
	}
	if n := w.LiveVisitorTokens(); n != 0 {
		t.Errorf("%d tokens were given", n)
	}
}

func TestNoSecretOfASignInIsPrintedOrInAnError(t *testing.T) {
	w := newWorld(t)
	s := w.signIn()
	verifier := oauth2.GenerateVerifier()
	code, _ := w.agree(s, "dev-a", "s", verifier)
	w.Fail(forgetest.Fault{Method: http.MethodGet, Path: "/user", Status: http.StatusInternalServerError})
	_, err := s.Visit(w.ctx, code, verifier, w.repo.ID)
	if err == nil {
		t.Fatal("GitHub failed and the sign-in did not")
	}
	shown := fmt.Sprintf("%v %+v %#v %s %v", s, s, s, s.LogValue(), err)
	for _, secret := range append(w.Secrets(), verifier, code) {
		if strings.Contains(shown, secret) {
			t.Errorf("a secret is shown: %s", shown)
		}
	}
	if n := w.LiveVisitorTokens(); n != 0 {
		t.Errorf("%d tokens still work after the failure", n)
	}
}

func TestASignInWantsWhatItNeeds(t *testing.T) {
	for _, bad := range [][4]string{
		{"https://api.github.com", "", "secret", callback}, {"https://api.github.com", "id", "", callback},
		{"https://api.github.com", "id", "secret", "/r/callback"}, {"http://ghe.example.org/api/v3", "id", "secret", callback},
	} {
		if _, err := forge.NewSignIn(forge.Config{URL: bad[0]}, bad[1], bad[2], bad[3]); err == nil || strings.Contains(err.Error(), "secret,") {
			t.Errorf("%v: %v", bad, err)
		}
	}
}
