package webhook

import (
	"strings"
	"testing"

	"github.com/prbench/prbench/internal/job"
)

const printed = `                        confidence improvement accuracy (*)    (**)   (***)
url/parse.js n=1000            ***     -12.40 %       ±1.21%  ±1.62% ±2.11%
url/format.js n=1000                     0.31 %       ±1.02%  ±1.36% ±1.77%
`

func TestATableIsReadFromTheBlockBelowOrTheQuote(t *testing.T) {
	t.Parallel()
	quoted := "> " + strings.ReplaceAll(strings.TrimSuffix(printed, "\n"), "\n", "\n> ") + "\n"
	for name, body := range map[string]string{
		"in the block below":          "/benchmark explain\n```\n" + printed + "```\n",
		"in a block after a gap":      "What is this?\n\n/benchmark explain\n\n```text\n" + printed + "```\n",
		"in the quote above":          quoted + "\n/benchmark explain\n",
		"in the quote below":          "/benchmark explain\n\n" + quoted,
		"in a block inside the quote": "> ```\n" + quoted + "> ```\n\nWell?\n\n/benchmark explain\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, lost := Commands(body)
			if len(got) != 1 || lost || got[0].Verb != Explain || got[0].Err != nil {
				t.Fatalf("commands %+v, lost %v", got, lost)
			}
			for _, line := range strings.Split(strings.TrimSpace(printed), "\n")[1:] {
				if !strings.Contains(got[0].Adhoc, strings.TrimSpace(line)) {
					t.Errorf("the table lacks %q:\n%s", line, got[0].Adhoc)
				}
			}
			if strings.Contains(got[0].Adhoc, ">") {
				t.Errorf("the table has the marks of the quote:\n%s", got[0].Adhoc)
			}
		})
	}
}

func TestExplainTakesOnlyWhatATableIsJudgedBy(t *testing.T) {
	t.Parallel()
	for line, good := range map[string]bool{
		"/benchmark explain":                       true,
		"/benchmark explain --margin 5% --runs 30": true,
		"/benchmark explain --runs adaptive":       false,
		"/benchmark explain http":                  false,
		"/benchmark explain --gate":                false,
		"/benchmark explain --set a=b":             false,
	} {
		if c := parseCommand(line); c.Verb != Explain || (c.Err == nil) != good {
			t.Errorf("%s: %+v", line, c)
		}
	}
}

func TestExplainIsAJobThatNoRunnerGets(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	id := w.comment("writer", "/benchmark explain --margin 5% --runs 30\n```\n"+printed+"```\n")
	j := w.onlyJob()
	if j.State != job.Publishing || j.Explain == nil || j.Explain.Table != printed || j.Outcome.Kind != job.Explained ||
		j.Spec.Margin != 0.05 || j.Spec.Runs != 30 || j.Wish.CommentID != id {
		t.Errorf("job %+v", j)
	}
	// A new head has nothing to do with the table, and it is not what rerun means.
	w.push("other\n")
	w.settle()
	if j := w.onlyJob(); j.Outdated || j.Revision != 1 {
		t.Errorf("job %+v", j)
	}
	w.comment("writer", "/benchmark rerun\n/benchmark status")
	w.said("nothing has been run", "No benchmark of this pull request waits or runs")
}

func TestAnEditedTableIsExplainedAnew(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	id := w.comment("writer", "/benchmark explain\n```\n"+printed+"```\n")
	w.edit("writer", id, "/benchmark explain\n```\n"+strings.ReplaceAll(printed, "12.40", "1.24")+"```\n")
	if jobs := w.jobs(); len(jobs) != 2 || !strings.Contains(jobs[1].Explain.Table, "1.24") {
		t.Errorf("jobs %+v", jobs)
	}
}

func TestExplainWithoutATableSaysWhereToPutIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	w.comment("writer", "/benchmark explain")
	w.refused("fenced block")
}

func TestExplainNeedsThePermissionOfAnyCommand(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	w.comment("reader", "/benchmark explain\n```\n"+printed+"```\n")
	w.refused("`reader` has `read`")
}
