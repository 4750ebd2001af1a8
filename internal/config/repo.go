package config

import (
	"slices"
	"time"

	"github.com/prbench/prbench/internal/job"
)

// Permission is what a person must be allowed to do in the repository to ask for
// a benchmark.
type Permission string

// The permissions that may be asked for, the weaker first. Reading is not among
// them: in a public repository it would let anyone run code on the machine.
const (
	PermissionTriage   Permission = "triage"
	PermissionWrite    Permission = "write"
	PermissionMaintain Permission = "maintain"
	PermissionAdmin    Permission = "admin"
)

// Permissions lists the permissions, the weaker first.
func Permissions() []Permission {
	return []Permission{PermissionTriage, PermissionWrite, PermissionMaintain, PermissionAdmin}
}

// Repo is a repository's configuration with its defaults filled in.
type Repo struct {
	File    string // the name that problems carry
	Trigger Trigger
	Pool    string
	Build   job.Build
	Suites  []job.Suite // in the file's order; at least one is a default
	Compare Compare
	// ReleaseLines are the branches that a backport is judged on.
	ReleaseLines []string
	// BackportLabel is the pattern of the labels that ask for a backport, with one
	// star for the line; empty where labels do not.
	BackportLabel string
	History       bool // the whole history is fetched
	LFS           bool
}

// Trigger says what starts a job.
type Trigger struct {
	Label      string
	Permission Permission
	KeepLabel  bool // the label stays on after its job and after a push
}

// Compare holds the repository's defaults for a comparison.
type Compare struct {
	Runs   job.Runs
	Looks  []int // pairs after which an adaptive comparison may stop, increasing
	Margin float64
	Budget job.Duration
	Gate   bool
}

// Defaults and bounds of a repository's configuration.
const (
	DefaultLabel        = "benchmark"
	DefaultPool         = "default"
	DefaultBuildTimeout = job.Duration(time.Hour)
	DefaultSuiteTimeout = job.Duration(5 * time.Minute)
	DefaultBudget       = job.Duration(time.Hour)

	// MaxTime bounds every time of a job: its budget, its builds, its runs.
	MaxTime   = 24 * time.Hour
	minTime   = time.Second
	minBudget = time.Minute
)

// DefaultLooks are the planned looks of an adaptive comparison, in pairs.
func DefaultLooks() []int { return []int{8, 15, 25, 40, 65, 100} }

// Suite finds a suite by its name.
func (r *Repo) Suite(name string) (job.Suite, bool) {
	i := slices.IndexFunc(r.Suites, func(s job.Suite) bool { return s.Name == name })
	if i < 0 {
		return job.Suite{}, false
	}
	return r.Suites[i], true
}

// SuiteNames lists the suites in the file's order.
func (r *Repo) SuiteNames() []string {
	names := make([]string, len(r.Suites))
	for i, s := range r.Suites {
		names[i] = s.Name
	}
	return names
}

// Defaults lists the suites that run where none is named.
func (r *Repo) Defaults() []job.Suite {
	var out []job.Suite
	for _, s := range r.Suites {
		if s.Default {
			out = append(out, s)
		}
	}
	return out
}
