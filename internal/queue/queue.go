// Package queue keeps prbench's durable state on NATS JetStream and speaks the
// runners' protocol. The server is embedded in the process, or an external
// cluster reached by URL; the code above the connection is the same.
//
// What is kept:
//
//   - HOOKS, a stream of reduced webhook events (PublishEvent, ConsumeEvents);
//   - the bucket jobs, one record a job, changed only by compare and swap
//     (Create, Update, Watch). A record in state queued is a place in the queue:
//     there is no other list;
//   - SAMPLES, a stream with one record a finished benchmark process (Runs);
//   - the buckets heads, runners, calibration, accepts and leases (FirstSeen,
//     Enroll, Calibrations, Accept, Lead).
//   - the objects of records, a record and its samples a job of a backport, for
//     good (PutRecord, Record, RecordSamples).
//
// Runners never touch any of it. They may publish requests on subjects that
// begin with their own key and hear answers in their own inbox; ServeRunners
// answers, and checks the lease in the job's record before anything else.
//
// Backup and Restore carry all of it but the leases in one file.
package queue

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Errors on which callers decide.
var (
	// ErrFull: the store, or the event stream's share of it, is at its limit.
	// Nothing was kept.
	ErrFull = errors.New("the store is full")
	// ErrNotFound: no such record.
	ErrNotFound = errors.New("not found")
	// ErrUnchanged is returned by the function given to Update to leave the
	// record as it is; Update then returns the record and no error.
	ErrUnchanged = errors.New("unchanged")
	// ErrInUse: another process has the store directory open. Attach reaches it.
	ErrInUse = errors.New("the store directory is in use by another process")
	// ErrNotRunning: no process has the store directory open, so that Attach
	// finds nobody. Open opens it.
	ErrNotRunning = errors.New("no process serves this store directory")
)

// Options says where the state lives and how long it is kept. Dir or NATS must
// be set, not both.
type Options struct {
	// Dir is the embedded server's store directory; it is made if missing.
	Dir string
	// MaxBytes limits the whole store (default 8 GiB). Events and the
	// records of backports get an eighth of it each and are refused beyond; samples
	// get half, the oldest being dropped.
	MaxBytes int64
	// Listen is the embedded server's address for runners, "host:port", port 0
	// for any. Empty: nothing listens, and no runner can reach this queue.
	Listen string
	// TLS, where set, is demanded of runners that dial Listen.
	TLS *tls.Config
	// Websocket makes WebsocketHandler work with the embedded server.
	Websocket bool

	// NATS is the URL, or comma-separated URLs, of an external server.
	NATS string
	// Credentials is a file with the external server's nkey seed, or a .creds file.
	Credentials string
	// Replicas of each stream; 0: 3 on a cluster, else 1.
	Replicas int

	Logger *slog.Logger
	// DuplicateWindow is how long an event is kept, and its delivery recognised
	// (default 72 h, which is as long as GitHub redelivers).
	DuplicateWindow time.Duration
	// Retention is how long samples are kept (default 90 days).
	Retention time.Duration
	// Lease is how long a runner may be silent before its try is lost (default 12 min).
	Lease time.Duration
	// Pauses are how long a job waits after its first try that failed, its second,
	// and so on (default DefaultPauses; empty: not at all).
	Pauses []time.Duration
	// LeadLease is how long a dead leader's place is kept (default 15 s).
	LeadLease time.Duration
	// EventAge is how old an event whose handling fails may become before it is
	// given up (default 24 h; DuplicateWindow where that is shorter).
	EventAge time.Duration
	// EventTries is how often an event may be handed out without any end of its
	// handling, because the process died of it, say (default 20).
	EventTries int
	// ObserveEvent, where set, is told what became of each handing of an event:
	// EventHandled, EventRetried or EventGivenUp. kind is "" where it cannot be read.
	ObserveEvent func(kind, outcome string)
	// Limits gives the running limits of a pool; nil or zero values: no limit.
	Limits func(pool string) Limits
	// Now is the clock of what is written (default time.Now).
	Now func() time.Time
	// Elapsed is the clock that leases run by, which nobody can set (default: the
	// time since this process began).
	Elapsed func() time.Duration
}

// Limits is how many jobs may run at once, in one pool, for one person and for
// one repository. Zero is no limit.
type Limits struct {
	PerPerson     int
	PerRepository int
}

// Queue is an open store. Its methods may be called from several goroutines.
type Queue struct {
	opts  Options
	log   *slog.Logger
	nc    *nats.Conn
	js    jetstream.JetStream
	embed *embedded // nil for an external server, and for Attach

	hooks   jetstream.Stream
	samples jetstream.Stream
	jobs    jetstream.KeyValue
	heads   jetstream.KeyValue
	runners jetstream.KeyValue
	leases  jetstream.KeyValue

	calibration jetstream.KeyValue
	records     jetstream.ObjectStore
	accepts     jetstream.KeyValue

	heard sync.Map // by runner's key: the time.Time of its last request

	users   *userKeeper // of the embedded server
	closing sync.Once
	stop    context.CancelFunc // ends what Open started
	wg      sync.WaitGroup
}

