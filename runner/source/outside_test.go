package source_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/runner/source"
)

// refusedWrite writes the head and wants a refusal of the kind that names the path.
func refusedWrite(t *testing.T, p *source.Pair, c source.Content, kind source.Kind, path string) {
	t.Helper()
	plan, err := p.Plan(t.Context(), nil, "")
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Write(t.Context(), plan, job.New, filepath.Join(t.TempDir(), "new"), c)
	var refused *source.Refused
	if !errors.As(err, &refused) || refused.Kind != kind || refused.Path != path || refused.Side != job.New || !strings.Contains(err.Error(), path) {
		t.Errorf("want a refusal (%s) that names %s, got %v", kind, path, err)
	}
}

func TestAnLFSPointerFailsNamingThePath(t *testing.T) {
	pointer := read(t, "testdata/lfs-pointer")
	s := newServer(t, "")
	r := newRepo(t, filepath.Join(s.root, "up"))
	base := r.commit("base", map[string]string{"a.txt": "a"})
	for _, attributes := range []string{"*.bin filter=lfs diff=lfs merge=lfs -text\n", ""} {
		head := r.commit("head", map[string]string{"data/model.bin": pointer, ".gitattributes": attributes})
		refusedWrite(t, fetch(t, s.request(t, "up", base, head)), source.Content{}, source.LFS, "data/model.bin")
		p := local(t, source.LocalRequest{Repo: r.dir, Base: base, Head: head})
		refusedWrite(t, p, source.Content{}, source.LFS, "data/model.bin")
		refusedWrite(t, p, source.Content{LFS: true}, source.LFS, "data/model.bin")
	}
}

func TestGrantedLFSFilesComeFromTheForgeAlone(t *testing.T) {
	large := strings.Repeat("weights ", 1000)
	sum := sha256.Sum256([]byte(large))
	oid := hex.EncodeToString(sum[:])
	var poisoned atomic.Bool
	s := newServer(t, "", func(s *server) {
		s.also = func(w http.ResponseWriter, req *http.Request) bool {
			switch req.URL.Path {
			case "/up.git/info/lfs/objects/batch":
				href := "http://" + req.Host + "/object"
				if err := json.NewEncoder(w).Encode(map[string]any{"objects": []any{map[string]any{"oid": oid, "size": len(large),
					"actions": map[string]any{"download": map[string]any{"href": href}}}}}); err != nil {
					t.Error(err)
				}
			case "/object":
				answer := large
				if poisoned.Load() {
					answer = strings.Repeat("poison! ", 1000)
				}
				if _, err := w.Write([]byte(answer)); err != nil {
					t.Error(err)
				}
			default:
				return false
			}
			return true
		}
	})
	r := newRepo(t, filepath.Join(s.root, "up"))
	base := r.commit("base", map[string]string{"a.txt": "a"})
	head := r.commit("head", map[string]string{
		"model.bin":      fmt.Sprintf("version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %d\n", oid, len(large)),
		".gitattributes": "*.bin filter=lfs\n", ".lfsconfig": "[lfs]\nurl = http://127.0.0.1:1/evil\n"})

	poisoned.Store(true)
	refusedWrite(t, fetch(t, s.request(t, "up", base, head)), source.Content{LFS: true}, source.LFS, "model.bin")
	poisoned.Store(false)
	_, new, _ := written(t, fetch(t, s.request(t, "up", base, head)), nil, "", source.Content{LFS: true})
	if read(t, new, "model.bin") != large {
		t.Error("the file is not the one that the pointer names")
	}
}

func TestAnLFSFileOfOneRepositoryIsNotGivenToAnother(t *testing.T) {
	private := strings.Repeat("private ", 100)
	sum := sha256.Sum256([]byte(private))
	oid := hex.EncodeToString(sum[:])
	s := newServer(t, "", func(s *server) {
		s.also = func(w http.ResponseWriter, req *http.Request) bool {
			switch req.URL.Path {
			case "/owner.git/info/lfs/objects/batch":
				fmt.Fprintf(w, `{"objects": [{"oid": %q, "size": %d, "actions": {"download": {"href": "http://%s/object"}}}]}`, oid, len(private), req.Host)
			case "/other.git/info/lfs/objects/batch":
				fmt.Fprintf(w, `{"objects": [{"oid": %q, "size": %d, "error": {"code": 404, "message": "no"}}]}`, oid, len(private))
			case "/object":
				fmt.Fprint(w, private)
			default:
				return false
			}
			return true
		}
	})
	dir := filepath.Join(t.TempDir(), "mirrors")
	pair := func(name string, id int64) *source.Pair {
		r := newRepo(t, filepath.Join(s.root, name))
		base := r.commit("base", map[string]string{"a.txt": "a"})
		head := r.commit("head", map[string]string{"model.bin": fmt.Sprintf("version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %d\n", oid, len(private))})
		req := s.request(t, name, base, head)
		req.Dir, req.Repository = dir, id
		return fetch(t, req)
	}
	_, new, _ := written(t, pair("owner", 7), nil, "", source.Content{LFS: true})
	if read(t, new, "model.bin") != private {
		t.Error("the owner did not get its file")
	}
	refusedWrite(t, pair("other", 8), source.Content{LFS: true}, source.LFS, "model.bin")
	if err := source.Prune(dir, 0); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("after everything was pruned there is %v, %v", left, err)
	}
}

