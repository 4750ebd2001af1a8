package webhook

import (
	"testing"

	"github.com/prbench/prbench/internal/forgetest"
)

// force puts the contributor's branch on a commit, after a while.
func (w *world) force(sha string) {
	w.t.Helper()
	w.later()
	w.ok(w.ForcePush("contributor", w.fork, "faster", sha))
	w.settle()
}

// The head was shown, hidden behind a harmless one while a maintainer looked,
// and put back: the earliest sight of it says nothing.
func TestAHeadThatCameBackAfterTheCommentIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	harmless := w.Head(w.pull)
	evil := w.push("evil\n")
	w.settle()
	w.force(harmless)
	w.stop()
	w.later()
	_, err := w.Comment("writer", w.pull, "/benchmark")
	w.ok(err)
	w.ok(w.Settle(t.Context()))
	asked := w.lastDelivery("issue_comment")
	w.start()
	w.force(evil)
	w.ok(w.Redeliver(asked.ID))
	w.settle()
	w.refused("moved to `" + evil[:10] + "`")
	w.comment("writer", "/benchmark")
	if jobs := w.jobs(); len(jobs) != 1 || jobs[0].Head.SHA != evil {
		t.Errorf("a command written after the push is taken: %+v; replies %q", jobs, w.replies())
	}
}

// The event of the push that brings the commit back has not arrived yet.
func TestAHeadThatComesBackUntoldIsNotTakenForTheOneThatWasSeen(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	harmless := w.Head(w.pull)
	evil := w.push("evil\n")
	w.settle()
	w.force(harmless)
	since, told, err := w.clerk.headSince(t.Context(), w.repo.ID, w.pull.Number, evil)
	w.ok(err)
	if told || since.IsZero() {
		t.Errorf("since %v, told %v: the newest event named another commit", since, told)
	}
	if _, told, err := w.clerk.headSince(t.Context(), w.repo.ID, w.pull.Number, harmless); err != nil || !told {
		t.Errorf("told %v, %v", told, err)
	}
}

func TestAHeadThatNobodyToldOfIsNamedAsUnknown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	w.SetDeliveryMode(forgetest.DeliveryMode{Lost: true})
	_, err := w.Push("contributor", w.fork, "second", forgetest.WriteFiles("second", map[string]string{"speed.txt": "faster\n"}))
	w.ok(err)
	w.pull, err = w.OpenPull(forgetest.PullSpec{Base: w.repo, Head: w.fork, HeadRef: "second", Author: "contributor", Title: "Second"})
	w.ok(err)
	w.ok(w.Settle(t.Context()))
	w.SetDeliveryMode(forgetest.DeliveryMode{})
	w.comment("writer", "/benchmark")
	w.refused("had not been told of the head", "--sha "+w.Head(w.pull)[:10])
}
