package forge_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prbench/prbench/internal/forge"
	"github.com/prbench/prbench/internal/forgetest"
)

func TestAnAppKnowsItselfItsInstallationsAndTheirRepositories(t *testing.T) {
	w := newWorld(t)
	self, err := w.forge.Self(w.ctx)
	w.ok(err)
	if self != (forge.Identity{Login: "prbench[bot]", AppID: w.app.ID, Slug: "prbench"}) {
		t.Fatalf("self is %+v", self)
	}
	if !self.Is(forge.Account{Login: "PRbench[bot]", Type: "Bot"}) || self.Is(forge.Account{Login: "prbench[bot]", Type: "User"}) || self.Is(forge.Account{}) {
		t.Fatal("does not know its own account")
	}
	all, err := w.forge.Installations(w.ctx)
	w.ok(err)
	if len(all) != 1 || all[0].ID != w.inst.ID || all[0].Account.Login != "acme" || all[0].Permissions["checks"] != "write" {
		t.Fatalf("installations are %+v", all)
	}
	one, err := w.forge.InstallationOf(w.ctx, w.name)
	w.ok(err)
	if one.ID != w.inst.ID {
		t.Fatalf("the installation is %+v", one)
	}
	_, err = w.forge.InstallationOf(w.ctx, forge.Repo{Owner: "dev-b", Name: "engine"})
	w.is(err, forge.NotFound)
	for i := range 101 {
		_, err := w.AddRepo(fmt.Sprintf("acme/r%d", i), forgetest.RepoSpec{Private: true})
		w.ok(err)
	}
	repos, err := w.gh.Repositories(w.ctx)
	w.ok(err)
	if len(repos) != 102 {
		t.Fatalf("%d repositories, want 102", len(repos))
	}
}

func TestARepoTokenIsForOneRepositoryAndForReadingIt(t *testing.T) {
	w := newWorld(t)
	other, err := w.AddRepo("acme/other", forgetest.RepoSpec{Private: true, Build: forgetest.WriteFiles("x", map[string]string{"a": "b"})})
	w.ok(err)
	token, err := w.forge.RepoToken(w.ctx, w.inst.ID, w.repo.ID, forge.CloneOnly)
	w.ok(err)
	holder := w.connect(forge.Config{Token: token.Secret()}).Installation(0)
	if _, err := holder.FileAtDefaultBranch(w.ctx, w.name, "speed.txt"); err != nil {
		t.Fatal(err)
	}
	_, err = holder.FileAtDefaultBranch(w.ctx, forge.Repo{Owner: "acme", Name: "other"}, "a")
	w.is(err, forge.NotFound)
	_, err = holder.CreateComment(w.ctx, w.name, 1, "text")
	w.is(err, forge.NoPermission)
	_, err = holder.Comments(w.ctx, w.name, 1)
	w.is(err, forge.NoPermission)

	w.ok(token.Revoke(w.ctx))
	w.ok(token.Revoke(w.ctx)) // no error when it is useless already
	_, err = holder.FileAtDefaultBranch(w.ctx, w.name, "speed.txt")
	w.is(err, forge.Unauthorized)

	w.ok(w.SelectRepos("dev-a", w.inst, []*forgetest.Repo{other}, nil))
	_, err = w.forge.RepoToken(w.ctx, w.inst.ID, w.repo.ID, forge.CloneOnly)
	w.is(err, forge.Unprocessable)
	_, err = w.forge.RepoToken(w.ctx, w.inst.ID, 0, forge.CloneOnly)
	w.is(err, forge.Refused)
}

