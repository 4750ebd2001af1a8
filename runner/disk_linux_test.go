package runner_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/internal/queue"
	"github.com/prbench/prbench/runner"
	"github.com/prbench/prbench/runner/sandbox"
)

// disk is a small disk, of which a test decides when it is full.
type disk struct {
	t   *testing.T
	dir string
}

// onSmallDisk gives the world's runner a work folder on a disk of its own.
func (w *world) onSmallDisk() disk {
	w.t.Helper()
	dir := filepath.Join(room(w.t), "disk")
	if err := os.Mkdir(dir, 0o711); err != nil {
		w.t.Fatal(err)
	}
	if err := syscall.Mount("none", dir, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, "size=16m,mode=711"); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		// A program that another test is just starting may still have its files open.
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			w.t.Errorf("take the small disk away: %v", err)
		}
	})
	w.opts.Work = filepath.Join(dir, "work")
	w.opts.Sandbox = box(w.t, sandbox.Config{KeepFree: 1 << 20})
	return disk{w.t, dir}
}

func (d disk) ballast() string { return filepath.Join(d.dir, "ballast") }

// fill leaves nothing free.
func (d disk) fill() {
	f, err := os.OpenFile(d.ballast(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	for page := make([]byte, os.Getpagesize()); err == nil; {
		_, err = f.Write(page)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		d.t.Errorf("fill the disk: %v", err)
	}
	if err := f.Close(); err != nil {
		d.t.Error(err)
	}
}

func (d disk) clear() {
	if err := os.Remove(d.ballast()); err != nil {
		d.t.Error(err)
	}
}

func TestABuildThatFillsTheDiskIsAFailureThatSaysSo(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		return // only root makes disks
	}
	const fills = "[ ! -e fill ] || dd if=/dev/zero of=big bs=64k || "
	for name, c := range map[string]struct {
		build string
		kind  job.OutcomeKind
		text  string
		tries int
	}{
		"and leaves it full": {fills + "exit 3; ./build.sh", job.Fault, "build the head: the disk of this machine is nearly full", job.MaxTries},
		"and tidies up":      {fills + "{ rm big; exit 3; }; ./build.sh", job.BuildFailed, "exit 3", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil, map[string]string{"fill": "", "value.txt": "200"})
			w.onSmallDisk()
			stop := w.start(w.opts)
			s := spec()
			s.Build.Run = c.build
			j := w.wait(w.create(s).ID, "ends", ended)
			if o := j.Outcome; o.Kind != c.kind || o.Side != job.New || !strings.Contains(o.Text, c.text) || j.Try != c.tries {
				t.Errorf("try %d: %+v", j.Try, o)
			}
			if c.kind == job.BuildFailed && !strings.Contains(j.Outcome.Log, "No space left on device") {
				t.Errorf("the log: %s", j.Outcome.Log)
			}
			w.goesOn(spec())
			stop()
			w.nothingLeft()
		})
	}
}

func TestARunnerWhoseDiskIsFullTakesNoJobUntilThereIsRoom(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		return // only root makes disks
	}
	w := newWorld(t, nil, nil)
	small := w.onSmallDisk()
	w.start(w.opts)
	w.goesOn(spec())
	small.fill()
	id := w.create(spec()).ID
	w.until("the runner says that it cannot work", func() bool {
		return strings.Count(w.log.String(), "this machine cannot run jobs") > 3
	})
	if j, err := w.q.Get(t.Context(), id); err != nil || j.State != job.Queued || len(j.LostTries) != 2 || !strings.Contains(w.log.String(), "none is taken until it can\" error=\"the disk of this machine is nearly full") {
		t.Errorf("the job is %s, lost %q, %v", j.State, j.LostTries, err)
	}
	small.clear()
	if j := w.wait(id, "ends", ended); j.Outcome.Kind != job.Measured || !strings.Contains(w.log.String(), "this machine can run jobs again") {
		t.Errorf("%+v", j.Outcome)
	}
}

// fills is a connection on whose way the disk gets full.
type fills struct {
	runner.Conn
	disk  disk
	mends bool // by the end of the first try
	mu    sync.Mutex
	taken int  // records
	full  bool // fetches find it so
	tries []job.Outcome
}

func (f *fills) Publish(ctx context.Context, id job.ID, try int, r job.Run) error {
	f.mu.Lock()
	if f.taken++; f.taken == 4 {
		f.full = true
		f.disk.fill()
	}
	f.mu.Unlock()
	return f.Conn.Publish(ctx, id, try, r)
}

func (f *fills) Token(ctx context.Context, id job.ID, try int) (queue.Token, error) {
	f.mu.Lock()
	if f.full {
		f.disk.fill()
	}
	f.mu.Unlock()
	return f.Conn.Token(ctx, id, try)
}

func (f *fills) Done(ctx context.Context, id job.ID, try int, o job.Outcome) error {
	f.mu.Lock()
	f.tries = append(f.tries, o)
	if f.full && f.mends {
		f.full = false
		f.disk.clear()
	}
	f.mu.Unlock()
	return f.Conn.Done(ctx, id, try, o)
}

func TestADiskThatIsFullForTheRecordsEndsTheTryAndWhatWasMeasuredIsDelivered(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		return // only root makes disks
	}
	const text = "the disk of this machine is nearly full"
	for name, mends := range map[string]bool{"and stays full": false, "and has room again": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil, nil)
			conn := &fills{Conn: w.conn, disk: w.onSmallDisk(), mends: mends}
			w.opts.Conn, w.opts.Rests = conn, never
			stop := w.start(w.opts)
			s := spec()
			s.Runs = 60
			j := w.wait(w.create(s).ID, "ends", ended)
			conn.mu.Lock()
			first := conn.tries[0]
			conn.mu.Unlock()
			if first.Kind != job.Fault || !strings.Contains(first.Text, text) || !strings.Contains(first.Text, "a record could not be kept") || first.Runs < 4 {
				t.Errorf("the first try: %+v", first)
			}
			j1 := j
			j1.Try = 1
			if n := len(w.runs(j1)); n != first.Runs {
				t.Errorf("%d records of the first try are there, it counts %d", n, first.Runs)
			}
			if len(j.LostTries) == 0 || !strings.Contains(j.LostTries[0], text) {
				t.Errorf("lost tries: %q", j.LostTries)
			}
			if mends {
				if j.Outcome.Kind != job.Measured || j.Try != 2 {
					t.Errorf("try %d: %+v", j.Try, j.Outcome)
				}
				w.inPairs(j, 60)
			} else {
				if j.Outcome.Kind != job.Fault || j.Try != job.MaxTries || !strings.Contains(j.Outcome.Text, text) {
					t.Errorf("try %d: %+v", j.Try, j.Outcome)
				}
				conn.mu.Lock()
				conn.full = false
				conn.disk.clear()
				conn.mu.Unlock()
			}
			w.goesOn(spec())
			stop()
			w.nothingLeft()
		})
	}
}
