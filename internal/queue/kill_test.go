package queue

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/prbench/prbench/internal/job"
)

// killedDir is set in the test's own binary when it runs as the process to be
// killed.
const killedDir = "PRBENCH_TEST_KILLED_DIR"

// childOfAKill keeps things, says so, and waits for its end.
func childOfAKill() {
	dir := os.Getenv(killedDir)
	if dir == "" {
		return
	}
	ctx := context.Background()
	q, err := Open(ctx, Options{Dir: dir, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err == nil {
		_, err = q.PublishEvent(ctx, event("acknowledged"))
	}
	if err == nil {
		_, _, err = q.Create(ctx, wish(1, 1, "k"))
	}
	if err == nil {
		go func() {
			err := q.Lead(ctx, "publisher", func(ctx context.Context) error {
				fmt.Println("kept")
				<-ctx.Done()
				return nil
			})
			fmt.Println("the lead ended", err)
		}()
		select {}
	}
	fmt.Println(err)
	os.Exit(1)
}

func TestWhatWasAcknowledgedSurvivesAKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(self)
	child.Env = append(os.Environ(), killedDir+"="+dir)
	child.Stderr = t.Output()
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if strings.TrimSpace(line) != "kept" {
		t.Errorf("the child says %q, %v", line, err)
	}
	if _, err := Open(t.Context(), Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), ErrInUse.Error()) {
		t.Errorf("the store is open in another process, and opens here: %v", err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, out)
	_ = child.Wait() // it was killed

	q := open(t, func(o *Options) { o.Dir = dir })
	if dup, err := q.PublishEvent(t.Context(), event("acknowledged")); err != nil || !dup {
		t.Errorf("the delivery again: duplicate %v, %v", dup, err)
	}
	var got seen
	consume(t, q, func(_ context.Context, ev job.Event) error { got.add(ev.Delivery); return nil })
	eventually(t, "the event comes", func() bool { return len(got.all()) > 0 })
	if j := get(t, q, "1.1.1"); j.State != job.Queued {
		t.Errorf("the job is %s", j.State)
	}
	// The dead leader is not waited for.
	if e, err := q.leases.Get(t.Context(), "publisher"); !errors.Is(err, jetstream.ErrKeyNotFound) {
		t.Errorf("its lease is still there: %v, %v", e, err)
	}
	if err := q.Lead(t.Context(), "publisher", func(context.Context) error { return nil }); err != nil {
		t.Error(err)
	}
}
