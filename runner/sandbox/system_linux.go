package sandbox

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// system is what New found out about this machine.
type system struct {
	bwrap   string
	binds   []string // bubblewrap arguments that are the same for every run: the system's directories
	groups  *groups  // nil where there is no usable cgroup
	filter  []byte   // of system calls
	limiter []string // begins the payload's command line, before its gate
	pinner  []string // begins it after the gate
	cores   []int    // the CPUs for payloads, and those that share a core with them
}

func (s *Sandbox) setup(ctx context.Context) error {
	s.sys.groups = findGroups(s.cfg, s.cpus)
	s.limitFacts()
	if err := s.checkCPUs(); err != nil {
		return err
	}
	if err := s.findGate(); err != nil {
		return err
	}
	if s.cfg.Kind == None {
		return nil
	}
	if err := s.findBwrap(ctx); err != nil {
		return err
	}
	s.sys.binds = systemBinds(s.cfg.Expose)
	if s.sys.filter = encode(program(runtime.GOARCH)); s.sys.filter == nil {
		s.facts.Notes = append(s.facts.Notes, "no system call filter for "+runtime.GOARCH+": payloads may open sockets that belong to no network namespace")
	}
	var o Outcome
	h, err := s.hold(Command{Argv: []string{"/usr/bin/env", "true"}, Dir: "/tmp", LogTail: 4 << 10, LineLimit: 4 << 10})
	if err == nil {
		o, err = h.run(ctx)
	}
	if err == nil && !o.OK() {
		err = fmt.Errorf("a trial run left with %d (%s%s): %q", o.Exit, o.Signal, o.LimitHit, o.LogTail)
	}
	if err != nil && ctx.Err() == nil {
		return explain(err)
	}
	return err
}

// limitFacts writes down what enforces the limits.
func (s *Sandbox) limitFacts() {
	f := &s.facts
	if s.cfg.Memory > 0 {
		f.Memory = "rlimit"
	}
	if s.cfg.Pids > 0 {
		f.Pids = "rlimit"
	}
	if len(s.cpus) > 0 {
		f.CPUs = "affinity"
	}
	if g := s.sys.groups; g != nil {
		g.facts(f)
	}
	if f.Memory == "rlimit" {
		f.Notes = append(f.Notes, "no writable cgroup limits memory: the limit holds for each process, not for a run as a whole")
	}
	if f.Pids == "rlimit" {
		f.Notes = append(f.Notes, "no writable cgroup limits processes: a run that hits the limit sees fork fail, and is not reported as that")
	}
	if f.CPUs == "affinity" {
		f.Notes = append(f.Notes, "no writable cgroup pins CPUs: a payload can undo its affinity")
	}
	if !s.acct.drop {
		if more, err := os.Getgroups(); err == nil && len(more) > 1 {
			f.Notes = append(f.Notes, "payloads keep the supplementary groups of the runner's user, since only root can drop them")
		}
	}
}

func (s *Sandbox) checkCPUs() error {
	if len(s.cpus) == 0 {
		return nil
	}
	var have unix.CPUSet
	if err := unix.SchedGetaffinity(0, &have); err != nil {
		return fmt.Errorf("cpus: read the runner's own: %w", err)
	}
	// The runner is often pinned away from the benchmarks' CPUs, so that its own affinity says nothing: only what exists counts.
	online, err := os.ReadFile("/sys/devices/system/cpu/online")
	if err != nil {
		return nil
	}
	list, err := parseCPUs(trim(online))
	if err != nil {
		return nil
	}
	exists := map[int]bool{}
	for _, c := range list {
		exists[c] = true
	}
	for _, c := range s.cpus {
		if !exists[c] {
			return fmt.Errorf("cpus: %q names CPU %d, and this machine has %s online", s.cfg.CPUs, c, trim(online))
		}
	}
	return nil
}

func defaultPath() string {
	const system = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	if _, err := os.Stat("/usr/local/go/bin/go"); err == nil {
		return "/usr/local/go/bin:" + system
	}
	return system
}

// closeOnExec makes sure that no descriptor which the runner itself was started with reaches a payload; Go's own are marked already.
func closeOnExec() error {
	err := unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	if err == nil || !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.EPERM) {
		return err
	}
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, e := range fds {
		var fd int
		if _, err := fmt.Sscan(e.Name(), &fd); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}
