package webhook

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prbench/prbench/internal/forge"
	"github.com/prbench/prbench/internal/forgetest"
	"github.com/prbench/prbench/internal/job"
)

func TestACommentIsAJobOfTheHeadThatItsAuthorCouldSee(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	id := w.comment("writer", "Let us see.\n\n/benchmark http --runs 40 --margin 3%\n\nThank you!")
	j := w.onlyJob()
	if j.Wish.CommentID != id || j.Wish.Trigger != job.ByComment || j.Spec.Runs != 40 || j.Spec.Margin != 0.03 || j.Spec.Suites[0].Name != "http" {
		t.Errorf("job %+v", j)
	}
	if j.Base.SHA != w.mergeBase || j.Head.SHA != w.Head(w.pull) {
		t.Errorf("compares %s with %s", j.Head.SHA, j.Base.SHA)
	}
}

func TestTwoCommandsInOneCommentAreTwoJobs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	w.comment("writer", "/benchmark strings\n/benchmark http --runs 40\nthank you")
	jobs := w.jobs()
	if len(jobs) != 2 || jobs[0].Spec.Suites[0].Name != "strings" || jobs[1].Spec.Suites[0].Name != "http" || jobs[1].Spec.Runs != 40 || jobs[0].Spec.Runs == 40 {
		t.Errorf("jobs %+v", jobs)
	}
}

func TestAnUnknownSuiteOrFlagGetsOneReplyThatNamesTheKnownOnes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	w.comment("writer", "/benchmark htpt\n/benchmark --rnus 3")
	w.refused("htpt", "rnus", "`strings`", "`http`", "/benchmark help")
}

func TestTalkAboutCommandsIsNoCommand(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	w.comment("writer", "> /benchmark http\n>> /benchmark strings\n\nI agree with `/benchmark`.")
	if len(w.jobs()) != 0 || len(w.replies()) != 0 {
		t.Errorf("%d jobs, replies %q", len(w.jobs()), w.replies())
	}
}

func TestACommandLostToAQuoteIsAnsweredWithHowToMendIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	w.comment("writer", "> what about it?\n/benchmark http")
	w.refused("empty line above")
}

func TestHelpAndStatusAreAnsweredAndMakeNoJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	w.comment("writer", "/benchmark help\n/benchmark status")
	w.refused("`strings`", "--runs", "No benchmark of this pull request waits or runs")
}

func TestCancelTakesBackWhatWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	w.comment("writer", "/benchmark strings\n/benchmark http")
	w.comment("writer", "/benchmark cancel")
	for _, j := range w.jobs() {
		if j.State != job.Cancelled || j.Cancel.By != "writer" {
			t.Errorf("job %+v", j)
		}
	}
	w.said("Cancelled 2 benchmark jobs")
}

func TestRerunRepeatsTheLastComparisonOnItsOwnCommits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	w.comment("writer", "/benchmark rerun")
	w.refused("nothing has been run")
	w.comment("writer", "/benchmark http --runs 7")
	w.comment("writer", "/benchmark rerun")
	jobs := w.jobs()
	if len(jobs) != 2 || jobs[1].Spec.Runs != 7 || jobs[1].Spec.Suites[0].Name != "http" || jobs[1].Head.SHA != jobs[0].Head.SHA || jobs[1].Attempt != 2 {
		t.Errorf("jobs %+v", jobs)
	}
}

// The push came after the comment was written, and before it was handled: a
// stranger's code would run on a maintainer's word.
func TestAHeadThatMovedAfterTheCommentIsRefusedUntilItIsNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	seen := w.Head(w.pull)
	w.stop()
	w.later()
	_, err := w.Comment("writer", w.pull, "/benchmark")
	w.ok(err)
	w.ok(w.Settle(t.Context()))
	moved := w.push("other\n")
	w.ok(w.Settle(t.Context()))
	w.start()
	for _, d := range w.Deliveries() {
		if d.Done && d.StatusCode == 502 && d.Event != "push" {
			w.ok(w.Redeliver(d.ID))
			w.settle()
		}
	}
	w.refused("moved to `"+moved[:10]+"`", "--sha")
	w.comment("writer", "/benchmark --sha "+seen[:12])
	w.comment("writer", "/benchmark --sha "+moved)
	jobs := w.jobs()
	if len(jobs) != 2 || jobs[0].Head.SHA != seen || jobs[1].Head.SHA != moved {
		t.Errorf("jobs %+v; replies %q", jobs, w.replies())
	}
}

