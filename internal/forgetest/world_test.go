package forgetest_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/prbench/prbench/internal/forge"
	"github.com/prbench/prbench/internal/forgetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const hookSecret = "a secret between the App and its server"

// world is a GitHub with an organisation's repository, a contributor's fork of
// it with an open pull request, an App that is installed, and the App's client.
type world struct {
	*forgetest.Server
	t     *testing.T
	app   *forgetest.App
	inst  *forgetest.Installation
	repo  *forgetest.Repo
	fork  *forgetest.Repo
	pull  *forgetest.Pull
	forge *forge.Forge
	gh    *forge.Client
	name  forge.Repo
	hooks *hookSink
	now   func() time.Time // the server's clock, where a test sets one
}

func newWorld(t *testing.T, private bool) *world {
	t.Helper()
	w := &world{Server: forgetest.Start(t), t: t, name: forge.Repo{Owner: "acme", Name: "engine"}, hooks: newHookSink(t)}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	for _, login := range []string{"dev-a", "dev-b", "stranger"} {
		forgetest.Must(w.AddUser(login))
	}
	var err error
	w.repo, err = w.AddRepo("acme/engine", forgetest.RepoSpec{Private: private, Build: func(b *forgetest.Work) error {
		if err := forgetest.WriteFiles("first", map[string]string{"speed.txt": "slow\n", ".github/benchmark.yml": "version: 1\n"})(b); err != nil {
			return err
		}
		_, err := b.Git("tag", "-a", "v1.0", "-m", "release")
		return err
	}})
	w.ok(err)
	w.ok(w.Grant(w.repo, "dev-a", "write"))
	w.fork, err = w.Fork(w.repo, "dev-b")
	w.ok(err)
	_, err = w.Push("dev-b", w.fork, "faster", forgetest.WriteFiles("go faster", map[string]string{"speed.txt": "fast\n"}))
	w.ok(err)
	w.app, err = w.AddApp(forgetest.AppSpec{Slug: "prbench", WebhookURL: w.hooks.URL, WebhookSecret: hookSecret})
	w.ok(err)
	w.inst, err = w.Install(w.app, "acme")
	w.ok(err)
	w.pull, err = w.OpenPull(forgetest.PullSpec{Base: w.repo, Head: w.fork, HeadRef: "faster", Title: "Go faster", Body: "It is **fast**."})
	w.ok(err)
	w.forge, err = forge.New(forge.Config{URL: w.APIURL(), AppID: w.app.ID, PrivateKey: w.app.PrivateKey, Pace: -1, Transport: transport})
	w.ok(err)
	w.gh = w.forge.Installation(w.inst.ID)
	return w
}

func (w *world) ok(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// get asks as a bearer of the token, or as nobody, and decodes the answer.
func (w *world) get(token, path string) (int, map[string]any) { return w.send("GET", token, path, "") }

func (w *world) send(method, token, path, body string) (int, map[string]any) {
	w.t.Helper()
	req, err := http.NewRequest(method, w.APIURL()+path, strings.NewReader(body))
	w.ok(err)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := plain.Do(req)
	w.ok(err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	w.ok(err)
	var out map[string]any
	json.Unmarshal(data, &out)
	return resp.StatusCode, out
}

// plain keeps no connection, so that nothing outlives a test.
var plain = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// hookSink is a webhook receiver that keeps what it got.
type hookSink struct {
	*httptest.Server
	mu     sync.Mutex
	got    []received
	status int
}

type received struct {
	event, guid string
	header      http.Header
	body        []byte
}

func newHookSink(t *testing.T) *hookSink {
	h := &hookSink{status: http.StatusAccepted}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.got = append(h.got, received{r.Header.Get("X-GitHub-Event"), r.Header.Get("X-GitHub-Delivery"), r.Header.Clone(), body})
		w.WriteHeader(h.status)
	}))
	t.Cleanup(h.Close)
	return h
}

func (h *hookSink) answer(status int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.status = status
}

func (h *hookSink) all() []received {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]received(nil), h.got...)
}

// git runs git as a client would, without the machine's own configuration.
func git(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C"}
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func read(t *testing.T, elem ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(elem...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func (w *world) settle() {
	w.t.Helper()
	w.ok(w.Settle(context.Background()))
}
