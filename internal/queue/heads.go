package queue

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

var shaPattern = regexp.MustCompile(`^[0-9a-f]{40}([0-9a-f]{24})?$`)

func headKey(repoID int64, pr int, sha string) (string, error) {
	if repoID <= 0 || pr <= 0 || !shaPattern.MatchString(sha) {
		return "", fmt.Errorf("want a repository's id, a pull request and a commit of 40 or 64 hex digits, got %d, %d and %q", repoID, pr, sha)
	}
	return fmt.Sprintf("%d.%d.%s", repoID, pr, sha), nil
}

// FirstSeen notes that the commit was the head of the pull request at time t.
// The earliest time that was ever noted stays. The note is of this pull request
// alone: a commit shown on another one has not been seen here.
func (q *Queue) FirstSeen(ctx context.Context, repoID int64, pr int, sha string, t time.Time) error {
	key, err := headKey(repoID, pr, sha)
	if err != nil {
		return fmt.Errorf("note a head: %w", err)
	}
	value := []byte(t.UTC().Format(time.RFC3339Nano))
	for ctx.Err() == nil {
		e, err := q.heads.Get(ctx, key)
		switch {
		case errors.Is(err, jetstream.ErrKeyNotFound):
			_, err = q.heads.Create(ctx, key, value)
		case err == nil:
			if seen, perr := time.Parse(time.RFC3339Nano, string(e.Value())); perr == nil && !t.Before(seen) {
				return nil
			}
			_, err = q.heads.Update(ctx, key, value, e.Revision())
		}
		switch {
		case err == nil:
			return nil
		case errors.Is(err, jetstream.ErrKeyExists), errors.Is(err, jetstream.ErrKeyRevisionMismatch):
			continue // somebody else noted it meanwhile
		default:
			return fmt.Errorf("note head %s: %w", key, storeError(err))
		}
	}
	return fmt.Errorf("note head %s: %w", key, ctx.Err())
}

// Seen tells when the commit was first seen as the head of the pull request;
// ok is false when it never was.
func (q *Queue) Seen(ctx context.Context, repoID int64, pr int, sha string) (t time.Time, ok bool, err error) {
	key, err := headKey(repoID, pr, sha)
	if err != nil {
		return time.Time{}, false, fmt.Errorf("look a head up: %w", err)
	}
	e, err := q.heads.Get(ctx, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return time.Time{}, false, nil
	}
	if err != nil {
		return time.Time{}, false, fmt.Errorf("look head %s up: %w", key, err)
	}
	if t, err = time.Parse(time.RFC3339Nano, string(e.Value())); err != nil {
		return time.Time{}, false, fmt.Errorf("look head %s up: %w", key, err)
	}
	return t, true, nil
}
