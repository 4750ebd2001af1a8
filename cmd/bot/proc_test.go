package main

import (
	"os"
	"path/filepath"
	"strings"
)

// nothingRuns fails when a process still has the world's folder in its
// arguments or as its place.
func (w *world) nothingRuns() { w.nothingRunsBelow("") }

func (w *world) nothingRunsBelow(name string) {
	w.t.Helper()
	dir := filepath.Join(w.dir, name)
	var left string
	defer func() {
		if w.t.Failed() && left != "" {
			w.t.Logf("runs on: %s", left)
		}
	}()
	eventually(w.t, "what ran in "+dir+" has ended", func() bool {
		left = w.runsIn(dir)
		return left == ""
	})
}

// runsIn describes a process that has to do with a folder; empty: there is none.
func (w *world) runsIn(dir string) string {
	all, err := filepath.Glob("/proc/[0-9]*")
	w.ok(err)
	for _, p := range all {
		args, _ := os.ReadFile(filepath.Join(p, "cmdline")) // it may be gone
		place, _ := os.Readlink(filepath.Join(p, "cwd"))
		if strings.Contains(string(args), dir) || strings.HasPrefix(place, dir) {
			stack, _ := os.ReadFile(filepath.Join(p, "stack"))
			status, _ := os.ReadFile(filepath.Join(p, "status"))
			return strings.Join([]string{p, strings.ReplaceAll(string(args), "\x00", " "), place, string(status), string(stack)}, "\n")
		}
	}
	return ""
}

// nothingStays fails when a process or a temporary file is left.
func (w *world) nothingStays() {
	w.t.Helper()
	w.nothingRuns()
	if left, err := os.ReadDir(filepath.Join(w.dir, "tmp")); err != nil || len(left) > 0 {
		w.t.Errorf("temporary files stay: %v, %v", left, err)
	}
}
