package runner

import (
	"context"
	"encoding/pem"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/runner/sandbox"
)

// builder is an execution that can build one written tree.
func builder(t *testing.T, build job.Build) (*execution, string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "prbench-network-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := removeTree(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	cfg := sandbox.Config{Kind: sandbox.Bubblewrap}
	if os.Geteuid() == 0 {
		cfg.User = "nobody"
	}
	box, err := sandbox.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	e := &execution{box: box, dir: dir, spec: job.Spec{Build: build}, log: slog.New(slog.DiscardHandler)}
	if err := os.Mkdir(e.tree(job.New), 0o755); err != nil {
		t.Fatal(err)
	}
	return e, e.tree(job.New)
}

// served is a git repository behind TLS, on this machine's loopback.
func served(t *testing.T) *httptest.Server {
	t.Helper()
	dir := t.TempDir()
	for _, args := range [][]string{
		{"init", "-q", "-b", "main", "work"}, {"-C", "work", "commit", "-q", "--allow-empty", "-m", "one"},
		{"clone", "-q", "--bare", "work", "thing.git"}, {"-C", "thing.git", "update-server-info"},
	} {
		cmd := exec.Command("git", append([]string{"-c", "user.name=n", "-c", "user.email=n@example.com"}, args...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	s := httptest.NewTLSServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(s.Close)
	return s
}

func TestABuildFetchesFromTheHostsThatAreNamedAndReachesNothingElse(t *testing.T) {
	server := served(t)
	at := server.Listener.Addr().String()
	e, tree := builder(t, job.Build{Network: []string{"example.com"}, Run: `set -e
export GIT_SSL_CAINFO=/src/ca.pem GIT_TERMINAL_PROMPT=0
git clone -q https://example.com/thing.git thing
git -C thing log -1 --format=%s > fetched
no() { if "$@" 2>> refused; then echo "this was reached: $*"; exit 9; fi; }
no git ls-remote https://other.example.org/thing.git
no git ls-remote https://example.com:8443/thing.git
no git ls-remote http://example.com/thing.git
no git ls-remote https://169.254.169.254/latest
no git -c http.proxy= ls-remote https://` + at + `/thing.git
unset HTTPS_PROXY https_proxy ALL_PROXY all_proxy HTTP_PROXY http_proxy
no git ls-remote https://` + at + `/thing.git
no git ls-remote https://example.com/thing.git
no touch /run/prbench/mine
`})
	put(t, tree, map[string]string{"ca.pem": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))})
	if err := e.box.Own(t.Context(), tree); err != nil {
		t.Fatal(err)
	}
	site := netip.MustParseAddr("93.184.215.14")
	e.reach.Resolve = func(context.Context, string) ([]netip.Addr, error) { return []netip.Addr{site}, nil }
	e.reach.Dial = func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
		if to != netip.AddrPortFrom(site, 443) {
			t.Errorf("the proxy connects to %v", to)
		}
		var d net.Dialer
		return d.DialContext(ctx, "tcp", at)
	}
	if out := e.buildOnce(t.Context(), job.New); out != nil {
		t.Fatalf("%s\n%s", out.Text, out.Log)
	}
	if got, err := os.ReadFile(filepath.Join(tree, "fetched")); err != nil || string(got) != "one\n" {
		t.Errorf("fetched %q, %v", got, err)
	}
	notes := strings.Join(e.notes, "\n")
	for _, want := range []string{
		"the build of the head asked for other.example.org, which is not in build.network",
		"the build of the head asked for example.com:8443, and only port 443 is passed on",
		"the build of the head asked for example.com, by plain http, which is not passed on",
		"the build of the head asked for 169.254.169.254:443, which is an address",
	} {
		if !strings.Contains(notes, want) {
			t.Errorf("the notes lack %q", want)
		}
	}
	if len(e.notes) != 4 {
		t.Errorf("notes:\n%s", notes)
	}
	left, err := filepath.Glob(filepath.Join(e.dir, "network-*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestABuildWithoutNamedHostsHasNoWayOut(t *testing.T) {
	e, tree := builder(t, job.Build{Run: "env > env; test ! -e /run/prbench && ! git ls-remote https://example.com/x 2> /dev/null"})
	if err := e.box.Own(t.Context(), tree); err != nil {
		t.Fatal(err)
	}
	if out := e.buildOnce(t.Context(), job.New); out != nil {
		t.Fatalf("%s\n%s", out.Text, out.Log)
	}
	env, err := os.ReadFile(filepath.Join(tree, "env"))
	if err != nil || strings.Contains(strings.ToLower(string(env)), "proxy") {
		t.Errorf("the environment: %s, %v", env, err)
	}
}

func TestABuildWithNamedHostsEndsWithItsOwnStatus(t *testing.T) {
	for script, want := range map[string]string{"exit 3": "head did not build: exit 3", "kill -9 $$": "head did not build: ended by SIGKILL"} {
		e, tree := builder(t, job.Build{Network: []string{"example.com"}, Run: script})
		if err := e.box.Own(t.Context(), tree); err != nil {
			t.Fatal(err)
		}
		if out := e.buildOnce(t.Context(), job.New); out == nil || out.Kind != job.BuildFailed || out.Text != want {
			t.Errorf("%s: %+v, want %q", script, out, want)
		}
	}
}
