//go:build soak

package main

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prbench/prbench/internal/forgetest"
)

var soakFor = flag.Duration("soak", time.Hour, "how long serve and a runner are kept busy")

// TestSoak keeps serve and a runner busy with short jobs, one after the other,
// and shows each minute what they hold. `make soak` runs it.
func TestSoak(t *testing.T) {
	w := newWorld(t, worldSpec{})
	w.SetRateLimit(1 << 20) // GitHub gives an installation 5000 requests an hour; this is about ours alone
	serve := w.serve()
	runner := w.runner("box-1")
	s := &soak{world: w, serve: serve.cmd.Process.Pid, runner: runner.cmd.Process.Pid}
	s.began = time.Now()
	end := time.Now().Add(*soakFor)
	next := time.Now().Add(time.Minute)
	w.label()
	s.ended(w.pull)
	jobs := 1
	var held []holding
	for ; time.Now().Before(end); jobs++ {
		s.ended(s.open(jobs))
		if time.Now().After(next) {
			h := s.look(jobs + 1)
			held = append(held, h)
			fmt.Println(h)
			next = next.Add(time.Minute)
		}
	}
	runner.stop()
	serve.stop()
	w.nothingStays()
	left := s.left()
	fmt.Printf("\n%d jobs in %s\n%s", jobs, soakFor.String(), thirds(held))
	if len(left) > 0 {
		t.Errorf("left at the end:\n%s", strings.Join(left, "\n"))
	}
	for _, grown := range grows(held) {
		t.Error(grown)
	}
}

// soak is the world with the two processes that are watched.
type soak struct {
	*world
	serve, runner int // process ids
	began         time.Time
}

// open opens a pull request of a fresh branch, with the label.
func (s *soak) open(n int) *forgetest.Pull {
	s.t.Helper()
	branch := fmt.Sprint("change-", n)
	_, head := cheap()
	head["note.txt"] = branch + "\n"
	_, err := s.Push("contributor", s.fork, branch, forgetest.WriteFiles(branch, head))
	s.ok(err)
	p, err := s.OpenPull(forgetest.PullSpec{Base: s.repo, Head: s.fork, HeadRef: branch, Author: "contributor", Title: branch})
	s.ok(err)
	s.ok(s.AddLabel("writer", p, "benchmark"))
	return p
}

// ended waits for the pull request's report, looks whether it is one, and closes
// the pull request.
func (s *soak) ended(p *forgetest.Pull) {
	s.t.Helper()
	var c forgetest.Conversation
	eventually(s.t, "the report is there", func() bool {
		c = s.Conversation(p)
		return finished(c) && len(ours(c)) > 0
	})
	if body := ours(c)[0].Body; len(ours(c)) != 1 || !strings.Contains(body, "### 1 regression beyond 10 %") {
		s.t.Errorf("pull request %d: %d comments, the first: %s", p.Number, len(ours(c)), body)
	}
	s.ok(s.ClosePull("writer", p))
}
