//go:build contract

package main

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prbench/prbench/internal/forgetest"
	"github.com/prbench/prbench/internal/testlog"
)

// contractDir is where `make contract` installs emulate.
const contractDir = "../../internal/forgetest/contract"

const (
	emulatedApp     = 7
	emulatedInstall = 100
)

// emulated is a world around npm's `emulate`, a GitHub that others wrote: the
// same repository and people, and a gateway for what emulate lacks.
type emulated struct {
	*world
	*gateway
	head string // of the pull request, number 1
}

func newEmulated(t *testing.T) *emulated {
	t.Helper()
	w := &emulated{world: &world{t: t, dir: t.TempDir(), listen: freeAddress(t), state: freeAddress(t),
		flags: []string{"--pace", "-1ns", "--progress-every", "50ms"}}}
	passable(t, w.dir)
	code, dir := servedRepository(t)
	key := appKey(t)
	w.gateway = &gateway{test: t, intake: "http://" + w.listen + "/webhook", code: code.URL()}
	server := httptest.NewServer(w.gateway)
	t.Cleanup(server.Close)
	w.gateway.url = server.URL
	w.gateway.emulate = startEmulate(t, server.URL, key)
	w.fill(dir)
	w.write("app.pem", key)
	w.write("secret", hookSecret+"\n")
	w.write("serve.yaml", fmt.Sprintf("listen: %s\npublic_url: http://127.0.0.1\n"+
		"github: {url: %q, app_id: %d, private_key_file: app.pem, webhook_secret_file: secret}\n"+
		"state: {dir: state, listen: %q}\npools: {default: {repositories: [\"acme/*\"]}}\n", w.listen, server.URL, emulatedApp, w.state))
	return w
}

func appKey(t testing.TB) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}))
}

// servedRepository serves acme/engine by git, with the branches main and
// change, and gives a bare clone of it.
func servedRepository(t *testing.T) (*forgetest.Server, string) {
	t.Helper()
	code := forgetest.Start(t)
	base, head := cheap()
	if _, err := code.AddRepo("acme/engine", forgetest.RepoSpec{Build: func(b *forgetest.Work) error {
		if err := forgetest.WriteFiles("first", base)(b); err != nil {
			return err
		}
		if err := b.Branch("change"); err != nil {
			return err
		}
		return forgetest.WriteFiles("change", head)(b)
	}}); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "engine.git")
	gitIn(t, "", "clone", "-q", "--bare", code.URL()+"/acme/engine.git", dir)
	return code, dir
}

func gitIn(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %v: %v", args, err)
	}
	return string(out)
}

