package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// v2Own is the group that the runner's own process moves to: a group that hands controllers on may hold no process itself.
const v2Own = "prbench-runner"

// v2Top is where root makes the groups when its own group was not delegated to it.
const v2Top = "prbench"

// findV2 finds a v2 group that can hand every wanted controller on to runs, or nil. own is this process's group. It is, in this order:
// the own group, if it is delegated (systemd's Delegate=yes, a container's top) or holds no foreign process, or the parent of an own
// group that an earlier call moved to; and for root a group at the top of the hierarchy.
func findV2(hs []hierarchy, own string, want map[string]bool) *groups {
	i := slices.IndexFunc(hs, func(h hierarchy) bool { return h.v2 })
	if i < 0 {
		return nil
	}
	h := hs[i]
	if dir := h.dir(own); dir != "" {
		if filepath.Base(dir) == v2Own {
			dir = filepath.Dir(dir)
		}
		if dir != h.point || h.root != "/" || nested(dir) {
			if g := useV2(dir, want, movable(dir)); g != nil {
				return g
			}
		}
	}
	if os.Geteuid() != 0 || h.root != "/" {
		return nil
	}
	if !hasControllers(h.point, want) || !enable(h.point, want) {
		return nil
	}
	top := filepath.Join(h.point, v2Top)
	if err := os.Mkdir(top, 0o755); err != nil && !os.IsExist(err) {
		return nil
	}
	return useV2(top, want, false)
}

// nested tells whether dir is a group below the machine's own top, which has no type.
func nested(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "cgroup.type"))
	return err == nil
}

// useV2 prepares dir to hold runs' groups, after moving its processes (all of them ours, when move says so) out of the way.
func useV2(dir string, want map[string]bool, move bool) *groups {
	if !hasControllers(dir, want) || !tryLeaf(dir) {
		return nil
	}
	if len(processes(dir)) > 0 && (!move || !moveDown(dir)) {
		return nil
	}
	if !enable(dir, want) {
		return nil
	}
	return &groups{v2: dir, controllers: want}
}

func hasControllers(dir string, want map[string]bool) bool {
	b, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return false
	}
	have := strings.Fields(string(b))
	any := false
	for c, w := range want {
		if w && !slices.Contains(have, c) {
			return false
		}
		any = any || w
	}
	return any
}

// enable hands the wanted controllers on to the groups below dir.
func enable(dir string, want map[string]bool) bool {
	for c, w := range want {
		if w && write(dir, "cgroup.subtree_control", "+"+c) != nil {
			return false
		}
	}
	return true
}

// movable tells whether the processes of dir may be moved: the group is delegated to us, or all of them are this one.
func movable(dir string) bool {
	for _, attr := range []string{"user.delegate", "trusted.delegate"} {
		b := make([]byte, 8)
		if n, err := unix.Getxattr(dir, attr, b); err == nil && string(b[:n]) == "1" {
			return true
		}
	}
	return !slices.ContainsFunc(processes(dir), func(pid int) bool { return pid != os.Getpid() })
}

func processes(dir string) []int {
	b, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return nil
	}
	var pids []int
	for _, f := range strings.Fields(string(b)) {
		if pid, err := strconv.Atoi(f); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// moveDown moves the processes of dir into a group below it.
func moveDown(dir string) bool {
	own := filepath.Join(dir, v2Own)
	if err := os.Mkdir(own, 0o755); err != nil && !os.IsExist(err) {
		return false
	}
	for _, pid := range processes(dir) {
		if write(own, "cgroup.procs", pid) != nil {
			return false
		}
	}
	return len(processes(dir)) == 0
}

// makeV2 makes the group of one run and opens it, so that the child is born in it.
func (l *leaf) makeV2(cfg Config) error {
	d, err := l.mkdir(l.g.v2)
	if err != nil {
		return err
	}
	if l.g.controllers["memory"] {
		if err := write(d, "memory.max", cfg.Memory); err != nil {
			return err
		}
		// Without swap there is no such file, and with it a limit that can be swapped around is none.
		_ = write(d, "memory.swap.max", 0)
		if err := write(d, "memory.oom.group", 1); err != nil {
			return err
		}
	}
	if l.g.controllers["pids"] {
		if err := write(d, "pids.max", cfg.Pids); err != nil {
			return err
		}
	}
	l.fd, err = os.Open(d)
	return err
}
