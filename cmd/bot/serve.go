package main

import (
	"errors"
	"os"

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
	trialServeFlags(cmd.Flags(), &p)
	return cmd
}

// The tests' own binary puts flags here that make times short and let a runner
// fetch from a forge on its machine. The product has none of them.
var (
	trialServeFlags  = func(*pflag.FlagSet, *pace) {}
	trialRunnerFlags = func(*pflag.FlagSet, *machine) {}
)

// configError marks what stands in a configuration or flag as the caller's.
func configError(err error) error {
	var problems config.Problems
	var flag *config.FlagError
	if errors.As(err, &problems) || errors.As(err, &flag) || errors.Is(err, os.ErrNotExist) {
		return &exitError{exitUsage, err.Error()}
	}
	return err
}
