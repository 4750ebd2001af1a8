// Command bot is prbench: the webhook server, the runner, and the same
// comparison on a local repository. This folder holds flags and wiring only.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/prbench/prbench/runner/proxy"
)

// Exit codes of every command.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
	exitGate   = 3 // --gate, and the comparison regresses
)

func main() {
	proxy.Main()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], stream{os.Stdin, os.Stdout, os.Stderr})
	stop()
	os.Exit(code)
}

// stream is where a command reads and writes; tests give their own.
type stream struct {
	in       io.Reader
	out, err io.Writer
}

// exitError ends a command with a code of its own. An empty text prints nothing.
type exitError struct {
	code int
	text string
}

func (e *exitError) Error() string { return e.text }

// usageError marks what the caller typed as wrong.
func usageError(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Sprintf(format, args...)}
}

// run executes one command line and gives its exit code.
func run(ctx context.Context, args []string, s stream) int {
	root := newRoot(s)
	root.SetArgs(args)
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	var exit *exitError
	if !errors.As(err, &exit) {
		exit = &exitError{exitFailed, err.Error()}
	}
	if exit.text != "" {
		_, _ = fmt.Fprintln(s.err, "bot: "+exit.text)
	}
	return exit.code
}

func newRoot(s stream) *cobra.Command {
	root := &cobra.Command{
		Use:           "bot",
		Short:         "Benchmarks pull requests, and says plainly what the numbers support",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError("%v; `%s --help` shows the flags", err, cmd.CommandPath())
	})
	root.AddCommand(newServe(s), newRunner(s), newCompare(s), newBackport(s), newReport(s), newPower(s), newCalibrate(s), newDemo(s), newDoctor(s), newSetup(s), newBackup(s), newRestore(s))
	return root
}

// noArgs refuses arguments, naming the first.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError("%q is no command of `%s`; `%s --help` lists them", args[0], cmd.CommandPath(), cmd.CommandPath())
	}
	return nil
}