func (o Options) withDefaults() Options {
	def := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	def(&o.DuplicateWindow, 72*time.Hour)
	def(&o.Retention, 90*24*time.Hour)
	def(&o.EventAge, 24*time.Hour)
	def(&o.Lease, 12*time.Minute)
	def(&o.LeadLease, 15*time.Second)
	if o.MaxBytes <= 0 {
		o.MaxBytes = 8 << 30
	}
	if o.EventTries <= 0 {
		o.EventTries = 20
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Pauses == nil {
		o.Pauses = DefaultPauses()
	}
	if o.Limits == nil {
		o.Limits = func(string) Limits { return Limits{} }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Elapsed == nil {
		began := time.Now()
		o.Elapsed = func() time.Duration { return time.Since(began) }
	}
	return o
}

// Open starts the embedded server on Dir, or connects to NATS, and makes the
// streams and buckets that are missing. An embedded store that another process
// has open gives ErrInUse, one that was restored in part ErrHalfRestored. The
// ctx bounds the opening only.
func Open(ctx context.Context, o Options) (*Queue, error) {
	o = o.withDefaults()
	q, err := openWith(ctx, o, (*Queue).makeStreams)
	if err != nil || q.embed == nil {
		return q, err
	}
	if err := q.keepUsers(ctx); err != nil {
		q.Close()
		return nil, fmt.Errorf("open store %s: %w", o.Dir, err)
	}
	if err := q.embed.listenLocal(); err != nil {
		// Runners and webhooks need no socket, only commands on this machine do.
		o.Logger.Warn("local commands cannot reach this store", "dir", o.Dir, "error", err)
	}
	return q, nil
}

// openWith starts or reaches the server and lets streams see to what is there.
func openWith(ctx context.Context, o Options, streams func(*Queue, context.Context) error) (*Queue, error) {
	switch {
	case o.Dir == "" && o.NATS == "":
		return nil, errors.New("open queue: want a store directory or a NATS URL, got neither")
	case o.Dir != "" && o.NATS != "":
		return nil, errors.New("open queue: want a store directory or a NATS URL, got both")
	case o.NATS != "":
		return openExternal(ctx, o, streams)
	}
	e, err := startEmbedded(o)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", o.Dir, err)
	}
	nc, err := connect(o, "", e.key, nats.InProcessServer(e.server))
	if err != nil {
		e.stop()
		return nil, fmt.Errorf("open store %s: connect in process: %w", o.Dir, err)
	}
	q, err := newQueue(ctx, o, nc, e, streams)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", o.Dir, err)
	}
	return q, nil
}

// Attach connects to the store that another process on this machine has open
// on Dir, with full rights, for commands such as enrolling a runner. It gives
// ErrNotRunning when there is none.
func Attach(ctx context.Context, o Options) (*Queue, error) {
	o = o.withDefaults()
	key, dial, err := localAccess(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("attach to store %s: %w", o.Dir, err)
	}
	nc, err := connect(o, "", key, nats.InProcessServer(dial))
	if err != nil {
		return nil, fmt.Errorf("attach to store %s: %w", o.Dir, err)
	}
	// Its streams are used as they are: the options here are not their owner's.
	q, err := newQueue(ctx, o, nc, nil, (*Queue).findStreams)
	if err != nil {
		return nil, fmt.Errorf("attach to store %s: %w", o.Dir, err)
	}
	return q, nil
}

func openExternal(ctx context.Context, o Options, streams func(*Queue, context.Context) error) (*Queue, error) {
	opt, err := credentials(o.Credentials)
	if err != nil {
		return nil, fmt.Errorf("open queue: %w", err)
	}
	nc, err := connect(o, o.NATS, nil, opt...)
	if err != nil {
		return nil, fmt.Errorf("open queue: connect to NATS: %w", err)
	}
	q, err := newQueue(ctx, o, nc, nil, streams)
	if err != nil {
		return nil, fmt.Errorf("open queue: %w", err)
	}
	return q, nil
}

// newQueue owns nc and e: it closes both when it fails.
func newQueue(ctx context.Context, o Options, nc *nats.Conn, e *embedded,
	streams func(*Queue, context.Context) error) (*Queue, error) {
	q := &Queue{opts: o, log: o.Logger, nc: nc, embed: e, stop: func() {}}
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(10*time.Second))
	if err == nil {
		q.js = js
		err = streams(q, ctx)
	}
	if err != nil {
		q.Close()
		return nil, err
	}
	return q, nil
}

// Close ends the connection, and the embedded server once it has written
// everything. Callers end their own ServeRunners, ConsumeEvents, Watch and Lead
// first, by their contexts.
func (q *Queue) Close() {
	q.closing.Do(func() {
		q.stop()
		q.wg.Wait()
		q.nc.Close()
		if q.embed != nil {
			q.embed.stop()
		}
	})
}

// RunnerURL is the address for runners: the embedded server's, empty when it
// does not listen, or the external server's as it was given.
func (q *Queue) RunnerURL() string {
	switch {
	case q.embed != nil:
		return q.embed.url()
	default:
		return q.opts.NATS
	}
}

// Ready tells whether the store answers, for health checks.
func (q *Queue) Ready(ctx context.Context) error {
	if _, err := q.js.AccountInfo(ctx); err != nil {
		return fmt.Errorf("ask the store: %w", err)
	}
	return nil
}

func (q *Queue) now() time.Time { return q.opts.Now().UTC() }
