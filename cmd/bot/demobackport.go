package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/prbench/prbench/internal/forgetest"
)

// demoCommand is what the release manager of the demo asks. Fetch, which is too
// noisy to prove anything by, is left out.
const demoCommand = `/benchmark backport --filter "Sum|Encode|Scan"`

// demoOpen is what a matrix says while the change has not been compared with its
// own base.
const demoOpen = "| its own base |  | not measured |"

// tellBackport is the second act: a change that was merged, and what it is on
// each release line.
func tellBackport(ctx context.Context, n *narrator, st *stage) error {
	if err := st.releaseLines(); err != nil {
		return fmt.Errorf("make the release lines: %w", err)
	}
	n.step("Act two. textkit keeps five release lines, v0.x to v4.x, and another pull request has been merged: %s", st.hub.PullURL(st.pull))
	// A command counts for a head that was there before it, and GitHub's times are
	// whole seconds.
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(2 * time.Second):
	}
	n.step("The release manager writes on it: %s", demoCommand)
	if _, err := st.hub.Comment(demoMaintainer, st.pull, demoCommand); err != nil {
		return err
	}
	body, err := st.await(ctx, func(c forgetest.Conversation) string {
		n.checkRun(c)
		matrix := ourComment(c, "<!-- prbench backport")
		for _, run := range c.CheckRuns {
			if run.Status != "completed" {
				return ""
			}
		}
		if matrix == "" || strings.Contains(matrix, demoOpen) {
			return ourComment(c, "<!-- prbench reply")
		}
		return matrix
	})
	if err != nil {
		return fmt.Errorf("wait for the matrix: %w", err)
	}
	if !strings.Contains(body, "<!-- prbench backport") {
		return fmt.Errorf("no backport was measured: %s", body)
	}
	n.step("Each line has its answer:")
	return n.comment(body)
}

// releaseLines makes the lines, and the pull request that is merged: Encode by
// way of mix. v4.x has that already, on v2.x an older mix is slow, on v1.x Encode
// is another one, and v0.x has no mix at all.
func (st *stage) releaseLines() error {
	for _, line := range []string{"v0.x", "v1.x", "v2.x", "v3.x", "v4.x"} {
		if _, err := st.hub.Push(demoMaintainer, st.repo, line, demoLine(line)); err != nil {
			return err
		}
	}
	topic, err := demoTree("lines/topic")
	if err != nil {
		return err
	}
	if _, err := st.hub.Push(demoMaintainer, st.repo, "mixed", forgetest.WriteFiles("Encode in three mixes", topic)); err != nil {
		return err
	}
	st.pull, err = st.hub.OpenPull(forgetest.PullSpec{Base: st.repo, Head: st.repo, HeadRef: "mixed", Author: demoMaintainer, Title: "Encode in three mixes"})
	if err != nil {
		return err
	}
	return st.hub.Merge(demoMaintainer, st.pull, forgetest.MergeSquash)
}

// demoLine makes what a release line has of its own.
func demoLine(line string) func(*forgetest.Work) error {
	return func(w *forgetest.Work) error {
		switch line {
		case "v0.x":
			if _, err := w.Git("rm", "-q", "mix.go"); err != nil {
				return err
			}
		case "v3.x":
			if err := w.Write("NEWS", "v3.x is as main is\n"); err != nil {
				return err
			}
		default:
			files, err := demoTree("lines/" + line)
			if err != nil {
				return err
			}
			for name, text := range files {
				if err := w.Write(name, text); err != nil {
					return err
				}
			}
		}
		_, err := w.Commit("What " + line + " is")
		return err
	}
}
