package queue

import (
	"context"
	"encoding/json"
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

// Head is what was last told of a pull request's head.
type Head struct {
	SHA string `json:"sha"`
	// Since is when the commit last became the head. A commit that was pushed
	// before, and comes back, begins anew.
	Since time.Time `json:"since"`
}

// BecameHead notes that the commit became the head of the pull request at time
// t, which is a sight of it too. A note that is older than the one kept does not
// replace it: Head in the answer is the newest note after this one.
func (q *Queue) BecameHead(ctx context.Context, repoID int64, pr int, sha string, t time.Time) (Head, error) {
	if err := q.FirstSeen(ctx, repoID, pr, sha, t); err != nil {
		return Head{}, err
	}
	key := pullKey(repoID, pr)
	note := Head{SHA: sha, Since: t.UTC().Round(0)}
	value, err := json.Marshal(note)
	if err != nil {
		return Head{}, fmt.Errorf("note the head of %s: %w", key, err)
	}
	for ctx.Err() == nil {
		e, err := q.heads.Get(ctx, key)
		switch {
		case errors.Is(err, jetstream.ErrKeyNotFound):
			_, err = q.heads.Create(ctx, key, value)
		case err == nil:
			var kept Head
			if json.Unmarshal(e.Value(), &kept) == nil && (note.Since.Before(kept.Since) || note == kept) {
				return kept, nil
			}
			_, err = q.heads.Update(ctx, key, value, e.Revision())
		}
		switch {
		case err == nil:
			return note, nil
		case errors.Is(err, jetstream.ErrKeyExists), errors.Is(err, jetstream.ErrKeyRevisionMismatch):
			continue // somebody else noted one meanwhile
		default:
			return Head{}, fmt.Errorf("note the head of %s: %w", key, storeError(err))
		}
	}
	return Head{}, fmt.Errorf("note the head of %s: %w", key, ctx.Err())
}

// Head gives the newest note of the pull request's head; ok is false when there
// is none.
func (q *Queue) Head(ctx context.Context, repoID int64, pr int) (h Head, ok bool, err error) {
	key := pullKey(repoID, pr)
	e, err := q.heads.Get(ctx, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return Head{}, false, nil
	}
	if err == nil {
		err = json.Unmarshal(e.Value(), &h)
	}
	if err != nil {
		return Head{}, false, fmt.Errorf("look the head of %s up: %w", key, err)
	}
	return h, true, nil
}

// pullKey is the key of a pull request's newest head; a commit's is longer.
func pullKey(repoID int64, pr int) string { return fmt.Sprintf("%d.%d", repoID, pr) }
