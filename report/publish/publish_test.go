package publish

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prbench/prbench/internal/forge"
	"github.com/prbench/prbench/internal/forgetest"
	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/internal/queue"
)

const commentsPath = "/repos/acme/engine/issues/*/comments"

func TestAJobIsShownFromTheQueueToItsReport(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(w.publisher())
	w.ok(w.AddLabel("writer", w.pull, "benchmark"))
	j := w.ask(nil)
	w.await(j.ID, "has a check run", func(j job.Job) bool { return j.Published.CheckRun != 0 })
	if run := w.Conversation(w.pull).CheckRuns[0]; run.Status != "queued" || run.ExternalID != string(j.ID) || run.HeadSHA != j.Head.SHA {
		t.Errorf("while it waits: %+v", run)
	}
	w.await(j.ID, "waits for a runner", func(j job.Job) bool { return j.Published.Revision == j.Revision })
	w.measure(2)
	w.shown(j.ID)
	c := w.Conversation(w.pull)
	body := w.onlyComment()
	if !strings.Contains(body, "1 regression beyond 2 %") || !strings.Contains(body, "Encode") || c.Comments[0].Author != "prbench[bot]" {
		t.Errorf("the comment:\n%s", body)
	}
	if run := c.CheckRuns[0]; len(c.CheckRuns) != 1 || run.Status != "completed" || run.Conclusion != "neutral" || !strings.Contains(run.Title, "regression") {
		t.Errorf("check runs %+v", c.CheckRuns)
	}
	if len(c.Labels) != 0 {
		t.Errorf("labels %q, want none once the report is there", c.Labels)
	}
	if j := w.shown(j.ID); j.State != job.Done {
		t.Errorf("the job is %s", j.State)
	}
}

func TestARunningJobShowsItsProgress(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(w.publisher())
	j := w.ask(nil)
	l := w.claim()
	_, err := w.runner.Beat(t.Context(), l.Job.ID, l.Try, job.Progress{Phase: job.PhaseMeasure, Done: 4, Total: 10, Left: job.Duration(90 * time.Second),
		Look: 1, Looks: 3, Case: "process: <b>.js", CaseNumber: 2, Cases: 3, Pair: 1, Pairs: 5})
	w.ok(err)
	w.ok(w.Wait(t.Context(), w.pull, func(c forgetest.Conversation) bool {
		return len(c.CheckRuns) == 1 && c.CheckRuns[0].Status == "in_progress" && strings.Contains(c.CheckRuns[0].Title, "4 of 10 runs, look 1 of 3, about 2 min left") &&
			strings.Contains(c.CheckRuns[0].Summary, "It is at `process: <b>.js`, case 2 of 3, pair 1 of 5.")
	}))
	if len(w.comments()) != 0 {
		t.Error("there is a comment before there is a report")
	}
	w.end(l, job.Outcome{Kind: job.Stopped, Text: "cancelled"})
	w.shown(j.ID)
}

func TestARepeatEditsTheHeadsCommentAndShowsTheLedger(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(w.publisher())
	first := w.ask(nil)
	w.measure(2)
	w.shown(first.ID)
	id := w.Conversation(w.pull).Comments[0].ID
	second := w.ask(nil)
	w.measure(1)
	w.shown(second.ID)
	body := w.onlyComment()
	if w.Conversation(w.pull).Comments[0].ID != id {
		t.Error("the comment is another one")
	}
	for _, words := range []string{"`1 regression beyond 2 %`", "2 attempts at this comparison"} {
		if !strings.Contains(body, words) {
			t.Errorf("the ledger does not say %q:\n%s", words, body)
		}
	}
	if n := len(w.Conversation(w.pull).CheckRuns); n != 2 {
		t.Errorf("%d check runs, want one a job", n)
	}
}

// The request took effect and its answer was lost: what it made is found again.
func TestAnAnswerThatWasLostShowsOnce(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{"the comment": commentsPath, "the check run": "/repos/acme/engine/check-runs"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.Fail(forgetest.Fault{Method: "POST", Path: path, DropAfter: true})
			w.Fail(forgetest.Fault{Method: "POST", Path: path, Status: 502})
			w.run(w.publisher())
			j := w.ask(nil)
			w.measure(2)
			w.shown(j.ID)
			w.onlyComment()
			if n := len(w.Conversation(w.pull).CheckRuns); n != 1 {
				t.Errorf("%d check runs, want 1", n)
			}
		})
	}
}

func TestASecondaryLimitIsWaitedOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Fail(forgetest.Fault{Method: "POST", Path: commentsPath, Status: 403,
		Body: `{"message":"You have exceeded a secondary rate limit. Please wait a few minutes before you try again.","documentation_url":"https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits"}`})
	stop := w.run(w.publisher())
	j := w.ask(nil)
	w.measure(2)
	got := w.await(j.ID, "notes the limit", func(j job.Job) bool { return j.Published.Retries > 0 })
	if !strings.Contains(got.Published.Problem, "secondary rate limit") || got.State != job.Publishing {
		t.Errorf("job %+v", got)
	}
	// GitHub asks for a minute at least: the publisher says when it will come again.
	if log := w.log.String(); !strings.Contains(log, "again_in=1m0s") && !strings.Contains(log, "again_in=59.") {
		t.Errorf("the log tells of no minute's wait:\n%s", log)
	}
	if n := len(w.RequestsTo("POST", commentsPath)); n != 1 {
		t.Errorf("%d POSTs, want 1", n)
	}
	// A serve that starts after the minute finds the record as it was left.
	stop()
	w.forge = w.connect(forge.Config{AppID: w.app.ID, PrivateKey: w.app.PrivateKey})
	w.run(w.publisher())
	w.shown(j.ID)
	w.onlyComment()
}

func TestALockedPullRequestGetsOneTryAndTheResultStaysOnTheCheckRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ok(w.LockPull("writer", w.pull, true))
	w.run(w.publisher())
	j := w.ask(nil)
	w.measure(2)
	got := w.shown(j.ID)
	run := w.Conversation(w.pull).CheckRuns[0]
	if run.Status != "completed" || !strings.Contains(run.Summary, "Encode") {
		t.Errorf("check run %+v", run)
	}
	if n := len(w.RequestsTo("POST", commentsPath)); n != 1 || len(w.comments()) != 0 {
		t.Errorf("%d tries, comments %q", n, w.comments())
	}
	if got.State != job.Done || !strings.Contains(got.Published.Problem, "locked") {
		t.Errorf("job %+v", got)
	}
	// The server goes on.
	w.ok(w.LockPull("writer", w.pull, false))
	j = w.ask(nil)
	w.measure(1)
	w.shown(j.ID)
	w.onlyComment()
}

func TestADeletedCommentIsMadeAnew(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(w.publisher())
	j := w.ask(nil)
	w.measure(2)
	w.shown(j.ID)
	w.ok(w.DeleteComment("writer", w.Conversation(w.pull).Comments[0].ID))
	j = w.ask(nil)
	w.measure(2)
	w.shown(j.ID)
	if body := w.onlyComment(); !strings.Contains(body, "Encode") {
		t.Errorf("the comment:\n%s", body)
	}
}

// Somebody's copy of our marker is not our comment.
func TestAStrangersCopyOfTheMarkerIsLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.ask(nil)
	_, err := w.Comment("contributor", w.pull, marker(j)+"\n0 regressions, trust me")
	w.ok(err)
	w.run(w.publisher())
	w.measure(2)
	w.shown(j.ID)
	all := w.Conversation(w.pull).Comments
	if len(all) != 2 || len(all[0].Edits) != 0 || all[1].Author != "prbench[bot]" {
		t.Errorf("comments %+v", all)
	}
}

func TestTwoPublishersShowOneReportAndOneFollowsTheOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other, err := queue.Attach(t.Context(), queue.Options{Dir: w.dir, LeadLease: time.Second})
	w.ok(err)
	t.Cleanup(other.Close)
	stop := w.run(w.publisher())
	second := w.publisher()
	second.Store = other
	w.run(second)
	j := w.ask(nil)
	w.measure(2)
	w.shown(j.ID)
	w.onlyComment()
	if n := len(w.RequestsTo("POST", commentsPath)); n != 1 {
		t.Errorf("%d comments were made, want 1", n)
	}
	stop()
	w.push("again\n")
	j = w.ask(nil)
	w.measure(1)
	w.shown(j.ID)
	if n := len(w.comments()); n != 2 {
		t.Errorf("%d comments, want one a head", n)
	}
}

func TestAnOlderHeadsReportIsMarkedAndItsLabelIsNoConcernOfOurs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(w.publisher())
	j := w.ask(nil)
	l := w.claim()
	w.push("again\n")
	w.ok(w.AddLabel("writer", w.pull, "benchmark")) // meant for the new head
	_, err := w.store.Update(t.Context(), j.ID, func(j *job.Job) error { j.Outdated = true; return nil })
	w.ok(err)
	w.end(l, job.Outcome{Kind: job.BuildFailed, Side: job.New, Text: "exit 1"})
	w.shown(j.ID)
	if body := w.onlyComment(); !strings.Contains(body, "Outdated: the pull request has newer commits") || !strings.Contains(body, j.Head.SHA) {
		t.Errorf("the comment:\n%s", body)
	}
	if labels := w.Conversation(w.pull).Labels; !slices.Equal(labels, []string{"benchmark"}) {
		t.Errorf("labels %q", labels)
	}
}

func TestAReportThatIsOutIsMarkedWhenTheHeadMoves(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(w.publisher())
	j := w.ask(nil)
	w.measure(2)
	w.shown(j.ID)
	_, err := w.store.Update(t.Context(), j.ID, func(j *job.Job) error { j.Outdated = true; return nil })
	w.ok(err)
	w.shown(j.ID)
	if body := w.onlyComment(); !strings.Contains(body, "Outdated") || !strings.Contains(body, "Encode") {
		t.Errorf("the comment:\n%s", body)
	}
}

