package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prbench/prbench/internal/job"
)

// UnknownSuiteError is a suite that was asked for and that the repository does
// not have. Its text is fit for a reply, where it stands as data.
type UnknownSuiteError struct {
	Name  string   // hostile text
	Valid []string // the repository's suites
}

func (e *UnknownSuiteError) Error() string {
	return fmt.Sprintf("unknown suite %s; the suites are %s%s", quoted(e.Name),
		strings.Join(e.Valid, ", "), didYouMean(e.Name, e.Valid))
}

// Spec resolves the configuration and the flags into what a job needs, the flags
// first. No suites means the default ones. The error is an *UnknownSuiteError or
// a *FlagError. Base and SHA are no part of it: they choose the two commits.
func (f JobFlags) Spec(cfg *Repo, suites []string) (job.Spec, error) {
	chosen, err := choose(cfg, suites)
	if err != nil {
		return job.Spec{}, err
	}
	if err := f.check(chosen); err != nil {
		return job.Spec{}, err
	}
	spec := job.Spec{
		Pool:      cfg.Pool,
		Build:     cfg.Build,
		Suites:    chosen,
		Filter:    f.Filter,
		Set:       slices.Clone(f.Set),
		Runs:      cfg.Compare.Runs,
		Margin:    cfg.Compare.Margin,
		Alpha:     job.DefaultAlpha,
		Budget:    cfg.Compare.Budget,
		Harness:   job.HarnessBase,
		Gate:      cfg.Compare.Gate,
		History:   cfg.History,
		KeepLabel: cfg.Trigger.KeepLabel,
		LFS:       cfg.LFS,
	}
	if f.Pool != "" {
		spec.Pool = f.Pool
	}
	if f.Runs != nil {
		spec.Runs = *f.Runs
	}
	if f.Margin != 0 {
		spec.Margin = f.Margin
	}
	if f.Budget != 0 {
		spec.Budget = f.Budget
	}
	if f.Harness != "" {
		spec.Harness = f.Harness
	}
	if f.Gate != nil {
		spec.Gate = *f.Gate
	}
	if spec.Runs == job.Adaptive {
		spec.Looks = slices.Clone(cfg.Compare.Looks)
	}
	return spec, nil
}

func choose(cfg *Repo, names []string) ([]job.Suite, error) {
	if len(names) == 0 {
		return cfg.Defaults(), nil
	}
	var chosen []job.Suite
	for i, name := range names {
		suite, ok := cfg.Suite(name)
		if !ok {
			return nil, &UnknownSuiteError{Name: name, Valid: cfg.SuiteNames()}
		}
		if !slices.Contains(names[:i], name) {
			chosen = append(chosen, suite)
		}
	}
	return chosen, nil
}

// check looks at the flags once more, since a caller may have filled them in
// without a flag set, and at what only the suites tell.
func (f JobFlags) check(suites []job.Suite) error {
	bad := func(flag string, err error) error {
		if err == nil {
			return nil
		}
		return &FlagError{Flag: flag, Reason: err.Error()}
	}
	texts := []struct {
		flag, value string
		check       func(string) error
	}{
		{"--filter", f.Filter, checkFilter}, {"--pool", f.Pool, checkPool},
		{"--base", f.Base, CheckRef}, {"--sha", f.SHA, checkSHA},
	}
	for _, t := range texts {
		if t.value == "" {
			continue
		}
		if err := bad(t.flag, t.check(t.value)); err != nil {
			return err
		}
	}
	if len(f.Set) > maxSets {
		return bad("--set", fmt.Errorf("want at most %d values", maxSets))
	}
	for _, s := range f.Set {
		if err := bad("--set", CheckSet(s)); err != nil {
			return err
		}
	}
	if len(f.Set) == 0 {
		return nil
	}
	for _, s := range suites {
		if !strings.Contains(s.Command, placeSet) {
			return bad("--set", fmt.Errorf("the command of suite %s has no {set} to take it", s.Name))
		}
	}
	return nil
}