func TestACommitOfAnotherPullRequestCannotBeNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	other, err := w.Push("contributor", w.fork, "evil", forgetest.WriteFiles("evil", map[string]string{"evil.txt": "x"}))
	w.ok(err)
	w.comment("writer", "/benchmark --sha "+other)
	w.refused("no commit of this pull request starts with `" + other + "`")
}

func TestABaseIsABranchOrTagAndMeansTheMergeBaseWithIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	_, err := w.Push("writer", w.repo, "v1.x", forgetest.WriteFiles("fix", map[string]string{"fix.txt": "x"}))
	w.ok(err)
	w.comment("writer", "/benchmark --base v1.x")
	j := w.onlyJob()
	if j.Base.Ref != "v1.x" || j.Base.SHA != w.mergeBase {
		t.Errorf("base %+v, want the merge base %s", j.Base, w.mergeBase)
	}
	w.comment("writer", "/benchmark --base "+w.Head(w.pull))
	w.comment("writer", "/benchmark --base refs/pull/1/merge")
	if jobs, said := w.jobs(), w.replies(); len(jobs) != 1 || len(said) != 2 || !strings.Contains(said[0], "no branch or tag") {
		t.Errorf("%d jobs, replies %q", len(jobs), said)
	}
}

func TestAnEditIsAJobOnlyWhereItsCommandsChanged(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	id := w.comment("writer", "/benchmark strings\n\nwhy: the copy lop changed")
	w.edit("writer", id, "/benchmark strings\n\nwhy: the copy loop changed")
	w.onlyJob()
	w.edit("writer", id, "/benchmark strings --runs 9\n\nwhy: the copy loop changed")
	jobs := w.jobs()
	if len(jobs) != 2 || jobs[1].Spec.Runs != 9 {
		t.Errorf("jobs %+v", jobs)
	}
}

// Whoever edits a comment is asked for the permission, not whoever wrote it.
func TestAStrangersEditOfACommandIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	id := w.comment("stranger", "Nice work.")
	w.edit("stranger", id, "/benchmark")
	w.refused("`write` permission")
}

func TestAMendedCommandsReplyIsMendedTooAndStaysOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	id := w.comment("writer", "/benchmark htpt")
	w.refused("htpt")
	w.edit("writer", id, "/benchmark htttp")
	if said := w.refused("htttp"); strings.Contains(said, "htpt") {
		t.Errorf("the reply still tells of the first command:\n%s", said)
	}
	w.edit("writer", id, "/benchmark http")
	if jobs := w.jobs(); len(jobs) != 1 {
		t.Errorf("%d jobs, want 1", len(jobs))
	}
	if said := w.said(); strings.Contains(said, "was not run") {
		t.Errorf("the command runs, and the reply still says:\n%s", said)
	}
}

func TestHostileWordsInAReplyNeitherPingNorRender(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	w.comment("writer", "/benchmark '@acme/core <img src=x> **x** ``` [a](http://b) #12' --filter '@stranger ('")
	said := w.refused()
	for _, c := range []string{"@acme/core", "<img", "@stranger", "[a]", "#12"} {
		if strings.Contains(outsideCode(said), c) {
			t.Errorf("%s stands outside of code:\n%s", c, said)
		}
	}
	w.label("writer", "benchmark:--> @acme/core <b>")
	all := w.replies()
	if len(all) != 2 || strings.Contains(outsideCode(all[1]), "@acme") || strings.Contains(outsideCode(all[1]), "<b>") {
		t.Errorf("replies %q", all)
	}
	for _, c := range w.Conversation(w.pull).Comments {
		if first, _, _ := strings.Cut(c.Body, "\n"); c.Author == "prbench[bot]" && strings.ContainsAny(first, "@`") {
			t.Errorf("the marker holds what a person wrote: %s", first)
		}
	}
}

// outsideCode is Markdown without its code spans and fences, by the rule that a
// run of backticks is closed by the next run of the same length.
func outsideCode(s string) string {
	var out strings.Builder
	for {
		at := strings.IndexByte(s, '`')
		if at < 0 {
			return out.String() + s
		}
		out.WriteString(s[:at])
		n := len(s[at:]) - len(strings.TrimLeft(s[at:], "`"))
		ticks, rest := s[at:at+n], s[at+n:]
		s = rest
		for from := 0; ; {
			end := strings.Index(rest[from:], ticks)
			if end < 0 {
				break // not closed: it is text
			}
			end += from
			run := len(rest[end:]) - len(strings.TrimLeft(rest[end:], "`"))
			if run == n {
				s = rest[end+n:]
				break
			}
			from = end + run
		}
	}
}

