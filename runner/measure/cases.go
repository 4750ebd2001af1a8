package measure

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/prbench/prbench/internal/config"
	"github.com/prbench/prbench/internal/job"
)

// Case is the smallest command that is repeated.
type Case struct {
	Suite job.Suite
	Name  string // a path in the tree or a plain name; empty for a suite without cases
	// Sides are those that have the case: both, unless it is a file that only
	// one tree has.
	Sides []job.SideName
	// whole is set where the filter names the case, so that all its benchmarks are kept.
	whole bool
}

// Label is what people call the case.
func (c Case) Label() string {
	if c.Name == "" {
		return c.Suite.Name
	}
	return c.Suite.Name + ": " + c.Name
}

// Bounds of what is looked for in a tree that a build has written.
const (
	maxCases   = 10_000
	maxEntries = 2_000_000
	maxAdhoc   = 64 << 10
)

// AdhocCase is the name of the case that the text in a comment makes.
const AdhocCase = "ad-hoc"

// ErrTooManyCases is a suite with more cases than can be measured.
var ErrTooManyCases = fmt.Errorf("more than %d cases", maxCases)

// Cases lists the cases of a spec in the two built trees, in the order of the
// suites and sorted within each. The filter, where it matches the name of any
// case, leaves out the cases that it does not match.
func Cases(spec job.Spec, oldTree, newTree string) ([]Case, error) {
	if spec.Adhoc != "" {
		return adhocCases(spec)
	}
	var all []Case
	for _, s := range spec.Suites {
		cases, err := suiteCases(s, oldTree, newTree)
		if err != nil {
			return nil, fmt.Errorf("find the cases of %s: %w", s.Name, err)
		}
		all = append(all, cases...)
		if len(all) > maxCases {
			return nil, ErrTooManyCases
		}
	}
	if spec.Filter == "" {
		return all, nil
	}
	re, err := regexp.Compile(spec.Filter)
	if err != nil {
		return nil, fmt.Errorf("filter: %w", err)
	}
	some := false
	for i, c := range all {
		all[i].whole = c.Name != "" && re.MatchString(c.Name)
		some = some || all[i].whole
	}
	if !some {
		return all, nil // then it is meant for benchmarks
	}
	return slices.DeleteFunc(all, func(c Case) bool { return c.Name != "" && !c.whole }), nil
}

var bothSides = []job.SideName{job.Old, job.New}

func adhocCases(spec job.Spec) ([]Case, error) {
	if len(spec.Adhoc) > maxAdhoc {
		return nil, fmt.Errorf("the ad-hoc benchmark has %d bytes, more than %d", len(spec.Adhoc), maxAdhoc)
	}
	var all []Case
	for _, s := range spec.Suites {
		if s.Adhoc != "" {
			s.Command = s.Adhoc
			all = append(all, Case{Suite: s, Name: AdhocCase, Sides: bothSides})
		}
	}
	if len(all) == 0 {
		return nil, errors.New("no suite of this job takes an ad-hoc benchmark")
	}
	return all, nil
}

func suiteCases(s job.Suite, oldTree, newTree string) ([]Case, error) {
	if len(s.Cases) == 0 {
		return []Case{{Suite: s, Sides: bothSides}}, nil
	}
	var all []Case
	seen := map[string]bool{}
	add := func(name string, sides []job.SideName) {
		if !seen[name] {
			seen[name] = true
			all = append(all, Case{Suite: s, Name: name, Sides: sides})
		}
	}
	for _, pattern := range s.Cases {
		if !config.IsGlob(pattern) {
			add(pattern, namedSides(pattern, oldTree, newTree))
			continue
		}
		oldNames, err := glob(oldTree, pattern)
		if err != nil {
			return nil, err
		}
		newNames, err := glob(newTree, pattern)
		if err != nil {
			return nil, err
		}
		names := slices.Concat(oldNames, newNames)
		slices.Sort(names)
		for _, n := range slices.Compact(names) {
			_, inOld := slices.BinarySearch(oldNames, n)
			_, inNew := slices.BinarySearch(newNames, n)
			add(n, sides(inOld, inNew))
		}
	}
	return all, nil
}

// namedSides gives the sides of a case that is named: where it is the path of a
// file on one side, that side alone has it.
func namedSides(name, oldTree, newTree string) []job.SideName {
	return sides(exists(oldTree, name), exists(newTree, name))
}

func sides(inOld, inNew bool) []job.SideName {
	switch {
	case inOld && !inNew:
		return []job.SideName{job.Old}
	case inNew && !inOld:
		return []job.SideName{job.New}
	}
	return bothSides
}

// exists looks for a file without following a link out of the tree.
func exists(tree, name string) bool {
	root, err := os.OpenRoot(tree)
	if err != nil {
		return false
	}
	defer root.Close()
	_, err = root.Stat(filepath.FromSlash(name))
	return err == nil
}

// glob lists the files of a tree that match the pattern, sorted. Folders that
// are links are not entered: a build wrote this tree.
func glob(tree, pattern string) ([]string, error) {
	root, err := os.OpenRoot(tree)
	if err != nil {
		return nil, fmt.Errorf("open the tree: %w", err)
	}
	defer root.Close()
	start := literalPrefix(pattern)
	var found []string
	entries := 0
	err = fs.WalkDir(root.FS(), start, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
				return fs.SkipDir
			}
			return err
		}
		if entries++; entries > maxEntries {
			return fmt.Errorf("more than %d files below %s", maxEntries, start)
		}
		switch {
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case !d.IsDir() && (d.Type().IsRegular() || d.Type()&fs.ModeSymlink != 0) && config.Match(pattern, p):
			found = append(found, p)
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for %s: %w", pattern, err)
	}
	slices.Sort(found)
	return found, nil
}

// literalPrefix is the deepest folder that everything a pattern matches lies in.
func literalPrefix(pattern string) string {
	dir := "."
	parts := strings.Split(pattern, "/")
	for _, p := range parts[:len(parts)-1] {
		if config.IsGlob(p) {
			break
		}
		dir = path.Join(dir, p)
	}
	return dir
}
