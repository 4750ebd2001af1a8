package runner_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/internal/queue"
	"github.com/prbench/prbench/runner"
)

func TestAJobIsClaimedFetchedBuiltMeasuredAndDelivered(t *testing.T) {
	w := newWorld(t, nil, nil)
	stop := w.start(w.opts)
	j := w.wait(w.create(spec()).ID, "ends", ended)
	o := j.Outcome
	if o.Kind != job.Measured || o.Runs != 4 || o.Host.Name != "bench-1" || j.Try != 1 {
		t.Errorf("%+v", o)
	}
	runs := w.runs(j)
	if len(runs) != 4 || values(runs, job.Old) != "bench/a.js n=1=100" || values(runs, job.New) != "bench/a.js n=1=200" {
		t.Errorf("runs: %+v", runs)
	}
	w.mu.Lock()
	if len(w.revoked) != 1 || w.revoked[0] != w.token {
		t.Errorf("%d tokens were revoked", len(w.revoked))
	}
	w.mu.Unlock()
	stop()
	if strings.Contains(w.log.String(), w.token) {
		t.Error("the log shows the credential")
	}
	w.nothingLeft()
}

// nothingLeft looks for folders of jobs, and for the credential in every file.
func (w *world) nothingLeft() {
	w.t.Helper()
	left, err := os.ReadDir(filepath.Join(w.opts.Work, "jobs"))
	if err != nil || len(left) != 0 {
		w.t.Errorf("left in the folder of jobs: %v, %v", left, err)
	}
	err = filepath.WalkDir(w.opts.Work, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(w.token)) {
			w.t.Errorf("%s holds the credential", path)
		}
		return err
	})
	if err != nil {
		w.t.Error(err)
	}
}

func TestASecondJobFollowsAFailedOne(t *testing.T) {
	w := newWorld(t, nil, nil)
	w.start(w.opts)
	head := w.head
	w.head = strings.Repeat("0123", 10)
	gone := w.wait(w.create(spec()).ID, "ends", ended)
	if gone.Outcome.Kind != job.CheckoutFailed || gone.Outcome.Side != job.New || !strings.Contains(gone.Outcome.Text, w.head) {
		t.Errorf("%+v", gone.Outcome)
	}
	w.head = head
	s := spec()
	s.Build.Run = "echo no compiler here; exit 7"
	bad := w.wait(w.create(s).ID, "ends", ended)
	if bad.Outcome.Kind != job.BuildFailed || bad.Outcome.Side != job.Old || !strings.Contains(bad.Outcome.Log, "no compiler here") {
		t.Errorf("%+v", bad.Outcome)
	}
	s = spec()
	s.Filter = "nowhere"
	if none := w.wait(w.create(s).ID, "ends", ended); none.Outcome.Kind != job.NothingMeasured {
		t.Errorf("%+v", none.Outcome)
	}
	if good := w.wait(w.create(spec()).ID, "ends", ended); good.Outcome.Kind != job.Measured {
		t.Errorf("%+v", good.Outcome)
	}
}

// slow is a spec whose job measures for ever.
func slow() job.Spec {
	s := spec()
	s.Runs = job.MaxRuns
	return s
}

func measuring(j job.Job) bool {
	return j.State == job.Running && j.Progress.Phase == job.PhaseMeasure && j.Progress.Done > 2
}

func TestACancelledJobStopsAndKeepsWhatItMeasured(t *testing.T) {
	w := newWorld(t, nil, nil)
	w.start(w.opts)
	j := w.create(slow())
	w.wait(j.ID, "measures", measuring)
	if _, err := w.q.Cancel(t.Context(), j.ID, job.Cancel{By: "ann", Reason: "changed my mind"}); err != nil {
		t.Fatal(err)
	}
	j = w.wait(j.ID, "ends", func(j job.Job) bool { return j.Outcome != nil })
	if j.Outcome.Kind != job.Stopped || !strings.Contains(j.Outcome.Text, "cancelled by ann") || j.Outcome.Runs < 3 {
		t.Errorf("%+v", j.Outcome)
	}
	if n := len(w.runs(j)); n != j.Outcome.Runs {
		t.Errorf("%d runs are in the stream, the outcome counts %d", n, j.Outcome.Runs)
	}
}

