// Package queuetest gives the tests of other stages a runner of a real store.
package queuetest

import (
	"context"
	"testing"
	"time"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/internal/queue"
)

// Runner serves the store's runners until the test ends, with clone tokens that are
// empty, and gives the connection of one that is enrolled as box in the pool
// default. The store must listen, and hold no job that waits; it is answered
// when Runner returns.
func Runner(t *testing.T, store *queue.Queue) *queue.RunnerConn {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- store.ServeRunners(ctx, queue.Desk{
			Token:  func(context.Context, job.Job) (queue.Token, error) { return queue.Token{}, nil },
			Revoke: func(context.Context, queue.Token) error { return nil },
		})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("serve runners: %v", err)
		}
	})
	seed, public, err := queue.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Enroll(t.Context(), "box", "default", public); err != nil {
		t.Fatal(err)
	}
	runner, err := queue.Dial(t.Context(), store.RunnerURL(), seed, queue.DialOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(runner.Close)
	// Nobody may answer yet; the limit is against hanging.
	for limit := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		l, err := runner.Claim(t.Context(), queue.ClaimRequest{Wait: time.Millisecond})
		switch {
		case l != nil:
			t.Fatalf("the store has a job that waits: %s", l.Job.ID)
		case err == nil:
			return runner
		case time.Now().After(limit):
			t.Fatalf("nobody answers the runner: %v", err)
		}
	}
}
