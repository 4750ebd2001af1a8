package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// groups are the places in the cgroup hierarchies below which each run gets a group of its own. Either v2 is set, or some of the others.
type groups struct {
	v2                   string
	memory, pids, cpuset string // v1
	threads              bool   // v1: this process may move its own threads
	controllers          map[string]bool
}

// leafNumber tells the groups of one process apart.
var leafNumber atomic.Int64

// leafPrefix begins the name of every run's group; the runner's pid and a number follow.
const leafPrefix = "prbench-run-"

// leaf is the control group of one run.
type leaf struct {
	g    *groups
	dirs []string
	fd   *os.File // of the v2 group, for a child to be born in
	name string
}

// hierarchy is a mounted cgroup file system.
type hierarchy struct {
	root, point string // the group that is its top here, and where it is mounted
	controllers []string
	v2          bool
}

// parseMounts reads the cgroup file systems from the text of /proc/self/mountinfo.
func parseMounts(text string) []hierarchy {
	var out []hierarchy
	for line := range strings.Lines(text) {
		before, after, ok := strings.Cut(line, " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if !ok || len(left) < 5 || len(right) < 3 {
			continue
		}
		h := hierarchy{root: left[3], point: left[4], v2: right[0] == "cgroup2"}
		if right[0] == "cgroup" {
			h.controllers = strings.Split(right[2], ",")
		} else if !h.v2 {
			continue
		}
		out = append(out, h)
	}
	return out
}

// parseOwn reads the text of /proc/self/cgroup: controller (empty for v2) to the group that this process is in.
func parseOwn(text string) map[string]string {
	own := map[string]string{}
	for line := range strings.Lines(text) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 {
			continue
		}
		for _, c := range strings.Split(f[1], ",") {
			own[c] = f[2]
		}
	}
	return own
}

// dir is where group is to be found, or "" where the mount does not show it.
func (h hierarchy) dir(group string) string {
	if !path.IsAbs(group) || strings.HasPrefix(group, "/..") || !within(group, h.root) {
		return ""
	}
	return filepath.Join(h.point, strings.TrimPrefix(group, strings.TrimSuffix(h.root, "/")))
}

// findGroups finds where this process may make control groups for what cfg limits; nil where it may not.
func findGroups(cfg Config, cpus []int) *groups {
	mounts, err1 := os.ReadFile("/proc/self/mountinfo")
	own, err2 := os.ReadFile("/proc/self/cgroup")
	if err1 != nil || err2 != nil {
		return nil
	}
	want := map[string]bool{"memory": cfg.Memory > 0, "pids": cfg.Pids > 0, "cpuset": len(cpus) > 0}
	if !want["memory"] && !want["pids"] && !want["cpuset"] {
		return nil
	}
	groupOf := parseOwn(string(own))
	hs := parseMounts(string(mounts))
	if g := findV2(hs, groupOf[""], want); g != nil {
		return g
	}
	return findV1(hs, groupOf, want)
}

// tryLeaf clears groups of runners that are gone out of dir and tells whether one can be made there.
func tryLeaf(dir string) bool {
	old, _ := filepath.Glob(filepath.Join(dir, leafPrefix+"*"))
	for _, o := range old {
		pid, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(o), leafPrefix), "-")
		if n, err := strconv.Atoi(pid); err == nil && unix.Kill(n, 0) == unix.ESRCH {
			_ = os.Remove(o)
		}
	}
	probe := filepath.Join(dir, leafName())
	if err := os.Mkdir(probe, 0o755); err != nil {
		return false
	}
	return os.Remove(probe) == nil
}

func leafName() string {
	return fmt.Sprintf("%s%d-%d", leafPrefix, os.Getpid(), leafNumber.Add(1))
}

