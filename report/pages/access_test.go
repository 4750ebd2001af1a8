package pages

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prbench/prbench/internal/forgetest"
	"github.com/prbench/prbench/internal/job"
)

var hiddenField = regexp.MustCompile(`name="(\w+)" value="([^"]*)"`)

// signsIn opens the page's sign-in as a person who is signed in on GitHub and says
// yes there, and gives what is shown at the end.
func (r *reader) signsIn(login, address string) page {
	r.w.t.Helper()
	r.w.ok(r.w.SignIn(login))
	p := r.open(address + "/sign-in")
	if !strings.Contains(p.body, "Authorize prbench") {
		return p // said yes before
	}
	values := url.Values{}
	for _, f := range hiddenField.FindAllStringSubmatch(p.body, -1) {
		values.Set(f[1], html.UnescapeString(f[2]))
	}
	req, err := http.NewRequest(http.MethodPost, r.w.URL()+"/login/oauth/authorize", strings.NewReader(values.Encode()))
	r.w.ok(err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return r.send(req)
}

// cookies are those that the browser has for the pages.
func (r *reader) cookies() map[string]string {
	u, err := url.Parse(r.w.site.URL + "/r/x")
	r.w.ok(err)
	out := map[string]string{}
	for _, c := range r.Jar.Cookies(u) {
		out[c.Name] = c.Value
	}
	return out
}

// give puts a cookie into the browser.
func (r *reader) give(name, value string) {
	u, err := url.Parse(r.w.site.URL + "/r/x")
	r.w.ok(err)
	r.Jar.SetCookies(u, []*http.Cookie{{Name: name, Value: value, Path: "/r/"}})
}

func private(j *job.Job) { j.Repository.Private = true }

func TestAPrivatePageIsForThoseWhoMayReadTheRepository(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldSpec{private: true, signIn: true})
	j := w.ask(private)
	l := w.claim()
	w.pairs(l, 0, 5)
	w.end(l, job.Outcome{Kind: job.Measured, Runs: 10, Pairs: 5})
	if w.pages.URL(j) == "" {
		t.Fatal("with a sign-in a private page has its link")
	}
	me := w.browser()
	for _, path := range []string{"", "/samples.csv", "/report.json", "/report.html", "/nothing"} {
		p := me.open(w.pages.URL(j) + path)
		if p.status != http.StatusForbidden || p.header.Get("Cache-Control") != "private, no-store" {
			t.Errorf("%s to a stranger: %d, %v", path, p.status, p.header)
		}
		p.says(t, "Sign in to see this page", address(j)+"/sign-in")
		p.hides(t, "ns/op", "acme", "regression", "bbbbbbb")
	}
	p := me.signsIn("reader", w.pages.URL(j))
	if p.status != http.StatusOK || p.at != w.pages.URL(j) {
		t.Fatalf("after the sign-in: %d at %s\n%s", p.status, p.at, p.body)
	}
	p.says(t, "1 regression beyond 2 %")
	if got := p.header.Get("Cache-Control"); got != "private, no-store" {
		t.Errorf("Cache-Control is %q", got)
	}
	me.open(w.pages.URL(j)+"/samples.csv").says(t, `"old","clear"`)

	other := w.browser()
	if p := other.signsIn("stranger", w.pages.URL(j)); p.status != http.StatusForbidden {
		t.Errorf("a stranger who signed in: %d\n%s", p.status, p.body)
	} else {
		p.says(t, "not for your account")
		p.hides(t, "ns/op", "acme")
	}
	if p := other.open(w.pages.URL(j)); p.status != http.StatusForbidden {
		t.Errorf("the stranger again: %d", p.status)
	}
	w.leavesNoSecret(t, me, other)
}

// leavesNoSecret looks for GitHub's secrets in the logs and in what browsers have.
func (w *world) leavesNoSecret(t *testing.T, readers ...*reader) {
	t.Helper()
	shown := w.log.String()
	for _, r := range readers {
		for name, value := range r.cookies() {
			shown += name + value
		}
	}
	for _, secret := range w.Secrets() {
		if secret != "" && strings.Contains(shown, secret) {
			t.Error("a secret is in a log or a cookie")
		}
	}
	if n := w.LiveVisitorTokens(); n != 0 {
		t.Errorf("%d tokens of visitors still work", n)
	}
}

