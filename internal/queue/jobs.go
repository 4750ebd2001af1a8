package queue

import (
	"bytes"
	"context"
	crand "crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/prbench/prbench/internal/job"
)

// StateError refuses a change of a record that would take its state backwards.
type StateError struct {
	ID       job.ID
	From, To job.State
}

func (e *StateError) Error() string {
	return fmt.Sprintf("job %s: cannot go from %s to %s", e.ID, e.From, e.To)
}

// Create keeps a new job and gives it its ID, Version, Revision 1, and, where
// they are empty, State queued, Created and Attempt; and a Page of its own. The same wish arriving
// twice, even at once at several serves, is one job: when a job of the pull
// request has this Wish.Key already (a label's wish: and has not ended, or came
// by the same delivery), that job is returned and created is false. To let a key go before its job ends,
// change Wish.Key with Update.
//
// Attempt counts from 1 the jobs of the same two commits that were or may yet be
// measured; what a backport puts on a commit is another thing than its head.
func (q *Queue) Create(ctx context.Context, j job.Job) (_ job.Job, created bool, err error) {
	repo, pr := j.Repository.ID, j.PR
	if repo <= 0 || pr <= 0 || j.Wish.Key == "" {
		return job.Job{}, false, fmt.Errorf("create job: want a repository's id, a pull request and a wish's key, got %d, %d and %q", repo, pr, j.Wish.Key)
	}
	given := j
	for ctx.Err() == nil {
		// The serials have no gaps, so that a serial computed from a list that
		// lacks a job is taken, and the list is read again.
		present, err := q.List(ctx, repo, pr)
		if err != nil {
			return job.Job{}, false, fmt.Errorf("create job: %w", err)
		}
		if i := slices.IndexFunc(present, func(p job.Job) bool { return sameWish(p, given.Wish) }); i >= 0 {
			return present[i], false, nil
		}
		j = given
		serial := 1
		if n := len(present); n > 0 {
			serial = present[n-1].ID.Serial() + 1
		}
		q.complete(&j, serial, present)
		b, err := json.Marshal(j)
		if err != nil {
			return job.Job{}, false, fmt.Errorf("create job: %w", err)
		}
		_, err = q.jobs.Create(ctx, string(j.ID), b)
		switch {
		case err == nil:
			return j, true, nil
		case !errors.Is(err, jetstream.ErrKeyExists):
			return job.Job{}, false, fmt.Errorf("create job %s: %w", j.ID, storeError(err))
		}
	}
	return job.Job{}, false, fmt.Errorf("create job: %w", ctx.Err())
}

// sameWish tells whether a job is the wish's. A label may be set again when its
// job has ended; a delivery that comes again, because serve died before it was
// acknowledged, is the wish that it was.
func sameWish(j job.Job, w job.Wish) bool {
	if j.Wish.Key != w.Key {
		return false
	}
	again := w.Delivery != "" && j.Wish.Delivery == w.Delivery
	return again || w.Trigger != job.ByLabel || !j.State.Ended()
}

func (q *Queue) complete(j *job.Job, serial int, present []job.Job) {
	j.Version = job.SchemaVersion
	j.ID = job.NewID(j.Repository.ID, j.PR, serial)
	j.Revision = 1
	j.Try = 0
	j.Page = newPage()
	if j.State == "" {
		j.State = job.Queued
	}
	if j.Created.IsZero() {
		j.Created = q.now()
	}
	if j.Attempt == 0 {
		for _, p := range present {
			if p.Base.SHA == j.Base.SHA && p.Head.SHA == j.Head.SHA && (p.Backport == nil) == (j.Backport == nil) && mayShowResults(p) {
				j.Attempt = max(j.Attempt, p.Attempt)
			}
		}
		j.Attempt++
	}
}

// newPage makes the random part of a result page's address.
func newPage() string {
	var b [16]byte
	_, _ = crand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// mayShowResults tells whether a job's measurements have been, or may yet be,
// looked at: such a job has spent error rate.
func mayShowResults(j job.Job) bool {
	if j.Outcome != nil {
		return j.Outcome.Kind == job.Measured || j.Outcome.Kind == job.Stopped
	}
	return !j.State.Ended() || j.Try > 0
}

// Get reads a job's record; ErrNotFound when there is none.
func (q *Queue) Get(ctx context.Context, id job.ID) (job.Job, error) {
	j, _, err := q.get(ctx, id)
	return j, err
}

func (q *Queue) get(ctx context.Context, id job.ID) (job.Job, jetstream.KeyValueEntry, error) {
	if !id.Valid() {
		return job.Job{}, nil, fmt.Errorf("read job %q: not a job's id: %w", id, ErrNotFound)
	}
	e, err := q.jobs.Get(ctx, string(id))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		err = ErrNotFound
	}
	if err != nil {
		return job.Job{}, nil, fmt.Errorf("read job %s: %w", id, err)
	}
	j, err := decodeJob(e)
	return j, e, err
}