func TestWeIgnoreOurselvesAndOtherBots(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	_, err := w.forge.Installation(w.inst.ID).CreateComment(t.Context(), w.name(), w.pull.Number, "/benchmark")
	w.ok(err)
	w.settle()
	say := w.bot("helpful")
	say("/benchmark")
	if jobs := w.jobs(); len(jobs) != 0 {
		t.Errorf("jobs %+v", jobs)
	}
	if n := len(w.Conversation(w.pull).Comments); n != 2 {
		t.Errorf("%d comments, want those of the two bots and no reply", n)
	}
}

func TestABotThatIsTrustedByItsIDStillNeedsThePermission(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	say := w.bot("helpful")
	id := say("Hello.")
	w.stop()
	w.trusted = []int64{id}
	w.start()
	say("/benchmark")
	w.refused("`helpful[bot]`")
	w.ok(w.Grant(w.repo, "helpful[bot]", "write"))
	say("/benchmark http")
	if jobs := w.jobs(); len(jobs) != 1 {
		t.Errorf("%d jobs, want 1; replies %q", len(jobs), w.replies())
	}
}

// bot installs another App and gives its voice, which tells its account's id.
func (w *world) bot(slug string) (say func(string) int64) {
	w.t.Helper()
	app, err := w.AddApp(forgetest.AppSpec{Slug: slug})
	w.ok(err)
	inst, err := w.Install(app, "acme", w.repo)
	w.ok(err)
	transport := &http.Transport{}
	w.t.Cleanup(transport.CloseIdleConnections)
	f, err := forge.New(forge.Config{URL: w.APIURL(), AppID: app.ID, PrivateKey: app.PrivateKey, Pace: -1, Transport: transport})
	w.ok(err)
	return func(body string) int64 {
		w.t.Helper()
		w.later()
		c, err := f.Installation(inst.ID).CreateComment(w.t.Context(), w.name(), w.pull.Number, body)
		w.ok(err)
		w.settle()
		return c.Author.ID
	}
}

// lastDelivery is the newest webhook of its kind.
func (w *world) lastDelivery(event string) forgetest.Delivery {
	w.t.Helper()
	all := w.Deliveries()
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Event == event {
			return all[i]
		}
	}
	w.t.Fatalf("no %s was delivered", event)
	return forgetest.Delivery{}
}

func TestOpenedWithTheLabelIsOneJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	_, err := w.Push("contributor", w.fork, "second", forgetest.WriteFiles("second", map[string]string{"speed.txt": "faster\n"}))
	w.ok(err)
	w.pull, err = w.OpenPull(forgetest.PullSpec{Base: w.repo, Head: w.fork, HeadRef: "second", Author: "writer", Title: "Second", Labels: []string{"benchmark"}})
	w.ok(err)
	w.settle()
	w.onlyJob()
}

func TestOneDeliveryThriceOverARestartIsOneJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	w.comment("writer", "/benchmark http")
	w.onlyJob()
	first := w.lastDelivery("issue_comment")
	w.ok(w.Redeliver(first.ID))
	w.settle()
	w.stop()
	w.start()
	w.ok(w.Redeliver(first.ID))
	w.settle()
	var answers []int
	for _, d := range w.Deliveries() {
		if d.GUID == first.GUID {
			answers = append(answers, d.StatusCode)
		}
	}
	if fmt.Sprint(answers) != "[202 200 200]" {
		t.Errorf("answered %v, want 202 and then 200", answers)
	}
	w.onlyJob()
}

func TestTheSameWishUnderAnotherDeliveryIsOneJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	w.comment("writer", "/benchmark http")
	d := w.lastDelivery("issue_comment")
	// A second hook of the same repository tells the same under its own id.
	e, _, err := Reduce("issue_comment", "00000000-0000-4000-8000-000000000444", time.Now(), d.Payload)
	w.ok(err)
	_, err = w.keep(t.Context(), e)
	w.ok(err)
	w.settle()
	w.onlyJob()
}
