package webhook

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prbench/prbench/internal/forgetest"
	"github.com/prbench/prbench/internal/job"
)

// endAll ends all jobs that have not.
func (w *world) endAll() {
	w.t.Helper()
	for _, j := range w.jobs() {
		if !j.State.Ended() {
			w.ended(j)
		}
	}
}

func TestALabelAsksForItsLineAndStaysOn(t *testing.T) {
	t.Parallel()
	w, tips := newLines(t, linesConfig)
	w.SetDeliveryMode(forgetest.DeliveryMode{Twice: true})
	w.label("writer", "backport-requested-v2.x")
	on, others := w.backports()
	if len(on) != 1 || on[0].Base != (job.Side{SHA: tips["v2.x-staging"], Ref: "v2.x-staging"}) || !on[0].Spec.KeepLabel || !on[0].Spec.Gate {
		t.Fatalf("jobs %+v; replies %q", on, w.replies())
	}
	if on[0].Wish.Trigger != job.ByLabel || on[0].Head.SHA != w.Head(w.pull) || len(others) != 1 || !others[0].Spec.KeepLabel {
		t.Errorf("job %+v, beside it %+v", on[0], others)
	}
	w.push("other\n")
	w.settle()
	if labels := w.Conversation(w.pull).Labels; !slices.Contains(labels, "backport-requested-v2.x") {
		t.Errorf("labels %q: a push took it off", labels)
	}
}

func TestALabelForALineThatIsFoundAtTheStartMakesItsJobOnce(t *testing.T) {
	t.Parallel()
	w, _ := newLines(t, linesConfig)
	w.lostLabel("writer", "backport-requested-v1.x")
	w.endAll()
	w.ok(w.clerk.ReadLabels(t.Context(), w.inst.ID))
	if on, _ := w.backports(); len(on) != 1 || on[0].Wish.Sender != "writer" {
		t.Errorf("jobs %+v; replies %q", on, w.replies())
	}
}

func TestALabelOnAMergedPullRequestAsksForItsLine(t *testing.T) {
	t.Parallel()
	w, _ := newLines(t, linesConfig)
	w.merge(forgetest.MergeSquash)
	w.label("writer", "backport-requested-v2.x")
	if c := w.onlyChange(); c.Merged != job.MergedBySquash {
		t.Errorf("change %+v", c)
	}
}

func TestTakingALabelOffCancelsItsLineAlone(t *testing.T) {
	t.Parallel()
	w, _ := newLines(t, linesConfig)
	w.label("writer", "backport-requested-v1.x")
	w.label("writer", "backport-requested-v2.x")
	off := func(label string) {
		w.later()
		w.ok(w.RemoveLabel("writer", w.pull, label))
		w.settle()
	}
	off("backport-requested-v1.x")
	on, others := w.backports()
	if on[0].State != job.Cancelled || on[1].State != job.Queued || others[0].State != job.Queued {
		t.Errorf("one off: %s, %s, and beside them %s", on[0].State, on[1].State, others[0].State)
	}
	w.label("writer", "backport-requested-v1.x")
	if on, _ := w.backports(); len(on) != 3 || on[2].State != job.Queued {
		t.Errorf("on again: %+v", on)
	}
	off("backport-requested-v1.x")
	off("backport-requested-v2.x")
	for _, j := range w.jobs() {
		if j.State != job.Cancelled {
			t.Errorf("all off, %s is %s", j.Wish.Key, j.State)
		}
	}
}

func TestALabelForNoLineIsRefusedAndAnotherIsNotOurs(t *testing.T) {
	t.Parallel()
	w, _ := newLines(t, linesConfig)
	for _, label := range []string{"backport-requested-", "backport-done-v1.x", "v1.x"} {
		w.label("writer", label)
	}
	if len(w.jobs()) != 0 || len(w.replies()) != 0 {
		t.Errorf("%d jobs, replies %q", len(w.jobs()), w.replies())
	}
	w.label("writer", "backport-requested-v7.x")
	w.refused("`v7.x` is no branch", "`v1.x-staging`")
	w.label("triager", "backport-requested-v1.x")
	if said := w.replies(); len(w.jobs()) > 0 || len(said) != 2 || !strings.Contains(said[1], "`write` permission") {
		t.Errorf("%d jobs, replies %q", len(w.jobs()), said)
	}
}

