package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/prbench/prbench/internal/config"
	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/internal/queue"
	"github.com/prbench/prbench/runner/sandbox"
	"github.com/prbench/prbench/runner/source"
)

// Conn is a runner's connection to serve. *queue.RunnerConn is the real one and
// documents the methods.
type Conn interface {
	Claim(ctx context.Context, r queue.ClaimRequest) (*queue.Lease, error)
	Beat(ctx context.Context, id job.ID, try int, p job.Progress) (queue.BeatAnswer, error)
	Token(ctx context.Context, id job.ID, try int) (queue.Token, error)
	Fetched(ctx context.Context, id job.ID, try int) error
	Publish(ctx context.Context, id job.ID, try int, r job.Run) error
	Done(ctx context.Context, id job.ID, try int, o job.Outcome) error
	Calibrated(ctx context.Context, c job.Calibration) error
}

// Options say how a runner works.
type Options struct {
	Conn    Conn
	Name    string // of this machine, as reports show it
	Work    string // a folder of the runner's own
	Sandbox *sandbox.Sandbox
	Logger  *slog.Logger
	// HostLock is a file that stands for this machine: whoever holds its lock may
	// measure. Empty: one place for all runners of the machine.
	HostLock string
	// BeatEvery is how often serve is told that a job is alive; zero:
	// queue.BeatEvery.
	BeatEvery time.Duration
	// Host, where set, is the only forge that sources are fetched from.
	Host string
	// AllowHTTP lets a forge on the loopback be fetched from without TLS.
	AllowHTTP bool
	// Sources bound what a repository may cost this machine before anything of it
	// runs.
	Sources source.Limits
	// MirrorLimit bounds the kept mirrors, in bytes; zero: DefaultMirrorLimit.
	MirrorLimit int64
	// CacheLimit bounds the built bases that are kept, in bytes; zero:
	// DefaultCacheLimit, negative: none are kept.
	CacheLimit int64
	// LookGrace is how long a runner that is told to stop goes on with the look
	// that it measures for; zero: DefaultLookGrace.
	LookGrace time.Duration
	// StopGrace is how long it then waits for serve to take its job back; zero:
	// DefaultStopGrace.
	StopGrace time.Duration
	// FetchPauses are how long a fetch that failed, for want of a token or by the
	// forge's or the network's fault, waits before it is tried again; nil:
	// DefaultFetchPauses, empty: it is not.
	FetchPauses []time.Duration
	// Rests are how long this runner takes no job after tries in a row that failed:
	// the first after faultsInARow of them, the next after one more, the last one
	// from then on; nil: DefaultRests, empty: it does not rest.
	Rests []time.Duration
	// Tools are the places of the host that the sandbox exposes; when something in
	// them changes, bases are built anew.
	Tools []string
	// CalibrateEvery is after how long this machine, when it has nothing to do, is
	// measured against itself; zero: never.
	CalibrateEvery time.Duration
}

// DefaultMirrorLimit is how much the mirrors of all repositories may take.
const DefaultMirrorLimit = config.DefaultMirrors

// DefaultCacheLimit is how much the built bases of all repositories may take.
const DefaultCacheLimit = config.DefaultBases

// DefaultLookGrace is how long a runner that is told to stop measures on.
const DefaultLookGrace = time.Minute

// DefaultStopGrace is how long a runner that is told to stop then waits for serve
// to take its job back.
const DefaultStopGrace = 20 * time.Second

// ErrWorkInUse is a work folder that another runner has.
var ErrWorkInUse = errors.New("another runner has this work folder")

type service struct {
	Options
	jobs, mirrors string
	bases         *baseCache

	builds         buildTimes
	last           *measuredBefore // for a calibration; nil: nothing is there
	calibrateAfter time.Time
	told           time.Time // the time of the calibration that serve knows
	leftOut        string    // why the kept calibration was left out; "": it was not
	faults         int       // of tries, in a row
	tired          bool      // the last of them is one too many
}

