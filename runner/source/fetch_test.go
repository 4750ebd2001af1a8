package source_test

import (
	"bytes"
	"context"
	"errors"
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

const secret = "ghs_0123456789abcdefTESTTOKEN"

func TestBothCommitsAreFetchedAndWrittenWithoutARepository(t *testing.T) {
	s := newServer(t, "")
	r := newRepo(t, filepath.Join(s.root, "up"))
	base := r.commit("one", map[string]string{"a.txt": "old", "dir/b.txt": "same"})
	head := r.commit("two", map[string]string{"a.txt": "new"})

	old, new, plan := written(t, fetch(t, s.request(t, "up", base, head)), nil, "", source.Content{})
	if got := read(t, old, "a.txt") + read(t, new, "a.txt") + read(t, new, "dir/b.txt"); got != "oldnewsame" {
		t.Errorf("the trees hold %q", got)
	}
	missing(t, old, ".git")
	missing(t, new, ".git")
	if len(plan.Notes) != 0 {
		t.Errorf("notes: %q", plan.Notes)
	}
}

func TestTheCredentialStandsInNoFileNoArgumentAndNoEnvironment(t *testing.T) {
	var looked atomic.Int64
	s := newServer(t, secret, func(s *server) {
		// Every request: look at every process while git is at work.
		s.during = func() { looked.Add(lookAtProcesses(t)) }
	})
	r := newRepo(t, filepath.Join(s.root, "up"))
	base := r.commit("one", map[string]string{"a.txt": "old"})
	head := r.commit("two", map[string]string{"a.txt": "new"})

	req := s.request(t, "up", base, head)
	req.Token = func(context.Context) (string, string, error) { return "", secret, nil }
	p := fetch(t, req)
	written(t, p, nil, "", source.Content{History: true})
	if s.authorised.Load() == 0 {
		t.Error("the credential was never used")
	}
	if looked.Load() == 0 {
		t.Error("no git process was seen during the fetch")
	}
	err := filepath.WalkDir(filepath.Dir(req.Dir), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(secret)) {
			t.Errorf("%s holds the credential", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// lookAtProcesses fails the test where a process shows the secret, and gives the
// number of git processes seen.
func lookAtProcesses(t *testing.T) (gits int64) {
	entries, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Error(err)
	}
	for _, e := range entries {
		for _, name := range []string{"cmdline", "environ"} {
			data, err := os.ReadFile(filepath.Join(e, name))
			if err != nil {
				continue // it has ended
			}
			if name == "cmdline" && bytes.HasPrefix(data, []byte("git")) {
				gits++
			}
			if bytes.Contains(data, []byte(secret)) {
				t.Errorf("%s of a process holds the credential: %q", name, data)
			}
		}
	}
	return gits
}

func TestAWrongCredentialIsAFaultThatDoesNotShowIt(t *testing.T) {
	s := newServer(t, "another")
	r := newRepo(t, filepath.Join(s.root, "up"))
	base := r.commit("one", map[string]string{"a.txt": "old"})
	req := s.request(t, "up", base, base)
	req.Token = func(context.Context) (string, string, error) { return "", secret, nil }
	_, err := source.Fetch(context.Background(), req)
	if err == nil {
		t.Fatal("the fetch went well")
	}
	var refused *source.Refused
	if errors.As(err, &refused) {
		t.Errorf("it was refused for good: %v", err)
	}
	if strings.Contains(err.Error(), secret) {
		t.Errorf("the error shows the credential: %v", err)
	}
}

func TestACommitThatOnlyThePullRequestsRefLeadsToIsFound(t *testing.T) {
	s := newServer(t, "", func(s *server) { s.v0 = true })
	r := newRepo(t, filepath.Join(s.root, "up"))
	base := r.commit("one", map[string]string{"a.txt": "old"})
	r.git("checkout", "-q", "-b", "gone")
	head := r.commit("two", map[string]string{"a.txt": "new"})
	r.commit("three", map[string]string{"a.txt": "newer"})
	r.git("update-ref", "refs/pull/3/head", "HEAD")
	r.git("checkout", "-q", "main")
	r.git("branch", "-q", "-D", "gone")

	req := s.request(t, "up", base, head)
	_, new, _ := written(t, fetch(t, req), nil, "", source.Content{})
	if got := read(t, new, "a.txt"); got != "new" {
		t.Errorf("the head has %q", got)
	}
}

func TestACommitThatIsGoneIsRefusedByName(t *testing.T) {
	s := newServer(t, "")
	r := newRepo(t, filepath.Join(s.root, "up"))
	base := r.commit("one", map[string]string{"a.txt": "old"})
	r.git("update-ref", "refs/pull/3/head", base)
	none := strings.Repeat("0123", 10)
	for name, req := range map[string]source.Request{
		"head": s.request(t, "up", base, none),
		"base": s.request(t, "up", none, base),
	} {
		_, err := source.Fetch(context.Background(), req)
		var refused *source.Refused
		if !errors.As(err, &refused) || refused.Kind != source.Gone || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), none) {
			t.Errorf("%s gone: got %v", name, err)
		}
	}
}

func TestAnUnreachableForgeIsAFault(t *testing.T) {
	s := newServer(t, "")
	s.Close()
	sha := strings.Repeat("1", 40)
	_, err := source.Fetch(context.Background(), s.request(t, "up", sha, sha))
	var refused *source.Refused
	if err == nil || errors.As(err, &refused) {
		t.Errorf("got %v", err)
	}
}

func TestOnlyHttpsOfTheForgesHostIsSpokenTo(t *testing.T) {
	sha := strings.Repeat("1", 40)
	for name, r := range map[string]source.Request{
		"ssh":               {CloneURL: "ssh://git@forge.test/a/b"},
		"a local path":      {CloneURL: "/etc"},
		"file":              {CloneURL: "file:///etc"},
		"plain http":        {CloneURL: "http://forge.test/a/b", AllowHTTP: true},
		"http on loopback":  {CloneURL: "http://127.0.0.1:1/a/b"},
		"another host":      {CloneURL: "https://evil.test/a/b", Host: "forge.test"},
		"a credential":      {CloneURL: "https://x:y@forge.test/a/b"},
		"an option":         {CloneURL: "--upload-pack=touch /tmp/x"},
		"a remote helper":   {CloneURL: "ext::sh -c true"},
		"an abbreviated id": {CloneURL: "https://forge.test/a/b", Base: job.Side{SHA: "abc"}},
	} {
		r.Dir = t.TempDir()
		if r.Base.SHA == "" {
			r.Base.SHA = sha
		}
		r.Head.SHA = sha
		_, err := source.Fetch(context.Background(), r)
		var refused *source.Refused
		if !errors.As(err, &refused) || refused.Kind != source.BadRequest {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestARenamedRepositoryIsFoundOnTheSameHostAlone(t *testing.T) {
	var asked atomic.Int64
	other := newServer(t, "", func(s *server) { s.during = func() { asked.Add(1) } })
	s := newServer(t, secret, func(s *server) {
		s.also = func(w http.ResponseWriter, req *http.Request) bool {
			if rest, ok := strings.CutPrefix(req.URL.Path, "/former/"); ok {
				http.Redirect(w, req, "/up/"+rest+"?"+req.URL.RawQuery, http.StatusMovedPermanently)
				return true
			}
			if rest, ok := strings.CutPrefix(req.URL.Path, "/away/"); ok {
				http.Redirect(w, req, other.URL+"/up/"+rest+"?"+req.URL.RawQuery, http.StatusMovedPermanently)
				return true
			}
			return false
		}
	})
	r := newRepo(t, filepath.Join(s.root, "up"))
	base := r.commit("one", map[string]string{"a.txt": "old"})
	head := r.commit("two", map[string]string{"a.txt": "new"})
	credential := func(context.Context) (string, string, error) { return "", secret, nil }
	req := s.request(t, "former", base, head)
	req.Token = credential
	_, new, _ := written(t, fetch(t, req), nil, "", source.Content{})
	if got := read(t, new, "a.txt"); got != "new" {
		t.Errorf("the head has %q", got)
	}
	req = s.request(t, "away", base, head)
	req.Token = credential
	if _, err := source.Fetch(context.Background(), req); err == nil || !strings.Contains(err.Error(), "has moved to") {
		t.Errorf("got %v", err)
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("the other host was asked %d times", n)
	}
}

func TestAMirrorIsUsedAgainAndOutlivesAKilledGit(t *testing.T) {
	s := newServer(t, "")
	r := newRepo(t, filepath.Join(s.root, "up"))
	base := r.commit("one", map[string]string{"a.txt": "old"})
	head := r.commit("two", map[string]string{"a.txt": "new"})
	req := s.request(t, "up", base, head)
	fetch(t, req)
	lock := filepath.Join(req.Dir, "7.git", "shallow.lock")
	if err := os.WriteFile(lock, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	newer := r.commit("three", map[string]string{"a.txt": "newer"})
	req.Head.SHA = newer
	fetch(t, req)
	s.Close() // all is there by now
	_, new, _ := written(t, fetch(t, req), nil, "", source.Content{})
	if got := read(t, new, "a.txt"); got != "newer" {
		t.Errorf("the head has %q", got)
	}
}

func TestHistoryLetsABuildDescribeItsVersion(t *testing.T) {
	s := newServer(t, "")
	r := newRepo(t, filepath.Join(s.root, "up"))
	r.commit("one", map[string]string{"a.txt": "1"})
	r.git("tag", "-a", "v1.2", "-m", "v1.2")
	base := r.commit("two", map[string]string{"a.txt": "2"})
	head := r.commit("three", map[string]string{"a.txt": "3"})
	req := s.request(t, "up", base, head)
	req.History = true
	old, new, _ := written(t, fetch(t, req), nil, "", source.Content{History: true})
	for dir, want := range map[string]string{old: "v1.2-1-g", new: "v1.2-2-g"} {
		if got := (repo{t, dir}).git("describe", "--dirty"); !strings.HasPrefix(got, want) || strings.Contains(got, "dirty") {
			t.Errorf("git describe says %q, want %s…", got, want)
		}
		if got := read(t, dir, ".git/config"); strings.Contains(got, "remote") {
			t.Errorf("the configuration names a remote: %s", got)
		}
		missing(t, dir, ".git/objects/info/alternates")
	}
}

func TestNoHookRunsAndNoConfigurationOfThePullRequestCounts(t *testing.T) {
	s := newServer(t, "")
	r := newRepo(t, filepath.Join(s.root, "up"))
	base := r.commit("one", map[string]string{"a.txt": "old"})
	mark := filepath.Join(t.TempDir(), "ran")
	head := r.commit("two", map[string]string{
		"a.txt": "new", ".gitattributes": "*.txt filter=evil\n", ".gitconfig": "[filter \"evil\"]\nsmudge = touch " + mark + "\n"})
	req := s.request(t, "up", base, head)
	fetch(t, req)
	hook := filepath.Join(req.Dir, "7.git", "hooks", "post-checkout")
	if err := os.MkdirAll(filepath.Dir(hook), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(hook, []byte("#!/bin/sh\ntouch "+mark+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", r.dir)
	written(t, fetch(t, req), nil, "", source.Content{})
	missing(t, mark)
}

func TestMirrorsStayWithinTheirLimit(t *testing.T) {
	dir := t.TempDir()
	for name, size := range map[string]int{"1.git": 1000, "2.git": 700, "2.lfs": 700, "prbench-git-1": 10} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "pack"), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	old := filepath.Join(dir, "1.git", "pack")
	info, err := os.Stat(old)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(old, info.ModTime(), info.ModTime().Add(-1e12)); err != nil {
		t.Fatal(err)
	}
	if err := source.Prune(dir, 1500); err != nil {
		t.Fatal(err)
	}
	missing(t, dir, "1.git")
	missing(t, dir, "prbench-git-1")
	read(t, dir, "2.git/pack")
	read(t, dir, "2.lfs/pack")
}
