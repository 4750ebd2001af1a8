package measure

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"github.com/prbench/prbench/internal/benchfmt"
	"github.com/prbench/prbench/internal/config"
	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/runner/sandbox"
)

// Bounds of what is kept of one process.
const (
	maxOutput     = 64 << 20 // bytes of results
	keptLog       = 16 << 10 // bytes of a failed process's log
	maxQuotedRows = 5
)

// The places where a process finds what is made for it.
const (
	outFile  = "result" // in its output directory
	adhocDir = "/adhoc"
)

// runner runs single processes.
type runner struct {
	Options
	filter *regexp.Regexp
	adhoc  string // directory of the host with one for each suite's ad-hoc file; empty: none
	ahead  *ahead // nil: nothing is made ready
}

// clash matches what programs print when a port is taken by another process.
var clash = regexp.MustCompile(`(?i)EADDRINUSE|address already in use`)

// portClash is an infrastructure fault: another try may succeed. A process that
// has a network of its own and clashes in each try most likely clashes with
// itself; whoever sees all tries says so.
type portClash struct {
	label   string
	side    job.SideName
	log     string
	network bool // of its own
}

func (p *portClash) Error() string {
	return fmt.Sprintf("%s on the %s side found its port taken", p.label, p.side)
}

// waiting is a process that is ready to begin.
type waiting struct {
	held sandbox.Held
	out  *sandbox.Out // nil: the results come on standard output
	// cannot is why the side cannot be run as it is; then there is no process.
	cannot string
}

// one runs a case once on one side, and meanwhile makes the next process ready.
// The error is for faults; whatever the process did is in the record.
func (r *runner) one(ctx context.Context, s, next step) (rec job.Run, err error) {
	w, err := r.ready(ctx, s, next)
	if err != nil {
		return rec, err
	}
	defer func() { err = errors.Join(err, w.discard()) }()
	rec = job.Run{Suite: s.c.Suite.Name, Case: s.c.Name, Side: s.side, Started: r.Now()}
	if w.cannot != "" {
		rec.Exit, rec.Log = 1, w.cannot
		return rec, nil
	}
	if !next.none() && r.Exec.Ahead() {
		r.ahead = r.make(ctx, next)
	}
	o, err := w.held.Run(ctx)
	if err != nil {
		return rec, err
	}
	fill(&rec, o)
	if err := r.read(&rec, s.c, w.out, o); err != nil {
		return rec, err
	}
	if !rec.OK() && clash.MatchString(rec.Log) {
		return rec, &portClash{label: s.c.Label(), side: s.side, log: rec.Log, network: r.Exec.Src(r.Old) != r.Old}
	}
	return rec, nil
}

// prepare makes a process ready to begin.
func (r *runner) prepare(ctx context.Context, s step) (w waiting, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, w.discard())
		}
	}()
	tree := r.Old
	if s.side == job.New {
		tree = r.New
	}
	suite := s.c.Suite
	cmd := sandbox.Command{Tree: tree, Timeout: suite.Timeout.Std(), OutputLimit: maxOutput, LogTail: keptLog}
	if cmd.Timeout <= 0 {
		cmd.Timeout = config.DefaultSuiteTimeout.Std()
	}
	v := config.Values{Case: s.c.Name, Set: r.Spec.Set}
	if r.adhoc != "" {
		dir, name := path.Join(r.adhoc, suite.Name), adhocFile(suite)
		v.Case = path.Join(dir, name)
		if r.Exec.Src(tree) != tree {
			cmd.ReadOnly = []sandbox.Bind{{Host: dir, Inside: adhocDir}}
			v.Case = path.Join(adhocDir, name)
		}
	}
	if !toStdout(suite) {
		if w.out, err = r.Exec.NewOut(r.Dir); err != nil {
			return w, err
		}
		cmd.Out = w.out
		v.Out = path.Join(r.Exec.Out(w.out), outFile)
		if w.cannot, err = r.redirected(tree, suite, v.Out); err != nil || w.cannot != "" {
			return w, err
		}
	}
	if cmd.Argv, err = config.Argv(suite.Command, v); err != nil {
		return w, fmt.Errorf("the command of %s: %w", suite.Name, err)
	}
	w.held, err = r.Exec.Prepare(ctx, cmd)
	return w, err
}

