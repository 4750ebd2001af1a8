package queue

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/prbench/prbench/internal/job"
)

// DialOptions are what a runner's connection may need.
type DialOptions struct {
	Name   string      // shown in the server's list of connections
	TLS    *tls.Config // for tls:// and wss:// with other than the system's roots
	Logger *slog.Logger
}

// RunnerConn is a runner's connection to serve. It connects again by itself for
// ever. Its methods may be called from several goroutines.
type RunnerConn struct {
	nc  *nats.Conn
	key string
	log *slog.Logger

	mu     sync.Mutex
	tokens map[lent][]string
}

// Dial connects with a runner's seed to what RunnerURL, or the operator, says:
// nats://, tls://, ws:// or wss://. It tries once; ErrRefused is told apart from
// other failures.
func Dial(ctx context.Context, address, seed string, o DialOptions) (*RunnerConn, error) {
	key, err := userKey(seed)
	if err != nil {
		return nil, err
	}
	pub, err := key.PublicKey()
	if err != nil {
		return nil, fmt.Errorf("read a key: %w", err)
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("connect to serve: want an address such as tls://host:4222 or wss://host/runner, got %q", address)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	c := &RunnerConn{key: pub, log: o.Logger, tokens: map[lent][]string{}}
	opts := append(c.options(), nkeyOption(key), nats.Name(o.Name))
	if o.TLS != nil {
		opts = append(opts, nats.Secure(o.TLS))
	}
	if (u.Scheme == "ws" || u.Scheme == "wss") && len(u.Path) > 1 {
		opts = append(opts, nats.ProxyPath(u.Path))
		u.Path = ""
	}
	if end, ok := ctx.Deadline(); ok {
		opts = append(opts, nats.Timeout(max(time.Until(end), time.Millisecond)))
	}
	if c.nc, err = nats.Connect(u.String(), opts...); err != nil {
		if errors.Is(err, nats.ErrAuthorization) {
			err = ErrRefused
		}
		return nil, fmt.Errorf("connect to serve at %s: %w", u.Redacted(), err)
	}
	return c, nil
}

func (c *RunnerConn) options() []nats.Option {
	return []nats.Option{
		nats.CustomInboxPrefix(inboxPrefix + c.key),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(time.Second),
		nats.ReconnectJitter(time.Second, 2*time.Second),
		// A request that could not be sent at once is not sent later, when nobody
		// waits for its answer: a claim would take a job for nobody.
		nats.ReconnectBufSize(-1),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			c.log.Warn("connection to serve", "error", err)
		}),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				c.log.Warn("disconnected from serve", "error", err)
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { c.log.Info("connected to serve again") }),
	}
}

// Close ends the connection.
func (c *RunnerConn) Close() { c.nc.Close() }

// Key is the runner's public key.
func (c *RunnerConn) Key() string { return c.key }

// Lease is a job that this runner holds.
type Lease struct {
	Job job.Job
	Try int
	// End is when the lease ends by this machine's clock. It is short until the
	// first Beat, which is due at once; Beat every BeatEvery moves it on.
	End time.Time
}

// BeatEvery is how often a runner that holds a job should tell so.
const BeatEvery = 15 * time.Second

// answerWait is how long one request waits for its answer.
const answerWait = 15 * time.Second

// ClaimRequest says who asks for a job.
type ClaimRequest struct {
	Host job.Host
	// Wait is how long serve may take to find a job, at most 10 s, which zero means.
	Wait time.Duration
}

// Claim asks for a job. It says that this runner holds none: a job that its key
// held is lost by it. It returns nil when there was nothing to do for the whole
// wait, to be called again. When serve is away it pauses a moment of random
// length and returns ErrAway, so that a loop around it is never a busy one.
func (c *RunnerConn) Claim(ctx context.Context, r ClaimRequest) (*Lease, error) {
	if r.Wait <= 0 || r.Wait > longestWait {
		r.Wait = longestWait
	}
	a, err := c.ask(ctx, askClaim, request{Host: &r.Host, WaitMS: r.Wait.Milliseconds()}, r.Wait+answerWait)
	if err != nil {
		if ctx.Err() != nil {
			_ = c.nc.Publish(requestPrefix+c.key+"."+askLeave, nil)
			_ = c.nc.Flush()
			return nil, fmt.Errorf("claim a job: %w", ctx.Err())
		}
		_ = pause(ctx, time.Second+rand.N(2*time.Second))
		return nil, fmt.Errorf("claim a job: %w", err)
	}
	if a.Job == nil {
		return nil, nil
	}
	return &Lease{Job: *a.Job, Try: a.Job.Try, End: leaseEnd(a)}, nil
}

func leaseEnd(a answer) time.Time { return time.Now().Add(time.Duration(a.LeaseMS) * time.Millisecond) }

// BeatAnswer is what serve says to a beat.
type BeatAnswer struct {
	// Lost: the try is no longer this runner's. It stops, and throws away what it has.
	Lost bool
	// Cancel, where set, says that the job is no longer wanted. The runner stops
	// and ends the try with a Stopped outcome.
	Cancel *job.Cancel
	// LeaseEnd is the new end by this machine's clock.
	LeaseEnd time.Time
}

