package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/runner/sandbox"
)

// put writes files below dir, by name.
func put(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestACopiedBuildKeepsTimesAndFollowsNoLink(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	put(t, dir, map[string]string{"from/a/b.o": "object", "outside": "secret"})
	old := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, err := range []error{
		os.Symlink("../outside", filepath.Join(from, "link")),
		os.Symlink("/", filepath.Join(from, "a", "root")),
		syscall.Mkfifo(filepath.Join(from, "pipe"), 0o644),
		os.Chmod(filepath.Join(from, "a", "b.o"), 0o750),
		os.Chtimes(filepath.Join(from, "a", "b.o"), old, old),
		os.Chtimes(filepath.Join(from, "a"), old, old),
		os.Chmod(filepath.Join(from, "a"), 0o555),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := copyTree(t.Context(), from, to); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(to, "a", "b.o"))
	if err != nil || !info.ModTime().Equal(old) || info.Mode().Perm() != 0o750 {
		t.Errorf("the file: %v, %v", info, err)
	}
	if info, err := os.Stat(filepath.Join(to, "a")); err != nil || !info.ModTime().Equal(old) || info.Mode().Perm() != 0o555 {
		t.Errorf("the folder: %v, %v", info, err)
	}
	if at, err := os.Readlink(filepath.Join(to, "link")); err != nil || at != "../outside" {
		t.Errorf("the link: %q, %v", at, err)
	}
	if _, err := os.Lstat(filepath.Join(to, "pipe")); !os.IsNotExist(err) {
		t.Errorf("the pipe was copied: %v", err)
	}
	for _, d := range []string{from, to} { // what nobody may write goes all the same
		if err := removeTree(d); err != nil {
			t.Error(err)
		}
	}
}

func TestTheCacheOfBuildsStaysWithinItsLimit(t *testing.T) {
	dir := t.TempDir()
	b := baseCache{dir: filepath.Join(dir, "bases"), limit: 1000}
	put(t, dir, map[string]string{"bases/9-broken/cache/x": "x"})
	keep := func(repo int64, size int) cacheKey {
		t.Helper()
		k := cacheKey{Repository: repo, SHA: fmt.Sprint(repo)}
		put(t, dir, map[string]string{"tree/a": strings.Repeat("x", size), "cache/c": ""})
		if err := b.put(k, filepath.Join(dir, "tree"), filepath.Join(dir, "cache")); err != nil {
			t.Fatal(err)
		}
		return k
	}
	has := func(k cacheKey) bool {
		t.Helper()
		to := filepath.Join(dir, fmt.Sprint("taken", k.Repository))
		hit, err := b.take(k, to+"-tree", to+"-cache")
		if err != nil {
			t.Fatal(err)
		}
		if hit { // put it back
			if err := b.put(k, to+"-tree", to+"-cache"); err != nil {
				t.Fatal(err)
			}
		}
		return hit
	}
	first, second := keep(1, 400), keep(2, 400)
	at, err := b.entry(first)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(at, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	third := keep(3, 400)
	if has(first) || !has(second) || !has(third) {
		t.Error("not the build that was used longest ago went")
	}
	if b.latest(second) == "" || b.latest(first) != "" {
		t.Error("the newest entry of a repository is not found")
	}
	if _, err := os.Stat(filepath.Join(dir, "bases", "9-broken")); !os.IsNotExist(err) {
		t.Errorf("a broken entry is kept: %v", err)
	}
	put(t, dir, map[string]string{"big/a": strings.Repeat("x", 1001), "bigcache/c": ""})
	if err := b.put(cacheKey{Repository: 4}, filepath.Join(dir, "big"), filepath.Join(dir, "bigcache")); err != nil {
		t.Error(err)
	}
	if !has(second) || !has(third) {
		t.Error("a build that is too large has driven the others out")
	}
}

func TestTheSpoolDeliversInOrderAndToTheEnd(t *testing.T) {
	var got []int
	s, err := newSpool(t.Context(), filepath.Join(t.TempDir(), "records"), func(_ context.Context, r job.Run) error {
		got = append(got, r.Pair)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		if err := s.add(job.Run{Pair: i, Log: strings.Repeat("line\n", i*20)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	if len(got) != 100 || !slices.IsSorted(got) {
		t.Errorf("delivered: %v", got)
	}
}

func TestASpoolWhoseDeliveryFailedTakesNoMore(t *testing.T) {
	refused := errors.New("refused")
	s, err := newSpool(t.Context(), filepath.Join(t.TempDir(), "records"), func(context.Context, job.Run) error { return refused })
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		err = s.add(job.Run{})
	}
	if !errors.Is(err, refused) || !errors.Is(s.close(), refused) {
		t.Errorf("got %v", err)
	}
}

func TestASpoolEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s, err := newSpool(ctx, filepath.Join(t.TempDir(), "records"), func(ctx context.Context, _ job.Run) error {
		<-ctx.Done()
		return ctx.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.add(job.Run{}); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := s.close(); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestAMachineIsDescribedByWhatItsKernelTells(t *testing.T) {
	files := fstest.MapFS{
		"proc/cpuinfo":              {Data: []byte("processor\t: 0\nmodel name\t: Example  CPU @ 2.40GHz\n")},
		"proc/sys/kernel/osrelease": {Data: []byte("6.1.0-18-amd64\n")},
		"etc/os-release":            {Data: []byte("NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12\"\n")},
	}
	h := hostFacts(files, "bench-1", sandbox.Facts{Kind: sandbox.Bubblewrap, Version: "0.8.0", UID: 63636, Memory: "cgroup v2", Pids: "none"})
	want := job.Host{Name: "bench-1", CPU: "Example CPU @ 2.40GHz", Cores: runtime.NumCPU(), Kernel: "6.1.0-18-amd64", OS: "Debian GNU/Linux 12",
		Sandbox: "bubblewrap 0.8.0, uid 63636, memory by cgroup v2"}
	if setup := fmt.Sprintf("Example CPU @ 2.40GHz, %d cores; kernel 6.1.0-18-amd64; benchmarks on any CPU; ", runtime.NumCPU()); !strings.HasPrefix(h.Setup, setup) {
		t.Errorf("set up as %q", h.Setup)
	}
	h.Setup = ""
	if !reflect.DeepEqual(h, want) {
		t.Errorf("got  %+v\nwant %+v", h, want)
	}
	if h := hostFacts(fstest.MapFS{}, "bench-1", sandbox.Facts{Kind: sandbox.None}); h.CPU != runtime.GOARCH || h.OS != runtime.GOOS || h.Sandbox != "none" {
		t.Errorf("a machine that tells nothing: %+v", h)
	}
}
