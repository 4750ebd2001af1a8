package publish

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prbench/prbench/internal/forgetest"
	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/internal/queue"
)

// says waits until the check run of a job has all the words.
func (w *world) says(id job.ID, words ...string) {
	w.t.Helper()
	err := w.Wait(w.t.Context(), w.pull, func(c forgetest.Conversation) bool {
		for _, run := range c.CheckRuns {
			if run.ExternalID != string(id) {
				continue
			}
			all := true
			for _, word := range words {
				all = all && strings.Contains(run.Summary, word)
			}
			if all {
				return true
			}
		}
		return false
	})
	if err != nil {
		w.t.Fatalf("the check run of %s never says %q: %v\n%+v", id, words, err, w.Conversation(w.pull).CheckRuns)
	}
}

func TestAWaitingCheckRunSaysHowManyAreAheadAndMovesUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.ask(nil) // before the publisher starts
	w.run(w.publisher())
	w.says(first.ID, "It is the next in line.")
	second := w.ask(nil)
	third := w.ask(nil)
	w.says(second.ID, "1 job is ahead of it.")
	w.says(third.ID, "2 jobs are ahead of it.")
	l := w.claim()
	w.says(second.ID, "It is the next in line.")
	w.says(third.ID, "1 job is ahead of it.")
	w.end(l, job.Outcome{Kind: job.Stopped, Text: "enough"})
	w.shown(first.ID)
}

func TestAPlaceIsToldOnceItIsKnownAndOnlyOnce(t *testing.T) {
	t.Parallel()
	j := job.Job{ID: job.NewID(1, 1, 1), State: job.Queued, Repository: job.Repository{ID: 1}, Spec: job.Spec{Pool: "default"}}
	p := &Publisher{}
	p.line.reset()
	if p.line.put(queue.Change{Job: j}) != nil || p.movedUp(j) {
		t.Error("a place is told before all jobs are known")
	}
	if ids := p.line.put(queue.Change{CaughtUp: true}); len(ids) != 1 || !p.movedUp(j) {
		t.Errorf("%v: a place that was never told is not told", ids)
	}
	p.line.tell(j.ID, p.place(j))
	if p.movedUp(j) {
		t.Error("a place is told twice")
	}
}

func TestOnlyTheFrontOfALongLineIsKeptTrue(t *testing.T) {
	t.Parallel()
	w := &waiting{}
	w.reset()
	w.put(queue.Change{CaughtUp: true})
	var told []job.ID
	for i := range 40 {
		j := job.Job{ID: job.NewID(1, 1, i+1), State: job.Queued, Created: time.Unix(int64(i), 0)}
		j.Repository.ID, j.Spec.Pool = 1, "default"
		told = w.put(queue.Change{Job: j})
	}
	if len(told) != kept || told[0] != "1.1.1" {
		t.Errorf("told are %v", told)
	}
}

func TestALimitThatHoldsAJobBackIsToldPolitely(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.publisher()
	p.Limits = func(string) queue.Limits { return queue.Limits{PerPerson: 1} }
	w.run(p)
	w.ask(nil)
	second := w.ask(nil)
	l := w.claim()
	w.says(second.ID, "this pool runs at most 1 job at a time for one person")
	w.end(l, job.Outcome{Kind: job.Stopped, Text: "enough"})
	w.says(second.ID, "It is the next in line.")
}

func TestThePriceIsThatOfTheSameComparisonBefore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for i, minutes := range []int{10, 14, 90} {
		w.ask(func(j *job.Job) {
			j.Wish.Key = fmt.Sprintf("before:%d", i)
			j.State, j.Outcome = job.Done, &job.Outcome{Kind: job.Measured, Runs: 10}
			j.Started, j.Finished = at, at.Add(time.Duration(minutes)*time.Minute)
			j.Outcome.Pairs, j.Outcome.WallSeconds = 5, float64(60*(minutes-4))
		})
	}
	w.run(w.publisher())
	same := w.ask(nil)
	w.says(same.ID, "Such a comparison took about 14 min before.")
	more := w.ask(func(j *job.Job) { j.Spec.Runs = 50 })
	w.says(more.ID, "1 job is ahead of it. It should take about 104 min, going by what a pair of runs of these benchmarks took before.")
	other := w.ask(func(j *job.Job) { j.Spec.Filter, j.Spec.Budget = "another", job.Duration(time.Hour) })
	w.says(other.ID, "2 jobs are ahead of it. Nothing like it was measured here yet, so how long it takes is not known; its budget is 60 min.")
}

func TestThePriceOfAnAdaptiveComparisonIsThatOfResolvingItsMargin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	adaptive := func(margin float64) func(*job.Job) {
		return func(j *job.Job) { j.Spec.Runs, j.Spec.Looks, j.Spec.Margin = job.Adaptive, []int{8, 15}, margin }
	}
	for margin, minutes := range map[float64]int{0.02: 14, 0.005: 90} {
		w.ask(func(j *job.Job) {
			adaptive(margin)(j)
			j.Wish.Key = fmt.Sprint("before:", margin)
			j.State, j.Outcome = job.Done, &job.Outcome{Kind: job.Measured, Runs: 10}
			j.Started, j.Finished = at, at.Add(time.Duration(minutes)*time.Minute)
		})
	}
	w.run(w.publisher())
	w.says(w.ask(adaptive(0.02)).ID, "about 14 min to resolve 2 % at this pool's noise")
	w.says(w.ask(adaptive(0.005)).ID, "about 90 min to resolve 0.5 % at this pool's noise")
}

func TestTheCheckRunSaysWhenTheTryAfterAFaultBegins(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(w.publisher())
	j := w.ask(nil)
	w.claim()
	at := time.Now().Add(time.Hour)
	if _, err := w.store.Update(t.Context(), j.ID, func(j *job.Job) error { j.State, j.NotBefore = job.Queued, at; return nil }); err != nil {
		t.Fatal(err)
	}
	w.says(j.ID, "Try 1 of 3 failed on the benchmark machine; the next one begins at "+at.UTC().Format("15:04:05")+" UTC or soon after.")
}