func decodeJob(e jetstream.KeyValueEntry) (job.Job, error) {
	var j job.Job
	if err := json.Unmarshal(e.Value(), &j); err != nil {
		return job.Job{}, fmt.Errorf("read job %s: %w", e.Key(), err)
	}
	if string(j.ID) != e.Key() {
		return job.Job{}, fmt.Errorf("read job %s: the record is of job %q", e.Key(), j.ID)
	}
	if j.Version > job.SchemaVersion {
		return job.Job{}, fmt.Errorf("read job %s: written by a newer version of this program (schema %d, this one knows %d)", e.Key(), j.Version, job.SchemaVersion)
	}
	return j, nil
}

// List gives the jobs of a pull request, or with pr 0 of all pull requests of a
// repository, oldest first.
func (q *Queue) List(ctx context.Context, repoID int64, pr int) ([]job.Job, error) {
	pattern := fmt.Sprintf("%d.%d.*", repoID, pr)
	if pr == 0 {
		pattern = fmt.Sprintf("%d.*.*", repoID)
	}
	js, err := q.scanJobs(ctx, pattern, nil)
	if err != nil {
		return nil, fmt.Errorf("list jobs of %d.%d: %w", repoID, pr, err)
	}
	if pr == 0 {
		return js, nil
	}
	slices.SortFunc(js, func(a, b job.Job) int { return a.ID.Serial() - b.ID.Serial() })
	return q.fillGaps(ctx, repoID, pr, js)
}

// fillGaps reads one by one the records that a scan passed over because they
// were changed while it ran: serials have no gaps, and the newest may be among them.
func (q *Queue) fillGaps(ctx context.Context, repoID int64, pr int, js []job.Job) ([]job.Job, error) {
	all := js[:0:0]
	for _, j := range js {
		for s := len(all) + 1; s < j.ID.Serial(); s++ {
			missed, err := q.Get(ctx, job.NewID(repoID, pr, s))
			if err != nil {
				return nil, err
			}
			all = append(all, missed)
		}
		all = append(all, j)
	}
	for {
		next, err := q.Get(ctx, job.NewID(repoID, pr, len(all)+1))
		if errors.Is(err, ErrNotFound) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, next)
	}
}

// ByState gives the jobs in one of the states, or all jobs when none is named,
// oldest first. It reads the whole bucket; Watch is for those who ask often.
func (q *Queue) ByState(ctx context.Context, states ...job.State) ([]job.Job, error) {
	js, err := q.scanJobs(ctx, ">", states)
	if err != nil {
		return nil, fmt.Errorf("list jobs: %w", err)
	}
	return js, nil
}

func (q *Queue) scanJobs(ctx context.Context, pattern string, states []job.State) ([]job.Job, error) {
	latest := map[job.ID]job.Job{}
	err := q.scan(ctx, q.jobs, pattern, func(e jetstream.KeyValueEntry) error {
		j, err := decodeJob(e)
		if err != nil {
			return err
		}
		latest[j.ID] = j
		return nil
	})
	if err != nil {
		return nil, err
	}
	js := make([]job.Job, 0, len(latest))
	for _, j := range latest {
		if len(states) == 0 || slices.Contains(states, j.State) {
			js = append(js, j)
		}
	}
	slices.SortFunc(js, byAge)
	return js, nil
}

func byAge(a, b job.Job) int {
	if c := a.Created.Compare(b.Created); c != 0 {
		return c
	}
	return strings.Compare(string(a.ID), string(b.ID))
}

// Update changes a job's record by compare and swap: it reads, calls change on
// a copy, and writes, again and again until no other writer comes between, so
// that change may be called several times. An error of change ends it and is
// returned, but ErrUnchanged, which leaves the record and returns it as it is.
//
// The state may only move as job.State.CanBecome allows, else a *StateError.
// Revision is raised when anything changed that people may see: anything but
// Published, the lease's end, the time of the progress, and what the repository is
// called.
func (q *Queue) Update(ctx context.Context, id job.ID, change func(*job.Job) error) (job.Job, error) {
	j, _, err := q.update(ctx, id, change)
	return j, err
}

