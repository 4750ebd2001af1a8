package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/prbench/prbench/internal/config"
	"github.com/prbench/prbench/runner/fitness"
	"github.com/prbench/prbench/runner/sandbox"
)

func newDoctor(s stream) *cobra.Command {
	var path, user string
	cmd := &cobra.Command{
		Use:   "doctor [--config runner.yaml]",
		Short: "Say whether this machine can isolate benchmarks, and what is missing",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			box := sandbox.Config{Kind: sandbox.Bubblewrap, User: user, Memory: config.DefaultMemory, Pids: config.DefaultPids,
				FileSize: config.DefaultFileSize, KeepFree: config.DefaultKeepFree}
			if path != "" {
				cfg, err := config.LoadRunner(path, os.LookupEnv, config.RunnerFlags{})
				if err != nil {
					return configError(err)
				}
				box = sandboxConfig(cfg)
			}
			b, err := sandbox.New(cmd.Context(), box)
			var setup *sandbox.SetupError
			if errors.As(err, &setup) {
				return fmt.Errorf("this machine cannot isolate benchmarks yet: %w", setup)
			}
			if err != nil {
				return err
			}
			return printFacts(s, b.Facts())
		},
	}
	cmd.Flags().StringVar(&path, "config", "", "the runner's configuration; without it, the defaults are tried")
	cmd.Flags().StringVar(&user, "user", "", "the account that a root runner drops to")
	return cmd
}

func printFacts(s stream, f sandbox.Facts) error {
	_, err := fmt.Fprintf(s.out, "This machine can isolate benchmarks.\n\n"+
		"  bubblewrap  %s (%s)\n  account     %s (%d:%d)\n  memory      limited by %s\n  processes   limited by %s\n  CPUs        limited by %s\n",
		f.Version, f.Bwrap, f.User, f.UID, f.GID, f.Memory, f.Pids, f.CPUs)
	for _, n := range f.Notes {
		if err == nil {
			_, err = fmt.Fprintf(s.out, "\n%s\n", n)
		}
	}
	if err == nil {
		_, err = fmt.Fprintf(s.out, "\nHow fit it is for benchmarks:\n\n")
	}
	for _, c := range fitness.Here(f.Pinned).Look() {
		if err == nil {
			_, err = fmt.Fprintf(s.out, "  %-8s %-12s %s\n", c.State, c.Name, c.Text)
		}
		if err == nil && c.Advice != "" {
			_, err = fmt.Fprintf(s.out, "  %-8s %-12s → %s\n", "", "", c.Advice)
		}
	}
	return err
}