// withModule commits a submodule entry by hand, as no git would need the
// repository that it names.
func withModule(r repo, address, sha string) string {
	r.write(map[string]string{".gitmodules": "[submodule \"dep\"]\n\tpath = deps/dep\n\turl = " + address + "\n"})
	r.git("add", ".gitmodules")
	r.git("update-index", "--add", "--cacheinfo", "160000,"+sha+",deps/dep")
	r.git("commit", "-q", "-m", "module")
	return r.git("rev-parse", "HEAD")
}

func TestASubmoduleComesAtEachSidesOwnPointerFromTheForge(t *testing.T) {
	s := newServer(t, "")
	dep := newRepo(t, filepath.Join(s.root, "dep"))
	first := dep.commit("1", map[string]string{"v.txt": "first"})
	second := dep.commit("2", map[string]string{"v.txt": "second"})
	r := newRepo(t, filepath.Join(s.root, "up"))
	r.commit("base", map[string]string{"a.txt": "a"})
	base := withModule(r, "../dep", first)
	for _, address := range []string{"../dep", s.URL + "/dep"} {
		head := withModule(r, address, second)
		old, new, _ := written(t, fetch(t, s.request(t, "up", base, head)), nil, "", source.Content{})
		if got := read(t, old, "deps/dep/v.txt") + read(t, new, "deps/dep/v.txt"); got != "firstsecond" {
			t.Errorf("%s: the submodules hold %q", address, got)
		}
		missing(t, new, "deps/dep/.git")
		r.git("reset", "-q", "--soft", base)
	}
}

func TestASubmoduleElsewhereFailsByName(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("another host was asked") }))
	defer other.Close()
	s := newServer(t, "")
	r := newRepo(t, filepath.Join(s.root, "up"))
	base := r.commit("base", map[string]string{"a.txt": "a"})
	for _, address := range []string{other.URL + "/dep", "https://evil.test/dep", "git@evil.test:dep", "ext::sh -c true", "/etc", "file:///etc", "../missing"} {
		head := withModule(r, address, base)
		refusedWrite(t, fetch(t, s.request(t, "up", base, head)), source.Content{}, source.Submodule, "deps/dep")
		r.git("reset", "-q", "--hard", base)
	}
}

func TestASubmoduleWithoutAnAddressStaysEmptyAndIsNoted(t *testing.T) {
	s := newServer(t, "")
	r := newRepo(t, filepath.Join(s.root, "up"))
	base := r.commit("base", map[string]string{"a.txt": "a"})
	r.git("update-index", "--add", "--cacheinfo", "160000,"+base+",stray")
	r.git("commit", "-q", "-m", "stray")
	p := fetch(t, s.request(t, "up", base, r.git("rev-parse", "HEAD")))
	plan, err := p.Plan(t.Context(), nil, "")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "new")
	notes, err := p.Write(t.Context(), plan, job.New, dir, source.Content{})
	if err != nil || len(notes) != 1 || !strings.Contains(notes[0], "stray") {
		t.Errorf("notes %q, %v", notes, err)
	}
	if entries, err := os.ReadDir(filepath.Join(dir, "stray")); err != nil || len(entries) != 0 {
		t.Errorf("the folder has %v, %v", entries, err)
	}
}

func TestALocalSubmoduleIsFoundInTheCloneOrNamed(t *testing.T) {
	root := t.TempDir()
	dep := newRepo(t, filepath.Join(root, "dep"))
	first := dep.commit("1", map[string]string{"v.txt": "first"})
	r := newRepo(t, filepath.Join(root, "up"))
	base := r.commit("base", map[string]string{"a.txt": "a"})
	r.git("submodule", "--quiet", "add", "--name", "dep", dep.dir, "deps/dep")
	head := r.commit("module", nil)
	_, new, _ := written(t, local(t, source.LocalRequest{Repo: r.dir, Base: base, Head: head}), nil, "", source.Content{})
	if got := read(t, new, "deps/dep/v.txt"); got != "first" {
		t.Errorf("the submodule holds %q at %s", got, first)
	}
	if err := os.RemoveAll(filepath.Join(r.dir, ".git/modules")); err != nil {
		t.Fatal(err)
	}
	refusedWrite(t, local(t, source.LocalRequest{Repo: r.dir, Base: base, Head: head}), source.Content{}, source.Submodule, "deps/dep")
}