func (q *Queue) update(ctx context.Context, id job.ID, change func(*job.Job) error) (job.Job, uint64, error) {
	for try := 0; ; try++ {
		before, e, err := q.get(ctx, id)
		if err != nil {
			return job.Job{}, 0, err
		}
		after, err := decodeJob(e) // a deep copy
		if err != nil {
			return job.Job{}, 0, err
		}
		if err := change(&after); errors.Is(err, ErrUnchanged) {
			return before, e.Revision(), nil
		} else if err != nil {
			return before, e.Revision(), err
		}
		b, err := nextRecord(before, &after)
		if err != nil {
			return before, e.Revision(), err
		}
		if bytes.Equal(b, e.Value()) {
			return before, e.Revision(), nil
		}
		rev, err := q.jobs.Update(ctx, string(id), b, e.Revision())
		if err == nil {
			return after, rev, nil
		}
		if !errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
			return before, e.Revision(), fmt.Errorf("write job %s: %w", id, storeError(err))
		}
		if err := pause(ctx, rand.N(time.Millisecond<<min(try, 6))); err != nil {
			return before, e.Revision(), fmt.Errorf("write job %s: %w", id, err)
		}
	}
}

// nextRecord checks a change and encodes it, with its revision.
func nextRecord(before job.Job, after *job.Job) ([]byte, error) {
	after.ID, after.Version, after.Revision = before.ID, job.SchemaVersion, before.Revision
	if !before.State.CanBecome(after.State) {
		return nil, &StateError{before.ID, before.State, after.State}
	}
	seen, err := visible(before)
	if err != nil {
		return nil, err
	}
	now, err := visible(*after)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(seen, now) {
		after.Revision++
	}
	b, err := json.Marshal(after)
	if err != nil {
		return nil, fmt.Errorf("write job %s: %w", before.ID, err)
	}
	return b, nil
}

// visible encodes what people may see of a job.
func visible(j job.Job) ([]byte, error) {
	j.Revision, j.Version = 0, 0
	j.Published = job.Published{}
	j.Repository, j.Installation = job.Repository{}, 0 // they lead to what is shown
	j.LeaseEnd = time.Time{}
	j.Progress.At = time.Time{}
	b, err := json.Marshal(j)
	if err != nil {
		return nil, fmt.Errorf("write job %s: %w", j.ID, err)
	}
	return b, nil
}

// Cancel takes a job back: one that waits is cancelled at once, a running one
// keeps its state until its runner, who learns of it with its next beat, has
// stopped. The first cancel of a job stays; one that ended or is being published
// is left as it is.
func (q *Queue) Cancel(ctx context.Context, id job.ID, c job.Cancel) (job.Job, error) {
	return q.Update(ctx, id, func(j *job.Job) error {
		if j.Cancel != nil || j.State.Ended() || j.State == job.Publishing {
			return ErrUnchanged
		}
		j.Cancel = &c
		if j.State == job.Queued {
			j.State, j.Finished = job.Cancelled, q.now()
		}
		return nil
	})
}

// scan calls each with the present entries of a bucket whose keys match.
func (q *Queue) scan(ctx context.Context, kv jetstream.KeyValue, pattern string, each func(jetstream.KeyValueEntry) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w, err := kv.Watch(ctx, pattern, jetstream.IgnoreDeletes())
	if err != nil {
		return fmt.Errorf("read bucket %s: %w", kv.Bucket(), err)
	}
	defer w.Stop()
	for {
		select {
		case e, open := <-w.Updates():
			switch {
			case !open:
				return fmt.Errorf("read bucket %s: the connection is closed", kv.Bucket())
			case e == nil:
				return nil
			}
			if err := each(e); err != nil {
				return err
			}
		case <-ctx.Done():
			return fmt.Errorf("read bucket %s: %w", kv.Bucket(), ctx.Err())
		}
	}
}

// streamRevision is the newest revision of a bucket.
func (q *Queue) streamRevision(ctx context.Context, kv jetstream.KeyValue) (uint64, error) {
	s, err := q.js.Stream(ctx, "KV_"+kv.Bucket())
	if err != nil {
		return 0, fmt.Errorf("read bucket %s: %w", kv.Bucket(), err)
	}
	return s.CachedInfo().State.LastSeq, nil
}

// pause waits, or gives the context's error.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
