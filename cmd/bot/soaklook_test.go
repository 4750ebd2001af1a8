//go:build soak

package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// holding is what the processes hold at one moment.
type holding struct {
	minute     int
	jobs       int
	serveRSS   int64 // bytes, as the other sizes
	runnerRSS  int64
	serveFDs   int
	runnerFDs  int
	goroutines int   // of serve
	live       int64 // of serve's heap, when it was last collected
	threads    int   // of the runner
	workFiles  int   // mirrors grow with what is fetched; see jobFiles
	jobFiles   int   // in the folder of jobs
	tmpFiles   int
	mounts     int
	groups     int // control groups of runs
	foreign    int // processes that the runner has started
	state      int64
}

func (h holding) String() string {
	return fmt.Sprintf("minute %3d: jobs %4d · serve %5.1f MiB (%4.1f live) %3d fds %3d goroutines, store %6.1f MiB · runner %5.1f MiB %3d fds %2d threads · files %4d in work, %d of jobs, %d in tmp · %d mounts, %d groups, %d processes of the runner",
		h.minute, h.jobs, mib(h.serveRSS), mib(h.live), h.serveFDs, h.goroutines, mib(h.state), mib(h.runnerRSS), h.runnerFDs, h.threads,
		h.workFiles, h.jobFiles, h.tmpFiles, h.mounts, h.groups, h.foreign)
}

func mib(n int64) float64 { return float64(n) / (1 << 20) }

// look reads it all. It is called between two jobs.
func (s *soak) look(jobs int) holding {
	s.t.Helper()
	work := filepath.Join(s.dir, "work-box-1")
	h := holding{minute: int(time.Since(s.began).Minutes()), jobs: jobs,
		serveRSS: s.status(s.serve, "VmRSS:") << 10, runnerRSS: s.status(s.runner, "VmRSS:") << 10,
		threads: int(s.status(s.runner, "Threads:")), serveFDs: entries(fmt.Sprintf("/proc/%d/fd", s.serve)),
		runnerFDs: entries(fmt.Sprintf("/proc/%d/fd", s.runner)), tmpFiles: entries(filepath.Join(s.dir, "tmp")),
		jobFiles: entries(filepath.Join(work, "jobs")), foreign: len(s.started()), groups: len(s.groups())}
	h.workFiles, _ = below(work)
	_, h.state = below(filepath.Join(s.dir, "state"))
	mounts, err := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", s.runner))
	s.ok(err)
	h.mounts = strings.Count(string(mounts), "\n")
	for line := range strings.Lines(s.metrics()) {
		if n, ok := strings.CutPrefix(line, "go_goroutines "); ok {
			h.goroutines, err = strconv.Atoi(strings.TrimSpace(n))
			s.ok(err)
		}
		if n, ok := strings.CutPrefix(line, "go_memstats_next_gc_bytes "); ok {
			next, err := strconv.ParseFloat(strings.TrimSpace(n), 64)
			s.ok(err)
			h.live = int64(next / 2) // it collects when the heap has doubled
		}
	}
	return h
}

// status is a number of a process's status file.
func (s *soak) status(pid int, name string) int64 {
	s.t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	s.ok(err)
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == name {
			n, err := strconv.ParseInt(f[1], 10, 64)
			s.ok(err)
			return n
		}
	}
	s.t.Fatalf("process %d tells no %s", pid, name)
	return 0
}

func entries(dir string) int {
	all, _ := os.ReadDir(dir) // none before it is made
	return len(all)
}

// below counts the files below a folder, and their bytes. Files go while it
// counts.
func below(dir string) (files int, size int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		files++
		if info, err := d.Info(); err == nil {
			size += info.Size()
		}
		return nil
	})
	return files, size
}

