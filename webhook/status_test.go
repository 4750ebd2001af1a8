package webhook

import (
	"strings"
	"testing"
	"time"

	"github.com/prbench/prbench/internal/job"
)

// strangers are jobs of another repository in the same pool.
func (w *world) strangers(n int) {
	w.t.Helper()
	for i := range n {
		_, _, err := w.store.Create(w.t.Context(), job.Job{PR: i + 1, Repository: job.Repository{ID: 99, Owner: "secret", Name: "project"},
			Wish: job.Wish{Key: "label:x", Trigger: job.ByLabel, Sender: "somebody", SenderID: 5}, Spec: job.Spec{Pool: "default"},
			Head: job.Side{SHA: strings.Repeat("b", 40)}})
		w.ok(err)
	}
}

func TestStatusSaysWhereAJobStandsAndNothingOfOtherRepositories(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	w.strangers(2)
	w.comment("writer", "/benchmark http")
	w.comment("writer", "/benchmark status")
	said := w.said("queued in the pool `default`. 1 job is ahead of it.", "Jobs waiting in the pool `default`: 3.")
	for _, word := range []string{"secret", "project", "somebody", "bbbbbb"} {
		if strings.Contains(said, word) {
			t.Errorf("the status tells of another repository (%q): %s", word, said)
		}
	}
}

func TestStatusSaysWhenARunningJobIsExpectedToEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	w.comment("writer", "/benchmark http")
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	w.running(w.jobs()[0])
	_, err := w.store.Update(t.Context(), w.jobs()[0].ID, func(j *job.Job) error {
		j.Progress = job.Progress{Phase: job.PhaseMeasure, Done: 3, Total: 60, AtMost: true, Left: job.Duration(14 * time.Minute), At: at}
		return nil
	})
	w.ok(err)
	w.comment("writer", "/benchmark status")
	w.said("running, measure, 3 of at most 60 runs, expected to end by 12:14 UTC")
}
