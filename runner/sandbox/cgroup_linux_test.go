package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const hybridMounts = `24 30 0:22 / /sys rw,nosuid - sysfs sysfs rw
31 24 0:26 / /sys/fs/cgroup ro,nosuid shared:9 - tmpfs tmpfs ro,mode=755
32 31 0:27 / /sys/fs/cgroup/unified rw,nosuid shared:10 - cgroup2 cgroup2 rw
33 31 0:28 /docker/abc /sys/fs/cgroup/memory rw,nosuid - cgroup cgroup rw,memory
`

func TestControlGroupsAreFoundWhereTheyAreMounted(t *testing.T) {
	hs := parseMounts(hybridMounts)
	if len(hs) != 2 || !hs[0].v2 || hs[1].v2 {
		t.Fatalf("hierarchies %+v", hs)
	}
	own := parseOwn("5:cpu,cpuacct:/x\n4:memory:/docker/abc/runner\n0::/system.slice/prbench-runner.service\n")
	for _, c := range []struct {
		h           hierarchy
		group, want string
	}{
		{hs[0], own[""], "/sys/fs/cgroup/unified/system.slice/prbench-runner.service"},
		{hs[0], "/", "/sys/fs/cgroup/unified"},
		{hs[1], own["memory"], "/sys/fs/cgroup/memory/runner"},
		{hs[1], "/docker/abc", "/sys/fs/cgroup/memory"},
		{hs[1], "/docker/abcd", ""},
		{hs[1], "/../outside", ""},
		{hs[1], own["pids"], ""},
	} {
		if got := c.h.dir(c.group); got != c.want {
			t.Errorf("group %q at %s: %q, expected %q", c.group, c.h.point, got, c.want)
		}
	}
}

func FuzzTheKernelsListsOfGroupsNeverLeadOutside(f *testing.F) {
	f.Add(hybridMounts, "4:memory:/docker/abc/runner\n0::/\n")
	f.Fuzz(func(t *testing.T, mounts, own string) {
		groups := parseOwn(own)
		for _, h := range parseMounts(mounts) {
			for _, c := range append(h.controllers, "") {
				if d := h.dir(groups[c]); d != "" && !within(filepath.Clean(d), filepath.Clean(h.point)) {
					t.Errorf("%q is not in %q", d, h.point)
				}
			}
		}
	})
}

// fakeV2 is a directory with the control files of a v2 group, as the kernel shows them when the named controllers are on.
func fakeV2(t *testing.T, controllers string, procs string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"cgroup.controllers": controllers, "cgroup.subtree_control": "", "cgroup.procs": procs, "cgroup.type": "domain"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestADelegatedGroupIsUsedOnlyWithEveryWantedController(t *testing.T) {
	want := map[string]bool{"memory": true, "pids": true, "cpuset": false}
	if g := useV2(fakeV2(t, "cpu memory pids\n", ""), want, false); g == nil {
		t.Error("a group with all controllers is not used")
	}
	if g := useV2(fakeV2(t, "cpu memory\n", ""), want, false); g != nil {
		t.Error("a group without the pids controller is used")
	}
	if g := useV2(fakeV2(t, "memory pids\n", "1\n2\n"), want, false); g != nil {
		t.Error("a group with foreign processes is used")
	}
	if movable(fakeV2(t, "memory", "1\n")) || !movable(fakeV2(t, "memory", strconv.Itoa(os.Getpid())+"\n")) {
		t.Error("a group that is not delegated may be emptied when it holds this process alone")
	}
}

func TestWhatTheKernelCountsInAGroupIsTheLimitHit(t *testing.T) {
	for want, files := range map[string]map[string]string{
		"":          {"memory.events": "low 0\nmax 9\noom 0\noom_kill 0\n", "pids.events": "max 0\n"},
		LimitMemory: {"memory.events": "oom 1\noom_kill 2\n", "pids.events": "max 5\n"},
		LimitPids:   {"memory.events": "oom 1\noom_kill 0\n", "pids.events": "max 5\n"},
	} {
		dir := t.TempDir()
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, "memory.peak"), []byte("12345\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		l := &leaf{dirs: []string{dir}}
		if got := l.hit(); got != want || l.peak() != 12345 {
			t.Errorf("hit %q, expected %q; peak %d", got, want, l.peak())
		}
	}
}

// v2Mount is where a v2 hierarchy is mounted that this process may make groups in, or "".
func v2Mount() string {
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	own, _ := os.ReadFile("/proc/self/cgroup")
	for _, h := range parseMounts(string(mounts)) {
		if dir := h.dir(parseOwn(string(own))[""]); h.v2 && dir != "" && tryLeaf(dir) {
			return dir
		}
	}
	return ""
}

func TestAProcessIsBornInItsV2GroupAndEndsWithIt(t *testing.T) {
	parent := v2Mount()
	if parent == "" {
		// The machine shows no v2 hierarchy to this user: then none is found for runs either.
		if g := findV2(nil, "/", map[string]bool{"memory": true}); g != nil {
			t.Errorf("groups %+v", g)
		}
		return
	}
	g := &groups{v2: parent, controllers: map[string]bool{}}
	l, err := g.newLeaf(Config{})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", "-c", "sleep 3600 & sleep 3600")
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(l.fd.Fd())}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); len(processes(l.dirs[0])) < 3 && time.Now().Before(end); time.Sleep(time.Millisecond) {
	}
	inside := processes(l.dirs[0])
	if len(inside) < 2 {
		t.Errorf("processes in the group: %v", inside)
	}
	dir := l.dirs[0]
	go cmd.Wait()
	if err := l.remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Errorf("%s is still there", dir)
	}
	for _, pid := range inside {
		if st, err := statOf(pid); err == nil && st.state != 'Z' {
			t.Errorf("process %d is still there", pid)
		}
	}
}

func TestGroupsOfRunnersThatAreGoneAreRemoved(t *testing.T) {
	dir := t.TempDir()
	gone := exec.Command("/bin/true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	old := filepath.Join(dir, leafPrefix+strconv.Itoa(gone.Process.Pid)+"-7")
	live := filepath.Join(dir, leafPrefix+strconv.Itoa(os.Getpid())+"-7")
	for _, d := range []string{old, live} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if !tryLeaf(dir) {
		t.Error("no group can be made")
	}
	if _, err := os.Stat(old); err == nil && unix.Kill(gone.Process.Pid, 0) == unix.ESRCH {
		t.Error("the group of a runner that is gone is still there")
	}
	if _, err := os.Stat(live); err != nil {
		t.Errorf("the group of a runner that lives: %v", err)
	}
}
