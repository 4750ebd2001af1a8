package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/prbench/prbench/internal/config"
	"github.com/prbench/prbench/internal/queue"
	"github.com/prbench/prbench/runner"
	"github.com/prbench/prbench/runner/disk"
	"github.com/prbench/prbench/runner/fitness"
	"github.com/prbench/prbench/runner/sandbox"
	"github.com/prbench/prbench/runner/source"
)

func newDoctor(s stream) *cobra.Command {
	var path, user string
	var flags config.RunnerFlags
	cmd := &cobra.Command{
		Use:   "doctor [--config runner.yaml]",
		Short: "Say whether this machine can take jobs, and what is missing",
		Long: "Tries what a job needs, as the user who runs it: the sandbox and its limits, git, the work folder, and whether serve\n" +
			"answers. Without --config the sandbox is tried with the defaults, and neither the work folder nor serve is known. The\n" +
			"key need not be readable: whether serve knows it is then not said. It changes nothing. Where a job would fail it ends\n" +
			"with status 1.",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if path == "" && flags != (config.RunnerFlags{}) {
				return usageError("--key-file: want --config too; without it serve is not known")
			}
			d := &diagnosis{box: sandbox.Config{Kind: sandbox.Bubblewrap, User: user, Memory: config.DefaultMemory, Pids: config.DefaultPids,
				FileSize: config.DefaultFileSize, KeepFree: config.DefaultKeepFree}}
			if path != "" {
				var err error
				if d.cfg, d.closed, err = config.LookAtRunner(path, os.LookupEnv, flags); err != nil {
					return configError(err)
				}
				d.box = sandboxConfig(d.cfg)
				if user != "" {
					d.box.User = user
				}
			}
			return d.tell(cmd.Context(), s.out)
		},
	}
	cmd.Flags().StringVar(&path, "config", "", "the runner's configuration; without it, the defaults are tried")
	cmd.Flags().StringVar(&flags.KeyFile, "key-file", "", "file with the runner's key")
	cmd.Flags().StringVar(&user, "user", "", "the account that a root runner drops to")
	return cmd
}

// fails is the state of what every job would fail by.
const fails fitness.State = "fails"

// diagnosis is what is tried of a machine, in the order in which it is shown.
type diagnosis struct {
	cfg    *config.Runner // nil: the defaults are tried
	closed error          // why the runner's key could not be read
	box    sandbox.Config
	found  []fitness.Check
	notes  []string
}

func (d *diagnosis) add(name string, state fitness.State, text, advice string) {
	d.found = append(d.found, fitness.Check{Name: name, State: state, Text: text, Advice: advice})
}

// tell tries everything, writes what was found, and fails where jobs would.
func (d *diagnosis) tell(ctx context.Context, out io.Writer) error {
	pinned := d.keepOff()
	box := d.sandbox(ctx)
	d.git(ctx)
	if d.cfg == nil {
		d.add("work", fitness.Unknown, "not looked at, and neither is serve", "--config names the runner's configuration")
	} else {
		for _, w := range d.cfg.Warnings {
			d.add("config", fitness.Warn, w, "")
		}
		d.work(ctx, box)
		d.serve(ctx)
	}
	var b strings.Builder
	b.WriteString("What jobs need:\n\n" + checkRows(d.found))
	for _, n := range d.notes {
		fmt.Fprintf(&b, "\n%s\n", n)
	}
	b.WriteString("\nHow fit it is for benchmarks:\n\n" + checkRows(fitness.Here(pinned).Look()))
	var failed []string
	for _, c := range d.found {
		if c.State == fails {
			failed = append(failed, c.Name)
		}
	}
	if len(failed) == 0 {
		b.WriteString("\nThis machine can take jobs.\n")
	}
	if _, err := io.WriteString(out, b.String()); err != nil {
		return fmt.Errorf("write what was found: %w", err)
	}
	if len(failed) > 0 {
		return fmt.Errorf("this machine cannot take jobs yet: %s", strings.Join(failed, ", "))
	}
	return nil
}

func checkRows(checks []fitness.Check) string {
	var b strings.Builder
	const under = "\n                        "
	for _, c := range checks {
		fmt.Fprintf(&b, "  %-8s %-12s %s\n", c.State, c.Name, strings.ReplaceAll(c.Text, "\n", under))
		if c.Advice != "" {
			fmt.Fprintf(&b, "  %-8s %-12s → %s\n", "", "", strings.ReplaceAll(c.Advice, "\n", under+"  "))
		}
	}
	return b.String()
}

// keepOff moves this process off the benchmarks' CPUs, as a runner does, so that
// the fitness is a runner's.
func (d *diagnosis) keepOff() (pinned []int) {
	if d.cfg == nil || len(d.cfg.Sandbox.CPUs) == 0 {
		return nil
	}
	pinned = d.cfg.Sandbox.CPUs
	switch err := runner.KeepOff(pinned); {
	case errors.Is(err, runner.ErrNoCPULeft):
		d.add("cpus", fitness.Warn, "sandbox.cpus are all of this machine's; the runner shares them", "leave a CPU out of sandbox.cpus")
	case err != nil:
		d.add("cpus", fails, err.Error(), "")
	}
	return pinned
}

