package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/prbench/prbench/internal/config"
	"github.com/prbench/prbench/internal/queue"
)

func newEnroll(s stream) *cobra.Command {
	var path, pool, keyFile, public string
	var flags config.ServeFlags
	cmd := &cobra.Command{
		Use:   "enroll NAME --pool P --config serve.yaml",
		Short: "Let a runner take the jobs of a pool, and write its key",
		Long: "Lets a runner take the jobs of a pool. Run it where `bot serve` runs, which may be running.\n" +
			"It makes a key and writes the secret half to a file, to be moved to the runner's machine;\n" +
			"with --public-key, the key was made there and only its public half comes here.",
		Args: oneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := loadForState(path, flags)
			if err != nil {
				return err
			}
			if _, ok := cfg.Pool(pool); !ok {
				return usageError("--pool: %q is no pool of %s", pool, path)
			}
			if keyFile == "" {
				keyFile = args[0] + ".nk"
			}
			return withQueue(cmd.Context(), cfg, func(q *queue.Queue) error {
				return enroll(cmd.Context(), q, enrolment{name: args[0], pool: pool, keyFile: keyFile, public: public, external: cfg.State.NATS != ""}, s.out)
			})
		},
	}
	cmd.Flags().StringVar(&path, "config", "serve.yaml", "the configuration of bot serve")
	cmd.Flags().StringVar(&pool, "pool", config.DefaultPool, "the pool whose jobs the runner gets")
	cmd.Flags().StringVar(&keyFile, "key-file", "", "where the key is written (default NAME.nk)")
	cmd.Flags().StringVar(&public, "public-key", "", "the public half of a key that was made elsewhere")
	cmd.Flags().StringVar(&flags.StateDir, "state-dir", "", "folder of the embedded state")
	cmd.Flags().StringVar(&flags.NATS, "nats", "", "addresses of an external NATS server")
	return cmd
}

func newRevoke(s stream) *cobra.Command {
	var path string
	var flags config.ServeFlags
	cmd := &cobra.Command{
		Use:   "revoke NAME --config serve.yaml",
		Short: "Take a runner's rights away; its job goes to another",
		Args:  oneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := loadForState(path, flags)
			if err != nil {
				return err
			}
			return withQueue(cmd.Context(), cfg, func(q *queue.Queue) error {
				if err := q.Revoke(cmd.Context(), args[0]); err != nil {
					return err
				}
				if _, err := fmt.Fprintf(s.out, "Revoked %s.\n", args[0]); err != nil || cfg.State.NATS == "" {
					return err
				}
				return printExternal(cmd.Context(), q, s.out)
			})
		},
	}
	cmd.Flags().StringVar(&path, "config", "serve.yaml", "the configuration of bot serve")
	cmd.Flags().StringVar(&flags.StateDir, "state-dir", "", "folder of the embedded state")
	cmd.Flags().StringVar(&flags.NATS, "nats", "", "addresses of an external NATS server")
	return cmd
}

func oneName(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usageError("`%s` takes one name, got %d", cmd.CommandPath(), len(args))
	}
	return nil
}

func loadForState(path string, flags config.ServeFlags) (*config.Serve, error) {
	cfg, err := config.LoadState(path, flags)
	if err != nil {
		return nil, configError(err)
	}
	return cfg, nil
}

// withQueue opens the store, or attaches to the process that has it open.
func withQueue(ctx context.Context, cfg *config.Serve, work func(*queue.Queue) error) error {
	quiet := slog.New(slog.DiscardHandler)
	q, err := queue.Open(ctx, stateOptions(cfg, pace{}, quiet))
	if errors.Is(err, queue.ErrInUse) {
		q, err = queue.Attach(ctx, queue.Options{Dir: cfg.State.Dir, Logger: quiet})
	}
	if err != nil {
		return err
	}
	defer q.Close()
	return work(q)
}

type enrolment struct {
	name, pool, keyFile, public string
	external                    bool
}

// enroll leaves a runner's key in a file that only its owner can read, and makes
// the runner known. A key file that is there is never overwritten; one whose
// runner could not be enrolled is taken away again, since it opens nothing.
func enroll(ctx context.Context, q *queue.Queue, e enrolment, out io.Writer) error {
	made := e.public == ""
	if made {
		seed, public, err := queue.NewKey()
		if err != nil {
			return err
		}
		if err := writeKey(e.keyFile, seed); err != nil {
			return err
		}
		e.public = public
	}
	if err := q.Enroll(ctx, e.name, e.pool, e.public); err != nil {
		if made {
			err = withoutKey(ctx, q, e, err)
		}
		return err
	}
	text := fmt.Sprintf("Enrolled %s for the pool %s.\n", e.name, e.pool)
	if made {
		text += fmt.Sprintf("Its key is in %s: move it to the runner's machine, and name it as key_file there.\n", e.keyFile)
	}
	if _, err := io.WriteString(out, text); err != nil {
		return fmt.Errorf("say that %s is enrolled: %w", e.name, err)
	}
	if !e.external {
		return nil
	}
	return printExternal(ctx, q, out)
}

// withoutKey removes the key of a runner that could not be enrolled. Where
// nobody knows whether it is enrolled after all, the key stays and is named.
func withoutKey(ctx context.Context, q *queue.Queue, e enrolment, failed error) error {
	runners, err := q.Runners(ctx)
	if err != nil || slices.ContainsFunc(runners, func(r queue.Runner) bool { return r.Key == e.public }) {
		return fmt.Errorf("%w; the runner may be enrolled all the same, with the key in %s: `bot runner revoke %s` takes it back", failed, e.keyFile, e.name)
	}
	if err := os.Remove(e.keyFile); err != nil {
		return fmt.Errorf("%w; the key that opens nothing stays: %w", failed, err)
	}
	return failed
}

// writeKey makes the file of a runner's secret; half a one is not left.
func writeKey(name, seed string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("write the runner's key: %w", err)
	}
	_, err = f.WriteString(seed + "\n")
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write the runner's key: %w", errors.Join(err, os.Remove(name)))
	}
	return nil
}

// printExternal prints what an external server has to know of the runners.
func printExternal(ctx context.Context, q *queue.Queue, out io.Writer) error {
	runners, err := q.Runners(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "The external server needs this in its configuration:\n\n%s\n", queue.ExternalConfig("YOUR_SERVE_PUBLIC_NKEY", runners))
	return err
}
