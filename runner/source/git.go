package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// git runs git on one repository, in one of two ways. A runner's git sees no
// configuration but ours, runs no hook and speaks to no host but the forge's. A
// person's git (own == true, for a comparison of local commits) sees that
// person's configuration, as it is their repository and their credentials.
type git struct {
	dir string   // --git-dir
	own bool     // a person's own repository
	cwd string   // where git runs; empty: where we do
	env []string // added to the environment
	set []string // added to the configuration
	// limits bound every command, writes is where the disk is looked at meanwhile
	// (empty: nowhere), and fetched, where set, counts what fetches bring.
	limits  Limits
	writes  string
	fetched *download
	// These are used by commands that reach the network.
	forge       forge
	user, token string
}

// forge is the one place that git may fetch from.
type forge struct {
	scheme string // "https", or "http" for a stand-in on the loopback
	host   string // with the port, where the URL has one
}

// gitError is a git command that failed. It holds no argument that could carry
// a secret: only the subcommand is named, and the output is masked.
type gitError struct {
	what   string
	dir    string // of the repository
	stdout string // the first of it, which the text leaves out
	stderr string
	err    error
	far    bool // it spoke to another machine, whose words begin with "remote:"
}

func (e *gitError) Error() string {
	if e.stderr == "" {
		return fmt.Sprintf("git %s: %v", e.what, e.err)
	}
	return fmt.Sprintf("git %s: %v: %s", e.what, e.err, e.stderr)
}

func (e *gitError) Unwrap() error { return e.err }

// said tells whether git failed and printed one of the texts.
func said(err error, texts ...string) bool {
	var g *gitError
	if !errors.As(err, &g) {
		return false
	}
	for line := range g.lines {
		if slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(line, t) }) {
			return true
		}
	}
	return false
}

// lines gives what git printed, line by line, without the words of a machine
// that it spoke to: they decide nothing.
func (e *gitError) lines(yield func(string) bool) {
	for line := range strings.Lines(e.stderr) {
		if e.far && strings.HasPrefix(line, "remote:") {
			continue
		}
		if !yield(line) {
			return
		}
	}
}

// noSpace tells whether the disk of this machine was full, and not the forge's.
func (e *gitError) noSpace() bool {
	for line := range e.lines {
		if strings.Contains(line, "No space left on device") || strings.Contains(line, "Disk quota exceeded") {
			return true
		}
	}
	return false
}

// Bounds of what git's output is kept of. Trees are not kept: see walk.
const (
	maxStderr = 16 << 10
	maxStdout = 512 << 20 // the difference of two trees
)

// run runs git with args on the repository and gives its standard output.
func (g git) run(ctx context.Context, args ...string) ([]byte, error) {
	return g.feed(ctx, nil, args...)
}

// line runs git and gives its output without the newline.
func (g git) line(ctx context.Context, args ...string) (string, error) {
	out, err := g.run(ctx, args...)
	return strings.TrimRight(string(out), "\n"), err
}

// feed runs git with in as its standard input.
func (g git) feed(ctx context.Context, in []byte, args ...string) ([]byte, error) {
	stdout := &bounded{limit: maxStdout, full: fmt.Errorf("printed more than %d bytes", maxStdout)}
	err := g.stream(ctx, in, stdout, args...)
	var failed *gitError
	if errors.As(err, &failed) {
		failed.stdout = g.mask(string(stdout.Bytes()[:min(stdout.Len(), maxStderr)]))
	}
	if err != nil {
		return nil, err
	}
	return stdout.Bytes(), nil
}

// start starts git and hands it the credential.
//
// The credential goes through a pipe that git's credential helper reads: file
// descriptor 3, inherited down to the transport. So it stands in no argument
// and no environment (both can be read from /proc), in no file, and is gone
// once read; and git itself decides to which host it is given, since the helper
// is set for the forge's address alone and not for where a redirect may lead.
func (g git) start(cmd *exec.Cmd) error {
	if g.token == "" {
		return cmd.Start()
	}
	r, w, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make a pipe for the credential: %w", err)
	}
	defer r.Close()
	defer w.Close()
	cmd.ExtraFiles = []*os.File{r}
	// A token is far below the size of a pipe's buffer, so this cannot block.
	if _, err := fmt.Fprintf(w, "username=%s\npassword=%s\n", g.user, g.token); err != nil {
		return fmt.Errorf("write the credential to its pipe: %w", err)
	}
	return cmd.Start()
}

