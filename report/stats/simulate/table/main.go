// Command table simulates what the statistics claim and writes the page of
// claims, docs/validation.md. With -only it prints a part of it.
package main

import (
	"bytes"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"time"

	"github.com/prbench/prbench/report/stats/simulate"
)

//go:embed introduction.md
var introduction []byte

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "table:", err)
		}
		os.Exit(1)
	}
}

// settings are the flags.
type settings struct {
	o    simulate.Options
	out  string
	only *regexp.Regexp
}

func parse(args []string, stderr io.Writer) (settings, error) {
	s := settings{only: regexp.MustCompile("")}
	f := flag.NewFlagSet("table", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.IntVar(&s.o.Replicates, "replicates", 400_000, "replicates of each scenario")
	f.Uint64Var(&s.o.Seed, "seed", 1, "seed of the random numbers")
	f.IntVar(&s.o.Workers, "workers", 0, "replicates at a time; 0 is one a processor")
	f.StringVar(&s.out, "out", "docs/validation.md", "file to write, - for standard output, which is the default with -only")
	f.Func("only", "simulate the claims that match this regular expression, and print their table alone", func(text string) (err error) {
		s.only, err = regexp.Compile(text)
		return err
	})
	if err := f.Parse(args); err != nil {
		return s, err
	}
	if s.o.Replicates < 1 || f.NArg() > 0 {
		return s, fmt.Errorf("want -replicates of 1 or more and no arguments, got %d and %q", s.o.Replicates, f.Args())
	}
	if s.only.String() != "" {
		outSet := false
		f.Visit(func(f *flag.Flag) { outSet = outSet || f.Name == "out" })
		if !outSet {
			s.out = "-"
		}
	}
	return s, nil
}

func run(args []string, stdout, stderr io.Writer) error {
	s, err := parse(args, stderr)
	if err != nil {
		return err
	}
	var claims []simulate.Claim
	for _, c := range simulate.Claims() {
		if s.only.MatchString(c.Name) {
			claims = append(claims, c)
		}
	}
	if len(claims) == 0 {
		return fmt.Errorf("no claim matches -only %q", s.only)
	}
	s.o.Progress = progress(stderr, claims, s.o)
	var page bytes.Buffer
	if s.only.String() == "" {
		page.Write(introduction)
	}
	failed, err := simulate.WriteTable(&page, claims, s.o, 0)
	if err != nil {
		return err
	}
	if s.out == "-" {
		_, err = stdout.Write(page.Bytes())
	} else {
		err = os.WriteFile(s.out, page.Bytes(), 0o644)
	}
	if err != nil {
		return fmt.Errorf("write the table of claims: %w", err)
	}
	if failed > 0 {
		return fmt.Errorf("%d figures are not reached", failed)
	}
	return nil
}

// progress tells how far the simulation is and when it will end. What each
// claim takes is known from a few replicates of it.
func progress(w io.Writer, claims []simulate.Claim, o simulate.Options) func(int) {
	trial := min(40, o.Replicates)
	var total time.Duration
	before := make([]time.Duration, len(claims)) // the expected work before each claim
	for i, c := range claims {
		start := time.Now()
		c.Check(simulate.Options{Replicates: trial, Seed: o.Seed, Workers: 1}, 0)
		before[i] = total
		total += time.Since(start) * time.Duration(c.Replicates(o)) / time.Duration(trial)
	}
	start := time.Now()
	return func(claim int) {
		left := ""
		if done := before[claim]; done > 0 {
			spent := time.Since(start)
			left = fmt.Sprintf(", about %v left", time.Duration(float64(spent)*float64(total-done)/float64(done)).Round(time.Second))
		}
		fmt.Fprintf(w, "%3.0f %% done%s: claim %d of %d, %s\n", 100*float64(before[claim])/float64(max(total, 1)), left, claim+1, len(claims), claims[claim].Name)
	}
}
