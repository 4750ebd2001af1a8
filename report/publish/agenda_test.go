package publish

import (
	"testing"
	"time"

	"github.com/prbench/prbench/internal/job"
)

// due is what is due at a time, or nothing.
func due(a *agenda, at time.Time) job.ID {
	id, _, _ := a.take(at)
	return id
}

func TestAJobThatFailedRestsWhateverChangesMeanwhile(t *testing.T) {
	a, now := newAgenda(), time.Now()
	a.add("1.2.3", now)
	if got := due(a, now); got != "1.2.3" {
		t.Fatalf("due: %q", got)
	}
	a.add("1.2.3", now) // the failure is noted in the record, which is a change
	a.finished("1.2.3", time.Hour)
	a.add("1.2.3", now) // or the note arrives a little later
	if got := due(a, now.Add(59*time.Minute)); got != "" {
		t.Errorf("%s is due before its hour has passed", got)
	}
	if got := due(a, now.Add(61*time.Minute)); got != "1.2.3" {
		t.Errorf("after an hour %q is due", got)
	}
	a.finished("1.2.3", 0)
	a.add("1.2.3", now)
	if got := due(a, now); got != "1.2.3" {
		t.Errorf("after a success %q is due", got)
	}
}

func TestOneJobOfAPullRequestIsHandedOutAtATimeTheLongestDueFirst(t *testing.T) {
	a, now := newAgenda(), time.Now()
	a.add("1.2.3", now.Add(-time.Second))
	a.add("1.2.4", now.Add(-2*time.Second))
	a.add("1.7.1", now)
	for _, want := range []job.ID{"1.2.4", "1.7.1", ""} {
		if got := due(a, now); got != want {
			t.Errorf("%q is handed out, want %q", got, want)
		}
	}
	a.finished("1.2.4", 0)
	if got := due(a, now); got != "1.2.3" {
		t.Errorf("%q is handed out, want the pull request's other job", got)
	}
}
