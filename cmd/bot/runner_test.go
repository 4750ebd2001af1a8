package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prbench/prbench/internal/config"
	"github.com/prbench/prbench/internal/queue"
	"github.com/prbench/prbench/runner/sandbox"
	"github.com/prbench/prbench/runner/source"
)

// runnerFile loads runner.yaml from a folder that has a runner's key too.
func runnerFile(t *testing.T, text string) (*config.Runner, string) {
	t.Helper()
	dir := t.TempDir()
	seed, _, err := queue.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"runner.yaml": text, "runner.nk": seed} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg, err := config.LoadRunner(filepath.Join(dir, "runner.yaml"), os.LookupEnv, config.RunnerFlags{})
	if err != nil {
		t.Fatal(err)
	}
	return cfg, dir
}

func TestARunnersSandboxHasItsLimitsAndHidesItsKey(t *testing.T) {
	const small = "serve: nats://127.0.0.1:4222\nkey_file: runner.nk\nwork: work\n"
	for _, c := range []struct {
		name, text         string
		fileSize, keepFree int64
	}{
		{"by default", small, 16 << 30, 5 << 30},
		{"as configured", small + "sandbox: {file_size: 1GiB, keep_free: 30GiB}\n", 1 << 30, 30 << 30},
	} {
		cfg, dir := runnerFile(t, c.text)
		want := sandbox.Config{Kind: sandbox.Bubblewrap, Memory: config.DefaultMemory, Pids: config.DefaultPids,
			FileSize: c.fileSize, KeepFree: c.keepFree, Owner: filepath.Join(dir, "work"), Private: []string{filepath.Join(dir, "work"), filepath.Join(dir, "runner.nk")}}
		if d := cmp.Diff(want, sandboxConfig(cfg)); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
}

func TestARunnersSourcesHaveTheBoundsOfItsFile(t *testing.T) {
	const small = "serve: nats://127.0.0.1:4222\nkey_file: runner.nk\nwork: work\n"
	for _, c := range []struct {
		name, text string
		want       source.Limits
	}{
		{"by default", small, source.Limits{Files: 2_000_000, Size: 50 << 30, Fetch: 20 << 30, Timeout: 30 * time.Minute, FetchTimeout: 2 * time.Hour, KeepFree: 5 << 30}},
		{"as configured", small + "sandbox: {keep_free: 1GiB}\ncheckout: {files: 1000, size: 2GiB, fetch: 3GiB, timeout: 4m, fetch_timeout: 5m}\n",
			source.Limits{Files: 1000, Size: 2 << 30, Fetch: 3 << 30, Timeout: 4 * time.Minute, FetchTimeout: 5 * time.Minute, KeepFree: 1 << 30}},
	} {
		cfg, _ := runnerFile(t, c.text)
		if got := sourceLimits(cfg); got != c.want {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestARunnerFetchesFromTheForgeThatItsFileNamesAlone(t *testing.T) {
	const small = "serve: nats://127.0.0.1:4222\nkey_file: runner.nk\nwork: work\n"
	for _, c := range []struct {
		forge    string
		loopback bool
		host     string
	}{
		{"", false, "github.com"},
		{"forge: https://ghe.example.org:8443/\n", false, "ghe.example.org:8443"},
		{"forge: http://127.0.0.1:4711\n", true, "127.0.0.1:4711"},
		{"", true, ""},
	} {
		cfg, _ := runnerFile(t, small+c.forge)
		if got := forgeHost(cfg, machine{loopback: c.loopback}); got != c.host {
			t.Errorf("%q, loopback %v: fetches from %q, want %q", c.forge, c.loopback, got, c.host)
		}
	}
}
