package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// SrcDir and OutDir are where a payload in bubblewrap finds its tree and its output directory. Use [Sandbox.Src] and [Sandbox.Out] for
// paths that are right for every kind.
const (
	SrcDir = "/src"
	OutDir = "/out"
)

// Bounds that a Command which leaves them at zero gets.
const (
	DefaultLineLimit   = 1 << 20  // bytes of one line
	DefaultOutputLimit = 64 << 20 // bytes of standard output that are kept or handed on
	DefaultLogTail     = 64 << 10 // bytes
)

// Bind makes the host's Host visible at Inside. Both are absolute paths.
type Bind struct {
	Host, Inside string
}

// Command is one process to run.
type Command struct {
	// Argv is the program and its arguments; no shell reads it. A program without a slash is looked up in the PATH of Env, one that is
	// relative starts from Dir.
	Argv []string
	// Tree is the directory of the host that is bound at /src; empty for none. It is read-only unless Writable is set: a build writes
	// its tree, a measured process does not.
	Tree     string
	Writable bool
	// Dir is the working directory as the payload sees it: /src, /tmp, /out or below one of them. Empty means /src, or /tmp where there is no Tree.
	Dir string
	// Env is the whole environment, as "NAME=value". PATH, HOME and LANG have defaults (the system's directories, /tmp, C.UTF-8);
	// nothing comes from the runner's own environment.
	Env []string
	// ReadOnly and ReadWrite are further binds, such as a toolchain and a build's cache.
	ReadOnly, ReadWrite []Bind
	// Out, where set, is bound at /out for tools that write their result to a file.
	Out *Out

	// Timeout ends the run; zero means no limit of time.
	Timeout time.Duration
	// Stdout, where set, gets each line of standard output without its newline. It must not keep the slice. It is called by one
	// goroutine at a time and Run does not return before its last call. Where it is nil, Outcome.Stdout holds the lines.
	Stdout func(line []byte)
	// LineLimit is the longest line of standard output, in bytes, that is kept. A longer one is left out whole, since half a row could
	// read as a different number; Outcome counts it.
	LineLimit int
	// OutputLimit is how many bytes of standard output are kept or handed on. More ends the run with LimitHit "output". Lines left out
	// for their length do not count.
	OutputLimit int64
	// LogTail is how many bytes of the end of standard error and output together are kept.
	LogTail int
}

// Limits that Outcome.LimitHit names.
const (
	LimitMemory   = "memory"
	LimitPids     = "pids"
	LimitFileSize = "file size"
	LimitTime     = "time"
	LimitOutput   = "output"
	LimitDisk     = "disk"
)

// Usage is what the payload and its children took, as the kernel counted it.
type Usage struct {
	User, System time.Duration
	// MaxRSS is the largest resident size, in bytes, of any one process; 0 where the kernel could not tell it from the runner's own.
	MaxRSS int64
	// PeakMemory is the most, in bytes, that the whole sandbox held at once, files in memory and page cache included; 0 where no
	// cgroup counts it.
	PeakMemory                             int64
	MinorFaults, MajorFaults               int64
	VoluntarySwitches, InvoluntarySwitches int64
}

// Outcome is what became of a run.
type Outcome struct {
	// Exit is the exit status of the payload, or 128 + n where signal n ended it, as shells say it.
	Exit int
	// Signal is the name of the signal, such as "SIGKILL", that Exit stands for. A payload can also leave with such a status by itself;
	// from outside bubblewrap the two look the same.
	Signal   string
	TimedOut bool
	// LimitHit is the limit that was run into, also where the payload survived that and left with 0; empty for none.
	LimitHit string
	// Wall is the time from the moment that the payload could start to its end.
	Wall   time.Duration
	Rusage Usage
	// Stdout is the standard output, within the Command's bounds; nil where Command.Stdout took it.
	Stdout []byte
	// LogTail is the end of standard error and standard output in the order they came, with a note of how much is missing before it.
	LogTail []byte
	// Truncated tells that some output was not kept: LongLines lines over the line limit (SkippedBytes together), or an output limit.
	Truncated    bool
	LongLines    int
	SkippedBytes int64
}

