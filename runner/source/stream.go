package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/prbench/prbench/runner/disk"
)

// stream runs git with in as its standard input, and hands its output on while
// it comes. git is ended where out takes no more, where it takes too long, where
// it fills the disk, and where it fetches too much; the error says which.
func (g git) stream(ctx context.Context, in []byte, out io.Writer, args ...string) error {
	what := verb(args)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	full := append([]string{"--git-dir=" + g.dir}, g.config()...)
	cmd := exec.CommandContext(ctx, "git", append(full, args...)...)
	cmd.Env = g.environ()
	cmd.Dir = g.cwd
	cmd.Stdin = bytes.NewReader(in)
	stderr := &bounded{limit: maxStderr}
	cmd.Stdout, cmd.Stderr = &stopping{out, stop}, stderr
	ownGroup(cmd)
	cmd.WaitDelay = 5 * time.Second

	watched := make(chan error, 1)
	over := make(chan struct{})
	go func() { watched <- g.watch(what, over, stop) }()
	err := g.start(cmd)
	if err == nil {
		err = cmd.Wait()
	}
	if g.fetched != nil {
		g.fetched.done = err == nil
	}
	close(over)
	watchErr := <-watched
	if ctx.Err() != nil {
		return fmt.Errorf("git %s: %w", what, context.Cause(ctx))
	}
	if err != nil {
		failed := &gitError{what: what, dir: g.dir, stderr: g.mask(strings.TrimSpace(stderr.String())), err: err, far: g.own || g.forge.host != ""}
		if failed.noSpace() {
			return fmt.Errorf("%w: %w", disk.ErrLow, failed)
		}
		return failed
	}
	if watchErr != nil {
		return fmt.Errorf("git %s: %w", what, watchErr)
	}
	return nil
}

// verb is the command among git's arguments.
func verb(args []string) string {
	for len(args) > 2 && args[0] == "-c" {
		args = args[2:]
	}
	return args[0]
}

// stopping has the first error of a writer stop what writes.
type stopping struct {
	io.Writer
	stop context.CancelCauseFunc
}

func (s *stopping) Write(p []byte) (int, error) {
	n, err := s.Writer.Write(p)
	if err != nil {
		s.stop(err)
	}
	return n, err
}

// watchEvery is how often the disk is looked at while git works.
const watchEvery = 200 * time.Millisecond

// watch stops a command that goes beyond its limits. It returns when over is
// closed, and then tells whether a fetch has brought too much before it was seen.
func (g git) watch(what string, over <-chan struct{}, stop context.CancelCauseFunc) error {
	l := g.limits.withDefaults()
	limit := &tookTooLong{longest: l.Timeout}
	if what == "fetch" {
		limit = &tookTooLong{longest: l.FetchTimeout, fetch: true}
	}
	late := time.NewTimer(limit.longest)
	defer late.Stop()
	look := time.NewTicker(watchEvery)
	defer look.Stop()
	before := int64(0)
	if g.fetched != nil {
		before = arrivedBytes(g.packs())
	}
	tooMuch := func() error {
		if g.fetched != nil && g.fetched.got+arrivedBytes(g.packs())-before > l.Fetch {
			return errFetchSize
		}
		return nil
	}
	for {
		select {
		case <-over:
			err := tooMuch()
			if g.fetched != nil {
				g.fetched.got += max(arrivedBytes(g.packs())-before, 0)
			}
			return err
		case <-late.C:
			stop(limit)
		case <-look.C:
			if err := tooMuch(); err != nil {
				stop(err)
			}
			if g.writes != "" && l.KeepFree > 0 && disk.Low(g.writes, l.KeepFree) {
				stop(disk.ErrLow)
			}
		}
	}
}

// errBad is what ls-tree tells of an object, and goes on.
var errBad = errors.New("the size is BAD")

// walk goes through a tree with all that is below it, folders included: one that
// names itself again and again without any file takes no less time. The sizes of
// files are asked for where they are wanted. visit's error ends it.
func (g git) walk(ctx context.Context, tree string, sizes bool, visit func(entry) error) error {
	s := &treeReader{visit: func(e entry, size string) (err error) {
		if size == "BAD" {
			return &gitError{what: "ls-tree", dir: g.dir, stderr: "the object " + e.object + " " + brokenObject, err: errBad}
		}
		if size != "-" {
			if e.size, err = strconv.ParseInt(size, 10, 64); err != nil {
				return fmt.Errorf("list a tree: git printed the size %q", size)
			}
		}
		return visit(e)
	}}
	args := []string{"ls-tree", "-r", "-t", "-z", "--full-tree"}
	if sizes {
		args = append(args, "-l")
	}
	err := g.stream(ctx, nil, s, append(args, tree)...)
	if err == nil && len(s.rest) > 0 {
		err = fmt.Errorf("list a tree: git printed %q", s.rest)
	}
	return err
}

// treeReader reads what ls-tree -z prints, "mode type object\tpath\0" or with -l
// "mode type object size\tpath\0", in pieces of any length.
type treeReader struct {
	visit func(e entry, size string) error
	rest  []byte
}

// maxRecord is what a record of a path of any use takes.
const maxRecord = maxPath + 256

func (r *treeReader) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		part, after, whole := bytes.Cut(rest, []byte{0})
		r.rest = append(r.rest, part[:min(len(part), maxRecord+1)]...)
		rest = after
		long := len(r.rest) > maxRecord
		if !whole && !long {
			break
		}
		if err := r.record(string(r.rest)); err != nil {
			return 0, err
		}
		if long {
			return 0, fmt.Errorf("list a tree: git printed a record of more than %d bytes", maxRecord)
		}
		r.rest = r.rest[:0]
	}
	return len(p), nil
}

func (r *treeReader) record(rec string) error {
	head, path, ok := strings.Cut(rec, "\t")
	f := strings.Fields(head)
	if ok && len(f) == 3 {
		f = append(f, "-")
	}
	if !ok || len(f) != 4 {
		return fmt.Errorf("list a tree: git printed %.200q", rec)
	}
	return r.visit(entry{mode: f[0], object: f[2], path: path}, f[3])
}