func TestStatusNamesTheLinesAndCancelTakesThemBack(t *testing.T) {
	t.Parallel()
	w, tips := newLines(t, linesConfig)
	w.comment("writer", "/benchmark backport v1.x v2.x")
	id := w.comment("writer", "/benchmark status")
	w.said("against the release line `v1.x-staging`, `"+short(tips["v1.x-staging"])+"`: queued", "`v2.x-staging`")
	w.edit("writer", id, "/benchmark cancel")
	w.said("Cancelled 3 benchmark jobs")
}

func TestRerunRepeatsAllLinesFromTheirPresentTips(t *testing.T) {
	t.Parallel()
	w, tips := newLines(t, linesConfig)
	w.comment("writer", "/benchmark http")
	w.comment("writer", "/benchmark backport v1.x v2.x --runs 9")
	w.endAll()
	tips["v1.x-staging"] = w.moveLine("v1.x-staging")
	delete(tips, "v3.x-staging")
	w.SetDeliveryMode(forgetest.DeliveryMode{Twice: true})
	w.comment("writer", "/benchmark rerun")
	on, others := w.backports()
	if len(on) != 4 || len(others) != 2 {
		t.Fatalf("%d on lines and %d others; replies %q", len(on), len(others), w.replies())
	}
	if diff := cmp.Diff(tips, bases(on[2:])); diff != "" {
		t.Errorf("want - got +\n%s", diff)
	}
	for i, j := range on[2:] {
		if j.Attempt != []int{1, 2}[i] || j.Spec.Runs != 9 || !cmp.Equal(j.Backport.Change, on[0].Backport.Change) || j.Backport.Group == on[0].Backport.Group {
			t.Errorf("job %+v of %+v", j, j.Backport)
		}
	}
}

func TestTheButtonsOfABackportActOnAllItsLines(t *testing.T) {
	t.Parallel()
	w, _ := newLines(t, linesConfig)
	w.comment("writer", "/benchmark backport v1.x v2.x --runs 9")
	on, _ := w.backports()
	run := w.checkRun(w.forge, w.inst.ID, on[1])
	w.ended(on[1])
	w.press("writer", run, job.ButtonRunAgain) // while the other line waits
	if on, _ := w.backports(); len(on) != 2 {
		t.Errorf("%d jobs on lines, want 2", len(on))
	}
	w.endAll()
	w.press("writer", run, job.ButtonRunAgain)
	w.press("writer", run, job.ButtonRunAgain) // while that waits
	on, others := w.backports()
	if len(on) != 4 || len(others) != 1 || on[2].Attempt != 2 || on[3].Attempt != 2 || on[2].Wish.Trigger != job.ByButton {
		t.Fatalf("jobs %+v, beside them %d", on, len(others))
	}
	w.press("writer", w.checkRun(w.forge, w.inst.ID, on[3]), job.ButtonCancel)
	on, _ = w.backports()
	if on[2].State != job.Cancelled || on[3].State != job.Cancelled || on[0].State != job.Done {
		t.Errorf("states %s, %s, %s", on[0].State, on[2].State, on[3].State)
	}
	w.press("writer", run, job.ButtonMoreRuns)
	if on, _ := w.backports(); len(on) != 6 || on[4].Spec.Runs != 36 || on[5].Spec.Runs != 36 {
		t.Errorf("jobs %+v; replies %q", on, w.replies())
	}
}

func TestALineThatIsGoneIsNamedWhenABackportIsRepeated(t *testing.T) {
	t.Parallel()
	w, _ := newLines(t, linesConfig)
	w.moveLine("short-lived")
	w.comment("writer", "/benchmark backport v1.x short-lived")
	w.endAll()
	w.Fail(forgetest.Fault{Path: "/repos/acme/engine/git/ref/heads/short-lived", Status: 404, Times: -1})
	w.comment("writer", "/benchmark rerun")
	if said := w.said("`short-lived` is no branch"); strings.Contains(said, "v1.x-staging` is") {
		t.Error(said)
	}
	if on, _ := w.backports(); len(on) != 2 {
		t.Errorf("%d jobs on lines, want no more than before", len(on))
	}
}