// Beat renews the lease and tells the progress. It asks once: the next beat is
// the retry.
func (c *RunnerConn) Beat(ctx context.Context, id job.ID, try int, p job.Progress) (BeatAnswer, error) {
	a, err := c.ask(ctx, askBeat, request{ID: id, Try: try, Progress: &p}, answerWait)
	if errors.Is(err, ErrStale) {
		return BeatAnswer{Lost: true}, nil
	}
	if err != nil {
		return BeatAnswer{}, fmt.Errorf("beat for job %s: %w", id, err)
	}
	return BeatAnswer{Cancel: a.Cancel, LeaseEnd: leaseEnd(a)}, nil
}

// Token gives a token to fetch the job's repository with. Its value is empty
// where none is needed. ErrStale, ErrNoToken; other failures are retried until
// ctx ends.
func (c *RunnerConn) Token(ctx context.Context, id job.ID, try int) (Token, error) {
	a, err := c.insist(ctx, askToken, request{ID: id, Try: try})
	if err == nil && a.Token == nil {
		err = ErrInvalid
	}
	if err != nil {
		return Token{}, fmt.Errorf("ask for a token for job %s: %w", id, err)
	}
	if a.Token.Value != "" {
		c.mu.Lock()
		k := lent{id, c.key, try}
		c.tokens[k] = append(c.tokens[k], a.Token.Value)
		c.mu.Unlock()
	}
	return Token{a.Token.Value, a.Token.Username, a.Token.Expires}, nil
}

// Fetched says that the sources are here, and has the tokens of this try revoked.
func (c *RunnerConn) Fetched(ctx context.Context, id job.ID, try int) error {
	k := lent{id, c.key, try}
	c.mu.Lock()
	ts := c.tokens[k]
	delete(c.tokens, k)
	c.mu.Unlock()
	if _, err := c.insist(ctx, askFetched, request{ID: id, Try: try, Tokens: ts}); err != nil {
		return fmt.Errorf("give the tokens of job %s back: %w", id, err)
	}
	return nil
}

// Publish keeps the record of one finished process. When it returns nil the
// record is on disk; sent again it is kept once. A record over 512 KiB is split,
// its log being cut first. It retries until ctx ends; ErrStale when the try is lost.
func (c *RunnerConn) Publish(ctx context.Context, id job.ID, try int, r job.Run) error {
	parts, err := split(r)
	if err != nil {
		return fmt.Errorf("publish a record of job %s: %w: %w", id, ErrInvalid, err)
	}
	for i := range parts {
		if _, err := c.insist(ctx, askSample, request{ID: id, Try: try, Run: &parts[i]}); err != nil {
			return fmt.Errorf("publish a record of job %s: %w", id, err)
		}
	}
	return nil
}

// Done ends the try. It retries until ctx ends, and may be told again: what was
// told first stays. Texts and lists that are too long for a message are cut, and
// say so. ErrStale when the try was lost before; what it did is void.
func (c *RunnerConn) Done(ctx context.Context, id job.ID, try int, o job.Outcome) error {
	o = cleanOutcome(o)
	if _, err := c.insist(ctx, askDone, request{ID: id, Try: try, Outcome: &o}); err != nil {
		return fmt.Errorf("end job %s: %w", id, err)
	}
	return nil
}

// Calibrated tells what this machine sees. It retries until ctx ends; ErrInvalid
// where serve does not take it, as one before this request does not.
func (c *RunnerConn) Calibrated(ctx context.Context, k job.Calibration) error {
	if _, err := c.insist(ctx, askCalibration, request{Calibration: &k}); err != nil {
		return fmt.Errorf("tell the calibration: %w", err)
	}
	return nil
}

// insist asks until there is an answer that asking again would not change.
func (c *RunnerConn) insist(ctx context.Context, what string, r request) (answer, error) {
	wait := 100 * time.Millisecond
	for {
		a, err := c.ask(ctx, what, r, answerWait)
		if !errors.Is(err, ErrAway) && !errors.Is(err, errAgain) {
			return a, err
		}
		c.log.Debug("ask serve again", "what", what, "error", err)
		if pause(ctx, wait+rand.N(wait)) != nil {
			return answer{}, fmt.Errorf("%w (%w)", ctx.Err(), err)
		}
		wait = min(2*wait, 5*time.Second)
	}
}

// ask sends one request.
func (c *RunnerConn) ask(ctx context.Context, what string, r request, wait time.Duration) (answer, error) {
	r.Version = Protocol
	b, err := json.Marshal(r)
	if err != nil {
		return answer{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	timed, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	m, err := c.nc.RequestWithContext(timed, requestPrefix+c.key+"."+what, b)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return answer{}, ctx.Err()
	case errors.Is(err, nats.ErrConnectionClosed):
		// Only a server that no longer takes our key closes for good.
		return answer{}, ErrRefused
	case errors.Is(err, nats.ErrMaxPayload):
		return answer{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	default:
		return answer{}, fmt.Errorf("%w: %w", ErrAway, err)
	}
	var a answer
	if err := json.Unmarshal(m.Data, &a); err != nil {
		return answer{}, fmt.Errorf("%w: it cannot be read", errAgain)
	}
	if a.Error != nil {
		return a, a.Error.err()
	}
	return a, nil
}
