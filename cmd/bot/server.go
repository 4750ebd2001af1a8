package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/prbench/prbench/internal/config"
	"github.com/prbench/prbench/internal/forge"
	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/internal/queue"
	"github.com/prbench/prbench/report/pages"
	"github.com/prbench/prbench/report/publish"
	"github.com/prbench/prbench/webhook"
)

// server is `bot serve`, wired: the intake, the clerk that turns events into
// jobs, the desk that answers runners and the publisher, around one store.
type server struct {
	cfg      *config.Serve
	log      *slog.Logger
	forge    *forge.Forge
	queue    *queue.Queue
	acceptor *webhook.Acceptor
	handler  http.Handler
	listener net.Listener
	publish  *publish.Publisher
	pages    *pages.Server
	metrics  *metrics
	sweep    time.Duration // between two looks for lost deliveries; 0: the usual
}

// pace is how the server talks to GitHub; the zero value is what GitHub asks for.
type pace struct {
	mutations time.Duration // least distance between two; 0: the forge's default
	progress  time.Duration // between two updates of a running job
	lease     time.Duration // how long a runner may be silent
	lead      time.Duration // how long a dead publisher's place is kept
	retry     time.Duration // first wait after a failed publishing
	sweep     time.Duration // between two looks for lost deliveries
}

// openServer opens the store and the listener. The caller closes what it got.
func openServer(ctx context.Context, cfg *config.Serve, p pace, log *slog.Logger) (*server, error) {
	s := &server{cfg: cfg, log: log, sweep: p.sweep}
	var err error
	s.forge, err = forge.New(forge.Config{URL: cfg.GitHub.URL, AppID: cfg.GitHub.AppID,
		PrivateKey: []byte(cfg.GitHub.PrivateKey.Reveal()), Token: cfg.GitHub.Token.Reveal(), Pace: p.mutations})
	if err != nil {
		return nil, err
	}
	s.metrics = newMetrics(cfg.Pools)
	m := s.metrics
	if s.queue, err = openQueue(ctx, cfg, p, log, m.eventHandled); err != nil {
		return nil, err
	}
	if s.listener, err = net.Listen("tcp", cfg.Listen); err != nil {
		s.queue.Close()
		return nil, fmt.Errorf("listen for webhooks: %w", err)
	}
	// A port that the system gave is known only now.
	if rest, any := strings.CutSuffix(cfg.PublicURL, ":0"); any {
		cfg.PublicURL = fmt.Sprintf("%s:%d", rest, s.listener.Addr().(*net.TCPAddr).Port)
	}
	m.of(s.queue, s.forge)
	s.acceptor = &webhook.Acceptor{Hub: func(id int64) webhook.Hub { return s.forge.Installation(id) }, Store: s.queue,
		Pools: cfg.Pools, Self: s.forge.Self, TrustedBots: cfg.TrustedBots, Waiting: m.tally.waiting, Log: log, Now: time.Now}
	if s.forge.IsApp() {
		s.acceptor.Installations, s.acceptor.InstallationOf = s.forge.Installations, s.forge.InstallationOf
	}
	s.publish = &publish.Publisher{Hub: func(id int64) publish.Hub { return s.forge.Installation(id) }, Store: s.queue,
		Checks: s.forge.IsApp(), Log: log, Now: time.Now, ProgressEvery: p.progress, Retry: p.retry, Observe: m.published, Limits: limitsOf(cfg)}
	if s.pages, err = s.openPages(); err != nil {
		s.close()
		return nil, err
	}
	s.publish.PageURL = s.pages.URL
	intake, err := webhook.NewIntake([]string{cfg.GitHub.WebhookSecret.Reveal()}, s.queue.PublishEvent, log)
	if err != nil {
		s.close()
		return nil, err
	}
	intake.Observe = m.delivered
	mux := http.NewServeMux()
	mux.Handle("/webhook", intake)
	mux.Handle(pages.Root, s.pages)
	mux.HandleFunc("GET /robots.txt", pages.Robots)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	mux.HandleFunc("GET /readyz", s.ready)
	if cfg.State.NATS == "" {
		runners, err := s.queue.WebsocketHandler()
		if err != nil {
			s.close()
			return nil, err
		}
		mux.Handle("/runner", runners)
	}
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	s.handler = mux
	return s, nil
}

// stateOptions are the options of a store that no runner is to reach.
func stateOptions(cfg *config.Serve, p pace, log *slog.Logger) queue.Options {
	return queue.Options{Dir: cfg.State.Dir, MaxBytes: cfg.State.MaxSize,
		NATS: cfg.State.NATS, Credentials: cfg.State.Credentials, Logger: log,
		DuplicateWindow: cfg.DuplicateWindow.Std(), Retention: cfg.Retention.Std(), Lease: p.lease, LeadLease: p.lead,
		Limits: limitsOf(cfg)}
}

// limitsOf gives the running limits of a pool.
func limitsOf(cfg *config.Serve) func(pool string) queue.Limits {
	return func(pool string) queue.Limits {
		found, ok := cfg.Pool(pool)
		if !ok {
			return queue.Limits{}
		}
		return queue.Limits{PerPerson: found.Limits.PerPerson, PerRepository: found.Limits.PerRepository}
	}
}

