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
	eventually(w.t, "what ran in "+dir+" has ended", func() bool {
		all, err := filepath.Glob("/proc/[0-9]*")
		w.ok(err)
		for _, p := range all {
			args, _ := os.ReadFile(filepath.Join(p, "cmdline")) // it may be gone
			place, _ := os.Readlink(filepath.Join(p, "cwd"))
			if strings.Contains(string(args), dir) || strings.HasPrefix(place, dir) {
				return false
			}
		}
		return true
	})
}

// nothingStays fails when a process or a temporary file is left.
func (w *world) nothingStays() {
	w.t.Helper()
	w.nothingRuns()
	if left, err := os.ReadDir(filepath.Join(w.dir, "tmp")); err != nil || len(left) > 0 {
		w.t.Errorf("temporary files stay: %v, %v", left, err)
	}
}
