package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// findV1 takes each wanted v1 controller in which this process may make a group below its own.
func findV1(hs []hierarchy, own map[string]string, want map[string]bool) *groups {
	g := &groups{controllers: map[string]bool{}}
	for _, h := range hs {
		for _, c := range h.controllers {
			dir := h.dir(own[c])
			if !want[c] || g.controllers[c] || dir == "" || !tryLeaf(dir) {
				continue
			}
			g.controllers[c] = true
			switch c {
			case "memory":
				g.memory = dir
			case "pids":
				g.pids = dir
			case "cpuset":
				g.cpuset = dir
			}
		}
	}
	if len(g.controllers) == 0 {
		return nil
	}
	g.threads = true
	for _, d := range g.v1Parents() {
		// Some hand on the right to make groups, and not the one to come back from them.
		g.threads = g.threads && unix.Access(filepath.Join(d, "tasks"), unix.W_OK) == nil
	}
	return g
}

// makeV1 makes the group of one run in each hierarchy.
func (l *leaf) makeV1(cfg Config) error {
	g := l.g
	if g.memory != "" {
		d, err := l.mkdir(g.memory)
		if err != nil {
			return err
		}
		if err := write(d, "memory.limit_in_bytes", cfg.Memory); err != nil {
			return err
		}
		// Only kernels that account for swap have the second; the others are told not to swap.
		if write(d, "memory.memsw.limit_in_bytes", cfg.Memory) != nil {
			_ = write(d, "memory.swappiness", 0)
		}
	}
	if g.pids != "" {
		d, err := l.mkdir(g.pids)
		if err != nil {
			return err
		}
		if err := write(d, "pids.max", cfg.Pids); err != nil {
			return err
		}
	}
	if g.cpuset != "" {
		d, err := l.mkdir(g.cpuset)
		if err != nil {
			return err
		}
		for _, file := range []string{"cpuset.mems", "cpuset.cpus"} {
			all, err := os.ReadFile(filepath.Join(g.cpuset, file))
			if err != nil {
				return err
			}
			if err := write(d, file, trim(all)); err != nil {
				return err
			}
		}
	}
	return nil
}

// v1Parents are the groups below which runs have theirs, each of which holds this process.
func (g *groups) v1Parents() []string {
	var dirs []string
	for _, d := range []string{g.memory, g.pids, g.cpuset} {
		if d != "" {
			dirs = append(dirs, d)
		}
	}
	return dirs
}

// born calls start so that the process which it starts is in the group. The caller holds the thread, and keeps it for good when the
// error is errThreadLost.
//
// With v1 the thread itself goes into the group and back: a child is where the thread that starts it is. To move a process that exists
// makes the kernel hold up every fork, exec and exit of the machine until all CPUs have passed a quiet point, for some 10 ms, also in what
// is being measured.
func (l *leaf) born(start func() error) error {
	if l == nil || l.fd != nil || !l.g.threads {
		return start()
	}
	var own unix.CPUSet
	if err := unix.SchedGetaffinity(0, &own); err != nil {
		return fmt.Errorf("read CPU affinity: %w", err)
	}
	// Linux before 6.2 forgets the affinity when the cpuset changes.
	err := errors.Join(moveThread(l.dirs), unix.SchedSetaffinity(0, &own))
	if err == nil {
		err = start()
	}
	if e := errors.Join(moveThread(l.g.v1Parents()), unix.SchedSetaffinity(0, &own)); e != nil {
		return errors.Join(err, errThreadLost, e)
	}
	return err
}

// errThreadLost is a thread that could not be brought back from a run's group.
var errThreadLost = errors.New("the runner's thread could not leave the payload's control group")

// moveThread moves the calling thread into the groups.
func moveThread(dirs []string) error {
	for _, d := range dirs {
		if err := write(d, "tasks", 0); err != nil {
			return fmt.Errorf("move a thread into a control group: %w", err)
		}
	}
	return nil
}

// attach moves a process into the group, unless it was born there.
func (l *leaf) attach(pid int) error {
	if l == nil || l.fd != nil || l.g.threads {
		return nil
	}
	for _, d := range l.dirs {
		if err := write(d, "cgroup.procs", pid); err != nil {
			return fmt.Errorf("put the payload into its control group: %w", err)
		}
	}
	return nil
}