// startEmulate starts emulate, which tells the world that its address is base,
// and gives its own.
func startEmulate(t *testing.T, base, key string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close() // given back for emulate
	tokens := map[string]any{}
	var users []any
	for _, login := range []string{"writer", "contributor", "stranger"} {
		tokens[login+"-token"] = map[string]any{"login": login}
		users = append(users, map[string]any{"login": login})
	}
	users = append(users, map[string]any{"login": "acme"})
	tokens["acme-token"] = map[string]any{"login": "acme"}
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	first, err := json.Marshal(map[string]any{"port": number, "baseUrl": base, "seed": map[string]any{
		"tokens": tokens,
		"github": map[string]any{
			"users": users,
			"repos": []any{map[string]any{"owner": "acme", "name": "engine", "auto_init": false}},
			"apps": []any{map[string]any{
				"app_id": emulatedApp, "slug": "prbench", "name": "prbench", "private_key": key,
				"permissions": map[string]string{"metadata": "read", "contents": "read", "pull_requests": "write", "issues": "write", "checks": "write", "statuses": "write"},
				"events":      []string{"issue_comment", "pull_request", "issues", "check_run"},
				"webhook_url": base + hookPath, "webhook_secret": hookSecret,
				"installations": []any{map[string]any{"installation_id": emulatedInstall, "account": "acme", "repository_selection": "all"}},
			}},
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs(contractDir + "/emulate.js")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", script)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errs testlog.Buffer
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatalf("node: %v", err)
	}
	t.Cleanup(func() {
		_ = in.Close() // its sign to end
		limit := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
		defer limit.Stop()
		if err := cmd.Wait(); err != nil {
			t.Errorf("emulate ended badly: %v\n%s", err, errs.String())
		}
	})
	if _, err := in.Write(append(first, '\n')); err != nil {
		t.Fatal(err)
	}
	said, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || said != "ready\n" {
		t.Fatalf("emulate said %q, %v; was it installed by `make contract`?\n%s", said, err, errs.String())
	}
	return "http://" + address
}

// as makes a request of emulate as a person, and gives the answer's JSON.
func (w *emulated) as(who, method, path string, body any) map[string]any {
	w.t.Helper()
	status, answer := w.ask(who, method, path, body)
	if status < 200 || status > 299 {
		w.t.Fatalf("%s %s as %s: %d %v", method, path, who, status, answer)
	}
	m, _ := answer.(map[string]any)
	return m
}

// list reads a list from emulate.
func (w *emulated) list(path string) []any {
	w.t.Helper()
	_, answer := w.ask("acme", http.MethodGet, path, nil)
	all, ok := answer.([]any)
	if !ok {
		w.t.Fatalf("GET %s: %v", path, answer)
	}
	return all
}

func (w *emulated) ask(who, method, path string, body any) (int, any) {
	w.t.Helper()
	var sent io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		w.ok(err)
		sent = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.emulate+path, sent)
	w.ok(err)
	req.Header.Set("Authorization", "Bearer "+who+"-token")
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	w.ok(err)
	defer func() { _ = resp.Body.Close() }()
	var answer any
	_ = json.NewDecoder(resp.Body).Decode(&answer) // none with 204
	return resp.StatusCode, answer
}

// fill copies the repository into emulate, object by object. Both must give
// every commit the same id, or no runner could fetch what emulate names.
func (w *emulated) fill(dir string) {
	w.t.Helper()
	const git = "/repos/acme/engine/git/"
	for _, sha := range strings.Fields(gitIn(w.t, dir, "rev-list", "--reverse", "--topo-order", "--all")) {
		var tree []any
		for _, entry := range strings.Split(strings.TrimSuffix(gitIn(w.t, dir, "ls-tree", "-r", "-z", sha), "\x00"), "\x00") {
			head, path, _ := strings.Cut(entry, "\t")
			f := strings.Fields(head) // mode, type, id
			blob := w.as("acme", http.MethodPost, git+"blobs", map[string]any{"content": gitIn(w.t, dir, "cat-file", "blob", f[2]), "encoding": "utf-8"})
			tree = append(tree, map[string]any{"path": path, "mode": f[0], "type": f[1], "sha": blob["sha"]})
		}
		made := w.as("acme", http.MethodPost, git+"trees", map[string]any{"tree": tree})
		f := strings.Split(strings.TrimSpace(gitIn(w.t, dir, "log", "-1", "--format=%an%n%ae%n%aI%n%cn%n%ce%n%cI%n%P%n%s", sha)), "\n")
		commit := w.as("acme", http.MethodPost, git+"commits", map[string]any{
			"tree": made["sha"], "parents": append([]string{}, strings.Fields(f[6])...), "message": f[7],
			"author":    map[string]any{"name": f[0], "email": f[1], "date": f[2]},
			"committer": map[string]any{"name": f[3], "email": f[4], "date": f[5]},
		})
		if commit["sha"] != sha {
			w.t.Fatalf("emulate names the commit %v, git %s", commit["sha"], sha)
		}
	}
	for _, branch := range []string{"main", "change"} {
		sha := strings.TrimSpace(gitIn(w.t, dir, "rev-parse", branch))
		w.as("acme", http.MethodPost, git+"refs", map[string]any{"ref": "refs/heads/" + branch, "sha": sha})
		w.head = sha
	}
	w.as("acme", http.MethodPut, "/repos/acme/engine/collaborators/writer", map[string]any{"permission": "push"})
}

// eventually waits, and leaves emulate's 5,000 requests an hour for others.
func (w *emulated) eventually(what string, true func() bool) {
	w.t.Helper()
	for limit := time.Now().Add(time.Minute); !true(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(limit) {
			w.t.Fatalf("never: %s", what)
		}
	}
}

// ourComments are the bodies of the App's comments on the pull request.
func (w *emulated) ourComments() []string {
	w.t.Helper()
	var out []string
	for _, one := range w.list("/repos/acme/engine/issues/1/comments") {
		c := one.(map[string]any)
		if user := c["user"].(map[string]any); user["login"] == "prbench[bot]" && user["type"] == "Bot" {
			out = append(out, c["body"].(string))
		}
	}
	return out
}

// checkRuns are those of the pull request's head, and how many of them are
// complete.
func (w *emulated) checkRuns() (all []map[string]any, complete int) {
	w.t.Helper()
	answer := w.as("acme", http.MethodGet, "/repos/acme/engine/commits/"+w.head+"/check-runs?filter=all", nil)
	for _, one := range answer["check_runs"].([]any) {
		run := one.(map[string]any)
		all = append(all, run)
		if run["status"] == "completed" {
			complete++
		}
	}
	return all, complete
}

func (w *emulated) labels() int {
	w.t.Helper()
	return len(w.list("/repos/acme/engine/issues/1/labels"))
}

// installed fails early where the wrong node would fail later, with less to go by.
func installed(t *testing.T) {
	t.Helper()
	out, err := exec.Command("node", "--version").Output()
	if err != nil {
		t.Fatalf("node: %v", err)
	}
	major, _, _ := strings.Cut(strings.TrimPrefix(string(out), "v"), ".")
	if n, err := strconv.Atoi(major); err != nil || n < 18 {
		t.Fatalf("node is %s: emulate needs 18", strings.TrimSpace(string(out)))
	}
	if _, err := os.Stat(contractDir + "/node_modules/emulate"); err != nil {
		t.Fatal("emulate is not installed: run `make contract`")
	}
}
