package forgetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// gitEnv keeps the machine's own git configuration out of the repositories,
// which need not survive a power cut either.
func gitEnv(extra ...string) []string {
	return append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "LC_ALL=C",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.fsync", "GIT_CONFIG_VALUE_0=none",
	}, extra...)
}

func runGit(ctx context.Context, dir string, args ...string) (string, error) {
	return runGitEnv(ctx, dir, nil, args...)
}

func runGitEnv(ctx context.Context, dir string, env []string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = gitEnv(env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(errs.String()))
	}
	return out.String(), nil
}

// git runs git in a bare repository and trims its output.
func (r *Repo) git(args ...string) (string, error) {
	out, err := runGit(context.Background(), r.dir, args...)
	return strings.TrimSpace(out), err
}

// commit resolves a revision to a commit's id.
func (r *Repo) commit(rev string) (string, error) {
	return r.git("rev-parse", "--verify", "--quiet", "--end-of-options", rev+"^{commit}")
}

// servedConfig makes a bare repository serve what GitHub serves: any commit
// that it has, by id, and nothing by push. No object is ever thrown away.
const servedConfig = `
[uploadpack]
	allowAnySHA1InWant = true
	allowReachableSHA1InWant = true
	allowFilter = true
[http]
	receivepack = false
[gc]
	auto = 0
`

func (r *Repo) configure() error {
	f, err := os.OpenFile(filepath.Join(r.dir, "config"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(servedConfig)
	return errors.Join(err, f.Close())
}

// Work is a checkout in which a build function writes files and commits. Its
// branches and tags are pushed to the repository when the function returns.
type Work struct {
	dir    string
	author string
}

// Dir is the checkout's folder.
func (w *Work) Dir() string { return w.dir }

// Git runs git in the checkout and returns its output, trimmed.
func (w *Work) Git(args ...string) (string, error) {
	mail := w.author + "@users.noreply.forge.example"
	out, err := runGitEnv(context.Background(), w.dir, []string{
		"GIT_AUTHOR_NAME=" + w.author, "GIT_AUTHOR_EMAIL=" + mail,
		"GIT_COMMITTER_NAME=" + w.author, "GIT_COMMITTER_EMAIL=" + mail,
	}, args...)
	return strings.TrimSpace(out), err
}

// Write writes a file; folders are made as needed. A content that begins with
// "#!" makes it executable.
func (w *Work) Write(path, content string) error {
	full := filepath.Join(w.dir, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		return err
	}
	mode := os.FileMode(0o644)
	if strings.HasPrefix(content, "#!") {
		mode = 0o755
	}
	if err := os.WriteFile(full, []byte(content), mode); err != nil {
		return err
	}
	return os.Chmod(full, mode)
}

// Commit commits everything that is in the checkout, and returns the id. A
// commit without a change is made all the same.
func (w *Work) Commit(message string) (string, error) {
	if _, err := w.Git("add", "-A"); err != nil {
		return "", err
	}
	if _, err := w.Git("commit", "-q", "--allow-empty", "-m", message); err != nil {
		return "", err
	}
	return w.Git("rev-parse", "HEAD")
}

// Empty makes n commits without a change in one go, for histories that are long
// and say nothing. The messages are numbers, from 1.
func (w *Work) Empty(n int) error {
	branch, err := w.Git("symbolic-ref", "HEAD")
	if err != nil {
		return err
	}
	var in strings.Builder
	for i := range n {
		message := strconv.Itoa(i + 1)
		fmt.Fprintf(&in, "commit %s\ncommitter %s <%s@users.noreply.forge.example> %d +0000\ndata %d\n%s\n",
			branch, w.author, w.author, time.Now().Unix(), len(message), message)
		if i == 0 {
			fmt.Fprintf(&in, "from %s^0\n", branch)
		}
		in.WriteString("\n")
	}
	cmd := exec.Command("git", "fast-import", "--quiet")
	cmd.Dir, cmd.Env, cmd.Stdin = w.dir, gitEnv(), strings.NewReader(in.String())
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("git fast-import: %w: %s", err, out)
	}
	return nil
}

// Branch checks out a branch, which is made where HEAD is if it is new.
func (w *Work) Branch(name string) error {
	if _, err := w.Git("checkout", "-q", name, "--"); err == nil {
		return nil
	}
	_, err := w.Git("checkout", "-q", "-b", name)
	return err
}

// WriteFiles returns a build function that writes the files and commits them
// as one commit.
func WriteFiles(message string, files map[string]string) func(*Work) error {
	return func(w *Work) error {
		for path, content := range files {
			if err := w.Write(path, content); err != nil {
				return err
			}
		}
		_, err := w.Commit(message)
		return err
	}
}

// work runs fn in a checkout of the branch, as author, and pushes what it
// made. A new branch starts at the default branch; with an empty repository it
// is the first one.
func (r *Repo) work(branch, author string, fn func(*Work) error) error {
	dir, err := os.MkdirTemp("", "forgetest-work-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	w := &Work{dir: dir, author: author}
	if _, err := w.Git("init", "-q", "-b", branch); err != nil {
		return err
	}
	// Borrowing the objects makes the checkout cheap however large they are.
	alternates := filepath.Join(dir, ".git", "objects", "info", "alternates")
	if err := os.WriteFile(alternates, []byte(filepath.Join(r.dir, "objects")+"\n"), 0o644); err != nil {
		return err
	}
	tip, err := r.commit("refs/heads/" + branch)
	if err != nil {
		tip, err = r.commit("HEAD")
	}
	if err == nil {
		if _, err := w.Git("reset", "-q", "--hard", tip); err != nil {
			return err
		}
	}
	if err := fn(w); err != nil {
		return fmt.Errorf("build a commit: %w", err)
	}
	_, err = w.Git("push", "-q", "--force", r.dir, "refs/heads/*:refs/heads/*", "refs/tags/*:refs/tags/*")
	return err
}