func openQueue(ctx context.Context, cfg *config.Serve, p pace, log *slog.Logger, handled func(kind, outcome string)) (*queue.Queue, error) {
	o := stateOptions(cfg, p, log)
	o.ObserveEvent = handled
	o.Listen, o.Websocket = cfg.State.Listen, cfg.State.NATS == ""
	if cfg.State.TLSCert != "" {
		pair, err := tls.LoadX509KeyPair(cfg.State.TLSCert, cfg.State.TLSKey)
		if err != nil {
			return nil, fmt.Errorf("state.tls_cert_file: %w", err)
		}
		o.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	}
	return queue.Open(ctx, o)
}

func (s *server) close() {
	_ = s.listener.Close()
	s.queue.Close()
}

func (s *server) ready(w http.ResponseWriter, r *http.Request) {
	ctx, stop := context.WithTimeout(r.Context(), 2*time.Second)
	defer stop()
	if err := s.queue.Ready(ctx); err != nil {
		http.Error(w, "the store does not answer", http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write([]byte("ready\n"))
}

// address is where webhooks are taken.
func (s *server) address() string { return "http://" + s.listener.Addr().String() }

// run works until the context ends or a part fails, then lets every part
// finish what it has in hand, and closes the store.
func (s *server) run(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	httpServer := &http.Server{Handler: s.handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute,
		IdleTimeout: 2 * time.Minute, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug)}
	var wg sync.WaitGroup
	part := func(name string, work func(context.Context) error) {
		wg.Go(func() {
			if err := work(ctx); err != nil && ctx.Err() == nil {
				stop(fmt.Errorf("%s: %w", name, err))
			}
		})
	}
	part("take webhooks", func(ctx context.Context) error {
		context.AfterFunc(ctx, func() {
			drain, done := context.WithTimeout(context.Background(), 10*time.Second)
			defer done()
			_ = httpServer.Shutdown(drain)
		})
		if err := httpServer.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	part("read events", func(ctx context.Context) error { return s.queue.ConsumeEvents(ctx, s.acceptor.Handle) })
	part("answer runners", func(ctx context.Context) error {
		return s.queue.ServeRunners(ctx, queue.Desk{Token: s.cloneToken, Revoke: s.revoke})
	})
	part("publish", s.publish.Run)
	part("serve pages", s.pages.Run)
	part("count", func(ctx context.Context) error { return s.metrics.tally.run(ctx, s.queue) })
	part("learn the open pull requests", s.seeOpenPulls)
	part("ask for lost deliveries again", s.sweepDeliveries)
	s.log.Info("serving", "webhooks", s.address()+"/webhook", "runners", s.queue.RunnerURL(), "github", s.cfg.GitHub.URL)
	<-ctx.Done()
	wg.Wait()
	s.queue.Close()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// cloneToken mints what a runner needs to fetch the code of its job, and no
// more. A plain token is never handed out: it can do far more than clone.
func (s *server) cloneToken(ctx context.Context, j job.Job) (queue.Token, error) {
	if !s.forge.IsApp() {
		if j.Repository.Private {
			return queue.Token{}, errors.New("a private repository needs the GitHub App: a plain token is not handed to runners")
		}
		return queue.Token{}, nil
	}
	t, err := s.forge.RepoToken(ctx, j.Installation, j.Repository.ID, forge.CloneOnly)
	if err != nil {
		return queue.Token{}, err
	}
	return queue.Token{Value: t.Secret(), Expires: t.ExpiresAt}, nil
}

func (s *server) revoke(ctx context.Context, t queue.Token) error {
	if t.Value == "" {
		return nil
	}
	return s.forge.RevokeToken(ctx, t.Value)
}

// seeOpenPulls learns which heads exist now, so that comments written from now
// on can be taken, and which labels wait for a job that nobody made. A forge that does not answer yet is asked again.
func (s *server) seeOpenPulls(ctx context.Context) error {
	if !s.forge.IsApp() {
		return nil
	}
	seen := map[int64]bool{}
	for wait := time.Second; ; wait = min(2*wait, time.Minute) {
		err := s.seeOnce(ctx, seen)
		if ctx.Err() != nil {
			return nil
		}
		if err == nil {
			s.log.Info("open pull requests read", "installations", len(seen))
			return nil
		}
		s.log.Warn("open pull requests not read yet", "err", err, "again_in", wait.String())
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// sweepDeliveries has GitHub repeat the webhooks that did not arrive, as long as
// this process is the one to do so. A plain token has a repository's webhook,
// whose deliveries it may not see.
func (s *server) sweepDeliveries(ctx context.Context) error {
	if !s.forge.IsApp() {
		return nil
	}
	sweep := &webhook.Sweep{Deliveries: s.forge, Every: s.sweep, Log: s.log, Now: time.Now}
	return s.queue.Lead(ctx, "sweep", sweep.Run)
}

// seeOnce reads every installation that has not been seen whole. One that fails
// holds up no other.
func (s *server) seeOnce(ctx context.Context, seen map[int64]bool) error {
	all, err := s.forge.Installations(ctx)
	if err != nil {
		return fmt.Errorf("list the installations: %w", err)
	}
	failed := []error{s.acceptor.KnowInstallations(ctx)}
	for _, in := range all {
		if in.Suspended || seen[in.ID] {
			continue
		}
		err := errors.Join(s.acceptor.SeeInstallation(ctx, in.ID), s.acceptor.ReadLabels(ctx, in.ID))
		seen[in.ID] = err == nil
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// newLogger writes JSON lines, or text for a terminal.
func newLogger(w *os.File) *slog.Logger {
	if isTerminal(w) {
		return slog.New(slog.NewTextHandler(w, nil))
	}
	return slog.New(slog.NewJSONHandler(w, nil))
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
