package publish

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prbench/prbench/internal/forgetest"
	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report/backport"
)

// tipOf makes the tip of a line, a commit that only the record knows.
func tipOf(line string) string {
	hex := fmt.Sprintf("%x", line)
	return hex + strings.Repeat("0", 40-len(hex))
}

// askLines makes the jobs of one command for these lines, as a comment does.
func (w *world) askLines(group string, lines ...string) []job.Job {
	w.t.Helper()
	var out []job.Job
	for _, line := range lines {
		out = append(out, w.ask(func(j *job.Job) {
			j.Base = job.Side{SHA: tipOf(line), Ref: line}
			j.Wish = job.Wish{Key: group + ":line:" + line, Trigger: job.ByComment, CommentID: w.command(), Sender: "writer", SenderID: 7, Command: "backport"}
			j.Spec.Gate = true
			j.Backport = &job.Backport{Group: group, Lines: lines, Line: line, Change: job.Change{Picks: []job.Pick{{SHA: tipOf("c1")}}}}
		}))
	}
	return out
}

// command is the comment that gave it, written once.
func (w *world) command() int64 {
	w.t.Helper()
	if w.commandID == 0 {
		c, err := w.Comment("writer", w.pull, "/benchmark backport")
		w.ok(err)
		w.commandID = c
	}
	return w.commandID
}

// measureLine does the next line's job on its tip.
func (w *world) measureLine(times float64) job.Job {
	w.t.Helper()
	l := w.claim()
	w.pairs(l, 0, 12, times)
	w.end(l, job.Outcome{Kind: job.Measured, Runs: 24, Pairs: 12, Host: job.Host{Name: "box"},
		Picked: &job.Picked{Kind: job.PickApplies, SHA: tipOf("p" + l.Job.Backport.Line), PatchID: tipOf("d")}})
	return l.Job
}

// said are the comments of the bot.
func (w *world) said() []string {
	return slices.DeleteFunc(w.comments(), func(body string) bool { return strings.HasPrefix(body, "/benchmark") })
}

func (w *world) matrix() string {
	w.t.Helper()
	all := w.said()
	if len(all) != 1 {
		w.t.Fatalf("%d comments, want 1: %q", len(all), all)
	}
	return all[0]
}

func (w *world) tells(text string, words ...string) {
	w.t.Helper()
	for _, want := range words {
		if !strings.Contains(text, want) {
			w.t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
}

// groupRun waits until the only check run is as wanted.
func (w *world) groupRun(status, conclusion, title string) {
	w.t.Helper()
	w.ok(w.Wait(w.t.Context(), w.pull, func(c forgetest.Conversation) bool {
		return len(c.CheckRuns) == 1 && c.CheckRuns[0].Status == status && c.CheckRuns[0].Conclusion == conclusion && strings.Contains(c.CheckRuns[0].Title, title)
	}))
}

func TestTheLinesOfACommandShareAMatrixAndACheckRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(w.publisher())
	jobs := w.askLines("g", "v1.x", "v2.x", "v3.x")
	w.groupRun("queued", "", "0 of 3 lines have ended")
	for _, j := range jobs {
		w.await(j.ID, "is shown waiting", func(j job.Job) bool { return j.Published.CheckRun != 0 })
	}
	if run := w.Conversation(w.pull).CheckRuns[0]; run.Name != "prbench backport" || run.ExternalID != string(jobs[0].ID) || run.HeadSHA != jobs[0].Head.SHA {
		t.Errorf("the check run: %+v", run)
	}
	w.measureLine(1)
	w.shown(jobs[0].ID)
	w.groupRun("in_progress", "", "1 of 3 lines have ended")
	w.tells(w.matrix(), "on v1.x no benchmark is slower by more than 2 % (95 %)", "on v2.x it is not measured yet", "<!-- prbench backport "+jobs[0].Head.SHA+" -->")

	l := w.claim()
	w.end(l, job.Outcome{Kind: job.NotPicked, Picked: &job.Picked{Kind: job.PickConflicts, Commit: tipOf("c1"), Files: []string{"speed.txt"}}})
	if j := w.shown(jobs[1].ID); j.State != job.Done {
		t.Errorf("a line with a conflict is %s", j.State)
	}
	w.tells(w.matrix(), "conflicts with v2.x", "(speed.txt)")
	w.measureLine(2)
	w.shown(jobs[2].ID)
	w.groupRun("completed", "failure", "Regresses on v3.x; conflicts with v2.x; safe on v1.x")
	w.tells(w.matrix(), "### Regresses on v3.x; conflicts with v2.x; safe on v1.x", "Encode: 100.00 % slower")
	c := w.Conversation(w.pull)
	var reactions []string
	for _, m := range c.Comments {
		reactions = append(reactions, m.Reactions...)
	}
	if !slices.Equal(reactions, []string{"eyes by prbench[bot]", "rocket by prbench[bot]"}) {
		t.Errorf("reactions %q", reactions)
	}
	if all := w.RequestsTo("POST", "/repos/acme/engine/issues/comments/*/reactions"); len(all) != 2 {
		for _, r := range all {
			t.Errorf("%d requests for reactions, want 2: %s", len(all), r.Body)
		}
	}
}

func TestEveryDecisionHasARecordThatIsReachedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(w.publisher())
	jobs := w.askLines("g", "v1.x", "v2.x", "v3.x")
	w.measureLine(1)
	l := w.claim()
	w.end(l, job.Outcome{Kind: job.NotPicked, Picked: &job.Picked{Kind: job.PickThere}})
	for range job.MaxTries {
		w.end(w.claim(), job.Outcome{Kind: job.Fault, Text: "the disk is full"})
	}
	for i, want := range []backport.Kind{backport.Safe, backport.Contained} {
		j := w.shown(jobs[i].ID)
		text, err := w.store.Record(t.Context(), j.ID)
		w.ok(err)
		r, err := backport.ReadRecord(strings.NewReader(string(text)), "record.json")
		w.ok(err)
		if r.Verdict != want || r.Tip != j.Base.SHA || r.Asked.By != "writer" || r.Words != j.Published.Summary.Headline {
			t.Errorf("the record of %s: %+v", j.Backport.Line, r)
		}
		if r.Samples == nil {
			continue
		}
		samples, err := w.store.RecordSamples(t.Context(), j.ID)
		w.ok(err)
		different, err := r.Verify(samples, "samples.jsonl")
		w.ok(samples.Close())
		if err != nil || len(different) > 0 || r.Samples.Runs != 24 {
			t.Errorf("%v; what differs: %q; %d runs", err, different, r.Samples.Runs)
		}
	}
	// A machine that failed has decided nothing.
	w.shown(jobs[2].ID)
	if has, err := w.store.HasRecord(t.Context(), jobs[2].ID); has || err != nil {
		t.Errorf("a fault has a record: %v, %v", has, err)
	}
}

