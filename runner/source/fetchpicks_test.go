package source_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/runner/source"
)

// backport asks the server for a line's tip and for what is put on it.
func (s *server) backport(t *testing.T, tip string, picks ...job.Pick) source.Request {
	r := s.request(t, "up", tip, strings.Repeat("0", 40)) // the head is not needed
	r.Base.Ref = "v1.x"
	r.Change = &job.Change{Picks: picks}
	return r
}

// fetchedAndPicked fetches, picks, and gives the folder of the picked side.
func fetchedAndPicked(t *testing.T, r source.Request, kind job.PickKind) (job.Picked, string) {
	t.Helper()
	p := fetch(t, r)
	if p.New != (source.Commit{}) {
		t.Errorf("before the pick the new side is %+v", p.New)
	}
	picked, err := p.Pick(t.Context(), *r.Change)
	if err != nil || picked.Kind != kind {
		t.Fatalf("want %s, got %+v, %v", kind, picked, err)
	}
	if picked.SHA == "" {
		return picked, ""
	}
	_, dir, _ := written(t, p, nil, "", source.Content{})
	return picked, dir
}

func TestAChangeIsFetchedWithWhatItIsAChangeOf(t *testing.T) {
	s := newServer(t, secret)
	r := newRepo(t, filepath.Join(s.root, "up"))
	lines := strings.Repeat("a line of code\n", 20)
	fork := r.commit("base", map[string]string{"old.js": lines, "a.txt": "1\n"})
	r.git("branch", "v1.x")
	r.git("mv", "old.js", "new.js")
	r.commit("rename", nil)
	for i := range 5 {
		r.commit("history", map[string]string{"a.txt": fmt.Sprint(i)})
	}
	before := r.git("rev-parse", "HEAD")
	r.git("checkout", "-q", "-b", "pr")
	first := r.commit("first", map[string]string{"new.js": lines + "fast()\n"})
	second := r.commit("second", map[string]string{"b.txt": "2\n"})
	r.git("checkout", "-q", "main")
	r.git("merge", "-q", "--no-ff", "-m", "Merge pull request", "pr")
	merge := r.git("rev-parse", "HEAD")
	for name, picks := range map[string][]job.Pick{
		"its commits": {one(first), one(second)},
		"the merge":   {{SHA: merge, Mainline: 1}},
		"as one":      {{SHA: second, Since: before}},
	} {
		req := s.backport(t, fork, picks...)
		req.Token = func(context.Context) (string, string, error) { return "", secret, nil }
		picked, dir := fetchedAndPicked(t, req, job.PickApplies)
		if got := read(t, dir, "old.js") + read(t, dir, "b.txt"); got != lines+"fast()\n2\n" {
			t.Errorf("%s: the picked side holds %q", name, got)
		}
		if hand, id := byHand(t, r, "v1.x", picks...); hand != picked.SHA || id != picked.PatchID {
			t.Errorf("%s: got %+v, by hand %s, %s", name, picked, hand, id)
		}
		missing(t, dir, "new.js")
		err := filepath.WalkDir(filepath.Dir(req.Dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			if strings.Contains(string(data), secret) {
				t.Errorf("%s holds the credential", path)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

func TestCommitsThatCameBeforeWithoutTheirParentsAreFetchedAnew(t *testing.T) {
	s := newServer(t, "")
	r := newRepo(t, filepath.Join(s.root, "up"))
	r.commit("base", map[string]string{"a.txt": "1\n"})
	r.git("branch", "v1.x")
	r.commit("main moves", map[string]string{"b.txt": "1\n"})
	sha := r.commit("change", map[string]string{"a.txt": "2\n"})
	tip := r.on("v1.x", "line", map[string]string{"c.txt": "1\n"})
	req := s.backport(t, tip, one(sha))
	ordinary := req
	ordinary.Base, ordinary.Head, ordinary.Change = job.Side{SHA: tip}, job.Side{SHA: sha}, nil
	fetch(t, ordinary) // the change's commit alone
	fetchedAndPicked(t, req, job.PickApplies)
	fetch(t, ordinary)
	s.Close() // all is there by now
	if _, dir := fetchedAndPicked(t, req, job.PickApplies); read(t, dir, "a.txt") != "2\n" {
		t.Error("the picked side is another")
	}
	req.Change.Picks[0].SHA = strings.Repeat("1", 40)
	if _, err := source.Fetch(t.Context(), req); err == nil {
		t.Error("a commit that is not there was fetched from nowhere")
	}
}

func TestAllCommitsOfAChangeComeInOneFetch(t *testing.T) {
	var fetches atomic.Int64
	s := newServer(t, "", func(s *server) {
		s.also = func(_ http.ResponseWriter, req *http.Request) bool {
			if strings.HasSuffix(req.URL.Path, "/info/refs") {
				fetches.Add(1)
			}
			return false
		}
	})
	r := newRepo(t, filepath.Join(s.root, "up"))
	tip := r.commit("base", map[string]string{"a.txt": "1\n"})
	var picks []job.Pick
	for i := range 12 {
		picks = append(picks, one(r.commit("change", map[string]string{"a.txt": fmt.Sprintln(i + 2)})))
	}
	if _, dir := fetchedAndPicked(t, s.backport(t, tip, picks...), job.PickApplies); read(t, dir, "a.txt") != "13\n" {
		t.Error("the picked side is another")
	}
	if n := fetches.Load(); n != 2 { // the tip's and the change's
		t.Errorf("%d fetches", n)
	}
}

func TestTheCommitsOfAPullRequestOutliveItsFork(t *testing.T) {
	s := newServer(t, "", func(s *server) { s.v0 = true })
	r := newRepo(t, filepath.Join(s.root, "up"))
	fork := r.commit("base", map[string]string{"a.txt": "1\n"})
	r.git("branch", "v1.x")
	first := r.commit("first", map[string]string{"a.txt": "2\n"})
	second := r.commit("second", map[string]string{"a.txt": "3\n"})
	r.git("update-ref", "refs/pull/3/head", r.commit("newer", map[string]string{"a.txt": "4\n"}))
	r.git("reset", "-q", "--hard", "v1.x")
	for name, picks := range map[string][]job.Pick{
		"its commits": {one(first), one(second)},
		"as one":      {{SHA: second, Since: fork}},
	} {
		if _, dir := fetchedAndPicked(t, s.backport(t, fork, picks...), job.PickApplies); read(t, dir, "a.txt") != "3\n" {
			t.Errorf("%s: the picked side is another", name)
		}
	}
	r.git("update-ref", "-d", "refs/pull/3/head")
	_, err := source.Fetch(t.Context(), s.backport(t, fork, one(first), one(second)))
	var refused *source.Refused
	if !errors.As(err, &refused) || refused.Kind != source.Gone || refused.Side != job.New ||
		!strings.Contains(err.Error(), "of the change is gone: neither the commit itself nor refs/pull/3/head gives it") {
		t.Errorf("got %v", err)
	}
}

func TestALineThatWasForcePushedKeepsItsPinnedTipWhereTheForgeDoes(t *testing.T) {
	for _, keeps := range []bool{true, false} {
		s := newServer(t, "", func(s *server) { s.v0 = !keeps })
		r := newRepo(t, filepath.Join(s.root, "up"))
		r.commit("base", map[string]string{"a.txt": "1\n", "b.txt": "1\n"})
		r.git("branch", "v1.x")
		sha := r.commit("change", map[string]string{"a.txt": "2\n"})
		pinned := r.on("v1.x", "line", map[string]string{"b.txt": "2\n"})
		r.git("reset", "-q", "--hard", "v1.x~1")
		moved := r.commit("line, anew", map[string]string{"b.txt": "3\n"})
		if keeps {
			if _, dir := fetchedAndPicked(t, s.backport(t, pinned, one(sha)), job.PickApplies); read(t, dir, "b.txt") != "2\n" {
				t.Error("another tip was measured than the pinned one")
			}
			first, _ := fetchedAndPicked(t, s.backport(t, pinned, one(sha)), job.PickApplies)
			second, _ := fetchedAndPicked(t, s.backport(t, moved, one(sha)), job.PickApplies)
			if first.SHA == second.SHA || first.PatchID != second.PatchID {
				t.Errorf("on the pinned tip %+v, on the present one %+v", first, second)
			}
			continue
		}
		_, err := source.Fetch(t.Context(), s.backport(t, pinned, one(sha)))
		var refused *source.Refused
		want := "the commit " + pinned + ", the tip of v1.x when this was asked for, is gone: the repository does not give it"
		if !errors.As(err, &refused) || refused.Kind != source.Gone || refused.Side != job.Old || err.Error() != want {
			t.Errorf("got %v", err)
		}
	}
}

func TestAPickedSideThatWasFetchedHasItsHistoryAndItsSubmodules(t *testing.T) {
	s := newServer(t, "")
	dep := newRepo(t, filepath.Join(s.root, "dep"))
	first := dep.commit("1", map[string]string{"v.txt": "first"})
	second := dep.commit("2", map[string]string{"v.txt": "second"})
	r := newRepo(t, filepath.Join(s.root, "up"))
	r.commit("base", map[string]string{"a.txt": "1\n"})
	withModule(r, "../dep", first)
	r.git("tag", "-a", "v1.2", "-m", "v1.2")
	r.git("branch", "v1.x")
	r.git("commit", "-q", "--allow-empty", "-m", "main moves")
	sha := withModule(r, "../dep", second)
	r.git("checkout", "-q", "v1.x")
	r.git("commit", "-q", "--allow-empty", "-m", "line")
	tip := r.git("rev-parse", "HEAD")
	req := s.backport(t, tip, one(sha))
	req.History = true
	p := fetch(t, req)
	picked, err := p.Pick(t.Context(), *req.Change)
	if err != nil || picked.Kind != job.PickApplies {
		t.Fatalf("%+v, %v", picked, err)
	}
	old, new, _ := written(t, p, nil, "", source.Content{History: true})
	if got := read(t, old, "deps/dep/v.txt") + read(t, new, "deps/dep/v.txt"); got != "firstsecond" {
		t.Errorf("the submodules hold %q", got)
	}
	if got := (repo{t, new}).git("describe"); got != "v1.2-2-g"+picked.SHA[:7] {
		t.Errorf("git describe says %q of %s", got, picked.SHA)
	}
	if got := (repo{t, new}).git("log", "--format=%H", "-1", "HEAD~1"); got != tip {
		t.Errorf("the picked commit stands on %s, not on %s", got, tip)
	}
}
