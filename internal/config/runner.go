package config

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/prbench/prbench/internal/job"
)

// Runner is the configuration of bot runner with its defaults filled in.
type Runner struct {
	File    string // the name that problems carry
	Serve   string // addresses of the state's server, with commas between them
	Forge   string // address of the only forge that repositories are fetched from
	CAFile  string // certificates that the server is checked by; empty: the system's
	Key     Secret // the runner's nkey seed
	KeyFile string // absolute path of the file that Key was read from; empty: from elsewhere
	Pool    string
	Work    string // folder of checkouts and cached builds
	Sandbox Sandbox
	// Checkout bounds what a repository may cost, Cache what is kept of earlier jobs.
	Checkout Checkout
	Cache    Cache
	// Calibrate is after how long the machine, when it has nothing to do, is
	// measured against itself.
	Calibrate job.Duration
	// Warnings are what works and should be changed, in plain sentences.
	Warnings []string

	key secretSource
}

// Sandbox says how runs are isolated and bounded.
type Sandbox struct {
	// None runs without a sandbox. Only a flag says so, never the file.
	None   bool
	User   string   // the account, or UID:GID, that a root runner drops to
	Expose []string // absolute folders that runs may read
	Memory int64    // bytes
	Pids   int
	// FileSize is the largest file that a run may write, in bytes; KeepFree what a
	// build must leave free on the disk.
	FileSize, KeepFree int64
	CPUs               []int // that runs are pinned to; none: not pinned
}

// Checkout bounds what the sources of one comparison may cost the machine. They
// are fetched and written outside of the sandbox.
type Checkout struct {
	Files int   // the most files and folders of one side
	Size  int64 // the most bytes of one side's files
	Fetch int64 // the most bytes that are fetched for one comparison
	// Timeout is the longest that one git command may take, FetchTimeout one fetch.
	Timeout, FetchTimeout job.Duration
}

// Cache says how much of earlier jobs is kept, in bytes.
type Cache struct {
	Mirrors int64 // of repositories
	Bases   int64 // built
}

// Defaults of bot runner.
const (
	DefaultForge     = "https://github.com"
	DefaultMemory    = int64(8 << 30)
	DefaultPids      = 2048
	DefaultFileSize  = int64(16 << 30)
	DefaultKeepFree  = int64(5 << 30)
	DefaultCalibrate = job.Duration(7 * day)

	DefaultCheckoutFiles = 2_000_000
	DefaultCheckoutSize  = int64(50 << 30)
	DefaultFetchSize     = int64(20 << 30)
	DefaultGitTimeout    = job.Duration(30 * time.Minute)
	DefaultFetchTimeout  = job.Duration(2 * time.Hour)
	DefaultMirrors       = int64(20 << 30)
	DefaultBases         = int64(20 << 30)
)

// ParseRunner reads the configuration of bot runner without looking at its key;
// LoadRunner does both. The error is of type Problems.
func ParseRunner(data []byte, name string) (*Runner, error) {
	r := &Runner{
		File:    name,
		Forge:   DefaultForge,
		Pool:    DefaultPool,
		Sandbox: Sandbox{Memory: DefaultMemory, Pids: DefaultPids, FileSize: DefaultFileSize, KeepFree: DefaultKeepFree},
		Checkout: Checkout{Files: DefaultCheckoutFiles, Size: DefaultCheckoutSize, Fetch: DefaultFetchSize,
			Timeout: DefaultGitTimeout, FetchTimeout: DefaultFetchTimeout},
		Cache:     Cache{Mirrors: DefaultMirrors, Bases: DefaultBases},
		Calibrate: DefaultCalibrate,
		key:       secretSource{name: "key", env: EnvRunnerKey, check: checkSeed},
	}
	d := &document{file: name}
	root := d.parse(data)
	if root == nil {
		return nil, d.err()
	}
	d.mapping(root, "", d.runnerKeys(r))
	if err := d.err(); err != nil {
		return nil, err
	}
	return r, nil
}

func (d *document) runnerKeys(r *Runner) []key {
	keys := []key{
		{name: "version", read: d.version().read},
		d.textKey("serve", &r.Serve, checkServers),
		d.textKey("forge", &r.Forge, checkForge),
		d.textKey("ca_file", &r.CAFile, checkFile),
	}
	keys = append(keys, d.secretKeys("key", &r.key)...)
	return append(keys,
		d.textKey("pool", &r.Pool, checkPool),
		d.textKey("work", &r.Work, checkFile),
		key{name: "sandbox", read: func(n ast.Node, path string) { d.mapping(n, path, d.sandboxKeys(&r.Sandbox)) }},
		key{name: "checkout", read: func(n ast.Node, path string) { d.mapping(n, path, d.checkoutKeys(&r.Checkout)) }},
		key{name: "cache", read: func(n ast.Node, path string) {
			d.mapping(n, path, []key{d.sizeKey("mirrors", &r.Cache.Mirrors, 1<<20, 1<<50), d.sizeKey("bases", &r.Cache.Bases, 1<<20, 1<<50)})
		}},
		key{name: "calibrate", read: func(n ast.Node, path string) {
			d.mapping(n, path, []key{d.timeKey("every", &r.Calibrate, time.Hour, 365*day)})
		}},
	)
}