func (g *groups) facts(f *Facts) {
	how := "cgroup v1"
	if g.v2 != "" {
		how = "cgroup v2"
	}
	for c, field := range map[string]*string{"memory": &f.Memory, "pids": &f.Pids, "cpuset": &f.CPUs} {
		if g.controllers[c] {
			*field = how
		}
	}
}

// newLeaf makes the group of one run, with its limits.
func (g *groups) newLeaf(cfg Config) (*leaf, error) {
	l := &leaf{g: g, name: leafName()}
	err := l.make(cfg)
	if err != nil {
		return nil, errors.Join(err, l.remove())
	}
	return l, nil
}

func (l *leaf) make(cfg Config) error {
	if l.g.v2 != "" {
		return l.makeV2(cfg)
	}
	return l.makeV1(cfg)
}

func (l *leaf) mkdir(parent string) (string, error) {
	d := filepath.Join(parent, l.name)
	if err := os.Mkdir(d, 0o755); err != nil {
		return "", err
	}
	l.dirs = append(l.dirs, d)
	return d, nil
}

// pin gives the group the CPUs for payloads. A sandbox is made on the runner's own: it may be made while another payload is measured.
// l may be nil.
func (l *leaf) pin(cpus []int) error {
	if l == nil || !l.g.controllers["cpuset"] {
		return nil
	}
	// The directory of the cpuset is the last one, and with v2 the only one.
	return write(l.dirs[len(l.dirs)-1], "cpuset.cpus", formatCPUs(cpus))
}

// hit is the limit that the run ran into, or "".
func (l *leaf) hit() string {
	for _, d := range l.dirs {
		for _, file := range []string{"memory.events", "memory.oom_control"} {
			if counter(d, file, "oom_kill") > 0 {
				return LimitMemory
			}
		}
	}
	for _, d := range l.dirs {
		if counter(d, "pids.events", "max") > 0 {
			return LimitPids
		}
	}
	return ""
}

// peak is the most memory that the group held, in bytes; 0 where the kernel does not say.
func (l *leaf) peak() int64 {
	for _, d := range l.dirs {
		for _, file := range []string{"memory.peak", "memory.max_usage_in_bytes"} {
			b, err := os.ReadFile(filepath.Join(d, file))
			if err != nil {
				continue
			}
			if n, err := strconv.ParseInt(trim(b), 10, 64); err == nil {
				return n
			}
		}
	}
	return 0
}

// remove ends what is left in the group and removes it. l may be nil.
func (l *leaf) remove() error {
	if l == nil {
		return nil
	}
	if l.fd != nil {
		l.fd.Close()
	}
	var errs []error
	for _, d := range l.dirs {
		errs = append(errs, removeGroup(d))
	}
	l.dirs = nil
	return errors.Join(errs...)
}

func removeGroup(dir string) error {
	pause := time.Millisecond / 4
	for end := time.Now().Add(killDelay); ; time.Sleep(pause) {
		err := os.Remove(dir)
		if err == nil || errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if !errors.Is(err, syscall.EBUSY) || time.Now().After(end) {
			return fmt.Errorf("remove control group: %w", err)
		}
		killGroup(dir)
		pause = min(2*pause, 50*time.Millisecond)
	}
}

func killGroup(dir string) {
	if write(dir, "cgroup.kill", 1) == nil {
		return
	}
	b, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return
	}
	for _, f := range strings.Fields(string(b)) {
		if pid, err := strconv.Atoi(f); err == nil && pid > 1 && pid != os.Getpid() {
			unix.Kill(pid, unix.SIGKILL)
		}
	}
}

// counter is the number after key in one of the kernel's "key value" files; 0 where there is none.
func counter(dir, file, key string) int64 {
	b, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		k, v, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.ParseInt(v, 10, 64); err == nil && k == key {
			return n
		}
	}
	return 0
}

// write writes a value to a control file, which must exist.
func write(dir, file string, value any) error {
	f, err := os.OpenFile(filepath.Join(dir, file), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = fmt.Fprint(f, value)
	return err
}