// started are the processes that the runner has started and that still run.
func (s *soak) started() []string {
	all, _ := filepath.Glob("/proc/[0-9]*")
	parents, args := map[int]int{}, map[int]string{}
	for _, p := range all {
		pid, err := strconv.Atoi(filepath.Base(p))
		s.ok(err)
		stat, _ := os.ReadFile(filepath.Join(p, "stat")) // it may be gone
		line, _ := os.ReadFile(filepath.Join(p, "cmdline"))
		args[pid] = strings.ReplaceAll(string(line), "\x00", " ")
		if f := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:])); len(f) > 1 {
			parents[pid], _ = strconv.Atoi(f[1])
		}
	}
	var out []string
	for pid, line := range args {
		for up := parents[pid]; up > 1; up = parents[up] {
			if up == s.runner {
				out = append(out, fmt.Sprintf("process %d: %s", pid, line))
			}
		}
	}
	return out
}

// groups are the control groups that the runner has made for its runs.
func (s *soak) groups() []string {
	var out []string
	_ = filepath.WalkDir("/sys/fs/cgroup", func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), fmt.Sprintf("prbench-run-%d-", s.runner)) {
			out = append(out, p)
		}
		return nil
	})
	return out
}

// left names what is there when both have ended.
func (s *soak) left() []string {
	s.t.Helper()
	out := s.started()
	out = append(out, s.groups()...)
	jobs, _ := os.ReadDir(filepath.Join(s.dir, "work-box-1", "jobs"))
	for _, e := range jobs {
		out = append(out, "work/jobs/"+e.Name())
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	s.ok(err)
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, s.dir) {
			out = append(out, "mounted: "+line)
		}
	}
	return out
}

// figures are what is compared between the first and the last third.
var figures = []struct {
	name string
	of   func(holding) float64
	flat bool // it must not grow with the number of jobs
}{
	{"serve, MiB", func(h holding) float64 { return mib(h.serveRSS) }, false}, // its store's index holds every job
	{"serve, live MiB", func(h holding) float64 { return mib(h.live) }, false},
	{"serve, descriptors", func(h holding) float64 { return float64(h.serveFDs) }, false},
	{"serve, goroutines", func(h holding) float64 { return float64(h.goroutines) }, true},
	{"store, MiB", func(h holding) float64 { return mib(h.state) }, false},
	{"runner, MiB", func(h holding) float64 { return mib(h.runnerRSS) }, true},
	{"runner, descriptors", func(h holding) float64 { return float64(h.runnerFDs) }, true},
	{"runner, threads", func(h holding) float64 { return float64(h.threads) }, true},
	{"files of jobs", func(h holding) float64 { return float64(h.jobFiles) }, true},
	{"files in work", func(h holding) float64 { return float64(h.workFiles) }, false}, // a mirror holds what it has fetched
	{"temporary files", func(h holding) float64 { return float64(h.tmpFiles) }, true},
	{"mounts", func(h holding) float64 { return float64(h.mounts) }, true},
	{"control groups", func(h holding) float64 { return float64(h.groups) }, true},
	{"processes of the runner", func(h holding) float64 { return float64(h.foreign) }, true},
}

// third gives the medians of the first and of the last third.
func third(held []holding, of func(holding) float64) (first, last float64) {
	if len(held) < 3 {
		return 0, 0
	}
	middle := func(part []holding) float64 {
		var all []float64
		for _, h := range part {
			all = append(all, of(h))
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	n := len(held) / 3
	return middle(held[:n]), middle(held[len(held)-n:])
}

func thirds(held []holding) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-26s %12s %12s\n", "median of", "first third", "last third")
	for _, f := range figures {
		first, last := third(held, f.of)
		fmt.Fprintf(&b, "%-26s %12.1f %12.1f\n", f.name, first, last)
	}
	return b.String()
}

// grows names the figures that grow and must not: by more than a tenth, and
// more than a few.
func grows(held []holding) []string {
	var out []string
	for _, f := range figures {
		if first, last := third(held, f.of); f.flat && last > first*1.1+4 {
			out = append(out, fmt.Sprintf("%s grows from %.1f to %.1f", f.name, first, last))
		}
	}
	return out
}