func (d *document) sandboxKeys(s *Sandbox) []key {
	return []key{
		d.textKey("user", &s.User, checkUser),
		d.textsKey("expose", &s.Expose, false, CheckExpose),
		d.sizeKey("memory", &s.Memory, 64<<20, 1<<50),
		d.intKey("pids", &s.Pids, 16, 4<<20),
		d.sizeKey("file_size", &s.FileSize, 1<<20, 1<<50),
		d.sizeKey("keep_free", &s.KeepFree, 1<<20, 1<<50),
		{name: "cpus", read: func(n ast.Node, path string) {
			cpus, err := ParseCPUs(scalar(n))
			if err != nil {
				d.at(n, path, "want CPU numbers in quotes such as \"1\" or \"2-3,6\", got %s", kindOf(n))
				return
			}
			s.CPUs = cpus
		}},
	}
}

func (d *document) checkoutKeys(c *Checkout) []key {
	return []key{
		d.intKey("files", &c.Files, 100, 100_000_000),
		d.sizeKey("size", &c.Size, 1<<20, 1<<50),
		d.sizeKey("fetch", &c.Fetch, 1<<20, 1<<50),
		d.timeKey("timeout", &c.Timeout, time.Minute, day),
		d.timeKey("fetch_timeout", &c.FetchTimeout, time.Minute, 7*day),
	}
}

var userPattern = regexp.MustCompile(`^([a-z_][a-z0-9_-]{0,31}|[0-9]{1,10}:[0-9]{1,10})$`)

func checkUser(s string) error {
	if !userPattern.MatchString(s) {
		return fmt.Errorf("want the name of a user of this machine, or UID:GID, got %s", quoted(s))
	}
	if s == "root" || strings.HasPrefix(s, "0:") || strings.HasSuffix(s, ":0") {
		return errors.New("want a user of its own for what pull requests run, not root")
	}
	return nil
}

// CheckExpose says what is wrong with a folder that runs shall see. The root,
// the machine's settings, homes and the kernel's own folders are never shown.
func CheckExpose(s string) error {
	if !path.IsAbs(s) || hasControl(s) || path.Clean(s) != s {
		return fmt.Errorf("want an absolute path such as /opt/node, got %s", quoted(s))
	}
	top := "/" + strings.SplitN(s, "/", 3)[1]
	switch {
	case s == "/", s == "/var", s == "/srv", s == "/mnt", s == "/media":
		return fmt.Errorf("%s is too much to show to a pull request; want the one folder that it needs", s)
	case slices.Contains([]string{"/etc", "/home", "/root", "/proc", "/sys", "/dev", "/run", "/boot", "/tmp"}, top),
		strings.HasPrefix(s+"/", "/var/run/"), strings.HasPrefix(s+"/", "/var/lib/prbench"):
		return fmt.Errorf("%s is never shown to a pull request; put what it needs below /opt or /usr/local", s)
	}
	return nil
}

// maxCPU bounds the numbers of CPUs, as the kernel does.
const maxCPU = 8191

// ParseCPUs reads CPU numbers and ranges ("2-3,6") into increasing numbers.
func ParseCPUs(s string) ([]int, error) {
	var out []int
	for part := range strings.SplitSeq(s, ",") {
		low, high, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			high = low
		}
		from, err1 := strconv.ParseUint(low, 10, 16)
		to, err2 := strconv.ParseUint(high, 10, 16)
		if err1 != nil || err2 != nil || from > to || to > maxCPU {
			return nil, fmt.Errorf("want CPU numbers such as 1 or 2-3,6, got %s", quoted(s))
		}
		for cpu := from; cpu <= to; cpu++ {
			out = append(out, int(cpu))
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// fits looks at what the keys, the flags and, where it could be read, the key
// file together tell.
func (r *Runner) fits(keyRead bool) error {
	var out Problems
	missing := func(key, text string) {
		out = append(out, Problem{File: r.File, Key: key, Text: "is missing; " + text})
	}
	if r.Serve == "" {
		missing("serve", "want the address of bot serve's state such as tls://bench.example.org:4222")
	}
	if keyRead && r.Key.IsZero() {
		missing("key_file", "want the file that bot runner enroll wrote")
	}
	if r.Work == "" {
		missing("work", "want a folder for checkouts and builds such as /var/cache/prbench")
	}
	return asError(out)
}
