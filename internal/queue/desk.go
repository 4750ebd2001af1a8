package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/prbench/prbench/internal/job"
)

// Desk is what ServeRunners needs from the forge.
type Desk struct {
	// Token makes a token with which the job's runner can fetch its repository
	// and do nothing else.
	Token func(context.Context, job.Job) (Token, error)
	// Revoke ends a token that Token has made, on this serve or another.
	Revoke func(context.Context, Token) error
}

// perRunner is how many requests of one runner are answered at a time.
const perRunner = 16

// desk answers runners.
type desk struct {
	Desk
	q     *Queue
	index *index
	most  quota // of one try

	claiming sync.Mutex // this serve's claims are one after another

	mu      sync.Mutex
	open    map[string]int     // by key: requests being answered
	waiting map[string]*waiter // by key: the claim that waits
	tokens  map[lent][]Token
	kept    map[lent]quota // what the tries that run have sent here
	closed  bool           // nothing new is begun

	wg sync.WaitGroup
}

func newDesk(q *Queue, f Desk) *desk {
	return &desk{Desk: f, q: q, index: newIndex(leaseClock{elapsed: q.opts.Elapsed, now: q.now, lease: q.opts.Lease, pause: q.opts.longestPause()}), most: mostSamples, kept: map[lent]quota{}, open: map[string]int{},
		waiting: map[string]*waiter{}, tokens: map[lent][]Token{}}
}

// ServeRunners answers the runners until ctx is done, and watches over their
// leases. Several serves of a store may do so at once. It returns nil when ctx
// is done and everything has been answered.
func (q *Queue) ServeRunners(ctx context.Context, f Desk) error {
	return newDesk(q, f).serve(ctx)
}

func (d *desk) serve(ctx context.Context) error {
	q := d.q
	run, stop := context.WithCancelCause(ctx)
	defer d.wg.Wait()
	defer stop(nil)

	changes, err := q.Watch(run)
	if err != nil {
		return fmt.Errorf("serve runners: %w", err)
	}
	for c := range changes {
		if c.CaughtUp {
			break
		}
		d.index.watched(c)
	}
	d.index.caughtUp()
	d.wg.Go(func() {
		for c := range changes {
			d.index.watched(c)
			d.recall(run, c.Job)
		}
		stop(errors.New("the watch of the jobs has ended"))
	})
	d.wg.Go(func() { d.sweepAlways(run) })

	take := func(m *nats.Msg) { d.begin(func() { d.take(run, m) }) }
	// One serve answers a request; all hear that a claim is no longer wanted,
	// because any of them may have it waiting.
	asked, err := q.nc.QueueSubscribe(requestPrefix+"*.*", "serve", take)
	if err != nil {
		return fmt.Errorf("serve runners: %w", err)
	}
	left, err := q.nc.Subscribe(requestPrefix+"*."+askLeave, func(m *nats.Msg) { d.leave(keyOf(m.Subject), nil) })
	if err != nil {
		stop(err)
	}
	<-run.Done()
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	_ = asked.Unsubscribe() // it fails when the connection has been closed, which is as good
	_ = left.Unsubscribe()
	if ctx.Err() == nil {
		return fmt.Errorf("serve runners: %w", context.Cause(run))
	}
	return nil
}

// begin does something beside the subscription's goroutine, unless we are closing:
// requests still come in while it is being unsubscribed.
func (d *desk) begin(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed {
		d.wg.Go(f)
	}
}

func keyOf(subject string) string {
	f := strings.Split(subject, ".")
	if len(f) != 3 {
		return ""
	}
	return f[1]
}

// take answers one request.
func (d *desk) take(ctx context.Context, m *nats.Msg) {
	key := keyOf(m.Subject)
	what := m.Subject[strings.LastIndexByte(m.Subject, '.')+1:]
	// The reply subject is the asker's choice, and we publish with all rights:
	// only its own inbox will do.
	if what == askLeave || !nkeys.IsValidPublicUserKey(key) || !strings.HasPrefix(m.Reply, inboxPrefix+key+".") {
		return
	}
	a := d.answer(ctx, key, what, m.Data)
	a.Version = Protocol
	b, err := json.Marshal(a)
	if err == nil {
		err = m.Respond(b)
	}
	if err != nil {
		d.q.log.Warn("a runner got no answer", "what", what, "error", err)
	}
}

