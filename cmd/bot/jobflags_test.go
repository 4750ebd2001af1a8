package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func TestAFlagThatMakesNoSenseInACommandIsRefusedWithWhatToUse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ line, says string }{
		{"compare --base main --head x --sha abcdef1", "`bot compare` takes no --sha: --head takes any commit"},
		{"compare --base main --head x --pool=p", "`bot compare` takes no --pool: pools are of the runners of bot serve"},
		{"compare --base main --head x --runz 3", "unknown flag: --runz; `bot compare --help` shows the flags"},
		{"backport --commits x --sha abcdef1", "`bot backport` takes no --sha: --commits names the change"},
		{"backport --commits x --base main", "`bot backport` takes no --base: the change is compared with each of --lines"},
		{"backport --commits x --pool p", "`bot backport` takes no --pool: "},
		{"backport --commits x --samples a.jsonl", "--samples goes with --check; --records names the folder"},
		{"backport --check a.json --runs 5", "--check takes --samples, --repo and --gate, and no --runs"},
		{"backport --check a.json --format json", "and no --format"},
		{"calibrate --base main", "`bot calibrate` takes no --base: --ref names the commit"},
		{"calibrate --sha abcdef1", "`bot calibrate` takes no --sha: --ref names the commit"},
		{"calibrate --pool p", "`bot calibrate` takes no --pool: "},
		{"calibrate --harness head", "`bot calibrate` takes no --harness: both sides are the same commit"},
		{"calibrate --gate", "`bot calibrate` takes no --gate: both sides are the same commit"},
		{"demo --runs -1", "--runs: want "},
		{"demo --margin 2%", "unknown flag: --margin"},
	} {
		code, out, errs := call(t.Context(), strings.Fields(c.line)...)
		if code != exitUsage || out != "" || !strings.Contains(errs, c.says) {
			t.Errorf("%s: exit %d: %s%s", c.line, code, out, errs)
		}
	}
}

func TestNoFlagIsHidden(t *testing.T) {
	t.Parallel()
	seen := 0
	var look func(*cobra.Command)
	look = func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			seen++
			if f.Hidden {
				t.Errorf("%s hides --%s", cmd.CommandPath(), f.Name)
			}
		})
		for _, sub := range cmd.Commands() {
			look(sub)
		}
	}
	look(newRoot(stream{}))
	if seen < 50 {
		t.Errorf("%d flags were looked at", seen)
	}
}
