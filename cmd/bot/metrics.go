package main

import (
	"context"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/prbench/prbench/internal/config"
	"github.com/prbench/prbench/internal/forge"
	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/internal/queue"
	"github.com/prbench/prbench/webhook"
)

// metrics are what /metrics shows. Every label's values are from a list of ours,
// or named by the operators: what strangers send names none.
type metrics struct {
	registry   *prometheus.Registry
	deliveries *prometheus.CounterVec
	events     *prometheus.CounterVec
	publishes  *prometheus.CounterVec
	tally      *tally
	own        []prometheus.Collector // all but the runtime's
}

func newMetrics(pools []config.Pool) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		deliveries: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "prbench_deliveries_total",
			Help: "Webhook deliveries by event and outcome."}, []string{"event", "outcome"}),
		events: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "prbench_events_total",
			Help: "Handlings of kept events by event and outcome: handled, retried, given-up."}, []string{"event", "outcome"}),
		publishes: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "prbench_publishes_total",
			Help: "Tries to bring a job true on GitHub, by outcome: published, retry, given-up."}, []string{"outcome"}),
		tally: newTally(pools),
	}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.add(m.deliveries, m.events, m.publishes, m.tally, m.tally.wait, m.tally.faults)
	// What is counted from 0 shows its first step as one.
	for _, outcome := range []string{queue.EventHandled, queue.EventRetried, queue.EventGivenUp} {
		m.events.WithLabelValues("other", outcome)
	}
	for _, outcome := range []string{"published", "retry", "given-up"} {
		m.publishes.WithLabelValues(outcome)
	}
	return m
}

func (m *metrics) delivered(event, outcome string) {
	m.deliveries.WithLabelValues(event, outcome).Inc()
}

func (m *metrics) eventHandled(kind, outcome string) {
	m.events.WithLabelValues(webhook.KnownEvent(kind), outcome).Inc()
}

func (m *metrics) published(outcome string) { m.publishes.WithLabelValues(outcome).Inc() }

func (m *metrics) add(all ...prometheus.Collector) {
	m.registry.MustRegister(all...)
	m.own = append(m.own, all...)
}

// of adds what is asked of the store and the forge at each reading.
func (m *metrics) of(q *queue.Queue, f *forge.Forge) {
	m.add(&present{queue: q, forge: f, tally: m.tally})
}

// present is what the store and the forge say when it is asked for: state that
// can be derived is derived.
type present struct {
	queue *queue.Queue
	forge *forge.Forge
	tally *tally
}

var (
	eventsLeftDesc = prometheus.NewDesc("prbench_events_left", "Kept events that wait to be handled, those that will be tried again included.", nil, nil)
	heardDesc      = prometheus.NewDesc("prbench_runner_heard_timestamp_seconds",
		"When a runner last asked this serve for something; 0: never since the start.", []string{"runner", "pool"}, nil)
	busyDesc  = prometheus.NewDesc("prbench_runner_busy", "1 while the runner holds a job.", []string{"runner", "pool"}, nil)
	leftDesc  = prometheus.NewDesc("prbench_rate_limit_left", "Requests left of GitHub's hourly limit: the App's own, and of the installation that has the fewest.", []string{"of"}, nil)
	limitDesc = prometheus.NewDesc("prbench_rate_limit", "GitHub's hourly limit of requests, of the same.", []string{"of"}, nil)
)

// Describe implements prometheus.Collector.
func (p *present) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{eventsLeftDesc, heardDesc, busyDesc, leftDesc, limitDesc} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (p *present) Collect(out chan<- prometheus.Metric) {
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Second)
	defer stop()
	if n, err := p.queue.EventsLeft(ctx); err != nil {
		out <- prometheus.NewInvalidMetric(eventsLeftDesc, err)
	} else {
		out <- prometheus.MustNewConstMetric(eventsLeftDesc, prometheus.GaugeValue, float64(n))
	}
	p.runners(ctx, out)
	p.budgets(out)
}

func (p *present) runners(ctx context.Context, out chan<- prometheus.Metric) {
	all, err := p.queue.Runners(ctx)
	if err != nil {
		out <- prometheus.NewInvalidMetric(heardDesc, err)
		return
	}
	holding := p.tally.holders()
	for _, r := range all {
		heard, busy := 0.0, 0.0
		if at, ok := p.queue.LastHeard(r.Key); ok {
			heard = float64(at.UnixMilli()) / 1000
		}
		if slices.Contains(holding, r.Key) {
			busy = 1
		}
		out <- prometheus.MustNewConstMetric(heardDesc, prometheus.GaugeValue, heard, r.Name, r.Pool)
		out <- prometheus.MustNewConstMetric(busyDesc, prometheus.GaugeValue, busy, r.Name, r.Pool)
	}
}

func (p *present) budgets(out chan<- prometheus.Metric) {
	least := map[string]forge.Budget{}
	for _, b := range p.forge.Budgets() {
		of := "installation"
		if b.Installation == 0 {
			of = "app"
		}
		if former, ok := least[of]; !ok || b.Left < former.Left {
			least[of] = b
		}
	}
	for of, b := range least {
		out <- prometheus.MustNewConstMetric(leftDesc, prometheus.GaugeValue, float64(b.Left), of)
		out <- prometheus.MustNewConstMetric(limitDesc, prometheus.GaugeValue, float64(b.Limit), of)
	}
}

// jobStates are all states, in the order of a job's life.
var jobStates = []job.State{job.Queued, job.Running, job.Publishing, job.Done, job.Failed, job.Cancelled}
