package webhook

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/prbench/prbench/internal/forgetest"
	"github.com/prbench/prbench/internal/job"
)

// sweeper is a Sweep of the world's App whose clock the test moves.
func (w *world) sweeper(ahead *time.Duration) *Sweep {
	return &Sweep{Deliveries: w.forge, Log: slog.New(slog.NewTextHandler(w.t.Output(), nil)), tried: map[string]tries{},
		Now: func() time.Time { return w.now().Add(*ahead) }}
}

func TestADeliveryThatWasLostIsAskedForAgainAndMakesItsJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	w.SetDeliveryMode(forgetest.DeliveryMode{Lost: true})
	w.label("writer", "benchmark")
	if n := len(w.jobs()); n != 0 {
		t.Fatalf("%d jobs of a label that was not told", n)
	}
	w.SetDeliveryMode(forgetest.DeliveryMode{})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	swept := make(chan int, 1)
	s := w.sweeper(new(time.Duration))
	s.Swept = func(n int, err error) {
		w.ok(err)
		swept <- n
		stop()
	}
	w.ok(s.Run(ctx))
	if n := <-swept; n != 1 {
		t.Errorf("%d redeliveries, want the label's alone", n)
	}
	w.settle()
	if j := w.onlyJob(); j.Wish.Trigger != job.ByLabel || j.Wish.Sender != "writer" {
		t.Errorf("job %+v", j)
	}
}

func TestADeliveryThatFailsTimeAndAgainIsAskedForLessOften(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	w.stop() // the address answers with 502 from here on
	w.later()
	w.ok(w.AddLabel("writer", w.pull, "benchmark"))
	w.ok(w.Settle(t.Context()))
	var ahead time.Duration
	s := w.sweeper(&ahead)
	asked := 0
	for range 40 {
		n, err := s.look(t.Context(), time.Minute)
		w.ok(err)
		asked += n
		w.ok(w.Settle(t.Context()))
		ahead += time.Minute
	}
	if asked != 6 { // after 0, 1, 3, 7, 15 and 31 minutes
		t.Errorf("asked for %d times in 40 minutes, want 6", asked)
	}
}

func TestWhatHasNoEffectOrArrivedIsNotAskedForAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	w.label("writer", "benchmark")          // it arrived
	w.ok(w.Archive("writer", w.repo, true)) // this too
	w.ok(w.Settle(t.Context()))
	w.SetDeliveryMode(forgetest.DeliveryMode{Lost: true})
	w.ok(w.Archive("writer", w.repo, false))
	w.ok(w.Settle(t.Context()))
	n, err := w.sweeper(new(time.Duration)).look(t.Context(), time.Minute)
	w.ok(err)
	if n != 0 {
		t.Errorf("%d redeliveries, want none", n)
	}
}

// lostLabel puts the label on without anybody being told, and reads labels as a
// start does.
func (w *world) lostLabel(who, name string) {
	w.t.Helper()
	w.SetDeliveryMode(forgetest.DeliveryMode{Lost: true})
	w.label(who, name)
	w.SetDeliveryMode(forgetest.DeliveryMode{})
	w.ok(w.clerk.ReadLabels(w.t.Context(), w.inst.ID))
	w.settle()
}

func TestALabelFoundAtTheStartMakesOneJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	w.lostLabel("writer", "benchmark:http")
	w.ok(w.clerk.ReadLabels(t.Context(), w.inst.ID))
	j := w.onlyJob()
	if j.Wish.Sender != "writer" || j.Head.SHA != w.Head(w.pull) || j.Base.SHA != w.mergeBase || j.Spec.Suites[0].Name != "http" || j.Repository.CloneURL == "" {
		t.Errorf("job %+v", j)
	}
	// The event that comes after all is the same wish.
	for _, d := range w.Deliveries() {
		if d.Action == "labeled" {
			w.ok(w.Redeliver(d.ID))
		}
	}
	w.settle()
	w.onlyJob()
	// A job that has ended is not made again at the next start.
	_, err := w.store.Cancel(t.Context(), j.ID, job.Cancel{By: "writer", At: time.Now()})
	w.ok(err)
	w.ok(w.clerk.ReadLabels(t.Context(), w.inst.ID))
	w.onlyJob()
}

func TestALabelFoundAtTheStartCountsOnlyIfItsAuthorMayGiveIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	w.lostLabel("triager", "benchmark")
	w.refused("`triager` has `triage`")
}

func TestALabelFoundAtTheStartDoesNotRunAHeadThatCameAfterIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	w.SetDeliveryMode(forgetest.DeliveryMode{Lost: true})
	w.label("writer", "benchmark")
	w.push("other\n")
	w.SetDeliveryMode(forgetest.DeliveryMode{})
	w.ok(w.clerk.SeeInstallation(t.Context(), w.inst.ID))
	w.ok(w.clerk.ReadLabels(t.Context(), w.inst.ID))
	w.settle()
	if jobs, said := w.jobs(), w.replies(); len(jobs) != 0 || len(said) != 0 {
		t.Errorf("%d jobs and replies %q, want none: nobody has looked at this commit", len(jobs), said)
	}
}
