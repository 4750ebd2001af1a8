package main

import (
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/prbench/prbench/internal/config"
)

// Why a job flag makes no sense in a command, where several commands refuse it.
const (
	poolIsElsewhere = "pools are of the runners of bot serve; this command measures on this machine"
	sidesAreAlike   = "both sides are the same commit"
)

// registerJobFlags gives a command the job flags but those that make no sense in
// it, each of which is refused with what to know or to use in its place.
func registerJobFlags(cmd *cobra.Command, flags *config.JobFlags, refused map[string]string) {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.Register(all)
	all.VisitAll(func(f *pflag.Flag) {
		if _, no := refused[f.Name]; !no {
			cmd.Flags().AddFlag(f)
		}
	})
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		var unknown *pflag.NotExistError
		if errors.As(err, &unknown) {
			if instead := refused[unknown.GetSpecifiedName()]; instead != "" {
				return usageError("`%s` takes no --%s: %s", cmd.CommandPath(), unknown.GetSpecifiedName(), instead)
			}
		}
		return cmd.Parent().FlagErrorFunc()(cmd, err)
	})
}
