package forge_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prbench/prbench/internal/forge"
	"github.com/prbench/prbench/internal/forgetest"
)

// minted is what a token was asked for.
type minted struct {
	Repositories  []string          `json:"repositories"`
	RepositoryIDs []int64           `json:"repository_ids"`
	Permissions   map[string]string `json:"permissions"`
}

func (w *world) minted() []minted {
	w.t.Helper()
	var out []minted
	for _, r := range w.RequestsTo("POST", "/app/installations/*/access_tokens") {
		var m minted
		w.ok(json.Unmarshal(r.Body, &m))
		out = append(out, m)
	}
	return out
}

var reads = map[string]string{"contents": "read", "issues": "read", "checks": "read", "pull_requests": "read"}

func TestATokenReadsOrItWritesToOneRepository(t *testing.T) {
	w := newWorld(t)
	for i := range 2 {
		_, err := w.gh.PullRequest(w.ctx, w.name, 1)
		w.ok(err)
		_, err = w.gh.CreateComment(w.ctx, w.name, 1, fmt.Sprint(i))
		w.ok(err)
	}
	want := []minted{{Permissions: reads}, {Repositories: []string{"engine"}}}
	if diff := cmp.Diff(want, w.minted()); diff != "" {
		t.Errorf("tokens were asked for (-want +got):\n%s", diff)
	}
}

func TestUnderAFormerNameATokenIsForTheRepositoryThatItLeadsTo(t *testing.T) {
	w := newWorld(t)
	w.ok(w.Rename("dev-a", w.repo, "motor"))
	_, err := w.gh.CreateComment(w.ctx, w.name, 1, "under the old name")
	w.ok(err)
	want := []minted{{Repositories: []string{"engine"}}, {RepositoryIDs: []int64{w.repo.ID}}}
	if diff := cmp.Diff(want, w.minted()); diff != "" {
		t.Errorf("tokens were asked for (-want +got):\n%s", diff)
	}
}

// Whoever makes the App by hand may grant less than its manifest asks for.
func TestWhereTheNarrowTokenIsRefusedTheInstallationsOwnIsUsed(t *testing.T) {
	w := newWorld(t)
	app, err := w.AddApp(forgetest.AppSpec{Slug: "by-hand", Permissions: map[string]string{"metadata": "read", "contents": "read", "pull_requests": "write"}})
	w.ok(err)
	inst, err := w.Install(app, "acme")
	w.ok(err)
	gh := w.connect(forge.Config{AppID: app.ID, PrivateKey: app.PrivateKey}).Installation(inst.ID)
	for range 3 {
		_, err = gh.PullRequest(w.ctx, w.name, 1)
		w.ok(err)
	}
	if diff := cmp.Diff([]minted{{Permissions: reads}, {}}, w.minted()); diff != "" {
		t.Errorf("tokens were asked for (-want +got):\n%s", diff)
	}
	w.ok(w.clock.Sleep(w.ctx, 2*time.Hour))
	_, err = gh.PullRequest(w.ctx, w.name, 1)
	w.ok(err)
	if n := len(w.minted()); n != 3 {
		t.Errorf("%d tokens were asked for, want 3: what was refused is asked for again after a while", n)
	}
}