func (g git) mask(s string) string {
	if g.token == "" {
		return s
	}
	return strings.ReplaceAll(s, g.token, "[secret]")
}

// config gives the -c options.
func (g git) config() []string {
	c := []string{"core.hooksPath=/dev/null", "gc.auto=0", "maintenance.auto=false", "advice.detachedHead=false",
		"core.fsmonitor=false", "core.quotePath=false"}
	if g.fetched != nil {
		// A fetch leaves one pack, and nothing that a power cut would empty.
		c = append(c, "fetch.unpackLimit=1", "core.fsync=committed,reference", "core.fsyncMethod=fsync")
	}
	if !g.own {
		c = append(c, "protocol.version=2", "protocol.allow=never", "credential.helper=", "core.askPass=",
			"transfer.fsckObjects=true", "fetch.recurseSubmodules=false", "submodule.recurse=false",
			"core.protectHFS=true", "core.protectNTFS=true", "core.attributesFile=/dev/null",
			"core.excludesFile=/dev/null", "http.followRedirects=false", "http.lowSpeedLimit=1000", "http.lowSpeedTime=60")
		c = append(c, harmless()...)
	}
	if g.forge.host != "" {
		c = append(c, "protocol."+g.forge.scheme+".allow=always")
		if g.token != "" {
			c = append(c, fmt.Sprintf("credential.%s://%s.helper=!cat <&3; :", g.forge.scheme, g.forge.host))
		}
	}
	c = append(c, g.set...)
	args := make([]string, 0, 2*len(c))
	for _, v := range c {
		args = append(args, "-c", v)
	}
	return args
}

// harmless lets old commits in that early tools wrote a little wrong: with
// fsckObjects alone, whole histories of honest projects would be refused. What
// protects a checkout (names like .git, .., odd submodule entries) stays fatal.
func harmless() []string {
	var c []string
	for _, id := range []string{"badDate", "badDateOverflow", "badEmail", "badName", "badTimezone",
		"missingEmail", "missingNameBeforeEmail", "missingSpaceBeforeDate", "missingSpaceBeforeEmail",
		"multipleAuthors", "zeroPaddedDate", "zeroPaddedFilemode", "missingTaggerEntry", "badTagName", "badFilemode",
		"nulInCommit"} {
		c = append(c, "fetch.fsck."+id+"=ignore")
	}
	return c
}

// passed are the variables of the runner that git needs to reach the network.
var passed = []string{"PATH", "https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY", "all_proxy", "ALL_PROXY",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "CURL_CA_BUNDLE", "TMPDIR"}

func (g git) environ() []string {
	env := []string{"LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_LITERAL_PATHSPECS=1",
		"GIT_NO_REPLACE_OBJECTS=1"}
	if g.own {
		for _, kv := range os.Environ() {
			// A hook that calls us has set these for its own repository.
			if !strings.HasPrefix(kv, "GIT_DIR=") && !strings.HasPrefix(kv, "GIT_WORK_TREE=") &&
				!strings.HasPrefix(kv, "GIT_INDEX_FILE=") && !strings.HasPrefix(kv, "GIT_PREFIX=") {
				env = append(env, kv)
			}
		}
		env = append(env, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0")
		if os.Getenv("GIT_SSH_COMMAND") == "" && os.Getenv("GIT_SSH") == "" {
			env = append(env, "GIT_SSH_COMMAND=ssh -oBatchMode=yes")
		}
	} else {
		for _, k := range passed {
			if v, ok := os.LookupEnv(k); ok {
				env = append(env, k+"="+v)
			}
		}
		env = append(env, "HOME=/nonexistent", "XDG_CONFIG_HOME=/nonexistent",
			"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1", "GIT_LFS_SKIP_SMUDGE=1")
	}
	return append(env, g.env...)
}

// packs is where what is fetched arrives.
func (g git) packs() string { return filepath.Join(g.dir, "objects", "pack") }

// with gives a copy that has more in its environment.
func (g git) with(env ...string) git {
	g.env = append(append([]string(nil), g.env...), env...)
	return g
}

// bounded keeps the first limit bytes that are written to it. What is beyond
// gives the error full, or is left out where there is none.
type bounded struct {
	bytes.Buffer
	limit int
	full  error
}

func (b *bounded) Write(p []byte) (int, error) {
	room := b.limit - b.Len()
	if room < len(p) {
		b.Buffer.Write(p[:max(room, 0)])
		if b.full != nil {
			return max(room, 0), b.full
		}
		return len(p), nil
	}
	return b.Buffer.Write(p)
}
