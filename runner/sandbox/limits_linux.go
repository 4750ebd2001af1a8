package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"

	"golang.org/x/sys/unix"
)

// findLimiter prepares the command that puts resource limits on itself and becomes the payload: prlimit(1). The runner cannot put them
// on a process of another user without a capability that containers do not have.
func (s *Sandbox) findLimiter() error {
	file, err := exec.LookPath("/usr/bin/prlimit")
	if err != nil {
		return &SetupError{Cause: CauseMissing, Problem: "prlimit is not installed", Detail: err.Error(), Fix: "install it: `apt-get install util-linux`"}
	}
	// A core limit of one byte is the only one that keeps a crash from the machine's dump handler as well as from a file.
	limits := []resourceLimit{{"core", unix.RLIMIT_CORE, 1}}
	if s.cfg.FileSize > 0 {
		limits = append(limits, resourceLimit{"fsize", unix.RLIMIT_FSIZE, s.cfg.FileSize})
	}
	if s.facts.Memory == "rlimit" {
		// The address space is no measure: runtimes reserve far more than they use.
		limits = append(limits, resourceLimit{"data", unix.RLIMIT_DATA, s.cfg.Memory})
	}
	if s.facts.Pids == "rlimit" {
		limits = append(limits, resourceLimit{"nproc", unix.RLIMIT_NPROC, int64(s.cfg.Pids)})
	}
	s.sys.limiter = []string{file}
	for _, l := range limits {
		arg, err := l.argument()
		if err != nil {
			return err
		}
		s.sys.limiter = append(s.sys.limiter, arg)
	}
	s.sys.limiter = append(s.sys.limiter, "--")
	return nil
}

type resourceLimit struct {
	name     string
	resource int
	max      int64
}

// argument is the option of prlimit(1) for l, no higher than what the runner itself is held to.
func (l resourceLimit) argument() (string, error) {
	var own unix.Rlimit
	if err := unix.Getrlimit(l.resource, &own); err != nil {
		return "", fmt.Errorf("read resource limit %s: %w", l.name, err)
	}
	return fmt.Sprintf("--%s=%d", l.name, min(uint64(l.max), own.Max)), nil
}

// pinned calls start with this thread on the CPUs for payloads: a child starts with the affinity of the thread that starts it, and to
// set it on a process of another user takes a capability. The caller holds the thread.
func (s *Sandbox) pinned(start func() error) error {
	if len(s.cpus) == 0 {
		return start()
	}
	var old, set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &old); err != nil {
		return fmt.Errorf("read CPU affinity: %w", err)
	}
	for _, c := range s.cpus {
		set.Set(c)
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("pin the payload to CPUs %s: %w", s.cfg.CPUs, err)
	}
	startErr := start()
	if err := unix.SchedSetaffinity(0, &old); err != nil && startErr == nil {
		return fmt.Errorf("take the runner off CPUs %s: %w", s.cfg.CPUs, err)
	}
	return startErr
}

// limit puts a process that waits at its gate into its control group; whatever it starts is born there.
func (l *launch) limit(pid int) error {
	if l.group != nil {
		if err := l.group.attach(pid); err != nil {
			return fmt.Errorf("put the payload into its control group: %w", err)
		}
	}
	// When the machine runs out of memory, the payload goes before the runner. Where this is not allowed, the default stands.
	_ = os.WriteFile("/proc/"+strconv.Itoa(pid)+"/oom_score_adj", []byte("500"), 0)
	return nil
}
