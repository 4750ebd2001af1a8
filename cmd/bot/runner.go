package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/prbench/prbench/internal/config"
	"github.com/prbench/prbench/internal/queue"
	"github.com/prbench/prbench/runner"
	"github.com/prbench/prbench/runner/sandbox"
	"github.com/prbench/prbench/runner/source"
)

func newRunner(s stream) *cobra.Command {
	var path string
	var flags config.RunnerFlags
	var m machine
	cmd := &cobra.Command{
		Use:   "runner --config runner.yaml",
		Short: "Take jobs, build both commits, measure them in the sandbox",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := config.LoadRunner(path, os.LookupEnv, flags)
			if err != nil {
				return configError(err)
			}
			log := newLogger(os.Stderr)
			for _, w := range cfg.Warnings {
				log.Warn(w)
			}
			return serveJobs(cmd.Context(), cfg, m, log)
		},
	}
	cmd.Flags().StringVar(&path, "config", "runner.yaml", "the configuration")
	cmd.Flags().StringVar(&m.name, "name", "", "this machine's name in reports (default: its host name)")
	trialRunnerFlags(cmd.Flags(), &m)
	flags.Register(cmd.Flags())
	cmd.AddCommand(newEnroll(s), newRevoke(s))
	return cmd
}

// machine is what a runner knows of itself beside its configuration.
type machine struct {
	name     string
	beat     time.Duration
	loopback bool
	hostLock string
}

// dialPatience is how long a runner that starts waits between two calls to a
// serve that is not there yet.
const dialPatience = 2 * time.Second

// serveJobs connects to serve, waiting for it if it must, and works until the
// context ends.
func serveJobs(ctx context.Context, cfg *config.Runner, m machine, log *slog.Logger) error {
	if err := keepOff(cfg.Sandbox.CPUs, log); err != nil {
		return err
	}
	box, err := sandbox.New(ctx, sandboxConfig(cfg))
	if err != nil {
		return fmt.Errorf("this machine cannot isolate benchmarks: %w", err)
	}
	if m.name == "" {
		if m.name, err = os.Hostname(); err != nil {
			return fmt.Errorf("name this machine: %w", err)
		}
	}
	conn, err := dial(ctx, cfg, m.name, log)
	if err != nil || conn == nil {
		return err
	}
	defer conn.Close()
	log.Info("runner ready", "name", m.name, "pool", cfg.Pool, "serve", cfg.Serve, "key", conn.Key())
	return runner.Run(ctx, runner.Options{Conn: conn, Name: m.name, Work: cfg.Work, Sandbox: box, Logger: log,
		BeatEvery: m.beat, Host: forgeHost(cfg, m), AllowHTTP: m.loopback, HostLock: m.hostLock, Tools: cfg.Sandbox.Expose, CalibrateEvery: cfg.Calibrate.Std(),
		Sources: sourceLimits(cfg), MirrorLimit: cfg.Cache.Mirrors, CacheLimit: cfg.Cache.Bases})
}

// sourceLimits are the bounds of what is fetched and written outside of the
// sandbox.
func sourceLimits(cfg *config.Runner) source.Limits {
	c := cfg.Checkout
	return source.Limits{Files: c.Files, Size: c.Size, Fetch: c.Fetch, Timeout: c.Timeout.Std(), FetchTimeout: c.FetchTimeout.Std(), KeepFree: cfg.Sandbox.KeepFree}
}

// forgeHost is the only host that a clone token goes to, with the port where the
// address has one; empty: a forge on this machine, whose port nobody has told.
func forgeHost(cfg *config.Runner, m machine) string {
	if m.loopback && cfg.Forge == config.DefaultForge {
		return ""
	}
	u, err := url.Parse(cfg.Forge)
	if err != nil {
		panic(err) // it was checked when it was read
	}
	return u.Host
}

// keepOff leaves the benchmarks' CPUs to the benchmarks, where others are left.
func keepOff(cpus []int, log *slog.Logger) error {
	if len(cpus) == 0 {
		return nil
	}
	err := runner.KeepOff(cpus)
	if errors.Is(err, runner.ErrNoCPULeft) {
		log.Warn("the benchmarks have every CPU of this machine; the runner shares theirs")
		return nil
	}
	return err
}

func dial(ctx context.Context, cfg *config.Runner, name string, log *slog.Logger) (*queue.RunnerConn, error) {
	o, err := dialOptions(cfg, name, log)
	if err != nil {
		return nil, err
	}
	for said := false; ; said = true {
		conn, err := queue.Dial(ctx, cfg.Serve, cfg.Key.Reveal(), o)
		switch {
		case err == nil:
			return conn, nil
		case errors.Is(err, queue.ErrRefused):
			return nil, fmt.Errorf("%w; `bot runner enroll` makes this runner known", err)
		case !said:
			log.Warn("serve is not there yet; waiting", "serve", cfg.Serve, "err", err)
		}
		select {
		case <-ctx.Done():
			return nil, nil
		case <-time.After(dialPatience):
		}
	}
}

// dialOptions take what a connection to serve needs from the runner's
// configuration.
func dialOptions(cfg *config.Runner, name string, log *slog.Logger) (queue.DialOptions, error) {
	o := queue.DialOptions{Name: name, Logger: log}
	if cfg.CAFile == "" {
		return o, nil
	}
	pem, err := os.ReadFile(cfg.CAFile)
	if err != nil {
		return o, fmt.Errorf("read the certificates of serve: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return o, fmt.Errorf("%s: want certificates in PEM form", cfg.CAFile)
	}
	o.TLS = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	return o, nil
}

// sandboxConfig takes the sandbox's settings from the runner's configuration.
func sandboxConfig(cfg *config.Runner) sandbox.Config {
	c := sandbox.Config{Kind: sandbox.Bubblewrap, User: cfg.Sandbox.User, Expose: cfg.Sandbox.Expose,
		Memory: cfg.Sandbox.Memory, Pids: cfg.Sandbox.Pids, FileSize: cfg.Sandbox.FileSize, KeepFree: cfg.Sandbox.KeepFree,
		Private: []string{cfg.Work}, Owner: cfg.Work}
	if cfg.KeyFile != "" {
		c.Private = append(c.Private, cfg.KeyFile)
	}
	if cfg.Sandbox.None {
		c.Kind, c.User = sandbox.None, ""
	}
	var cpus []string
	for _, n := range cfg.Sandbox.CPUs {
		cpus = append(cpus, strconv.Itoa(n))
	}
	c.CPUs = strings.Join(cpus, ",")
	return c
}