// answer turns a panic into an answer, so that one bad request does not end serve.
func (d *desk) answer(ctx context.Context, key, what string, data []byte) (a answer) {
	defer func() {
		if p := recover(); p != nil {
			d.q.log.Error("a runner's request panicked", "what", what, "runner", key, "panic", p, "stack", string(debug.Stack()))
			a = failed(codeAgain, "the request could not be carried out")
		}
	}()
	if !d.enter(key) {
		return failed(codeAgain, "too many requests at once")
	}
	defer d.exit(key)
	var r request
	if err := json.Unmarshal(data, &r); err != nil {
		return failed(codeInvalid, "the request cannot be read")
	}
	if r.Version < oldestProtocol || r.Version > Protocol {
		return failed(codeVersion, fmt.Sprintf("want version %d to %d of the runners' protocol, got %d", oldestProtocol, Protocol, r.Version))
	}
	who, err := d.q.runner(ctx, key)
	if errors.Is(err, ErrNotFound) {
		return failed(codeRefused, errNotEnrolled.Error())
	}
	if err != nil {
		return d.fault(what, r, err)
	}
	d.q.heard.Store(key, d.q.now())
	d.index.heard(who)
	switch what {
	case askClaim:
		return d.claim(ctx, who, r)
	case askCalibration:
		return d.calibrated(ctx, who, r)
	}
	if !r.ID.Valid() || r.Try < 1 {
		return failed(codeInvalid, "want a job's id and a try")
	}
	switch what {
	case askBeat:
		return d.beat(ctx, who, r)
	case askToken:
		return d.token(ctx, who, r)
	case askFetched:
		return d.fetched(ctx, who, r)
	case askSample:
		return d.sample(ctx, who, r)
	case askDone:
		return d.done(ctx, who, r)
	}
	return failed(codeInvalid, "unknown request")
}

func failed(code, text string) answer { return answer{Error: &wireError{code, text}} }

// fault tells a runner to ask again. What went wrong is ours to know.
func (d *desk) fault(what string, r request, err error) answer {
	switch {
	case errors.Is(err, errTaken), errors.Is(err, ErrNotFound):
		return failed(codeStale, fmt.Sprintf("try %d of job %s is not this runner's", r.Try, r.ID))
	case errors.Is(err, ErrFull):
		d.about(r).Error("a runner's message was not kept", "what", what, "error", err)
		return failed(codeAgain, "the store is full")
	}
	d.about(r).Warn("a runner's request failed", "what", what, "error", err)
	return failed(codeAgain, "the request could not be carried out")
}

// about is the log of what a request is about. A claim is about no job yet.
func (d *desk) about(r request) *slog.Logger {
	if r.ID == "" {
		return d.q.log
	}
	j := job.Job{ID: r.ID}
	if known := d.index.find(func(j job.Job) bool { return j.ID == r.ID }); len(known) == 1 {
		j = known[0]
	}
	j.Try = r.Try
	return d.q.log.With(j.About()...)
}

func (d *desk) enter(key string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open[key] >= perRunner {
		return false
	}
	d.open[key]++
	return true
}

func (d *desk) exit(key string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open[key]--; d.open[key] == 0 {
		delete(d.open, key)
	}
}

// held reads the job of a request, which its asker must hold.
func (d *desk) held(ctx context.Context, who Runner, r request) (job.Job, error) {
	j, err := d.q.Get(ctx, r.ID)
	if err != nil {
		return job.Job{}, err
	}
	if !holds(j, who.Key, r.Try) {
		return job.Job{}, errTaken
	}
	return j, nil
}

func (d *desk) beat(ctx context.Context, who Runner, r request) answer {
	j, rev, err := d.q.update(ctx, r.ID, func(j *job.Job) error {
		if !holds(*j, who.Key, r.Try) {
			return errTaken
		}
		j.LeaseEnd = d.q.now().Add(d.q.opts.Lease)
		if r.Progress != nil {
			j.Progress = cleanProgress(*r.Progress)
			j.Progress.At = d.q.now()
		}
		return nil
	})
	if err != nil {
		return d.fault(askBeat, r, err)
	}
	d.index.apply(j, rev)
	return answer{LeaseMS: d.q.opts.Lease.Milliseconds(), Cancel: j.Cancel}
}

func (d *desk) done(ctx context.Context, who Runner, r request) answer {
	if r.Outcome == nil || !knownOutcome(r.Outcome.Kind) {
		return failed(codeInvalid, "want an outcome")
	}
	o := cleanOutcome(*r.Outcome)
	if err := d.q.recallCalibration(ctx, who, &o.Host); err != nil {
		return d.fault(askDone, r, err)
	}
	repository, _ := r.ID.Pull()
	o.Host.Calibration = o.Host.Calibration.For(repository)
	j, rev, err := d.q.update(ctx, r.ID, func(j *job.Job) error {
		switch {
		case j.Runner != who.Key || j.Try != r.Try:
			return errTaken
		case j.State != job.Running:
			return ErrUnchanged // told before; what was told first stays
		}
		d.q.endTry(j, o, true)
		return nil
	})
	if err != nil {
		return d.fault(askDone, r, err)
	}
	d.index.apply(j, rev)
	d.recall(ctx, j)
	return answer{}
}