func TestASessionEndsAndIsForOneRepository(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldSpec{private: true, signIn: true})
	j := w.ask(private)
	me := w.browser()
	if p := me.signsIn("reader", w.pages.URL(j)); p.status != http.StatusOK {
		t.Fatalf("%d\n%s", p.status, p.body)
	}
	kept := me.cookies()[sessionCookie(w.repo.ID)]
	if kept == "" {
		t.Fatalf("no session in %v", me.cookies())
	}
	second, err := w.AddRepo("acme/other", forgetest.RepoSpec{Private: true, Build: forgetest.WriteFiles("first", map[string]string{"a": "b\n"})})
	w.ok(err)
	elsewhere := w.ask(func(j *job.Job) { private(j); j.Repository.ID = second.ID })
	me.give(sessionCookie(second.ID), kept)
	if p := me.open(w.pages.URL(elsewhere)); p.status != http.StatusForbidden {
		t.Errorf("another repository's page with this one's session: %d", p.status)
	}
	text, mac, _ := strings.Cut(kept, ".")
	begunHere, err := w.pages.seal.seal(forSignIn, session{User: 1, Repository: w.repo.ID, Until: w.now().Add(time.Hour)})
	w.ok(err)
	for _, forged := range []string{"", ".", text, text + ".", text + "." + mac[1:], "x" + text + "." + mac, text + "x." + mac, begunHere, strings.Repeat("A", 5000) + "." + mac} {
		thief := w.browser()
		thief.give(sessionCookie(w.repo.ID), forged)
		if p := thief.open(w.pages.URL(j)); p.status != http.StatusForbidden {
			t.Errorf("the session %.80q: %d", forged, p.status)
		}
	}
	thief := w.browser()
	thief.give(sessionCookie(w.repo.ID), kept)
	w.pass(sessionTime - time.Minute)
	if p := thief.open(w.pages.URL(j)); p.status != http.StatusOK {
		t.Errorf("shortly before its end: %d", p.status)
	}
	w.pass(2 * time.Minute)
	if p := thief.open(w.pages.URL(j)); p.status != http.StatusForbidden {
		t.Errorf("after its end: %d", p.status)
	}
	w.ok(w.Grant(w.repo, "reader", "none"))
	if p := me.signsIn("reader", w.pages.URL(j)); p.status != http.StatusForbidden {
		t.Errorf("after its end, with no right to read any more: %d", p.status)
	}
}

func TestTheCallbackLeadsNowhereElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldSpec{private: true, signIn: true})
	j := w.ask(private)
	w.ok(w.SignIn("reader"))
	begins := func() (me *reader, state string) {
		me = w.browser()
		me.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		p := me.open(w.pages.URL(j) + "/sign-in?to=https://evil.test/&return=//evil.test")
		to, err := url.Parse(p.header.Get("Location"))
		w.ok(err)
		if p.status != http.StatusSeeOther || !strings.HasPrefix(to.String(), w.URL()+"/login/oauth/authorize?") || to.Query().Get("code_challenge_method") != "S256" {
			t.Fatalf("the sign-in leads to %s", to)
		}
		for _, line := range p.header.Values("Set-Cookie") {
			if !strings.Contains(line, "HttpOnly") || !strings.Contains(line, "SameSite=Lax") || !strings.Contains(line, "Path=/r/") || !strings.Contains(line, "Max-Age=600") {
				t.Errorf("the cookie is %s", line)
			}
		}
		return me, to.Query().Get("state")
	}
	back := func(r *reader, query string) page { return r.open(w.site.URL + "/r/callback?" + query) }
	me, state := begins()
	thief := w.browser()
	for name, p := range map[string]page{
		"another browser": back(thief, "code=c&state="+state), "no state": back(me, "code=c"), "another state": back(me, "code=c&state="+strings.Repeat("A", 26)),
		"a short state": back(me, "code=c&state=A"), "the beginning alone": back(me, "code=c&state="+state[:8]+strings.Repeat("A", 18)),
	} {
		if p.status != http.StatusForbidden || !strings.Contains(p.body, "did not begin here") || p.header.Get("Location") != "" {
			t.Errorf("%s: %d %s", name, p.status, p.header.Get("Location"))
		}
	}
	if p := back(me, "error=access_denied&state="+state); p.status != http.StatusForbidden || !strings.Contains(p.body, "Nobody signed in") {
		t.Errorf("declined: %d\n%s", p.status, p.body)
	}
	if p := back(me, "code=c&state="+state); p.status != http.StatusForbidden || !strings.Contains(p.body, "did not begin here") {
		t.Errorf("a state that was used: %d\n%s", p.status, p.body)
	}
	me, state = begins()
	if p := back(me, "code=made-up&state="+state); p.status != http.StatusBadGateway || !strings.Contains(p.body, "did not work") {
		t.Errorf("a code that GitHub did not give: %d\n%s", p.status, p.body)
	}
	me, state = begins()
	w.pass(signInTime + time.Second)
	if p := back(me, "code=c&state="+state); p.status != http.StatusForbidden {
		t.Errorf("too late: %d", p.status)
	}
	if sealed, err := w.pages.seal.seal(forSession, begun{State: state, Page: address(j), Until: w.now().Add(time.Hour)}); err != nil {
		t.Error(err)
	} else {
		me.give(signInCookie(state), sealed)
		if p := back(me, "code=c&state="+state); p.status != http.StatusForbidden || !strings.Contains(p.body, "did not begin here") {
			t.Errorf("what was signed for another purpose: %d", p.status)
		}
	}
	w.leavesNoSecret(t, me, thief)
}