func TestARunnerWhoseLeaseIsLostThrowsItsWorkAwayAndGoesOn(t *testing.T) {
	w := newWorld(t, nil, nil)
	w.start(w.opts)
	j := w.create(slow())
	w.wait(j.ID, "measures", measuring)
	first := w.wait(j.ID, "measures", measuring)
	// Serve gives the job up, as it does when a lease has run out.
	_, err := w.q.Update(t.Context(), j.ID, func(j *job.Job) error {
		j.State, j.LeaseEnd, j.Outcome = job.Publishing, time.Time{}, &job.Outcome{Kind: job.Fault, Text: "given up"}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	next := w.wait(w.create(spec()).ID, "ends", ended)
	if next.Outcome.Kind != job.Measured {
		t.Errorf("%+v", next.Outcome)
	}
	j = w.wait(first.ID, "ends", ended)
	if j.Outcome.Text != "given up" {
		t.Errorf("the lost try has changed the record: %+v", j.Outcome)
	}
}

func TestRecordsWaitWhileServeIsAway(t *testing.T) {
	w := newWorld(t, nil, nil)
	w.start(w.opts)
	s := spec()
	s.Runs = 20
	j := w.create(s)
	w.wait(j.ID, "measures", measuring)
	w.stopDesk() // nobody answers any more
	for !strings.Contains(w.log.String(), "level=WARN msg=beat") {
		time.Sleep(10 * time.Millisecond)
	}
	w.serve()
	j = w.wait(j.ID, "ends", ended)
	if j.Outcome.Kind != job.Measured || len(w.runs(j)) != 40 || j.Try != 1 {
		t.Errorf("%+v, %d runs", j.Outcome, len(w.runs(j)))
	}
}

func TestTwoRunnersOfOneMachineTakeTurns(t *testing.T) {
	w := newWorld(t, map[string]string{"build.sh": "#!/bin/sh\nprintf '#!/bin/sh\\nsleep 0.05; echo \"$1 n=1: 1\"\\n' > run; chmod +x run\n"}, map[string]string{})
	_, other := w.enroll("r2")
	second := w.opts
	second.Conn, second.Work, second.Name = other, w.opts.Work+"2", "bench-2"
	w.start(w.opts)
	w.start(second)
	var ids []job.ID
	for range 3 {
		ids = append(ids, w.create(spec()).ID)
	}
	for {
		done, running := 0, 0
		for _, id := range ids {
			switch j, err := w.q.Get(t.Context(), id); {
			case err != nil:
				t.Fatal(err)
			case j.State == job.Running:
				running++
			case ended(j):
				done++
			}
		}
		if running > 1 {
			t.Fatal("two jobs ran on one machine at once")
		}
		if done == len(ids) {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func TestOneWorkFolderServesOneRunner(t *testing.T) {
	w := newWorld(t, nil, nil)
	left := filepath.Join(w.opts.Work, "jobs", "1.2.3-1")
	if err := os.MkdirAll(filepath.Join(left, "old", "locked"), 0o755); err != nil {
		t.Fatal(err)
	}
	w.start(w.opts)
	w.wait(w.create(spec()).ID, "ends", ended)
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("what an earlier runner has left is there: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := runner.Run(ctx, w.opts); !errors.Is(err, runner.ErrWorkInUse) {
		t.Errorf("a second runner: %v", err)
	}
}

// refused is a connection that serve no longer answers jobs to.
type refused struct{ runner.Conn }

func (refused) Claim(context.Context, queue.ClaimRequest) (*queue.Lease, error) {
	return nil, fmt.Errorf("claim a job: %w", queue.ErrRefused)
}

func TestARevokedRunnerEnds(t *testing.T) {
	w := newWorld(t, nil, nil)
	w.opts.Conn = refused{w.conn}
	if err := runner.Run(t.Context(), w.opts); !errors.Is(err, queue.ErrRefused) {
		t.Errorf("got %v", err)
	}
}

func TestABaseIsBuiltOnceAndNoPullRequestsCacheReachesABase(t *testing.T) {
	// The benchmark prints when it was built, and who had left something in the
	// build's cache.
	build := `#!/bin/sh
set -e
from=$(cat "$XDG_CACHE_HOME/mark" 2>/dev/null || echo 0)
cat who > "$XDG_CACHE_HOME/mark"
mkdir -p "$XDG_CACHE_HOME/locked/in" && chmod -R 555 "$XDG_CACHE_HOME/locked" || true
printf '#!/bin/sh\necho "$1 from=%s: %s"\n' "$from" "1$(date +%N)" > run
chmod +x run
`
	w := newWorld(t, map[string]string{"build.sh": build, "who": "1"}, map[string]string{"who": "2"})
	w.start(w.opts)
	measured := func() (old, new string) {
		j := w.wait(w.create(spec()).ID, "ends", ended)
		if j.Outcome.Kind != job.Measured {
			t.Fatalf("%+v", j.Outcome)
		}
		runs := w.runs(j)
		return values(runs, job.Old), values(runs, job.New)
	}
	old1, new1 := measured()
	old2, new2 := measured()
	if !strings.Contains(old1, "from=0") || !strings.Contains(new1, "from=1") {
		t.Errorf("the first job: old %q, new %q", old1, new1)
	}
	if old2 != old1 {
		t.Errorf("the base was built again: %q, then %q", old1, old2)
	}
	if new2 == new1 || !strings.Contains(new2, "from=1") {
		t.Errorf("the head's build was kept, or its cache: %q, then %q", new1, new2)
	}
	// Another base of the repository begins with the last base's cache, and never
	// with one that a head has written.
	w.base, w.head = w.head, w.base
	if old3, _ := measured(); !strings.Contains(old3, "from=1") {
		t.Errorf("another base: %q", old3)
	}
}