func TestATokenThatIsWiderThanAskedForIsNotUsed(t *testing.T) {
	w := newWorld(t)
	for name, answer := range map[string]string{
		"every repository": `{"token":"ghs_wide","expires_at":"2030-01-01T00:00:00Z","permissions":{"contents":"read"}}`,
		"more permissions": fmt.Sprintf(`{"token":"ghs_wide","permissions":{"contents":"read","issues":"write"},"repositories":[{"id":%d}]}`, w.repo.ID),
		"write for read":   fmt.Sprintf(`{"token":"ghs_wide","permissions":{"contents":"write"},"repositories":[{"id":%d}]}`, w.repo.ID),
		"another":          fmt.Sprintf(`{"token":"ghs_wide","permissions":{"contents":"read"},"repositories":[{"id":%d}]}`, w.repo.ID+1),
		"no token":         fmt.Sprintf(`{"permissions":{"contents":"read"},"repositories":[{"id":%d}]}`, w.repo.ID),
	} {
		w.Fail(forgetest.Fault{Method: "POST", Path: "/app/installations/*/access_tokens", Status: 201, Body: answer})
		token, err := w.forge.RepoToken(w.ctx, w.inst.ID, w.repo.ID, forge.CloneOnly)
		if err == nil || token != nil {
			t.Errorf("%s: was accepted", name)
		}
		w.is(err, forge.BadAnswer)
	}
}

func TestATokenPrintsAsItsName(t *testing.T) {
	w := newWorld(t)
	token, err := w.forge.RepoToken(w.ctx, w.inst.ID, w.repo.ID, forge.CloneOnly)
	w.ok(err)
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("minted", "token", token, "config", forge.Config{Token: token.Secret()})
	slog.New(slog.NewTextHandler(&log, nil)).Info("minted", "token", token)
	for _, text := range []string{fmt.Sprint(token), fmt.Sprintf("%+v", token), fmt.Sprintf("%#v", token), log.String(), fmt.Sprintf("%+v", forge.Config{Token: token.Secret()})} {
		if strings.Contains(text, token.Secret()) {
			t.Errorf("%s", text)
		}
	}
	if _, err := json.Marshal(token); err == nil {
		t.Error("a token was marshalled")
	}
}

func TestAWithdrawnInstallationTokenIsRenewed(t *testing.T) {
	w := newWorld(t)
	_, err := w.gh.CreateComment(w.ctx, w.name, 1, "one")
	w.ok(err)
	w.RevokeTokens(w.inst)
	_, err = w.gh.CreateComment(w.ctx, w.name, 1, "two")
	w.ok(err)
	got := w.Conversation(w.pull).Comments
	if len(got) != 2 || got[1].Body != "two" {
		t.Fatalf("shown: %+v", got)
	}
}

func TestAnInstallationThatIsSuspendedOrGoneIsToldApart(t *testing.T) {
	w := newWorld(t)
	w.ok(w.Suspend("dev-a", w.inst, true))
	_, err := w.gh.PullRequest(w.ctx, w.name, 1)
	w.is(err, forge.Suspended)
	_, err = w.forge.RepoToken(w.ctx, w.inst.ID, w.repo.ID, forge.CloneOnly)
	w.is(err, forge.Suspended)
	w.ok(w.Suspend("dev-a", w.inst, false))
	_, err = w.gh.PullRequest(w.ctx, w.name, 1)
	w.ok(err)
	w.ok(w.Uninstall("dev-a", w.inst))
	_, err = w.gh.PullRequest(w.ctx, w.name, 1)
	w.is(err, forge.Uninstalled)
	_, err = w.forge.RepoToken(w.ctx, w.inst.ID, w.repo.ID, forge.CloneOnly)
	w.is(err, forge.Uninstalled)
}

func TestTheWrongKeyIsUnauthorized(t *testing.T) {
	w := newWorld(t)
	other, err := w.AddApp(forgetest.AppSpec{Slug: "other"})
	w.ok(err)
	f := w.connect(forge.Config{AppID: w.app.ID, PrivateKey: other.PrivateKey})
	_, err = f.Self(w.ctx)
	w.is(err, forge.Unauthorized)
	_, err = f.Installation(w.inst.ID).PullRequest(w.ctx, w.name, 1)
	w.is(err, forge.Unauthorized)
}