// sandbox tries a run; nil says that none works.
func (d *diagnosis) sandbox(ctx context.Context) *sandbox.Sandbox {
	b, err := sandbox.New(ctx, d.box)
	var setup *sandbox.SetupError
	switch {
	case errors.As(err, &setup):
		text := setup.Problem
		if setup.Detail != "" {
			text += " (" + setup.Detail + ")"
		}
		d.add("sandbox", fails, text, setup.Fix)
		return nil
	case err != nil:
		d.add("sandbox", fails, err.Error(), "")
		return nil
	}
	f := b.Facts()
	d.add("sandbox", fitness.OK, fmt.Sprintf("bubblewrap %s (%s)", f.Version, f.Bwrap), "")
	d.add("account", fitness.OK, fmt.Sprintf("%s (%d:%d)", f.User, f.UID, f.GID), "")
	for _, l := range []struct{ name, how string }{{"memory", f.Memory}, {"processes", f.Pids}, {"CPUs", f.CPUs}} {
		d.add(l.name, fitness.OK, "limited by "+l.how, "")
	}
	d.notes = append(d.notes, f.Notes...)
	return b
}

func (d *diagnosis) git(ctx context.Context) {
	path, version, err := source.Git(ctx)
	if err != nil {
		d.add("git", fails, err.Error(), "")
		return
	}
	d.add("git", fitness.OK, fmt.Sprintf("git %s (%s)", version, path), "")
}

// work tries whether a job could have its folder, and a sandbox in it see it.
func (d *diagnosis) work(ctx context.Context, box *sandbox.Sandbox) {
	dir := d.cfg.Work
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		d.add("work", fitness.Unknown, dir+" is not there yet", "`bot runner` makes it, where it may; the systemd unit's CacheDirectory does")
		return
	case err != nil:
		d.add("work", fails, err.Error(), "work in the configuration is to be a folder of the runner's own")
		return
	case !info.IsDir():
		d.add("work", fails, dir+" is no folder", "work in the configuration is to be a folder of the runner's own")
		return
	}
	if err := tryWork(ctx, dir, box); err != nil {
		d.add("work", fails, err.Error(), "the runner's user is to own "+dir+", and sandbox.user to have the search bit (x) on every folder above it")
		return
	}
	free, err := disk.Free(dir)
	switch {
	case err != nil:
		d.add("work", fails, err.Error(), "")
	case free < d.box.KeepFree:
		d.add("work", fails, fmt.Sprintf("%d MiB are left on the disk of %s, less than sandbox.keep_free (%d MiB)", free>>20, dir, d.box.KeepFree>>20),
			"make room there, or name another folder as work")
	default:
		d.add("work", fitness.OK, fmt.Sprintf("%s can be written; %d MiB are left there", dir, free>>20), "")
	}
}

// tryWork makes a tree in the work folder and, where there is a sandbox, runs
// something in it, as a job does.
func tryWork(ctx context.Context, dir string, box *sandbox.Sandbox) (err error) {
	try, err := os.MkdirTemp(dir, "doctor-")
	if err != nil {
		return fmt.Errorf("the work folder cannot be written: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(try)) }()
	tree := filepath.Join(try, "tree")
	if err := errors.Join(os.Chmod(try, 0o711), os.Mkdir(tree, 0o755)); err != nil {
		return fmt.Errorf("the work folder cannot be written: %w", err)
	}
	if box == nil {
		return nil
	}
	if err := box.Own(ctx, tree); err != nil {
		return fmt.Errorf("a tree in the work folder cannot be given to the sandbox: %w", err)
	}
	o, err := box.Run(ctx, sandbox.Command{Argv: []string{"/bin/sh", "-c", "echo > tried"}, Tree: tree, Writable: true, Timeout: time.Minute, LogTail: 1 << 10})
	if err != nil {
		return fmt.Errorf("a sandbox does not reach the work folder: %w", err)
	}
	if !o.OK() {
		return fmt.Errorf("a sandbox does not reach the work folder: %s", strings.TrimSpace(string(o.LogTail)))
	}
	return nil
}

// answerWithin is how long serve is waited for.
const answerWithin = 10 * time.Second

// serve tries whether serve is there and, where the key may be read, knows it.
func (d *diagnosis) serve(ctx context.Context) {
	const away = "see that `bot serve` runs, that its name and port are reachable from here, and that `serve` in the configuration is its public_url or state.listen"
	seed, known := d.cfg.Key.Reveal(), d.closed == nil
	switch {
	case known:
	case errors.Is(d.closed, fs.ErrPermission):
		d.add("key", fitness.Unknown, "this user may not read the runner's key", "the systemd unit hands it over; else give the file to the runner's user")
	default:
		d.add("key", fails, d.closed.Error(), "`bot runner enroll` on serve's machine makes the key")
	}
	if !known { // serve refuses a key that nobody enrolled, which tells that it is there
		var err error
		if seed, _, err = queue.NewKey(); err != nil {
			d.add("serve", fails, err.Error(), "")
			return
		}
	}
	o, err := dialOptions(d.cfg, "doctor", slog.New(slog.DiscardHandler))
	if err != nil {
		d.add("serve", fails, err.Error(), "ca_file is to hold the certificates that serve's is checked by")
		return
	}
	ctx, stop := context.WithTimeout(ctx, answerWithin)
	defer stop()
	conn, err := queue.Dial(ctx, d.cfg.Serve, seed, o)
	if err == nil {
		conn.Close()
	}
	switch refused := errors.Is(err, queue.ErrRefused); {
	case err != nil && !refused:
		d.add("serve", fails, err.Error(), away)
	case refused && known:
		d.add("serve", fails, d.cfg.Serve+" answers, and does not know this runner's key", "`bot runner enroll` on serve's machine makes it known")
	case known:
		d.add("serve", fitness.OK, d.cfg.Serve+" answers, and knows this runner's key", "")
	default:
		d.add("serve", fitness.OK, d.cfg.Serve+" answers", "")
	}
}