// discard clears away what is left of a process that has run, or never will.
func (w waiting) discard() error {
	var errs []error
	if w.held != nil {
		errs = append(errs, w.held.Discard())
	}
	if w.out != nil {
		errs = append(errs, w.out.Close())
	}
	return errors.Join(errs...)
}

// redirected makes the tool's output file in the tree, where the suite has one, a
// link to out. It tells why it cannot where what the side has built stands in the
// way; the error is for faults.
func (r *runner) redirected(tree string, s job.Suite, out string) (cannot string, err error) {
	if !inTree(s) {
		return "", nil
	}
	err = r.redirect(tree, s.Output, out)
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EIO) {
		return "", fmt.Errorf("prepare the output file %s: %w", s.Output, err)
	}
	if err != nil {
		return strings.ToValidUTF8("the output file cannot be made: "+err.Error(), "\uFFFD"), nil
	}
	return "", nil
}

func adhocFile(s job.Suite) string {
	if s.AdhocFile == "" {
		return job.DefaultAdhocFile
	}
	return s.AdhocFile
}

func toStdout(s job.Suite) bool { return s.Output == "" || s.Output == "stdout" }
func inTree(s job.Suite) bool   { return !toStdout(s) && s.Output != "{out}" }

// redirect makes the path in the tree, where a tool insists on writing, a link to
// the run's output file: the tree itself is read-only, and what one run wrote
// must not be found by the next.
func (r *runner) redirect(tree, name, to string) error {
	root, err := os.OpenRoot(tree)
	if err != nil {
		return err
	}
	defer root.Close()
	name = filepath.FromSlash(name)
	if at, err := root.Readlink(name); err == nil && at == to {
		return nil
	}
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return root.Symlink(to, name)
}

func fill(rec *job.Run, o sandbox.Outcome) {
	rec.Wall = o.Wall.Seconds()
	rec.Exit, rec.Signal, rec.TimedOut = o.Exit, o.Signal, o.TimedOut
	if o.LimitHit != sandbox.LimitTime {
		rec.Limit = o.LimitHit
	}
	u := o.Rusage
	rec.Usage = job.Usage{User: u.User.Seconds(), System: u.System.Seconds(), MaxRSS: u.MaxRSS,
		MajorFaults: u.MajorFaults, InvoluntarySwitches: u.InvoluntarySwitches}
	if !rec.OK() {
		rec.Log = strings.ToValidUTF8(string(o.LogTail), "\uFFFD")
	}
}

// read takes the samples out of what the process printed or wrote.
func (r *runner) read(rec *job.Run, c Case, out *sandbox.Out, o sandbox.Outcome) error {
	data := o.Stdout
	if out != nil {
		var err error
		data, err = out.Read(outFile, maxOutput)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			data = nil
			if rec.OK() {
				note(rec, "the command ended well and wrote no output file")
			}
		case errors.Is(err, sandbox.ErrNotRegular), errors.Is(err, sandbox.ErrTooLarge), errors.Is(err, fs.ErrPermission):
			// A process may take the permission to read from the runner that is of its own user.
			data = nil
			note(rec, "the output file: "+err.Error())
		case err != nil:
			return err
		}
	}
	opt := benchfmt.Options{Format: c.Suite.Format, Unit: c.Suite.Unit, Better: c.Suite.Better, Counts: c.Suite.Counts}
	if !c.whole {
		opt.Filter = r.filter
	}
	samples, problems, err := benchfmt.ReadProcess(bytes.NewReader(data), opt)
	rec.Samples = samples
	rec.Unreadable += problems.Count
	rec.Quoted = append(rec.Quoted, problems.Quoted()...)
	if err != nil && len(data) > 0 {
		note(rec, err.Error())
	}
	if o.LongLines > 0 {
		note(rec, fmt.Sprintf("%d lines longer than %d bytes were left out (%d bytes)", o.LongLines, sandbox.DefaultLineLimit, o.SkippedBytes))
	}
	if len(samples) == 0 && rec.Log == "" {
		rec.Log = strings.ToValidUTF8(string(o.LogTail), "\uFFFD") // so that people see what it said instead
	}
	return nil
}

// note counts something unreadable and says what it was.
func note(rec *job.Run, text string) {
	rec.Unreadable++
	if len(rec.Quoted) < maxQuotedRows {
		rec.Quoted = append(rec.Quoted, strings.ToValidUTF8(text, "\uFFFD"))
	}
}