func TestManyInstallationsWorkAtOnce(t *testing.T) {
	w := newWorld(t)
	f := w.connect(forge.Config{AppID: w.app.ID, PrivateKey: w.app.PrivateKey, Pace: -1})
	var wg sync.WaitGroup
	errs := make(chan error, 64)
	for i := range 4 {
		owner := fmt.Sprintf("org-%d", i)
		repo, err := w.AddRepo(owner+"/engine", forgetest.RepoSpec{Build: forgetest.WriteFiles("x", map[string]string{"speed.txt": "slow"})})
		w.ok(err)
		inst, err := w.Install(w.app, owner)
		w.ok(err)
		for range 4 {
			wg.Go(func() {
				_, err := f.Installation(inst.ID).FileAtDefaultBranch(w.ctx, forge.Repo{Owner: owner, Name: "engine"}, "speed.txt")
				errs <- err
				token, err := f.RepoToken(w.ctx, inst.ID, repo.ID, forge.CloneOnly)
				if err == nil {
					err = token.Revoke(w.ctx)
				}
				errs <- err
			})
		}
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		w.ok(err)
	}
	mints := 0
	for _, r := range w.RequestsTo("POST", "/app/installations/*/access_tokens") {
		if !strings.Contains(string(r.Body), "repository_ids") {
			mints++
		}
	}
	if mints != 4 {
		t.Fatalf("%d tokens to read with were minted for 4 installations", mints)
	}
}

func TestWebhooksThatNeverArrivedAreListedAndDeliveredAgain(t *testing.T) {
	w := newWorld(t)
	var mu sync.Mutex
	status, got := http.StatusServiceUnavailable, map[string]int{}
	sink := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		got[r.Header.Get("X-GitHub-Delivery")]++
		rw.WriteHeader(status)
	}))
	defer sink.Close()
	w.SetWebhook(w.app, sink.URL, "secret")
	w.SetDeliveryMode(forgetest.DeliveryMode{Sync: true})
	for i := range 101 { // more than a page
		_, err := w.Comment("dev-a", w.pull, fmt.Sprint("comment ", i))
		w.ok(err)
	}
	mu.Lock()
	status = http.StatusAccepted
	mu.Unlock()
	w.ok(w.AddLabel("dev-a", w.pull, "benchmark"))

	since := time.Now().Add(-time.Hour)
	failed, err := w.forge.FailedDeliveries(w.ctx, since)
	w.ok(err)
	if len(failed) != 101 || failed[0].Event != "issue_comment" || failed[0].StatusCode != 503 || failed[0].InstallationID != w.inst.ID {
		t.Fatalf("%d failed: %+v", len(failed), failed[:min(1, len(failed))])
	}
	if !(failed[0].ID < failed[100].ID) {
		t.Fatal("not oldest first")
	}
	for _, d := range failed {
		w.ok(w.forge.Redeliver(w.ctx, d.ID))
	}
	w.ok(w.Settle(w.ctx))
	if failed, err = w.forge.FailedDeliveries(w.ctx, since); err != nil || len(failed) != 0 {
		t.Fatalf("%d still failed, %v", len(failed), err)
	}
	mu.Lock()
	defer mu.Unlock()
	for guid, n := range got {
		if n > 2 {
			t.Fatalf("%s was delivered %d times", guid, n)
		}
	}
	if failed, err = w.forge.FailedDeliveries(w.ctx, time.Now().Add(time.Hour)); err != nil || len(failed) != 0 {
		t.Fatalf("%d failed in the future, %v", len(failed), err)
	}
}

