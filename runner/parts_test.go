package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prbench/prbench/internal/job"
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

// states gives "name=state" of the checks.
func states(checks []Check) string {
	var s []string
	for _, c := range checks {
		s = append(s, c.Name+"="+string(c.State))
	}
	slices.Sort(s)
	return strings.Join(s, " ")
}

func TestAMachinesFitnessIsReadFromTheKernel(t *testing.T) {
	const cpus = "sys/devices/system/cpu/"
	good, bad := t.TempDir(), t.TempDir()
	put(t, good, map[string]string{
		cpus + "cpu0/cpufreq/scaling_governor": "performance\n", cpus + "intel_pstate/no_turbo": "1\n", cpus + "smt/active": "0\n",
		"proc/loadavg": "0.50 0.4 0.3 1/100 1\n", "proc/sys/kernel/randomize_va_space": "2\n"})
	put(t, bad, map[string]string{
		cpus + "cpu0/cpufreq/scaling_governor": "performance\n", cpus + "cpu1/cpufreq/scaling_governor": "powersave\n",
		cpus + "cpufreq/boost": "1\n", cpus + "smt/active": "1\n",
		"proc/loadavg": "9.50 0.4 0.3 1/100 1\n", "proc/sys/kernel/randomize_va_space": "0\n"})
	for root, want := range map[string]string{
		good:        "aslr=ok governor=ok load=ok smt=ok turbo=ok",
		bad:         "aslr=unfit governor=warn load=warn smt=warn turbo=warn",
		t.TempDir(): "aslr=unknown governor=unknown load=unknown smt=unknown turbo=unknown",
	} {
		if got := states(fitness(root, 2)); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	unfit, warn := judge(fitness(bad, 2))
	if len(unfit) != 1 || len(warn) != 4 || !strings.Contains(strings.Join(warn, "\n"), "powersave") {
		t.Errorf("unfit %q, warn %q", unfit, warn)
	}
}

func TestWhatHappenedWhileAJobWasMeasuredIsTold(t *testing.T) {
	const throttle = "sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count"
	at := func(steal, swap, throttled int) reading {
		dir := t.TempDir()
		put(t, dir, map[string]string{
			"proc/stat":   fmt.Sprintf("cpu  %d 0 0 0 0 0 0 %d 0 0\ncpu0 1 2 3\n", 1000*(1+min(steal, 1))-steal, steal),
			"proc/vmstat": fmt.Sprintf("pgpgin 5\npswpin %d\n", swap), throttle: fmt.Sprintf("%d\n", throttled)})
		return takeReading(dir)
	}
	before := at(0, 3, 7)
	for _, c := range []struct {
		after reading
		want  string
	}{
		{at(1, 3, 7), "steal=ok"},
		{at(20, 3, 7), "steal=warn"},
		{at(100, 4, 8), "steal=unfit swap=warn throttling=unfit"},
	} {
		if got := states(before.since(c.after)); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
	if got := (reading{}).since(reading{}); len(got) != 0 {
		t.Errorf("a machine that tells nothing: %v", got)
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
