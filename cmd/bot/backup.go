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
	"time"

	"github.com/spf13/cobra"

	"github.com/prbench/prbench/internal/config"
	"github.com/prbench/prbench/internal/queue"
)

func newBackup(s stream) *cobra.Command {
	var path string
	var flags config.ServeFlags
	var replace bool
	cmd := &cobra.Command{
		Use:   "backup FILE --config serve.yaml",
		Short: "Write all that serve keeps into one file; serve may be running",
		Long: "Writes all that serve keeps, but no configuration, into one file: events, jobs, samples, heads, runners,\n" +
			"calibrations, accepted regressions, records of backports. Run it where `bot serve` runs, as its account; serve\n" +
			"may be running. The file holds no secret of GitHub's, but the samples and logs of private repositories too, and\n" +
			"is for its owner's eyes only.",
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := loadForState(path, flags)
			if err != nil {
				return err
			}
			if !replace {
				if _, err := os.Lstat(args[0]); !errors.Is(err, fs.ErrNotExist) {
					return usageError("%s is there already; name another file, or give --replace", args[0])
				}
			}
			return withQueue(cmd.Context(), cfg, func(q *queue.Queue) error { return backup(cmd.Context(), q, args[0], s) })
		},
	}
	cmd.Flags().BoolVar(&replace, "replace", false, "take the place of an older file of this name, once the new one is whole")
	stateFlags(cmd, &path, &flags)
	return cmd
}

func newRestore(s stream) *cobra.Command {
	var path string
	var flags config.ServeFlags
	cmd := &cobra.Command{
		Use:   "restore FILE --config serve.yaml",
		Short: "Fill an empty store with a backup; serve must be stopped",
		Long: "Fills the store of the configuration with what `bot backup` has written. The file is checked first, to the last\n" +
			"byte. The store must be empty and serve stopped. Either all is restored or nothing.",
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := loadForState(path, flags)
			if err != nil {
				return err
			}
			return restore(cmd.Context(), cfg, args[0], s)
		},
	}
	stateFlags(cmd, &path, &flags)
	return cmd
}

// stateFlags are those of the commands that work on serve's store.
func stateFlags(cmd *cobra.Command, path *string, flags *config.ServeFlags) {
	cmd.Flags().StringVar(path, "config", "serve.yaml", "the configuration of bot serve")
	cmd.Flags().StringVar(&flags.StateDir, "state-dir", "", "folder of the embedded state")
	cmd.Flags().StringVar(&flags.NATS, "nats", "", "addresses of an external NATS server")
}

func oneFile(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) != 1:
		return usageError("`%s` takes one file, got %d", cmd.CommandPath(), len(args))
	case args[0] == "-" || args[0] == "":
		return usageError("`%s` takes the name of a file, got %q", cmd.CommandPath(), args[0])
	}
	return nil
}

// backup writes the file beside its place and moves it there when it is whole.
func backup(ctx context.Context, q *queue.Queue, name string, s stream) (err error) {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*") // mode 0600
	if err != nil {
		return fmt.Errorf("write the backup: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, ignore(f.Close(), fs.ErrClosed), ignore(os.Remove(f.Name()), fs.ErrNotExist))
		}
	}()
	steps := &stepTeller{out: s.err, verb: "backed up"}
	info, err := q.Backup(ctx, f, steps.tell)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write the backup: %w", err)
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return fmt.Errorf("write the backup: %w", err)
	}
	if err := syncFolder(filepath.Dir(name)); err != nil {
		return fmt.Errorf("write the backup: %w", err)
	}
	_, err = fmt.Fprintf(s.out, "%s holds all that serve keeps (%s). Keep it as safe as the store: no secret of GitHub's is in it,\n"+
		"but samples, the ends of logs, and runners' public keys. The configuration and its secrets are not part of it.\n", name, sizeText(info.Bytes()))
	return err
}

func ignore(err, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}

// syncFolder makes a rename in it outlive a power cut.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func restore(ctx context.Context, cfg *config.Serve, name string, s stream) error {
	f, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("read the backup: %w", err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("read the backup: %w", err)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("read the backup: %s is no regular file", name)
	}
	if _, err := fmt.Fprintf(s.err, "checking %s (%s)…\n", name, sizeText(info.Size())); err != nil {
		return err
	}
	b, err := queue.ReadBackup(ctx, f, info.Size())
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	steps := &stepTeller{out: s.err, verb: "restored"}
	err = queue.Restore(ctx, stateOptions(cfg, pace{}, slog.New(slog.DiscardHandler)), b, steps.tell)
	var full *queue.NotEmptyError
	switch {
	case errors.As(err, &full):
		return fmt.Errorf("%w; move it away, or name another with --state-dir", err)
	case errors.Is(err, queue.ErrInUse):
		return fmt.Errorf("%w; stop bot serve, then restore", err)
	case err != nil:
		return err
	}
	_, err = fmt.Fprintf(s.out, "Restored what serve kept on %s. Start bot serve.\n", b.Created.Format("2006-01-02 at 15:04 UTC"))
	return err
}

// stepTeller shows how far a backup or a restore is, a line at a time.
type stepTeller struct {
	out  io.Writer
	verb string
	said time.Time
}

func (t *stepTeller) tell(s queue.BackupStep) {
	switch {
	case s.Done:
		_, _ = fmt.Fprintf(t.out, "%s %s: %d messages, %s\n", t.verb, s.Stream, s.Messages, sizeText(s.Bytes))
	case t.said.IsZero():
	case time.Since(t.said) < 2*time.Second:
		return
	default:
		_, _ = fmt.Fprintf(t.out, "%s: %s until now…\n", s.Stream, sizeText(s.Bytes))
	}
	t.said = time.Now()
}

func sizeText(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}
