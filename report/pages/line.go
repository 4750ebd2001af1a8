package pages

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/internal/queue"
)

// line is this server's picture of who waits for what.
type line struct {
	mu       sync.Mutex
	line     *queue.Line
	caughtUp bool
}

func newLine() *line { return &line{line: queue.NewLine()} }

func (l *line) follow(ctx context.Context, store Store) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	changes, err := store.Watch(ctx)
	if err != nil {
		if errors.Is(err, context.Canceled) {
			return nil
		}
		return fmt.Errorf("pages: watch the jobs: %w", err)
	}
	for c := range changes {
		l.mu.Lock()
		if c.CaughtUp {
			l.caughtUp = true
		} else {
			l.line.Put(c.Job)
		}
		l.mu.Unlock()
	}
	return nil
}

// place says where a waiting job stands; "" where that is not known yet.
func (l *line) place(j job.Job, limits queue.Limits) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at, ok := l.line.Place(j.ID, limits); ok && l.caughtUp {
		return at.String()
	}
	return ""
}