// Run takes jobs from serve, one at a time, until ctx ends; then it finishes the
// look that it measures for, as far as LookGrace allows, gives the job back and
// returns nil. It returns an error where going on makes no
// sense: serve does not know this runner's key or speaks another protocol, or
// the work folder cannot be used.
func Run(ctx context.Context, o Options) (err error) {
	s, err := newService(o)
	if err != nil {
		return err
	}
	lock, err := tryLock(filepath.Join(s.Work, "lock"))
	if err != nil {
		return fmt.Errorf("use the work folder: %w", err)
	}
	if lock == nil {
		return fmt.Errorf("%w: %s", ErrWorkInUse, s.Work)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := s.tidy(); err != nil {
		return err
	}
	for ctx.Err() == nil {
		if err := s.turn(ctx); err != nil {
			if errors.Is(err, queue.ErrRefused) || errors.Is(err, queue.ErrVersion) {
				return err
			}
			if ctx.Err() == nil {
				s.Logger.Warn("no job", "error", err)
				sleep(ctx, time.Second)
			}
		}
	}
	return nil
}

func newService(o Options) (*service, error) {
	if o.Conn == nil || o.Sandbox == nil || o.Work == "" {
		return nil, errors.New("run a runner: want a connection, a sandbox and a work folder")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.BeatEvery <= 0 {
		o.BeatEvery = queue.BeatEvery
	}
	if o.MirrorLimit <= 0 {
		o.MirrorLimit = DefaultMirrorLimit
	}
	if o.CacheLimit == 0 {
		o.CacheLimit = DefaultCacheLimit
	}
	if o.LookGrace <= 0 {
		o.LookGrace = DefaultLookGrace
	}
	if o.StopGrace <= 0 {
		o.StopGrace = DefaultStopGrace
	}
	if o.FetchPauses == nil {
		o.FetchPauses = DefaultFetchPauses()
	}
	if o.Rests == nil {
		o.Rests = DefaultRests()
	}
	if o.HostLock == "" {
		o.HostLock = defaultHostLock()
	}
	work, err := filepath.Abs(o.Work)
	if err != nil {
		return nil, fmt.Errorf("find the work folder: %w", err)
	}
	o.Work = work
	s := &service{Options: o, builds: buildTimes{}, jobs: filepath.Join(work, "jobs"), mirrors: filepath.Join(work, "mirrors"),
		bases: &baseCache{dir: filepath.Join(work, "bases"), limit: o.CacheLimit, tools: o.Tools}}
	// The sandbox's user passes through to a job's trees, and sees no mirror.
	for dir, mode := range map[string]os.FileMode{work: 0o711, s.jobs: 0o711, s.mirrors: 0o700, s.bases.dir: 0o700} {
		if err := os.MkdirAll(dir, mode); err != nil {
			return nil, fmt.Errorf("make the work folder: %w", err)
		}
		if err := os.Chmod(dir, mode); err != nil {
			return nil, fmt.Errorf("make the work folder: %w", err)
		}
	}
	return s, nil
}

// defaultHostLock is outside of any service's private folders where possible.
func defaultHostLock() string {
	dir := "/run/lock"
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "prbench-runner.lock")
}

// tidy removes what a runner that was killed has left, and old mirrors.
func (s *service) tidy() error {
	if err := s.Sandbox.EndLeftovers(); err != nil {
		return err
	}
	if err := s.forget(time.Now()); err != nil {
		return err
	}
	s.last = s.findLast()
	if err := s.bases.shrink(max(s.CacheLimit, 0)); err != nil {
		return err
	}
	return source.Prune(s.mirrors, s.MirrorLimit)
}

// turn waits for the machine, asks for a job and does it.
func (s *service) turn(ctx context.Context) (err error) {
	s.rest(ctx)
	if ctx.Err() != nil {
		return nil
	}
	lock, err := s.machine(ctx)
	if err != nil {
		return err
	}
	s.tellCalibration(ctx)
	lease, err := s.Conn.Claim(ctx, queue.ClaimRequest{Host: hostFacts(hostRoot, s.Name, s.Sandbox.Facts())})
	if err == nil && lease == nil && s.calibrationDue(time.Now()) {
		lease, err = s.calibrateUntilClaimed(ctx)
	}
	if err == nil && lease != nil {
		s.do(ctx, *lease)
	}
	if closeErr := lock.Close(); closeErr != nil {
		err = errors.Join(err, fmt.Errorf("give the machine back: %w", closeErr))
	}
	// Another runner of this machine gets its chance.
	sleep(ctx, lockEvery+rand.N(lockEvery))
	return err
}

// lockEvery is how often the machine's lock is tried.
const lockEvery = 100 * time.Millisecond

// machine waits until no other runner works on this machine.
func (s *service) machine(ctx context.Context) (*fileLock, error) {
	for said := false; ; said = true {
		lock, err := tryLock(s.HostLock)
		if err != nil || lock != nil {
			return lock, err
		}
		if !said {
			s.Logger.Info("another runner works on this machine; waiting")
		}
		if !sleep(ctx, lockEvery) {
			return nil, ctx.Err()
		}
	}
}

// sleep waits, and tells whether the whole time has passed.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
