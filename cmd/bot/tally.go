package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/prbench/prbench/internal/config"
	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/internal/queue"
)

// tally counts the jobs from a watch, so that reading the metrics costs the same
// however many jobs there have been.
type tally struct {
	pools map[string]bool // those that the operators named
	wait  *prometheus.HistogramVec
	// faults are the tries that failed by no fault of the code, as far as the code
	// cannot make them up.
	faults *prometheus.CounterVec

	mu     sync.Mutex
	jobs   map[job.ID]tallied
	states map[job.State]int
	live   bool // what is told from now on happens now
}

type tallied struct {
	state   job.State
	pool    string
	runner  string // key, while it runs
	created time.Time
	started time.Time
	lost    int // tries
	// who asked for it, and where
	person, repository int64
}

func newTally(pools []config.Pool) *tally {
	t := &tally{pools: map[string]bool{}, jobs: map[job.ID]tallied{}, states: map[job.State]int{},
		wait: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "prbench_queue_wait_seconds",
			Help:    "How long jobs waited for their first runner, by pool.",
			Buckets: []float64{1, 5, 15, 60, 300, 900, 3600, 3 * 3600, 6 * 3600, 24 * 3600}}, []string{"pool"}),
		faults: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "prbench_faults_total",
			Help: "Tries of jobs that failed for a reason of the machine, the network or the forge, by runner."}, []string{"runner", "pool"})}
	for _, p := range pools {
		t.pools[p.Name] = true
	}
	return t
}

// run counts until ctx ends.
func (t *tally) run(ctx context.Context, q *queue.Queue) error {
	changes, err := q.Watch(ctx)
	if err != nil {
		return fmt.Errorf("count the jobs: %w", err)
	}
	for c := range changes {
		t.put(c)
	}
	return nil
}

func (t *tally) put(c queue.Change) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.CaughtUp {
		t.live = true
		return
	}
	j := c.Job
	now := tallied{state: j.State, pool: t.pool(j.Spec.Pool), created: j.Created, person: j.Wish.SenderID, repository: j.Repository.ID, lost: len(j.LostTries)}
	if j.State == job.Running {
		now.runner, now.started = j.Runner, j.Started
		t.faults.WithLabelValues(j.RunnerName, now.pool) // from 0, so that its first step is seen
	}
	was, known := t.jobs[j.ID]
	if known {
		t.states[was.state]--
	}
	t.states[now.state]++
	t.jobs[j.ID] = now
	failed := !j.NotBefore.IsZero() || j.Outcome != nil && j.Outcome.Kind == job.Fault
	// A benchmark can print what a clash is known by: that says nothing of a runner.
	if t.live && known && now.lost > was.lost && failed && j.Clash == nil {
		t.faults.WithLabelValues(j.RunnerName, now.pool).Inc()
	}
	if t.live && was.state == job.Queued && now.state == job.Running && j.Try == 1 {
		t.wait.WithLabelValues(now.pool).Observe(max(0, j.Started.Sub(j.Created).Seconds()))
	}
}

// pool bounds the label: a job may name a pool that is no longer configured.
func (t *tally) pool(name string) string {
	if t.pools[name] {
		return name
	}
	return "other"
}

// waiting counts what waits in a pool for one person, and for one repository.
func (t *tally) waiting(pool string, person, repository int64) (ofPerson, ofRepository int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, j := range t.jobs {
		if j.state != job.Queued || j.pool != pool {
			continue
		}
		if j.person == person {
			ofPerson++
		}
		if j.repository == repository {
			ofRepository++
		}
	}
	return ofPerson, ofRepository
}

// holders are the keys of the runners that hold a job.
func (t *tally) holders() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var keys []string
	for _, j := range t.jobs {
		if j.runner != "" {
			keys = append(keys, j.runner)
		}
	}
	return keys
}

var (
	jobsDesc    = prometheus.NewDesc("prbench_jobs", "Jobs by state; done, failed and cancelled ones have ended.", []string{"state"}, nil)
	depthDesc   = prometheus.NewDesc("prbench_queue_depth", "Jobs that wait for a runner, by pool.", []string{"pool"}, nil)
	oldestDesc  = prometheus.NewDesc("prbench_queue_oldest_seconds", "How long the job that waits longest has waited.", nil, nil)
	runningDesc = prometheus.NewDesc("prbench_running_oldest_seconds", "How long the job that runs longest has run.", nil, nil)
)

// Describe implements prometheus.Collector.
func (t *tally) Describe(out chan<- *prometheus.Desc) {
	out <- jobsDesc
	out <- depthDesc
	out <- oldestDesc
	out <- runningDesc
}

// Collect implements prometheus.Collector.
func (t *tally) Collect(out chan<- prometheus.Metric) {
	t.mu.Lock()
	defer t.mu.Unlock()
	depth := map[string]float64{}
	for pool := range t.pools {
		depth[pool] = 0
	}
	oldest, running := 0.0, 0.0
	for _, j := range t.jobs {
		if j.state == job.Queued {
			depth[j.pool]++
			oldest = max(oldest, time.Since(j.created).Seconds())
		}
		if j.state == job.Running {
			running = max(running, time.Since(j.started).Seconds())
		}
	}
	for _, s := range jobStates {
		out <- prometheus.MustNewConstMetric(jobsDesc, prometheus.GaugeValue, float64(t.states[s]), string(s))
	}
	for pool, n := range depth {
		out <- prometheus.MustNewConstMetric(depthDesc, prometheus.GaugeValue, n, pool)
	}
	out <- prometheus.MustNewConstMetric(oldestDesc, prometheus.GaugeValue, oldest)
	out <- prometheus.MustNewConstMetric(runningDesc, prometheus.GaugeValue, running)
}
