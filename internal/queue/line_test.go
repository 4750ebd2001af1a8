package queue

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/prbench/prbench/internal/job"
)

// The line that people are told of is the order in which the desk hands out.
func TestTheLineIsTheOrderInWhichJobsAreHandedOut(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		x, line := newIndex(newClock().leases()), NewLine()
		revision := uint64(0)
		put := func(j job.Job) {
			revision++
			x.apply(j, revision)
			line.Put(j)
		}
		for i := range 25 {
			repo := int64(1 + r.IntN(4))
			j := job.Job{ID: job.NewID(repo, 1, i+1), State: job.Queued, Created: start.Add(time.Duration(r.IntN(20)) * time.Second)}
			j.Repository.ID, j.Spec.Pool = repo, []string{"default", "other"}[r.IntN(2)]
			if i%6 == 0 { // claims that came before
				j.State, j.Started = job.Running, start.Add(time.Duration(i)*time.Minute)
			}
			put(j)
		}
		told := line.Waiting("default")
		for n := 0; ; n++ {
			j, ok := x.next("default", "UA", Limits{}, nil)
			if ok != (n < len(told)) {
				t.Fatalf("seed %d: %d jobs were told of, and the desk disagrees at %d", seed, len(told), n)
			}
			if !ok {
				break
			}
			if j.ID != told[n].ID {
				t.Fatalf("seed %d: place %d has %s, and %s is handed out", seed, n, told[n].ID, j.ID)
			}
			if p, ok := line.Place(j.ID, Limits{}); !ok || p.Ahead != 0 || p.Waiting != len(told)-n {
				t.Fatalf("seed %d: %s has place %+v, %v", seed, j.ID, p, ok)
			}
			j.State, j.Started = job.Running, start.Add(time.Hour+time.Duration(n)*time.Minute)
			put(j)
		}
	}
}

func TestAPlaceSaysWhichLimitHoldsTheJobBack(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	record := func(serial int, repo, person int64, state job.State) job.Job {
		j := job.Job{ID: job.NewID(repo, 1, serial), State: state, Created: at.Add(time.Duration(serial) * time.Second)}
		j.Repository.ID, j.Wish.SenderID, j.Spec.Pool = repo, person, "default"
		return j
	}
	running := record(1, 1, 7, job.Running)
	running.Started = at
	running.Progress = job.Progress{At: at, Left: job.Duration(5 * time.Minute)}
	line := NewLine(running, record(2, 2, 7, job.Queued), record(3, 1, 8, job.Queued), record(4, 3, 9, job.Queued), record(5, 3, 9, job.Done))
	for id, want := range map[job.ID]string{
		"2.1.2": "It is the next in line. It waits for another one to end: this pool runs at most 1 job at a time for one person.",
		"3.1.4": "1 job is ahead of it.",
		"1.1.3": "2 jobs are ahead of it. It waits for another one to end: this pool runs at most 1 job at a time for one repository.",
	} {
		p, ok := line.Place(id, Limits{PerPerson: 1, PerRepository: 1})
		if !ok || p.String() != want {
			t.Errorf("%s: %q, want %q", id, p, want)
		}
	}
	if p, _ := line.Place("2.1.2", Limits{}); !strings.HasSuffix(p.String(), "free at 12:05 UTC.") {
		t.Error(p)
	}
	for _, id := range []job.ID{"1.1.1", "3.1.5", "9.9.9"} {
		if p, ok := line.Place(id, Limits{}); ok {
			t.Errorf("%s does not wait, and has %+v", id, p)
		}
	}
}

func ExamplePlace() {
	fmt.Println(Place{Ahead: 3, Waiting: 5})
	// Output: 3 jobs are ahead of it.
}

func TestAHeldJobIsNotHandedOutAndStandsInNoLine(t *testing.T) {
	q := open(t)
	held := create(t, q, wish(1, 1, "k"))
	if _, err := q.Update(t.Context(), held.ID, func(j *job.Job) error { j.Held = "suspended"; return nil }); err != nil {
		t.Fatal(err)
	}
	serve(t, q, &forge{})
	c := enroll(t, q, "box", "default")
	if l, err := c.Claim(t.Context(), ClaimRequest{Wait: time.Millisecond}); err != nil || l != nil {
		t.Errorf("claimed %+v, %v", l, err)
	}
	line := NewLine(get(t, q, held.ID))
	if n := len(line.Waiting("default")); n != 0 {
		t.Errorf("%d jobs stand in the line", n)
	}
	released, err := q.Update(t.Context(), held.ID, func(j *job.Job) error { j.Held = ""; return nil })
	if err != nil || !line.Put(released) || len(line.Waiting("default")) != 1 {
		t.Errorf("released, it moved nothing: %v", err)
	}
	if l, err := c.Claim(t.Context(), ClaimRequest{Wait: time.Minute}); err != nil || l == nil || l.Job.ID != held.ID {
		t.Errorf("claimed %+v, %v", l, err)
	}
}

func TestWhatARepositoryIsCalledIsNoChangeThatPeopleSee(t *testing.T) {
	q := open(t)
	j := create(t, q, wish(1, 1, "k"))
	now, err := q.Update(t.Context(), j.ID, func(j *job.Job) error {
		j.Repository.Name, j.Repository.Private, j.Installation = "motor", true, 77
		return nil
	})
	if err != nil || now.Revision != j.Revision || get(t, q, j.ID).Repository.Name != "motor" {
		t.Errorf("job %+v, %v", now, err)
	}
}
