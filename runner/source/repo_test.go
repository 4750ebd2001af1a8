package source_test

import (
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/runner/source"
)

// repo is a real git repository in a temporary folder.
type repo struct {
	t   *testing.T
	dir string
}

func newRepo(t *testing.T, dir string) repo {
	t.Helper()
	r := repo{t, dir}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r.git("init", "-q", "-b", "main")
	return r
}

func (r repo) git(args ...string) string {
	r.t.Helper()
	return r.ran("git", append([]string{"-C", r.dir, "-c", "protocol.file.allow=always"}, args...)...)
}

// shell runs a script with the environment of git.
func (r repo) shell(script string, args ...string) string {
	r.t.Helper()
	return r.ran("sh", append([]string{"-c", script, "sh"}, args...)...)
}

func (r repo) ran(name string, args ...string) string {
	r.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.test", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.test",
		"GIT_AUTHOR_DATE=2024-01-02T03:04:05Z", "GIT_COMMITTER_DATE=2024-01-02T03:04:05Z")
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (r repo) write(files map[string]string) {
	r.t.Helper()
	for name, text := range files {
		path := filepath.Join(r.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			r.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			r.t.Fatal(err)
		}
	}
}

// commit writes the files, commits everything, and gives the commit.
func (r repo) commit(message string, files map[string]string) string {
	r.t.Helper()
	r.write(files)
	r.git("add", "-A")
	r.git("commit", "-q", "--allow-empty", "-m", message)
	return r.git("rev-parse", "HEAD")
}

// server is git's own smart HTTP server over a folder of repositories.
type server struct {
	*httptest.Server
	root string
	// token, where set, must be the password of every request.
	token      string
	authorised atomic.Int64
	during     func() // called in every request
	// also may answer a request in git's place; it tells whether it did.
	also func(http.ResponseWriter, *http.Request) bool
	// v0 makes it speak the old protocol, in which a commit that no ref names is
	// not given.
	v0 bool
}

// newServer starts a server; set changes it before the first request.
func newServer(t *testing.T, token string, set ...func(*server)) *server {
	t.Helper()
	out, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	s := &server{root: t.TempDir(), token: token}
	backend := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(out)), "git-http-backend"),
		Env: []string{"GIT_PROJECT_ROOT=" + s.root, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
			"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"},
		Stderr: io.Discard,
	}
	for _, f := range set {
		f(s)
	}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if s.during != nil {
			s.during()
		}
		if s.also != nil && s.also(w, req) {
			return
		}
		want := "Basic " + base64.StdEncoding.EncodeToString([]byte("x-access-token:"+s.token))
		if s.token != "" && req.Header.Get("Authorization") != want {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if s.token != "" {
			s.authorised.Add(1)
		}
		if s.v0 {
			req.Header.Del("Git-Protocol")
		}
		backend.ServeHTTP(w, req)
	}))
	t.Cleanup(s.Close)
	return s
}

// request asks the server for two commits of one of its repositories.
func (s *server) request(t *testing.T, name, base, head string) source.Request {
	return source.Request{
		Dir: filepath.Join(t.TempDir(), "mirrors"), Repository: 7, CloneURL: s.URL + "/" + name, AllowHTTP: true,
		Base: job.Side{SHA: base, Ref: "main"}, Head: job.Side{SHA: head, Ref: "feature"}, PR: 3,
	}
}

func fetch(t *testing.T, r source.Request) *source.Pair {
	t.Helper()
	p, err := source.Fetch(context.Background(), r)
	if err != nil {
		t.Fatalf("fetch: %v", err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func local(t *testing.T, r source.LocalRequest) *source.Pair {
	t.Helper()
	if r.Scratch == "" {
		r.Scratch = t.TempDir()
	}
	p, err := source.Local(context.Background(), r)
	if err != nil {
		t.Fatalf("local: %v", err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// written plans and writes both sides and gives their folders.
func written(t *testing.T, p *source.Pair, globs []string, from job.HarnessFrom, c source.Content) (old, new string, plan source.Plan) {
	t.Helper()
	plan, err := p.Plan(context.Background(), globs, from)
	if err != nil {
		t.Fatalf("plan: %v", err)
	}
	old, new = filepath.Join(t.TempDir(), "old"), filepath.Join(t.TempDir(), "new")
	for side, dir := range map[job.SideName]string{job.Old: old, job.New: new} {
		if _, err := p.Write(context.Background(), plan, side, dir, c); err != nil {
			t.Fatalf("write %s: %v", side, err)
		}
	}
	return old, new, plan
}

func read(t *testing.T, parts ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func missing(t *testing.T, parts ...string) {
	t.Helper()
	if _, err := os.Lstat(filepath.Join(parts...)); !os.IsNotExist(err) {
		t.Errorf("%s is there (%v)", filepath.Join(parts...), err)
	}
}