// OK tells whether the payload left with 0 and ran into no limit.
func (o Outcome) OK() bool { return o.Exit == 0 && o.Signal == "" && o.LimitHit == "" && !o.TimedOut }

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// checked returns c with its defaults, or an error that names the field that is wrong.
func (c Command) checked() (Command, error) {
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return c, errors.New("command: argv is empty")
	}
	for _, a := range c.Argv {
		if strings.ContainsRune(a, 0) {
			return c, fmt.Errorf("command: argument %q has a NUL byte", a)
		}
	}
	if len(c.Env) > 0 && strings.Contains(c.Argv[0], "=") {
		return c, fmt.Errorf("command: the program %q has a = in its name, which a command with an environment cannot have", c.Argv[0])
	}
	for _, e := range c.Env {
		name, _, ok := strings.Cut(e, "=")
		if !ok || !envName.MatchString(name) || strings.ContainsRune(e, 0) {
			return c, fmt.Errorf("command: environment entry %q is not NAME=value", name)
		}
	}
	if c.Tree != "" && !cleanAbs(c.Tree) {
		return c, fmt.Errorf("command: tree %q is not a clean absolute path", c.Tree)
	}
	if c.Tree != "" {
		if fi, err := os.Stat(c.Tree); err != nil {
			return c, fmt.Errorf("command: tree: %w", err)
		} else if !fi.IsDir() {
			return c, fmt.Errorf("command: tree %s is not a directory", c.Tree)
		}
	}
	if c.Writable && c.Tree == "" {
		return c, errors.New("command: writable needs a tree")
	}
	if c.Dir == "" {
		if c.Dir = "/tmp"; c.Tree != "" {
			c.Dir = SrcDir
		}
	}
	if err := c.checkDir(); err != nil {
		return c, err
	}
	for _, b := range append(append([]Bind{}, c.ReadOnly...), c.ReadWrite...) {
		if err := b.check(); err != nil {
			return c, fmt.Errorf("command: %w", err)
		}
	}
	return c.withDefaults()
}

func (c Command) checkDir() error {
	if path.Clean(c.Dir) != c.Dir {
		return fmt.Errorf("command: directory %q is not a clean path", c.Dir)
	}
	switch {
	case within(c.Dir, "/tmp"), within(c.Dir, SrcDir) && c.Tree != "", within(c.Dir, OutDir) && c.Out != nil:
		return nil
	}
	return fmt.Errorf("command: directory %q is not in /src, /out or /tmp of this command", c.Dir)
}

func (c Command) withDefaults() (Command, error) {
	if c.Timeout < 0 || c.LineLimit < 0 || c.OutputLimit < 0 || c.LogTail < 0 {
		return c, errors.New("command: a timeout or limit is negative")
	}
	if c.LineLimit == 0 {
		c.LineLimit = DefaultLineLimit
	}
	if c.OutputLimit == 0 {
		c.OutputLimit = DefaultOutputLimit
	}
	if c.LogTail == 0 {
		c.LogTail = DefaultLogTail
	}
	return c, nil
}

// inside are the directories that are the sandbox's own; nothing is bound over them.
var inside = []string{"/proc", "/dev", "/sys", "/etc", "/usr", "/bin", "/sbin", "/lib", "/lib64", SrcDir, OutDir}

func (b Bind) check() error {
	if !cleanAbs(b.Host) {
		return fmt.Errorf("bind %q is not a clean absolute path", b.Host)
	}
	for _, h := range []string{"/", "/etc", "/proc", "/sys", "/dev"} {
		if b.Host == h {
			return fmt.Errorf("bind of %s is refused: it would hand the host's %s to the payload", h, h)
		}
	}
	if path.Clean(b.Inside) != b.Inside || !path.IsAbs(b.Inside) || b.Inside == "/" || b.Inside == "/tmp" {
		return fmt.Errorf("bind of %s at %q: expected a clean absolute path below /", b.Host, b.Inside)
	}
	for _, own := range inside {
		if within(b.Inside, own) {
			return fmt.Errorf("bind of %s at %s is refused: %s is the sandbox's own", b.Host, b.Inside, own)
		}
	}
	return nil
}

func cleanAbs(p string) bool {
	return filepath.IsAbs(p) && filepath.Clean(p) == p && !strings.ContainsRune(p, 0)
}

// within tells whether p is dir or below it; both are clean.
func within(p, dir string) bool {
	return p == dir || dir == "/" || strings.HasPrefix(p, dir+"/")
}
