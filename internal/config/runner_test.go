package config

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prbench/prbench/internal/job"
)

const documentedRunner = `serve: wss://bench.example.org/runner
forge: https://github.com
key_file: runner.nk
pool: default
work: /var/cache/prbench
sandbox: {user: prbench-run, expose: [/opt/node], memory: 8GiB, pids: 2048, file_size: 16GiB, keep_free: 5GiB, cpus: "1"}
checkout: {files: 1000000, size: 10GiB, fetch: 4GiB, timeout: 10m, fetch_timeout: 1h}
cache: {mirrors: 40GiB, bases: 60GiB}
calibrate: {every: 168h}
`

// seed has the form of a runner's key and is no key: its checksum is wrong.
var seed = "SUA" + strings.Repeat("B", seedLength-3)

func TestTheDocumentedRunnerConfigIsReadAsWritten(t *testing.T) {
	dir := folder(t, map[string]string{"runner.yaml": documentedRunner, "runner.nk": seed + "\n"})
	r, err := LoadRunner(filepath.Join(dir, "runner.yaml"), noEnv, RunnerFlags{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Serve != "wss://bench.example.org/runner" || r.Key.Reveal() != seed || r.Pool != "default" || r.Work != "/var/cache/prbench" {
		t.Errorf("got %+v", r)
	}
	want := Sandbox{User: "prbench-run", Expose: []string{"/opt/node"}, Memory: 8 << 30, Pids: 2048, FileSize: 16 << 30, KeepFree: 5 << 30, CPUs: []int{1}}
	if diff := cmp.Diff(want, r.Sandbox); diff != "" {
		t.Errorf("sandbox: want - got +\n%s", diff)
	}
	checkout := Checkout{Files: 1_000_000, Size: 10 << 30, Fetch: 4 << 30, Timeout: job.Duration(10 * time.Minute), FetchTimeout: job.Duration(time.Hour)}
	if diff := cmp.Diff(checkout, r.Checkout); diff != "" {
		t.Errorf("checkout: want - got +\n%s", diff)
	}
	if want := (Cache{Mirrors: 40 << 30, Bases: 60 << 30}); r.Cache != want {
		t.Errorf("cache: got %+v, want %+v", r.Cache, want)
	}
	if r.Forge != "https://github.com" {
		t.Errorf("the forge is %q", r.Forge)
	}
	if r.KeyFile != filepath.Join(dir, "runner.nk") {
		t.Errorf("the key is said to be in %q", r.KeyFile)
	}
	if r.Calibrate != job.Duration(168*time.Hour) || len(r.Warnings) > 0 {
		t.Errorf("got %v and %q", r.Calibrate, r.Warnings)
	}
}

func TestARunnersFlagsBeatItsFile(t *testing.T) {
	dir := folder(t, map[string]string{"runner.yaml": documentedRunner, "other.nk": seed, "runner.nk": "not a key"})
	r, err := LoadRunner(filepath.Join(dir, "runner.yaml"), env(EnvRunnerKey, "not a key either"), RunnerFlags{
		Serve: "nats://runner.example.org:4222", KeyFile: filepath.Join(dir, "other.nk"), Pool: "big", Work: dir, Sandbox: "none"})
	if err != nil {
		t.Fatal(err)
	}
	if r.Serve != "nats://runner.example.org:4222" || r.Key.Reveal() != seed || r.KeyFile != filepath.Join(dir, "other.nk") || r.Pool != "big" || r.Work != dir || !r.Sandbox.None {
		t.Errorf("the flags did not win: %+v", r)
	}
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "without TLS") {
		t.Errorf("want a warning about TLS, got %q", r.Warnings)
	}
}

func TestARunnersKeyMayComeFromTheEnvironment(t *testing.T) {
	dir := folder(t, map[string]string{"runner.yaml": strings.Replace(documentedRunner, "key_file: runner.nk\n", "", 1)})
	r, err := LoadRunner(filepath.Join(dir, "runner.yaml"), env(EnvRunnerKey, seed), RunnerFlags{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Key.Reveal() != seed || r.KeyFile != "" {
		t.Error("the key is not the variable's")
	}
}

func TestARunnersConfigurationIsLookedAtWithoutItsKey(t *testing.T) {
	for name, file := range map[string]string{"missing": "no.nk", "wrong": "bad.nk"} {
		dir := folder(t, map[string]string{"runner.yaml": strings.Replace(documentedRunner, "runner.nk", file, 1), "bad.nk": "no key"})
		r, closed, err := LookAtRunner(filepath.Join(dir, "runner.yaml"), noEnv, RunnerFlags{})
		if err != nil || closed == nil || !r.Key.IsZero() || r.Pool != "default" || len(r.Sandbox.CPUs) == 0 {
			t.Errorf("%s: %+v, closed: %v, %v", name, r, closed, err)
		}
		if _, err := LoadRunner(filepath.Join(dir, "runner.yaml"), noEnv, RunnerFlags{}); err == nil || err.Error() != closed.Error() {
			t.Errorf("%s: loading it: %v, want %v", name, err, closed)
		}
	}
	dir := folder(t, map[string]string{"runner.yaml": "pool: default\nkey_file: no.nk\n"})
	if _, _, err := LookAtRunner(filepath.Join(dir, "runner.yaml"), noEnv, RunnerFlags{}); err == nil || !strings.Contains(err.Error(), "serve: is missing") {
		t.Errorf("no server: %v", err)
	}
}

func TestAWrongRunnerConfigIsTold(t *testing.T) {
	change := func(old, text string) string { return strings.Replace(documentedRunner, old, text, 1) }
	tests := []struct {
		name, yaml string
		flags      RunnerFlags
		want       string
	}{
		{"no server", change("serve: wss://bench.example.org/runner\n", ""), RunnerFlags{}, "serve: is missing"},
		{"a web address", change("wss://", "https://"), RunnerFlags{}, ":1: serve: want nats://"},
		{"a forge with a path", change("https://github.com", "https://github.com/acme"), RunnerFlags{}, ":2: forge: want the forge's host alone"},
		{"a forge without TLS", change("https://github.com", "http://ghe.example.org"), RunnerFlags{}, ":2: forge: want https"},
		{"a forge with a password", change("https://github.com", "https://me:hunter2@ghe.example.org"), RunnerFlags{}, "without a user or password"},
		{"a forge that is no address", change("https://github.com", "github.com"), RunnerFlags{}, ":2: forge: want an address"},
		{"no key", change("key_file: runner.nk\n", ""), RunnerFlags{}, "key_file: is missing"},
		{"a key that is none", change("runner.nk", "bad.nk"), RunnerFlags{}, "want the runner's key"},
		{"no folder", change("work: /var/cache/prbench\n", ""), RunnerFlags{}, "work: is missing"},
		{"the root as folder", change("/var/cache/prbench", "/"), RunnerFlags{}, "want a folder of its own"},
		{"a pool with a space", change("pool: default", "pool: a b"), RunnerFlags{}, ":4: pool: want a pool's name"},
		{"runs as root", change("prbench-run", "root"), RunnerFlags{}, "sandbox.user: want a user of its own"},
		{"runs as root by number", change("prbench-run", `"0:0"`), RunnerFlags{}, "sandbox.user: want a user of its own"},
		{"shows the root", change("/opt/node", "/"), RunnerFlags{}, "sandbox.expose[0]: / is too much"},
		{"shows settings", change("/opt/node", "/etc"), RunnerFlags{}, "/etc is never shown"},
		{"shows a home", change("/opt/node", "/home/me/tools"), RunnerFlags{}, "/home/me/tools is never shown"},
		{"shows the state", change("/opt/node", "/var/lib/prbench/x"), RunnerFlags{}, "is never shown"},
		{"shows a way around", change("/opt/node", "/opt/../etc"), RunnerFlags{}, "want an absolute path"},
		{"shows a relative path", change("/opt/node", "node"), RunnerFlags{}, "want an absolute path"},
		{"memory without a unit", change("8GiB", "8"), RunnerFlags{}, "sandbox.memory: want a size such as"},
		{"too little memory", change("8GiB", "1MiB"), RunnerFlags{}, "want a size from 64MiB"},
		{"no processes", change("2048", "0"), RunnerFlags{}, "sandbox.pids: want a whole number from 16"},
		{"no file at all", change("16GiB", "0GiB"), RunnerFlags{}, "sandbox.file_size: want a size from 1MiB"},
		{"a full disk", change("keep_free: 5GiB", "keep_free: 5"), RunnerFlags{}, "sandbox.keep_free: want a size such as"},
		{"no files", change("files: 1000000", "files: 1"), RunnerFlags{}, "checkout.files: want a whole number from 100"},
		{"files as text", change("files: 1000000", "files: 1M"), RunnerFlags{}, "checkout.files: want a whole number"},
		{"a checkout without a unit", change("size: 10GiB", "size: 10"), RunnerFlags{}, "checkout.size: want a size such as"},
		{"a fetch of nothing", change("fetch: 4GiB", "fetch: 0GiB"), RunnerFlags{}, "checkout.fetch: want a size from 1MiB"},
		{"git in no time", change("timeout: 10m", "timeout: 1s"), RunnerFlags{}, "checkout.timeout: want a duration from 1m"},
		{"a fetch for ever", change("fetch_timeout: 1h", "fetch_timeout: 1000h"), RunnerFlags{}, "checkout.fetch_timeout: want a duration from 1m"},
		{"a cache of nothing", change("mirrors: 40GiB", "mirrors: 0GiB"), RunnerFlags{}, "cache.mirrors: want a size from 1MiB"},
		{"a cache that is none", change("bases: 60GiB", "trees: 60GiB"), RunnerFlags{}, "cache.trees: unknown key"},
		{"CPUs backwards", change(`"1"`, `"3-1"`), RunnerFlags{}, "sandbox.cpus: want CPU numbers"},
		{"calibrates always", change("168h", "1s"), RunnerFlags{}, "calibrate.every: want a duration from 1h"},
		{"an unknown sandbox", documentedRunner, RunnerFlags{Sandbox: "docker"}, "--sandbox: want bwrap or none"},
		{"no sandbox by the file", change("sandbox: {", "sandbox: {none: true, "), RunnerFlags{}, "sandbox.none: unknown key"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := folder(t, map[string]string{"runner.yaml": tt.yaml, "runner.nk": seed, "bad.nk": "SUhunter2"})
			_, err := LoadRunner(filepath.Join(dir, "runner.yaml"), noEnv, tt.flags)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("want an error with %q, got %v", tt.want, err)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error shows a secret: %v", err)
			}
		})
	}
}

func TestCPUsAreReadAsNumbersAndRanges(t *testing.T) {
	got, err := ParseCPUs("6, 2-4,3")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{2, 3, 4, 6}, got); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{"", "a", "1-", "-1", "0-99999", "1,,2", "1.10"} {
		if got, err := ParseCPUs(text); err == nil {
			t.Errorf("%q: want an error, got %v", text, got)
		}
	}
}

func FuzzParseRunner(f *testing.F) {
	f.Add([]byte(documentedRunner))
	f.Add([]byte("sandbox: {expose: [/etc, //, /opt/..]}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := ParseRunner(data, "runner.yaml")
		if (r == nil) == (err == nil) {
			t.Fatalf("want a configuration or an error, got %v and %v", r, err)
		}
		var problems Problems
		if err != nil && !errors.As(err, &problems) {
			t.Fatalf("want Problems, got %v", err)
		}
		if err == nil && r.Sandbox.None {
			t.Fatal("a file switched the sandbox off")
		}
	})
}
