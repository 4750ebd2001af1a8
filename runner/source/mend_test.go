package source_test

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/runner/source"
)

// emptied empties the files of a folder that match, as a power cut does with what
// was not yet on the disk, and tells how many.
func emptied(t *testing.T, dir string, match func(path string, d fs.DirEntry) bool) (n int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !match(path, d) {
			return err
		}
		n++
		if err := os.Chmod(path, 0o600); err != nil {
			return err
		}
		return os.Truncate(path, 0)
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// loose has a mirror's objects lie in a file each.
func loose(t *testing.T, mirror string) {
	t.Helper()
	repo{t: t}.shell(`mv "$1"/objects/pack "$1"/out && mkdir "$1"/objects/pack &&
		for p in "$1"/out/*.pack; do git --git-dir="$1" unpack-objects -q <$p || exit 1; done; rm -rf "$1"/out`, mirror)
}

func TestAMirrorThatAPowerCutHasEmptiedIsFetchedAnew(t *testing.T) {
	s := newServer(t, "")
	dep := newRepo(t, filepath.Join(s.root, "dep"))
	sub := dep.commit("1", map[string]string{"v.txt": "module"})
	r := newRepo(t, filepath.Join(s.root, "up"))
	r.commit("first", map[string]string{"bench/a.js": "a"})
	base := withModule(r, "../dep", sub)
	r.write(map[string]string{"a.txt": "new", "dir/b.txt": "b"})
	r.git("add", "a.txt", "dir")
	r.git("commit", "-q", "-m", "two")
	head := r.git("rev-parse", "HEAD")
	kind := func(mirror, sha string) string {
		return repo{t: t}.shell(`git --git-dir="$1" cat-file -t $2`, mirror, sha)
	}
	objects := func(what string) func(*testing.T, string) int {
		return func(t *testing.T, mirror string) int {
			loose(t, mirror)
			bad := map[string]bool{}
			for _, sha := range strings.Fields(repo{t: t}.shell(`git --git-dir="$1" cat-file --batch-all-objects --batch-check='%(objectname)'`, mirror)) {
				bad[sha] = kind(mirror, sha) == what
			}
			return emptied(t, filepath.Join(mirror, "objects"), func(p string, _ fs.DirEntry) bool {
				return bad[filepath.Base(filepath.Dir(p))+filepath.Base(p)]
			})
		}
	}
	named := func(name string) func(*testing.T, string) int {
		return func(t *testing.T, mirror string) int {
			return emptied(t, mirror, func(p string, _ fs.DirEntry) bool { return strings.HasSuffix(p, name) })
		}
	}
	for name, cut := range map[string]func(*testing.T, string) int{
		"trees": objects("tree"), "files": objects("blob"), "commits": objects("commit"),
		"packs": named(".pack"), "indexes of packs": named(".idx"), "the ref": named("/" + base), "HEAD": named("HEAD"), "the shallow ends": named("/shallow"),
	} {
		for _, of := range []string{"7.git", "module-*.git"} {
			if of != "7.git" && name != "trees" && name != "packs" {
				continue // mirrors are alike
			}
			var log bytes.Buffer
			req := s.request(t, "up", base, head)
			req.Log = slog.New(slog.NewTextHandler(&log, nil))
			written(t, fetch(t, req), nil, "", source.Content{})
			mirror, err := filepath.Glob(filepath.Join(req.Dir, of))
			if err != nil || len(mirror) != 1 {
				t.Fatalf("mirrors: %q, %v", mirror, err)
			}
			if cut(t, mirror[0]) == 0 && of == "7.git" {
				t.Errorf("%s: nothing was emptied", name)
			}
			old, new, _ := written(t, fetch(t, req), []string{"bench/**"}, "", source.Content{})
			if got := read(t, old, "bench/a.js") + read(t, new, "a.txt") + read(t, new, "deps/dep/v.txt"); got != "anewmodule" {
				t.Errorf("%s of %s: the trees hold %q", name, of, got)
			}
			if said := log.String(); (name == "trees" || name == "files" || name == "packs") && !strings.Contains(said, "fetched anew") {
				t.Errorf("%s of %s: the log says %q", name, of, said)
			}
		}
	}
}

func TestAPickFromAnEmptiedMirrorGoesOn(t *testing.T) {
	s := newServer(t, "")
	r := newRepo(t, filepath.Join(s.root, "up"))
	base := r.commit("one", map[string]string{"a.txt": "old"})
	change := r.commit("two", map[string]string{"b.txt": "new"})
	req := s.request(t, "up", base, "")
	req.Head, req.Change = job.Side{}, &job.Change{Picks: []job.Pick{{SHA: change}}}
	fetch(t, req)
	p := fetch(t, req)
	if emptied(t, filepath.Join(req.Dir, "7.git"), func(p string, _ fs.DirEntry) bool { return strings.HasSuffix(p, ".pack") }) == 0 {
		t.Fatal("there is no pack")
	}
	picked, err := p.Pick(t.Context(), *req.Change)
	if err != nil || picked.Kind != job.PickApplies {
		t.Errorf("%+v, %v", picked, err)
	}
}

func TestAFetchLeavesOnePackAndMirrorsOfManyLooseFilesGo(t *testing.T) {
	s := newServer(t, "")
	r := newRepo(t, filepath.Join(s.root, "up"))
	base := r.commit("one", map[string]string{"a.txt": "old"})
	req := s.request(t, "up", base, base)
	fetch(t, req)
	mirror := filepath.Join(req.Dir, "7.git")
	if objects, err := filepath.Glob(filepath.Join(mirror, "objects", "??", "*")); err != nil || len(objects) > 0 {
		t.Errorf("objects lie by themselves: %q, %v", objects, err)
	}
	if err := source.Prune(req.Dir, 1<<40); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(mirror); err != nil {
		t.Errorf("a good mirror: %v", err)
	}
	repo{t: t}.shell(`mkdir "$1"/objects/ab && cd "$1"/objects/ab && seq 1 6000 | xargs touch`, mirror)
	if err := source.Prune(req.Dir, 1<<40); err != nil {
		t.Fatal(err)
	}
	missing(t, mirror)
}

func TestAHeadThatGitCannotWriteCostsNoMirror(t *testing.T) {
	s := newServer(t, "")
	r := newRepo(t, filepath.Join(s.root, "up"))
	base := r.commit("base", map[string]string{"a.txt": "a"})
	var log bytes.Buffer
	req := s.request(t, "up", base, r.link("\x00x")) // of one byte or more, and yet without a target
	req.Log = slog.New(slog.NewTextHandler(&log, nil))
	p := fetch(t, req)
	plan, err := p.Plan(t.Context(), nil, "")
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Write(t.Context(), plan, job.New, filepath.Join(t.TempDir(), "new"), source.Content{})
	malformed(t, err, job.New, "git cannot write the head")
	if log.Len() > 0 {
		t.Errorf("the log says %s", &log)
	}
}

func TestAfterTheCredentialIsGivenBackABrokenMirrorGoesAndNothingIsFetched(t *testing.T) {
	requests := 0
	s := newServer(t, "", func(s *server) { s.during = func() { requests++ } })
	r := newRepo(t, filepath.Join(s.root, "up"))
	base := r.commit("one", map[string]string{"a.txt": "old"})
	req := s.request(t, "up", base, base)
	p := fetch(t, req)
	plan, err := p.Plan(t.Context(), nil, "")
	if err != nil {
		t.Fatal(err)
	}
	mirror := filepath.Join(req.Dir, "7.git")
	if emptied(t, mirror, func(p string, _ fs.DirEntry) bool { return strings.HasSuffix(p, ".pack") }) == 0 {
		t.Fatal("there is no pack")
	}
	p.Settle()
	before := requests
	_, err = p.Write(t.Context(), plan, job.Old, filepath.Join(t.TempDir(), "old"), source.Content{})
	var refused *source.Refused
	if err == nil || errors.As(err, &refused) || requests != before {
		t.Errorf("%d requests, %v", requests-before, err)
	}
	missing(t, mirror)
	if old, _, _ := written(t, fetch(t, req), nil, "", source.Content{}); read(t, old, "a.txt") != "old" {
		t.Error("the next try has another tree")
	}
}
