package sandbox

import (
	"context"
	"errors"
	"fmt"
)

// Kind is how processes are kept apart from the machine.
type Kind string

const (
	// Bubblewrap isolates each process with bwrap(1), version 0.8.0 or later. Linux only.
	Bubblewrap Kind = "bwrap"
	// None isolates nothing.
	None Kind = "none"
)

// Config is what all runs of a Sandbox share. The zero value of a limit means no limit.
type Config struct {
	Kind Kind
	// User is the account, a name or "UID:GID", that a root runner drops to, such as "prbench-run". Bubblewrap as root needs it; another
	// runner may leave it empty or name itself.
	User string
	// Expose are paths of the host, such as /opt/node, that payloads see read-only at the same path.
	Expose []string
	// Private are paths of the runner's own (work directory, keys): what shows them, or lies in them, cannot be exposed.
	Private []string
	// Memory is the most that one run may hold, in bytes, its files in /tmp included.
	Memory int64
	// Pids is the most processes and threads of one run, the one or two of bubblewrap included.
	Pids int
	// CPUs is a list such as "1" or "2-3,6" that payloads are pinned to; empty for all.
	CPUs string
	// FileSize is the largest file, in bytes, that a payload may write.
	FileSize int64
	// KeepFree ends a run that may write to the host (a build) with LimitHit "disk" when less than this many bytes are left there.
	KeepFree int64
	// Bwrap is the program's path; empty looks it up in PATH.
	Bwrap string
	// Owner stands for whoever runs payloads, such as a runner's work folder, over its restarts: see EndLeftovers.
	Owner string
}

// Sandbox runs commands under one Config. It may be used by several goroutines at once.
type Sandbox struct {
	cfg   Config
	acct  account
	cpus  []int
	facts Facts
	sys   system
}

// Facts say how a Sandbox works on this machine, for the doctor and the report.
type Facts struct {
	Kind Kind
	// Bwrap and Version are the program's path and version; empty for the kind none.
	Bwrap, Version string
	// UID and GID are the host's ids that payloads run with. User is their name where there is one.
	UID, GID int
	User     string
	// Memory, Pids and CPUs tell what enforces the limit: "cgroup v2", "cgroup v1", "rlimit", "affinity" (a payload can undo it), or
	// "none" where it is not set or the system has nothing.
	Memory, Pids, CPUs string
	// Pinned are the CPUs that payloads are pinned to; none: they run on all.
	Pinned []int
	// Notes are sentences about what is weaker than it could be, and why.
	Notes []string
}

// Facts tells how this Sandbox works on this machine.
func (s *Sandbox) Facts() Facts {
	f := s.facts
	f.Notes = append([]string(nil), f.Notes...)
	f.Pinned = append([]int(nil), s.cpus...)
	return f
}

// New checks cfg and that its kind really works here, by running a process. What is missing on the machine comes as a *[SetupError],
// what is wrong in cfg as another error that names the key.
func New(ctx context.Context, cfg Config) (*Sandbox, error) {
	s := &Sandbox{cfg: cfg}
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	if err := s.setup(ctx); err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	return s, nil
}

func (s *Sandbox) check() error {
	cfg := &s.cfg
	switch cfg.Kind {
	case Bubblewrap, None:
	default:
		return fmt.Errorf("kind %q: expected %q or %q", cfg.Kind, Bubblewrap, None)
	}
	if cfg.Memory < 0 || cfg.Pids < 0 || cfg.FileSize < 0 || cfg.KeepFree < 0 {
		return errors.New("memory, pids, file size or free space is negative")
	}
	var err error
	if s.cpus, err = parseCPUs(cfg.CPUs); err != nil {
		return fmt.Errorf("cpus: %w", err)
	}
	if s.acct, err = lookupAccount(cfg.User, cfg.Kind); err != nil {
		return err
	}
	if err := checkExpose(cfg.Expose, cfg.Private); err != nil {
		return err
	}
	s.facts = Facts{Kind: cfg.Kind, UID: s.acct.uid, GID: s.acct.gid, User: s.acct.name, Memory: "none", Pids: "none", CPUs: "none"}
	return nil
}

// Src is the path of the tree as a payload sees it: /src, or the tree's own path for the kind none.
func (s *Sandbox) Src(tree string) string {
	if s.cfg.Kind == None {
		return tree
	}
	return SrcDir
}

// Out is the path of an output directory as a payload sees it: /out, or its own path for the kind none.
func (s *Sandbox) Out(o *Out) string {
	if s.cfg.Kind == None {
		return o.dir
	}
	return OutDir
}

// env is the environment of a payload whose command names none. home is its own temporary directory.
func env(path, home string) []string { return []string{"PATH=" + path, "HOME=" + home, "LANG=C.UTF-8"} }