func TestAConfigurationThatCannotWorkIsRefused(t *testing.T) {
	key := []byte("-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n")
	for name, cfg := range map[string]forge.Config{
		"nobody":         {},
		"both":           {AppID: 1, PrivateKey: key, Token: "t"},
		"a key only":     {PrivateKey: key},
		"an id only":     {AppID: 1},
		"a broken key":   {AppID: 1, PrivateKey: key},
		"no host":        {Token: "t", URL: "https:///api/v3"},
		"no scheme":      {Token: "t", URL: "github.example.org"},
		"another scheme": {Token: "t", URL: "ftp://github.example.org"},
		"a user":         {Token: "t", URL: "https://u:secret-of-mine@github.example.org"},
	} {
		_, err := forge.New(cfg)
		if err == nil {
			t.Errorf("%s: accepted", name)
		} else if strings.Contains(err.Error(), "AAAA") || strings.Contains(err.Error(), "secret-of-mine") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOneInstallationsMutationsAreKeptApart(t *testing.T) {
	w := newWorld(t)
	for range 3 {
		if _, err := w.gh.CreateComment(w.ctx, w.name, 1, "text"); err != nil {
			t.Fatal(err)
		}
		if _, err := w.gh.PullRequest(w.ctx, w.name, 1); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.clock.slept(); len(got) != 2 || got[0] != time.Second || got[1] != time.Second {
		t.Fatalf("slept %v, want a second before the second and the third", got)
	}
	if w.forge.Installation(w.inst.ID) != w.gh {
		t.Fatal("one installation has two budgets")
	}
}

func TestATokenNeverLeavesTheForge(t *testing.T) {
	var mu sync.Mutex
	var leaked []string
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		leaked = append(leaked, r.Method+" "+r.Header.Get("Authorization"))
		w.Write([]byte(`{"id":1}`))
	}))
	defer elsewhere.Close()
	w := newWorld(t)
	_, err := w.gh.PullRequest(w.ctx, w.name, 1) // a token is there
	w.ok(err)
	targets := []string{elsewhere.URL + "/x", strings.Replace(w.URL(), "http:", "https:", 1) + "/api/v3/x", w.URL() + "/outside"}
	for _, target := range targets {
		for _, status := range []int{301, 302, 303, 307, 308} {
			w.Fail(forgetest.Fault{Path: "/repos/**", Status: status, Header: map[string]string{"Location": target}, Body: "{}", Times: 2})
			_, err := w.gh.PullRequest(w.ctx, w.name, 1)
			w.is(err, forge.Refused)
			_, err = w.gh.CreateComment(w.ctx, w.name, 1, "text")
			w.is(err, forge.Refused)
		}
	}
	// The request that asks for a token follows nothing at all.
	w.Fail(forgetest.Fault{Method: "POST", Path: "/app/installations/*/access_tokens", Status: 307, Header: map[string]string{"Location": elsewhere.URL}, Body: "{}"})
	if _, err := w.forge.RepoToken(w.ctx, w.inst.ID, w.repo.ID, forge.CloneOnly); err == nil {
		t.Error("a token came from elsewhere")
	}
	mu.Lock()
	defer mu.Unlock()
	if len(leaked) > 0 {
		t.Fatalf("requests left the forge: %v", leaked)
	}
}

func TestARedirectDoesNotTurnAPostIntoAGet(t *testing.T) {
	w := newWorld(t)
	w.Fail(forgetest.Fault{Method: "POST", Path: "/repos/**", Status: 301, Header: map[string]string{"Location": w.APIURL() + "/repos/acme/engine/issues/1/comments"}, Body: "{}"})
	_, err := w.gh.CreateComment(w.ctx, w.name, 1, "text")
	w.is(err, forge.Refused)
}

func TestARepositoryNameThatIsNoneIsNotSent(t *testing.T) {
	w := newWorld(t)
	asked := len(w.Requests())
	for _, r := range []forge.Repo{{}, {Owner: "acme"}, {Owner: "acme", Name: ".."}, {Owner: "..", Name: "x"}, {Owner: "a/b", Name: "c"}, {Owner: "acme", Name: "x?y"}, {Owner: "acme", Name: "x/../../app"}} {
		if _, err := w.gh.PullRequest(w.ctx, r, 1); forge.Classify(err).Kind != forge.Refused {
			t.Errorf("%v: %v", r, err)
		}
	}
	if _, err := forge.ParseRepo("acme/engine/x"); err == nil {
		t.Error("three parts were taken for a repository")
	}
	if len(w.Requests()) != asked {
		t.Fatal("a request was sent")
	}
	var failed *forge.Error
	if _, err := w.gh.PullRequest(w.ctx, forge.Repo{Owner: "acme", Name: "x\ny"}, 1); !errors.As(err, &failed) || strings.Contains(err.Error(), "\n") {
		t.Fatalf("got %v", err)
	}
}
