package queue

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/prbench/prbench/internal/job"
)

// Change is what Watch tells: a job's record, or that all present ones have been
// told.
type Change struct {
	Job      job.Job
	CaughtUp bool // then Job is empty

	revision uint64
}

// Watch tells the present records of all jobs, then once a Change with CaughtUp,
// then each change. A record that changes fast may be told in its newest state
// only. The channel is closed when ctx is done; a receiver that leaves before
// must end ctx. Records that cannot be read are logged and passed over.
func (q *Queue) Watch(ctx context.Context) (<-chan Change, error) {
	w, err := q.jobs.WatchAll(ctx)
	if err != nil {
		return nil, fmt.Errorf("watch the jobs: %w", err)
	}
	out := make(chan Change)
	go func() {
		defer close(out)
		defer w.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case e, open := <-w.Updates():
				if !open {
					return
				}
				c, ok := q.change(e)
				if !ok {
					continue
				}
				select {
				case out <- c:
				case <-ctx.Done():
					return
				}
			}
		}
	}()
	return out, nil
}

func (q *Queue) change(e jetstream.KeyValueEntry) (Change, bool) {
	if e == nil {
		return Change{CaughtUp: true}, true
	}
	if e.Operation() != jetstream.KeyValuePut {
		return Change{}, false
	}
	j, err := decodeJob(e)
	if err != nil {
		q.log.Error("a job's record cannot be read", "error", err)
		return Change{}, false
	}
	return Change{Job: j, revision: e.Revision()}, true
}
