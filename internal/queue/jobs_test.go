package queue

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prbench/prbench/internal/job"
)

func TestTheSameWishArrivingAtOnceIsOneJob(t *testing.T) {
	t.Parallel()
	url, credentials := external(t)
	qs := []*Queue{openURL(t, url, credentials), openURL(t, url, credentials)}
	const wishes, copies = 5, 6
	var mu sync.Mutex
	var wg sync.WaitGroup
	ids := map[string]map[job.ID]bool{}
	made := 0
	for w := range wishes {
		for c := range copies {
			wg.Go(func() {
				key := fmt.Sprintf("comment:%d:benchmark", w)
				j, created, err := qs[c%2].Create(t.Context(), wish(1, 2, key))
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				if ids[key] == nil {
					ids[key] = map[job.ID]bool{}
				}
				ids[key][j.ID] = true
				if created {
					made++
				}
			})
		}
	}
	wg.Wait()
	js, err := qs[0].List(t.Context(), 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	if made != wishes || len(js) != wishes {
		t.Errorf("%d wishes, each told %d times, made %d jobs, %d in the store", wishes, copies, made, len(js))
	}
	for i, j := range js {
		if j.ID.Serial() != i+1 || j.Attempt != i+1 {
			t.Errorf("job %d has serial %d and is attempt %d", i, j.ID.Serial(), j.Attempt)
		}
		if len(ids[j.Wish.Key]) != 1 || !ids[j.Wish.Key][j.ID] {
			t.Errorf("wish %s was answered with jobs %v, its job is %s", j.Wish.Key, ids[j.Wish.Key], j.ID)
		}
	}
}

func TestALabelsWishIsFreeAgainWhenItsJobEndsAndACommentsNever(t *testing.T) {
	q := open(t)
	end := func(j job.Job) {
		t.Helper()
		if _, err := q.Update(t.Context(), j.ID, func(j *job.Job) error { j.State = job.Cancelled; return nil }); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		trigger job.Trigger
		again   bool
	}{{job.ByComment, false}, {job.ByLabel, true}} {
		w := wish(1, 1, "key of a "+string(c.trigger))
		w.Wish.Trigger = c.trigger
		first := create(t, q, w)
		if j, created, err := q.Create(t.Context(), w); err != nil || created || j.ID != first.ID {
			t.Errorf("%s again while its job waits: %s, created %v, %v", c.trigger, j.ID, created, err)
		}
		end(first)
		if j, created, err := q.Create(t.Context(), w); err != nil || created != c.again {
			t.Errorf("%s again after its job ended: %s, created %v, %v", c.trigger, j.ID, created, err)
		}
	}
}

func TestALabelsDeliveryThatComesAgainAfterItsJobEndedIsNoNewWish(t *testing.T) {
	q := open(t)
	w := wish(1, 1, "label:1")
	w.Wish.Trigger, w.Wish.Delivery = job.ByLabel, "first"
	first := create(t, q, w)
	if _, err := q.Update(t.Context(), first.ID, func(j *job.Job) error { j.State = job.Cancelled; return nil }); err != nil {
		t.Fatal(err)
	}
	if j, created, err := q.Create(t.Context(), w); err != nil || created || j.ID != first.ID {
		t.Errorf("the same delivery: %s, created %v, %v", j.ID, created, err)
	}
	w.Wish.Delivery = "second"
	if j, created, err := q.Create(t.Context(), w); err != nil || !created {
		t.Errorf("the label set again: %s, created %v, %v", j.ID, created, err)
	}
}

func TestAnAttemptIsCountedWhereResultsMayBeSeen(t *testing.T) {
	q := open(t)
	n := 0
	attempt := func(head string, end func(*job.Job)) int {
		t.Helper()
		n++
		w := wish(1, 1, fmt.Sprint("k", n))
		w.Head.SHA = head
		j := create(t, q, w)
		if end == nil {
			return j.Attempt
		}
		if _, err := q.Update(t.Context(), j.ID, func(j *job.Job) error { end(j); return nil }); err != nil {
			t.Fatal(err)
		}
		return j.Attempt
	}
	with := func(k job.OutcomeKind) func(*job.Job) {
		return func(j *job.Job) { j.State, j.Outcome = job.Publishing, &job.Outcome{Kind: k} }
	}
	got := []int{
		attempt("x", with(job.BuildFailed)),
		attempt("x", func(j *job.Job) { j.State = job.Cancelled }),
		attempt("x", with(job.Measured)),
		attempt("x", with(job.Fault)),
		attempt("x", with(job.Stopped)),
		attempt("y", nil),
		attempt("x", nil),
		attempt("x", nil),
	}
	if d := cmp.Diff([]int{1, 1, 1, 2, 2, 1, 3, 4}, got); d != "" {
		t.Errorf("attempts (-want +got):\n%s", d)
	}
}

func TestConcurrentUpdatesAllCount(t *testing.T) {
	t.Parallel()
	q := open(t)
	made := create(t, q, wish(1, 1, "k"))
	const writers, times = 8, 10
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range times {
				if _, err := q.Update(t.Context(), made.ID, func(j *job.Job) error { j.Progress.Done++; return nil }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if j := get(t, q, made.ID); j.Progress.Done != writers*times || j.Revision != 1+writers*times {
		t.Errorf("%d updates: count %d, revision %d", writers*times, j.Progress.Done, j.Revision)
	}
}

func TestTheRevisionRisesWithWhatPeopleSee(t *testing.T) {
	q := open(t)
	id := create(t, q, wish(1, 1, "k")).ID
	for _, c := range []struct {
		name   string
		rises  bool
		change func(*job.Job)
	}{
		{"nothing", false, func(*job.Job) {}},
		{"published", false, func(j *job.Job) { j.Published.Revision, j.Published.CommentID = 1, 5 }},
		{"lease", false, func(j *job.Job) { j.LeaseEnd = time.Now() }},
		{"time of the progress", false, func(j *job.Job) { j.Progress.At = time.Now() }},
		{"revision itself", false, func(j *job.Job) { j.Revision = 99 }},
		{"id", false, func(j *job.Job) { j.ID = "8.8.8" }},
		{"progress", true, func(j *job.Job) { j.Progress.Done = 1 }},
		{"state", true, func(j *job.Job) { j.State = job.Running }},
		{"outdated", true, func(j *job.Job) { j.Outdated = true }},
		{"outcome", true, func(j *job.Job) { j.Outcome = &job.Outcome{Kind: job.Measured} }},
		{"within the outcome", true, func(j *job.Job) { j.Outcome.Notes = append(j.Outcome.Notes, "x") }},
	} {
		before := get(t, q, id)
		after, err := q.Update(t.Context(), id, func(j *job.Job) error { c.change(j); return nil })
		if err != nil {
			t.Fatal(err)
		}
		want := before.Revision
		if c.rises {
			want++
		}
		stored := get(t, q, id)
		if after.Revision != want || stored.ID != id {
			t.Errorf("%s: revision %d → %d, id %s", c.name, before.Revision, after.Revision, stored.ID)
		}
		if d := cmp.Diff(mustJSON(t, stored), mustJSON(t, after)); d != "" {
			t.Errorf("%s: what Update returns is not what is stored:\n%s", c.name, d)
		}
	}
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestAStateNeverGoesBack(t *testing.T) {
	q := open(t)
	id := create(t, q, wish(1, 1, "k")).ID
	to := func(s job.State) error {
		_, err := q.Update(t.Context(), id, func(j *job.Job) error { j.State = s; return nil })
		return err
	}
	for _, s := range []job.State{job.Running, job.Queued, job.Running, job.Publishing, job.Done} {
		if err := to(s); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range []job.State{job.Queued, job.Running, job.Publishing, job.Failed, job.Cancelled} {
		var se *StateError
		if err := to(s); !errors.As(err, &se) || se.From != job.Done || se.To != s {
			t.Errorf("done to %s: %v", s, err)
		}
	}
	if err := to(job.Done); err != nil {
		t.Errorf("done stays done: %v", err)
	}
	stop := errors.New("stop")
	if _, err := q.Update(t.Context(), id, func(*job.Job) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("the function's error: %v", err)
	}
	if j, err := q.Update(t.Context(), id, func(j *job.Job) error { j.Outdated = true; return ErrUnchanged }); err != nil || j.Outdated {
		t.Errorf("ErrUnchanged: %+v, %v", j, err)
	}
}

func TestHeadsAreRememberedByPullRequestFromTheFirstTime(t *testing.T) {
	q := open(t)
	ctx := t.Context()
	sha := "0123456789abcdef0123456789abcdef01234567"
	noon := time.Date(2026, 3, 1, 12, 0, 0, 7, time.UTC)
	for _, at := range []time.Time{noon, noon.Add(time.Hour), noon.Add(-time.Hour), noon} {
		if err := q.FirstSeen(ctx, 1, 2, sha, at); err != nil {
			t.Fatal(err)
		}
	}
	if at, ok, err := q.Seen(ctx, 1, 2, sha); err != nil || !ok || !at.Equal(noon.Add(-time.Hour)) {
		t.Errorf("seen %v, %v, %v", at, ok, err)
	}
	if at, ok, err := q.Seen(ctx, 1, 3, sha); err != nil || ok {
		t.Errorf("on another pull request: seen %v, %v, %v", at, ok, err)
	}
	for _, bad := range []string{"", "main", "*", sha + "0", sha[:39] + "G"} {
		if err := q.FirstSeen(ctx, 1, 2, bad, noon); err == nil {
			t.Errorf("commit %q is noted", bad)
		}
	}
}