func TestALineThatMovedBeginsAnewAndTheOldRowIsOutdated(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(w.publisher())
	w.askLines("g", "v1.x")
	first := w.measureLine(2)
	w.shown(first.ID)
	second := w.ask(func(j *job.Job) {
		j.Base, j.Backport, j.Spec.Gate = job.Side{SHA: tipOf("moved"), Ref: "v1.x"}, first.Backport, true
	})
	w.measureLine(1)
	w.shown(second.ID)
	if second.Attempt != 1 {
		t.Errorf("it is attempt %d", second.Attempt)
	}
	w.tells(w.matrix(), "### On v1.x no benchmark is slower by more than 2 % (95 %)", "outdated, the line has moved since (regresses)")
}

func TestTheSameTipAgainIsTheNextAttempt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(w.publisher())
	w.askLines("g", "v1.x")
	w.shown(w.measureLine(1).ID)
	w.askLines("again", "v1.x")
	w.shown(w.measureLine(1).ID)
	w.tells(w.matrix(), "on v1.x no benchmark is slower by more than 2 % (92.5 %)", "2 attempts at this comparison")
	if n := strings.Count(w.matrix(), "| v1.x |"); n != 1 {
		t.Errorf("%d rows of the line", n)
	}
}

// A command for a part of the benchmarks does not take back what another found.
func TestAPartOfTheBenchmarksHidesNoRegressionOfTheOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(w.publisher())
	w.askLines("g", "v1.x")
	first := w.measureLine(2)
	w.shown(first.ID)
	part := w.ask(func(j *job.Job) {
		j.Base, j.Backport, j.Spec.Gate, j.Spec.Filter = first.Base, first.Backport, true, "Dec"
	})
	w.await(part.ID, "is shown waiting", func(j job.Job) bool { return j.Published.CheckRun != 0 })
	l := w.claim()
	w.end(l, job.Outcome{Kind: job.NothingMeasured, Picked: &job.Picked{Kind: job.PickApplies, SHA: tipOf("p")}})
	w.shown(part.ID)
	w.tells(w.matrix(), "### Regresses on v1.x (speed); without its benchmarks on v1.x (speed --filter Dec)\n")
}

// A run again that is taken back leaves what was decided before.
func TestAnAttemptThatWasCancelledHidesNoResult(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(w.publisher())
	w.askLines("g", "v1.x")
	w.shown(w.measureLine(1).ID)
	again := w.askLines("again", "v1.x")[0]
	_, err := w.store.Cancel(t.Context(), again.ID, job.Cancel{By: "writer"})
	w.ok(err)
	w.shown(again.ID)
	w.tells(w.matrix(), "### On v1.x no benchmark is slower by more than 2 % (95 %)")
	w.ok(w.Wait(t.Context(), w.pull, func(c forgetest.Conversation) bool {
		return len(c.CheckRuns) == 2 && c.CheckRuns[1].Conclusion == "cancelled"
	}))
}

