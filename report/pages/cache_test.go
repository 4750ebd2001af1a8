package pages

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report/publish"
)

func TestManyReadersOfOnePageHaveItRenderedOnce(t *testing.T) {
	t.Parallel()
	c := newCache(1000, 2)
	var made atomic.Int64
	gate := make(chan struct{})
	var wait sync.WaitGroup
	for range 20 {
		wait.Go(func() {
			body, err := c.get(t.Context(), "k", func() ([]byte, error) {
				<-gate
				made.Add(1)
				return []byte("x"), nil
			})
			if err != nil || string(body) != "x" {
				t.Errorf("%q, %v", body, err)
			}
		})
	}
	close(gate)
	wait.Wait()
	if n := made.Load(); n != 1 {
		t.Errorf("rendered %d times", n)
	}
}

func TestTheCacheStaysWithinItsRoomAndDropsWhatNobodyReads(t *testing.T) {
	t.Parallel()
	c := newCache(100, 1)
	get := func(key string, size int) (fresh bool) {
		_, err := c.get(t.Context(), key, func() ([]byte, error) { fresh = true; return bytes.Repeat([]byte("x"), size), nil })
		if err != nil {
			t.Fatal(err)
		}
		return fresh
	}
	for i := range 50 {
		get(fmt.Sprint(i), 30)
		get("read always", 10)
		if c.used > 100 || len(c.kept) != len(c.recent) {
			t.Fatalf("%d bytes of %d texts, %d keys", c.used, len(c.kept), len(c.recent))
		}
	}
	if get("read always", 10) || !get("0", 30) {
		t.Error("what was read is gone, or what was not is there")
	}
	for range 2 {
		if !get("huge", 60) {
			t.Error("one text takes more than half of the room")
		}
	}
}

func TestAFailureIsNotKeptAndAReaderMayLeave(t *testing.T) {
	t.Parallel()
	c := newCache(100, 1)
	boom := errors.New("boom")
	if _, err := c.get(t.Context(), "k", func() ([]byte, error) { return nil, boom }); !errors.Is(err, boom) {
		t.Errorf("%v", err)
	}
	began, gate := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	go func() {
		_, err := c.get(context.Background(), "k", func() ([]byte, error) { close(began); <-gate; return []byte("y"), nil })
		done <- err
	}()
	<-began
	gone, leave := context.WithCancel(t.Context())
	leave()
	for _, key := range []string{"k", "another that waits for its turn"} {
		if _, err := c.get(gone, key, func() ([]byte, error) { return nil, boom }); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", key, err)
		}
	}
	close(gate)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// breaking is a store that loses its samples in the middle.
type breaking struct {
	Store
	after int
}

func (b breaking) Runs(ctx context.Context, runner string, id job.ID, try int) iter.Seq2[job.Run, error] {
	return func(yield func(job.Run, error) bool) {
		n := 0
		for r, err := range b.Store.Runs(ctx, runner, id, try) {
			if n++; n > b.after {
				yield(job.Run{}, errors.New("the store is gone"))
				return
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

func TestHalfADownloadDoesNotLookLikeAWholeOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldSpec{})
	j := w.measured()
	w.pages.Store = breaking{w.store, 3}
	resp, err := w.browser().Get(w.pages.URL(j) + "/samples.csv")
	if err == nil { // the answer may have begun
		_, err = io.ReadAll(resp.Body)
		w.ok(resp.Body.Close())
	}
	if err == nil {
		t.Error("half of the samples came as a whole answer")
	}
}

func TestSoManyDownloadsAtOnceAndNoMore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldSpec{})
	j := w.measured()
	for range streamsAtOnce {
		w.pages.streams <- struct{}{}
	}
	if p := w.browser().open(w.pages.URL(j) + "/samples.csv"); p.status != http.StatusServiceUnavailable || p.header.Get("Retry-After") == "" || p.header.Get("Content-Disposition") != "" {
		t.Errorf("one more: %d %v", p.status, p.header)
	}
	<-w.pages.streams
	if p := w.browser().open(w.pages.URL(j) + "/samples.csv"); p.status != http.StatusOK {
		t.Errorf("when one has ended: %d", p.status)
	}
	if len(w.pages.streams) != streamsAtOnce-1 {
		t.Errorf("%d streams are still counted", len(w.pages.streams))
	}
}

func TestAStoreThatDoesNotAnswerIsNoLeak(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldSpec{})
	j := w.measured()
	w.pages.Store = breaking{w.store, 0}
	w.publish.Store = unreadable{w.store}
	p := w.browser().open(w.pages.URL(j))
	if p.status != http.StatusServiceUnavailable {
		t.Errorf("%d", p.status)
	}
	p.hides(t, "secret detail", "the store is gone")
	w.publish.Store = w.store
	if p := w.browser().open(w.pages.URL(j)); p.status != http.StatusOK {
		t.Errorf("when it is there again: %d", p.status)
	}
}

// unreadable is a store that says too much when it fails.
type unreadable struct{ publish.Store }

func (unreadable) List(context.Context, int64, int) ([]job.Job, error) {
	return nil, errors.New("secret detail")
}
