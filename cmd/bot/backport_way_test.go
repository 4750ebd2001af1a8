package main

import (
	"strings"
	"testing"

	"github.com/prbench/prbench/internal/forgetest"
)

// theChange pushes what the branch topic of releaseLines has, in two commits.
func theChange(w *forgetest.Work) error {
	if err := w.Write("speed", "fast\n"); err != nil {
		return err
	}
	if _, err := w.Commit("Read the speed from fast"); err != nil {
		return err
	}
	if err := w.Write("notes", "why\n"); err != nil {
		return err
	}
	_, err := w.Commit("Say why")
	return err
}

// matrixOf is the one matrix of a pull request, once all of its lines have ended.
func (w *world) matrixOf() (matrix string, run forgetest.ShownCheckRun) {
	w.t.Helper()
	w.wait("all lines have ended", func(c forgetest.Conversation) bool {
		matrix = ourComment(c, "<!-- prbench backport")
		ended := 0
		for _, r := range c.CheckRuns {
			if r.Status == "completed" {
				ended++
			}
			if r.Name == "prbench backport" {
				run = r
			}
		}
		return ended == 2 && len(c.CheckRuns) == 2 && matrix != "" && !strings.Contains(matrix, "| not measured |")
	})
	return matrix, run
}

func TestABackportOfEachMergeStyleAnswersForEachLine(t *testing.T) {
	t.Parallel()
	for name, style := range map[string]forgetest.MergeStyle{
		"open": "", "merged": forgetest.MergeCommit, "squashed": forgetest.MergeSquash, "rebased": forgetest.MergeRebase,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, worldSpec{source: releaseLines(t), change: theChange})
			w.serve()
			w.runner("box-1")
			if style != "" {
				w.ok(w.Merge("writer", w.pull, style))
			}
			w.comment("writer", "/benchmark backport")
			matrix, run := w.matrixOf()
			for line, words := range map[string]string{
				"v1.x": "no benchmark is slower by more than 5 % (95 %)",
				"v2.x": "1 benchmark is slower by more than 5 %",
				"v3.x": "conflicts with",
				"v4.x": "already in",
				"v5.x": "does not build there",
			} {
				row := rowOf(matrix, line)
				if !strings.Contains(row, words) && (line != "v1.x" || !strings.Contains(row, unfit)) {
					t.Errorf("%s: want %q in %q", line, words, row)
				}
			}
			if own := rowOf(matrix, "its own base"); !strings.Contains(own, "improvement") {
				t.Errorf("the change and its own base: %q", own)
			}
			if run.Conclusion != "failure" {
				t.Errorf("the check run ends in %s: %s", run.Conclusion, run.Title)
			}
		})
	}
}

// rowOf is the row of the matrix's first table that is about a line.
func rowOf(matrix, line string) string {
	for row := range strings.Lines(matrix) {
		if cell, _, _ := strings.Cut(strings.TrimPrefix(row, "| "), " |"); strings.HasPrefix(row, "| ") && strings.HasPrefix(strings.Trim(cell, "`"), line) {
			return row
		}
	}
	return ""
}