func TestAnAcceptedRegressionTurnsTheConclusion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(w.publisher())
	accepted := job.Accepted{Repository: w.repo.ID, Benchmark: "Encode", Reason: "a security fix", By: "writer", ByID: 7, PR: w.pull.Number, At: time.Now(), Worst: -1.5}
	w.ok(w.store.Accept(t.Context(), accepted))
	jobs := w.askLines("g", "v1.x")
	w.measureLine(2)
	j := w.shown(jobs[0].ID)
	w.groupRun("completed", "neutral", "which was accepted")
	w.tells(w.matrix(), "**regresses, accepted**", "accepted by writer: a security fix")
	if s := j.Published.Summary; s == nil || len(s.Slower) != 1 || s.Slower[0].Benchmark != "Encode" || s.Slower[0].Verdict != "regression" || !(s.Slower[0].Interval[1] < -.9) {
		t.Errorf("the summary: %+v", s)
	}
	// A worse one is not hidden.
	worse := w.askLines("worse", "v2.x")[0]
	w.measureLine(3)
	w.shown(worse.ID)
	w.tells(w.matrix(), "worse than what was accepted by writer (down to -150.00 %)", "### Regresses on v2.x; regresses by what was accepted on v1.x")
}

func TestTheResultOnItsOwnBaseStandsBesideTheLines(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(w.publisher())
	line := w.askLines("g", "v1.x")[0]
	w.measureLine(1)
	w.shown(line.ID)
	w.tells(w.matrix(), "| its own base |  | not measured |")
	main := w.ask(nil)
	w.measurePairs(.5, 12)
	j := w.shown(main.ID)
	w.await(line.ID, "is composed anew", func(j job.Job) bool { return j.Refresh > 0 && j.Published.Revision == j.Revision })
	bodies := w.said()
	if len(bodies) != 2 || strings.Contains(bodies[1], "v1.x") {
		t.Fatalf("the comments: %q", bodies)
	}
	w.tells(bodies[0], "| its own base, main |", "1 improvement")
	if c := w.Conversation(w.pull); !slices.ContainsFunc(c.CheckRuns, func(r forgetest.ShownCheckRun) bool {
		return r.Name == "prbench backport" && strings.Contains(r.Summary, "| its own base, main |")
	}) {
		t.Errorf("the check run of the lines does not have it: %+v", c.CheckRuns)
	}
	if s := j.Published.Summary; s == nil || s.Headline != "1 improvement" || s.Slower != nil {
		t.Errorf("the summary: %+v", s)
	}
	if j.Attempt != 1 {
		t.Errorf("it is attempt %d", j.Attempt)
	}
}

func TestAMatrixWhoseAnswerWasLostShowsOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.command()
	w.Fail(forgetest.Fault{Method: "POST", Path: commentsPath, DropAfter: true})
	w.Fail(forgetest.Fault{Method: "POST", Path: "/repos/acme/engine/check-runs", DropAfter: true})
	w.run(w.publisher())
	jobs := w.askLines("g", "v1.x", "v2.x")
	w.measureLine(1)
	w.measureLine(1)
	for _, j := range jobs {
		w.shown(j.ID)
	}
	w.groupRun("completed", "success", "Safe on v1.x and v2.x")
	w.matrix()
}

func TestAPlainTokenSetsOneStatusForTheLines(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(w.withPlainToken())
	jobs := w.askLines("g", "v1.x", "v2.x")
	w.measureLine(2)
	w.measureLine(1)
	for _, j := range jobs {
		w.shown(j.ID)
	}
	statuses := w.Conversation(w.pull).Statuses
	if last := statuses[0]; last.Context != "prbench backport" || last.State != "failure" || !strings.Contains(last.Description, "Regresses on v1.x; safe on v2.x") {
		t.Errorf("the statuses: %+v", statuses)
	}
}

// Many lines that run at once make no more progress than one.
func TestTheProgressOfManyLinesIsThatOfOne(t *testing.T) {
	t.Parallel()
	var l lately
	now := time.Now()
	if !l.due("g", now, time.Minute) || l.due("g", now.Add(59*time.Second), time.Minute) || !l.due("h", now, time.Minute) || !l.due("g", now.Add(time.Minute), time.Minute) {
		t.Error("a group is not written once a minute")
	}
	w := newWorld(t)
	p := w.publisher()
	w.run(p)
	w.askLines("g", "v1.x", "v2.x")
	lease := w.claim()
	_, err := w.runner.Beat(t.Context(), lease.Job.ID, lease.Try, job.Progress{Phase: job.PhaseMeasure, Done: 4, Total: 10})
	w.ok(err)
	w.ok(w.Wait(t.Context(), w.pull, func(c forgetest.Conversation) bool {
		return len(c.CheckRuns) == 1 && strings.Contains(c.CheckRuns[0].Summary, "| v1.x | Measure: 4 of 10 runs |") && strings.Contains(c.CheckRuns[0].Summary, "| v2.x | waits for a runner.")
	}))
	w.end(lease, job.Outcome{Kind: job.Stopped})
}