func TestALabelThatIsToStayStays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(w.publisher())
	w.ok(w.AddLabel("writer", w.pull, "benchmark"))
	j := w.ask(func(j *job.Job) { j.Spec.KeepLabel = true })
	w.measure(1)
	w.shown(j.ID)
	if labels := w.Conversation(w.pull).Labels; len(labels) != 1 {
		t.Errorf("labels %q", labels)
	}
}

func TestFailuresAreToldPlainlyAndMasked(t *testing.T) {
	t.Parallel()
	const token = "ghs_0123456789abcdefghijABCDEFGHIJ012345"
	for name, c := range map[string]struct {
		outcome job.Outcome
		words   []string
	}{
		"a build": {job.Outcome{Kind: job.BuildFailed, Side: job.New, Text: "head did not build: exit 2", Log: "cc engine.c\nTOKEN " + token + "\nengine.c:7: error\n"},
			[]string{"does not build", "engine.c:7: error", "***"}},
		"nothing measured": {job.Outcome{Kind: job.NothingMeasured, Log: "hello " + token + "\n"}, []string{"Nothing was measured", "hello ***"}},
		"a commit that is gone": {job.Outcome{Kind: job.CheckoutFailed, Side: job.New, Text: "the commit is gone"},
			[]string{"could not be fetched", "the commit is gone"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.run(w.publisher())
			j := w.ask(nil)
			w.end(w.claim(), c.outcome)
			if got := w.shown(j.ID); got.State != job.Failed {
				t.Errorf("the job is %s", got.State)
			}
			body := w.onlyComment()
			run := w.Conversation(w.pull).CheckRuns[0]
			for _, word := range c.words {
				if !strings.Contains(body, word) {
					t.Errorf("the comment does not say %q:\n%s", word, body)
				}
			}
			if strings.Contains(body+run.Title+run.Summary+run.Text, token) {
				t.Errorf("the token is shown:\n%s\n%+v", body, run)
			}
			if run.Status != "completed" || run.Conclusion == "success" || run.Conclusion == "" {
				t.Errorf("check run %+v", run)
			}
		})
	}
}

func TestAJobThatIsCancelledBeforeItRanHasACheckRunAndNoComment(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(w.publisher())
	j := w.ask(nil)
	_, err := w.store.Cancel(t.Context(), j.ID, job.Cancel{By: "writer", Reason: "@acme/core said so", At: time.Now()})
	w.ok(err)
	w.shown(j.ID)
	run := w.Conversation(w.pull).CheckRuns[0]
	if run.Conclusion != "cancelled" || !strings.Contains(run.Summary, "`cancelled before it ran: @acme/core said so`") || len(w.comments()) != 0 {
		t.Errorf("check run %+v, comments %q", run, w.comments())
	}
}

func TestACommandGetsItsReactionsOnceAndOneThatIsGoneNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(w.publisher())
	command, err := w.Comment("writer", w.pull, "/benchmark")
	w.ok(err)
	byComment := func(j *job.Job) {
		j.Wish = job.Wish{Key: fmt.Sprintf("comment:%d:%d", command, w.wishes), Trigger: job.ByComment, CommentID: command, Sender: "writer", SenderID: 7}
	}
	j := w.ask(byComment)
	w.measure(1)
	w.shown(j.ID)
	if got := w.Conversation(w.pull).Comments[0].Reactions; !slices.Equal(got, []string{"eyes by prbench[bot]", "rocket by prbench[bot]"}) {
		t.Errorf("reactions %q", got)
	}
	w.ok(w.DeleteComment("writer", command))
	j = w.ask(byComment)
	w.measure(1)
	w.shown(j.ID)
	w.onlyComment()
}

func TestAPlainTokenSetsStatusesInThePlaceOfCheckRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(w.withPlainToken())
	j := w.ask(func(j *job.Job) { j.Installation = 0 })
	w.ok(w.Wait(t.Context(), w.pull, func(c forgetest.Conversation) bool { return len(c.Statuses) > 0 && c.Statuses[0].State == "pending" }))
	w.measure(2)
	w.shown(j.ID)
	c := w.Conversation(w.pull)
	if len(c.CheckRuns) != 0 || c.Statuses[0].State != "success" || c.Statuses[0].Context != "prbench" || !strings.Contains(c.Statuses[0].Description, "regression") {
		t.Errorf("statuses %+v, check runs %+v", c.Statuses, c.CheckRuns)
	}
	if body := w.onlyComment(); !strings.Contains(body, "Encode") || c.Comments[0].Author != "writer" {
		t.Errorf("the comment:\n%s", body)
	}
}

func TestWithAGateARegressionIsAFailedCheck(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(w.publisher())
	j := w.ask(func(j *job.Job) { j.Spec.Gate = true })
	w.measure(2)
	w.shown(j.ID)
	if run := w.Conversation(w.pull).CheckRuns[0]; run.Conclusion != "failure" {
		t.Errorf("check run %+v", run)
	}
}
