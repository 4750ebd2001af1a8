package main

import (
	"errors"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/prbench/prbench/internal/config"
)

func newServe(stream) *cobra.Command {
	var path string
	var flags config.ServeFlags
	var p pace
	cmd := &cobra.Command{
		Use:   "serve --config serve.yaml",
		Short: "Take GitHub's webhooks, queue jobs, answer runners, publish reports",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := config.LoadServe(path, os.LookupEnv, flags)
			if err != nil {
				return configError(err)
			}
			log := newLogger(os.Stderr)
			for _, w := range cfg.Warnings {
				log.Warn(w)
			}
			s, err := openServer(cmd.Context(), cfg, p, log)
			if err != nil {
				return err
			}
			return s.run(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&path, "config", "serve.yaml", "the configuration")
	flags.Register(cmd.Flags())
	p.register(cmd.Flags())
	return cmd
}

// register adds flags that are no operator's concern: they are for a forge of
// one's own and for trials of what happens when a process dies.
func (p *pace) register(fs *pflag.FlagSet) {
	for name, to := range map[string]*time.Duration{
		"pace": &p.mutations, "progress-every": &p.progress, "lease": &p.lease, "lead-lease": &p.lead, "publish-retry": &p.retry,
		"sweep-every": &p.sweep,
	} {
		fs.DurationVar(to, name, 0, "")
		if err := fs.MarkHidden(name); err != nil {
			panic(err) // the name is ours
		}
	}
}

// configError marks what stands in a configuration or flag as the caller's.
func configError(err error) error {
	var problems config.Problems
	var flag *config.FlagError
	if errors.As(err, &problems) || errors.As(err, &flag) || errors.Is(err, os.ErrNotExist) {
		return &exitError{exitUsage, err.Error()}
	}
	return err
}
