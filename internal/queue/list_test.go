package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prbench/prbench/internal/job"
)

func TestJobsAreFoundByPullRequestAndByRepository(t *testing.T) {
	q := open(t)
	for _, at := range [][2]int{{1, 1}, {1, 1}, {1, 11}, {1, 2}, {11, 1}, {2, 1}} {
		create(t, q, wish(int64(at[0]), at[1], fmt.Sprint(at, time.Now().UnixNano())))
	}
	for _, c := range []struct {
		repo int64
		pr   int
		want []job.ID
	}{
		{1, 1, []job.ID{"1.1.1", "1.1.2"}},
		{1, 11, []job.ID{"1.11.1"}},
		{11, 1, []job.ID{"11.1.1"}},
		{1, 3, nil},
		{1, 0, []job.ID{"1.1.1", "1.1.2", "1.11.1", "1.2.1"}},
		{3, 0, nil},
	} {
		js, err := q.List(t.Context(), c.repo, c.pr)
		if err != nil {
			t.Fatal(err)
		}
		var got []job.ID
		for _, j := range js {
			got = append(got, j.ID)
		}
		slices.Sort(got)
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("jobs of %d.%d (-want +got):\n%s", c.repo, c.pr, d)
		}
	}
	if _, err := q.Cancel(t.Context(), "1.2.1", job.Cancel{By: "ann"}); err != nil {
		t.Fatal(err)
	}
	if js, err := q.ByState(t.Context(), job.Cancelled); err != nil || len(js) != 1 || js[0].ID != "1.2.1" {
		t.Errorf("the cancelled ones: %v, %v", js, err)
	}
	if js, err := q.ByState(t.Context()); err != nil || len(js) != 6 {
		t.Errorf("all: %d, %v", len(js), err)
	}
	for _, id := range []job.ID{"1.1.3", "9.9.9", "", "1.1", "*.1.1", "1.1.>"} {
		if _, err := q.Get(t.Context(), id); !errors.Is(err, ErrNotFound) {
			t.Errorf("job %q: %v, want ErrNotFound", id, err)
		}
	}
}

func TestAListHasNoGapsWhileItsJobsChange(t *testing.T) {
	t.Parallel()
	q := open(t)
	create(t, q, wish(1, 1, "first"))
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			_, err := q.Update(ctx, "1.1.1", func(j *job.Job) error { j.Progress.Done = n; return nil })
			if err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		}
	})
	for i := range 20 {
		create(t, q, wish(1, 1, fmt.Sprint("more ", i)))
		js, err := q.List(ctx, 1, 1)
		if err != nil {
			t.Fatal(err)
		}
		for n, j := range js {
			if j.ID.Serial() != n+1 {
				t.Fatalf("after %d jobs the list has serial %d at place %d", i+2, j.ID.Serial(), n)
			}
		}
		if len(js) != i+2 {
			t.Fatalf("after %d jobs the list has %d", i+2, len(js))
		}
	}
	stop()
	wg.Wait()
}

func TestAListThatPassedOverARecordReadsIt(t *testing.T) {
	q := open(t)
	var js []job.Job
	for i := range 4 {
		js = append(js, create(t, q, wish(1, 1, fmt.Sprint("k", i))))
	}
	got, err := q.fillGaps(t.Context(), 1, 1, []job.Job{js[1], js[2]}) // without the first and the newest
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(js, got); d != "" {
		t.Errorf("filled (-want +got):\n%s", d)
	}
}

func TestAWatchTellsWhatIsThereThenWhatChanges(t *testing.T) {
	q := open(t)
	for i := range 3 {
		create(t, q, wish(1, i+1, "k"))
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	w, err := q.Watch(ctx)
	if err != nil {
		t.Fatal(err)
	}
	present := map[job.ID]bool{}
	for c := range w {
		if c.CaughtUp {
			break
		}
		present[c.Job.ID] = true
	}
	if len(present) != 3 {
		t.Errorf("before the mark: %v", present)
	}
	late := create(t, q, wish(1, 9, "k"))
	if c := <-w; c.CaughtUp || c.Job.ID != late.ID {
		t.Errorf("after the mark: %+v", c)
	}
	if _, err := q.Cancel(ctx, late.ID, job.Cancel{By: "ann"}); err != nil {
		t.Fatal(err)
	}
	if c := <-w; c.Job.State != job.Cancelled || c.Job.Cancel.By != "ann" {
		t.Errorf("after the change: %+v", c)
	}
	stop()
	for range w { // it closes
	}
}

func TestARecordThatCannotBeReadStopsNobodyElse(t *testing.T) {
	q := open(t)
	serve(t, q, &forge{})
	for key, value := range map[string]string{"1.1.1": `{"stream":"SAMPLES","seq":1}`, "1.2.1": "[", "1.3.1": `{"version":99,"id":"1.3.1"}`} {
		if _, err := q.jobs.Put(t.Context(), key, []byte(value)); err != nil {
			t.Fatal(err)
		}
		if _, err := q.Get(t.Context(), job.ID(key)); err == nil {
			t.Errorf("%s is read from %s", key, value)
		}
	}
	good := create(t, q, wish(2, 1, "k"))
	if l := claim(t, enroll(t, q, "a", "default")); l.Job.ID != good.ID {
		t.Errorf("claimed %s", l.Job.ID)
	}
}