func TestWithoutASignInPrivatePagesAreClosedAndSaySo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldSpec{private: true})
	j := w.ask(private)
	if url := w.pages.URL(j); url != "" {
		t.Errorf("a link that nobody can open: %s", url)
	}
	me := w.browser()
	for _, path := range []string{"", "/samples.csv", "/sign-in"} {
		p := me.open(w.site.URL + "/r/" + address(j) + path)
		if p.status != http.StatusForbidden {
			t.Errorf("%s: %d", path, p.status)
		}
		p.says(t, "github.client_id", "operators")
	}
	me.give(sessionCookie(w.repo.ID), "a.b")
	if p := me.open(w.site.URL + "/r/" + address(j)); p.status != http.StatusForbidden {
		t.Errorf("with a cookie: %d", p.status)
	}
}

func TestARepositoryThatBecomesPrivateTakesItsPagesAlong(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldSpec{signIn: true})
	j := w.measured()
	me := w.browser()
	if p := me.open(w.pages.URL(j)); p.status != http.StatusOK {
		t.Fatalf("public: %d", p.status)
	}
	w.ok(w.SetPrivate("reader", w.repo, true))
	w.pass(visibilityTime + time.Second)
	if p := me.open(w.pages.URL(j)); p.status != http.StatusForbidden {
		t.Errorf("private now: %d", p.status)
	}
	if p := me.signsIn("reader", w.pages.URL(j)); p.status != http.StatusOK {
		t.Errorf("to a reader: %d\n%s", p.status, p.body)
	}
	w.Fail(forgetest.Fault{Path: "/repositories/**", Status: http.StatusBadGateway, Times: -1})
	w.Fail(forgetest.Fault{Path: "/repositories/*", Status: http.StatusBadGateway, Times: -1})
	w.pass(visibilityTime + time.Second)
	asked := func() int {
		return len(w.RequestsTo("GET", "/repositories/**")) + len(w.RequestsTo("GET", "/repositories/*"))
	}
	if p := w.browser().open(w.pages.URL(j)); p.status != http.StatusForbidden {
		t.Errorf("while GitHub is away: %d", p.status)
	}
	before := asked()
	if p := w.browser().open(w.pages.URL(j)); p.status != http.StatusForbidden || asked() != before {
		t.Errorf("at once again: %d, asked %d times more", p.status, asked()-before)
	}
	w.pass(visibilityRest + time.Second)
	if p := w.browser().open(w.pages.URL(j)); p.status != http.StatusForbidden || asked() == before {
		t.Errorf("after a rest: %d, and GitHub is not asked again", p.status)
	}
}

func TestCookiesAreForTLSWhereThePagesAre(t *testing.T) {
	t.Parallel()
	for public, want := range map[string][2]any{"https://bench.test/sub": {true, "/sub/r/"}, "http://127.0.0.1:1": {false, "/r/"}} {
		s, err := New(Config{PublicURL: public})
		if err != nil {
			t.Fatal(err)
		}
		if c := s.cookie("n", "v", time.Hour); c.Secure != want[0] || c.Path != want[1] || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.MaxAge != 3600 {
			t.Errorf("%s: %+v", public, c)
		}
	}
	if _, err := New(Config{PublicURL: "https://bench.test", ClientSecret: "s"}); err == nil {
		t.Error("a secret without a sign-in is taken")
	}
}

func TestTwoClientsSecretsGiveTwoKeys(t *testing.T) {
	t.Parallel()
	a, err := newSealer("one")
	if err != nil {
		t.Fatal(err)
	}
	b, err := newSealer("two")
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := a.seal(forSession, session{User: 1})
	var s session
	if err != nil || !a.open(forSession, sealed, &s) || s.User != 1 {
		t.Fatalf("%v %+v", err, s)
	}
	if b.open(forSession, sealed, &s) || a.open(forSignIn, sealed, &s) || a.verifier("x") == b.verifier("x") || a.verifier("x") == a.verifier("y") {
		t.Error("a key or a purpose makes no difference")
	}
}

func FuzzWhatABrowserSendsOpensNothing(f *testing.F) {
	s, err := newSealer("the secret of the client")
	if err != nil {
		f.Fatal(err)
	}
	whole, err := s.seal(forSession, session{User: 1, Repository: 2})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole, "1.1.1-0123456789abcdef0123456789abcdef")
	f.Add(whole[1:], "1.1.1")
	f.Add(".", "-")
	f.Add("e30.e30", "callback")
	f.Fuzz(func(t *testing.T, cookie, name string) {
		var got session
		if s.open(forSession, cookie, &got) && cookie != whole && !strings.HasPrefix(whole, strings.SplitN(cookie, ".", 2)[0]+".") {
			t.Errorf("%q opens", cookie)
		}
		if id, page, ok := parseAddress(name); ok && string(id)+"-"+page != name {
			t.Errorf("%q is read as %q and %q", name, id, page)
		}
	})
}
