package queue

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/prbench/prbench/internal/job"
)

// acceptKey names a benchmark by a hash: its own name may hold anything.
func acceptKey(repoID int64, benchmark string) string {
	return fmt.Sprintf("%d.%x", repoID, sha256.Sum256([]byte(benchmark)))
}

// Accept keeps that a regression was accepted. What was accepted of the same
// benchmark before is replaced, unless it was accepted later: an event may come
// again after a newer one.
func (q *Queue) Accept(ctx context.Context, a job.Accepted) error {
	if a.Repository <= 0 || a.Benchmark == "" || a.At.IsZero() || !(a.Worst < 0) || math.IsInf(a.Worst, 0) {
		return fmt.Errorf("accept a regression: want a repository's id, a benchmark, a time and a negative fraction, got %d, %q, %v and %v",
			a.Repository, a.Benchmark, a.At, a.Worst)
	}
	a.At = a.At.UTC().Round(0)
	key := acceptKey(a.Repository, a.Benchmark)
	value, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("accept a regression: %w", err)
	}
	for ctx.Err() == nil {
		e, err := q.accepts.Get(ctx, key)
		switch {
		case errors.Is(err, jetstream.ErrKeyNotFound):
			_, err = q.accepts.Create(ctx, key, value)
		case err == nil:
			var kept job.Accepted
			if json.Unmarshal(e.Value(), &kept) == nil && (kept == a || kept.At.After(a.At)) {
				return nil
			}
			_, err = q.accepts.Update(ctx, key, value, e.Revision())
		}
		switch {
		case err == nil:
			return nil
		case errors.Is(err, jetstream.ErrKeyExists), errors.Is(err, jetstream.ErrKeyRevisionMismatch):
			continue // somebody else accepted one meanwhile
		default:
			return fmt.Errorf("accept a regression of %q: %w", a.Benchmark, storeError(err))
		}
	}
	return fmt.Errorf("accept a regression of %q: %w", a.Benchmark, ctx.Err())
}

// Accepts are the regressions that are accepted in a repository now, oldest
// first. Those whose time is over are left out.
func (q *Queue) Accepts(ctx context.Context, repoID int64) ([]job.Accepted, error) {
	latest, now := map[string]job.Accepted{}, q.now()
	err := q.scan(ctx, q.accepts, fmt.Sprintf("%d.*", repoID), func(e jetstream.KeyValueEntry) error {
		var a job.Accepted
		if err := json.Unmarshal(e.Value(), &a); err != nil {
			return fmt.Errorf("read the accepted regression %s: %w", e.Key(), err)
		}
		latest[e.Key()] = a
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list the accepted regressions of repository %d: %w", repoID, err)
	}
	var all []job.Accepted
	for _, a := range latest {
		if a.Until.IsZero() || now.Before(a.Until) {
			all = append(all, a)
		}
	}
	slices.SortFunc(all, func(a, b job.Accepted) int {
		if c := a.At.Compare(b.At); c != 0 {
			return c
		}
		if a.Benchmark < b.Benchmark {
			return -1
		}
		return 1
	})
	return all, nil
}
