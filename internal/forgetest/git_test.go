package forgetest_test

import (
	"context"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prbench/prbench/internal/forge"
	"github.com/prbench/prbench/internal/forgetest"
)

func TestAPublicRepositoryIsClonedByAnybody(t *testing.T) {
	w := newWorld(t, false)
	dir := t.TempDir()
	if out, err := git(t, dir, "clone", "-q", w.CloneURL(w.repo), "copy"); err != nil {
		t.Fatal(out)
	}
	if got := read(t, dir, "copy", "speed.txt"); got != "slow\n" {
		t.Fatalf("speed.txt holds %q", got)
	}
}

func TestAnyCommitIsFetchedByItsID(t *testing.T) {
	w := newWorld(t, false)
	old := w.Head(w.pull)
	w.ok(w.ForcePush("dev-b", w.fork, "faster", forgetest.Must(w.Server.Commit(w.repo, "main"))))
	dir := t.TempDir()
	if out, err := git(t, dir, "init", "-q"); err != nil {
		t.Fatal(out)
	}
	out, err := git(t, dir, "-c", "protocol.version=2", "fetch", "-q", "--depth=1", w.CloneURL(w.repo), old)
	if err != nil {
		t.Fatalf("fetch of a commit that no branch has any more: %s", out)
	}
	if out, _ := git(t, dir, "show", "FETCH_HEAD:speed.txt"); out != "fast" {
		t.Fatalf("speed.txt holds %q", out)
	}
}

func TestThePullRequestsRefOutlivesItsFork(t *testing.T) {
	w := newWorld(t, false)
	head := w.Head(w.pull)
	w.ok(w.DeleteRepo("dev-b", w.fork))
	out, err := git(t, t.TempDir(), "ls-remote", w.CloneURL(w.repo), "refs/pull/1/head")
	if err != nil || !strings.HasPrefix(out, head) {
		t.Fatalf("ls-remote: %v %s", err, out)
	}
	p, err := w.gh.PullRequest(context.Background(), w.name, 1)
	w.ok(err)
	if p.Head.Repo != nil || p.Head.SHA != head {
		t.Fatalf("head is %+v, want no repository and %s", p.Head, head)
	}
	if _, err := git(t, t.TempDir(), "ls-remote", w.CloneURL(w.fork)); err == nil {
		t.Fatal("the deleted fork still answers")
	}
}

func TestAPrivateRepositoryNeedsATokenForItsContents(t *testing.T) {
	w := newWorld(t, true)
	ctx := context.Background()
	other := forgetest.Must(w.AddRepo("acme/other", forgetest.RepoSpec{Private: true, Build: forgetest.WriteFiles("x", map[string]string{"a": "b"})}))
	withToken := func(secret string) string {
		u := forgetest.Must(url.Parse(w.CloneURL(w.repo)))
		u.User = url.UserPassword("x-access-token", secret)
		return u.String()
	}
	good, err := w.forge.RepoToken(ctx, w.inst.ID, w.repo.ID, forge.CloneOnly)
	w.ok(err)
	noContents, err := w.forge.RepoToken(ctx, w.inst.ID, w.repo.ID, forge.Permissions{Issues: "write"})
	w.ok(err)
	elsewhere, err := w.forge.RepoToken(ctx, w.inst.ID, other.ID, forge.CloneOnly)
	w.ok(err)

	for _, c := range []struct{ name, url string }{
		{"nobody", w.CloneURL(w.repo)}, {"a made-up token", withToken("ghs_000000000000000000000000000000000000")},
		{"a token without contents", withToken(noContents.Secret())}, {"a token for another repository", withToken(elsewhere.Secret())},
	} {
		if out, err := git(t, t.TempDir(), "ls-remote", c.url); err == nil {
			t.Errorf("%s reads the private repository: %s", c.name, out)
		}
	}
	dir := t.TempDir()
	if out, err := git(t, dir, "clone", "-q", withToken(good.Secret()), "copy"); err != nil {
		t.Fatal(out)
	}
	if got := read(t, filepath.Join(dir, "copy"), "speed.txt"); got != "slow\n" {
		t.Fatalf("speed.txt holds %q", got)
	}
	w.ok(good.Revoke(ctx))
	if _, err := git(t, t.TempDir(), "ls-remote", withToken(good.Secret())); err == nil {
		t.Error("a revoked token still reads")
	}
}

func TestNothingIsPushed(t *testing.T) {
	w := newWorld(t, false)
	dir := t.TempDir()
	if out, err := git(t, dir, "clone", "-q", w.CloneURL(w.repo), "copy"); err != nil {
		t.Fatal(out)
	}
	out, err := git(t, filepath.Join(dir, "copy"), "push", w.CloneURL(w.repo), "HEAD:refs/heads/mine")
	if err == nil || !strings.Contains(out, "403") {
		t.Fatalf("push: %v %s", err, out)
	}
}
