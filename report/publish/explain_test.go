package publish

import (
	"strings"
	"testing"
	"time"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/internal/queue"
)

// explain makes the job of a command that asks to explain a table.
func (w *world) explain(comment int64, table string) job.Job {
	w.t.Helper()
	return w.ask(func(j *job.Job) {
		j.Wish = job.Wish{Key: "explain:" + table, Trigger: job.ByComment, CommentID: comment, Command: "/benchmark explain", Sender: "writer", SenderID: 7}
		j.Spec = job.Spec{Pool: "default", Margin: 0.02, Runs: 30}
		j.Base, j.Head = job.Side{}, job.Side{}
		j.Explain = &job.Explain{Table: table}
		j.State, j.Outcome = job.Publishing, &job.Outcome{Kind: job.Explained}
	})
}

// answers are our comments that explain.
func (w *world) answers() []string {
	var out []string
	for _, body := range w.comments() {
		if strings.HasPrefix(body, "<!-- prbench explain ") {
			out = append(out, body)
		}
	}
	return out
}

func TestAPrintedTableIsExplainedInOneReplyWithoutARunner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(w.publisher())
	id, err := w.Comment("writer", w.pull, "/benchmark explain")
	w.ok(err)
	const table = "url/parse.js n=1000 *** -12.40 % ±1.21% ±1.62% ±2.11%\nurl/format.js n=1000 0.31 % ±1.02% ±1.36% ±1.77%\n"
	j := w.explain(id, table)
	if got := w.shown(j.ID); got.State != job.Done || !got.Published.Seen || !got.Published.Rocket {
		t.Errorf("job %+v", got)
	}
	all := w.answers()
	if len(all) != 1 {
		t.Fatalf("%d answers: %q", len(all), w.comments())
	}
	for _, words := range []string{"1 regression beyond 2 %", "`url/parse.js n=1000`", "url/format.js"} {
		if !strings.Contains(all[0], words) {
			t.Errorf("the answer does not say %q:\n%s", words, all[0])
		}
	}
	if runs := w.Conversation(w.pull).CheckRuns; len(runs) != 0 {
		t.Errorf("check runs %+v, want none: nothing was measured", runs)
	}
	// A runner that asks gets the next real job.
	real := w.ask(nil)
	l := w.claim()
	if l.Job.ID != real.ID {
		t.Errorf("a runner was handed %s", l.Job.ID)
	}
	w.end(l, job.Outcome{Kind: job.Stopped, Text: "enough"})
	// The table changed by an edit: the reply too.
	w.shown(w.explain(id, strings.ReplaceAll(table, "-12.40", "12.40")).ID)
	if all := w.answers(); len(all) != 1 || !strings.Contains(all[0], "### 1 improvement,") {
		t.Errorf("answers %q", all)
	}
	if l, err := w.runner.Claim(t.Context(), queue.ClaimRequest{Wait: 100 * time.Millisecond}); err != nil || l != nil {
		t.Errorf("a runner was handed %+v, %v", l, err)
	}
}

func TestATableThatIsNoneIsSaidToBeUnreadable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(w.publisher())
	j := w.explain(0, "@everyone `look` at <img src=x>\n")
	w.shown(j.ID)
	all := w.answers()
	if len(all) != 1 || !strings.Contains(all[0], "could not be explained") {
		t.Errorf("answers %q", all)
	}
}
