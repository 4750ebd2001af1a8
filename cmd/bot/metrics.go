package main

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/internal/queue"
)

// metrics are what /metrics shows.
type metrics struct {
	registry   *prometheus.Registry
	deliveries *prometheus.CounterVec
	publishes  *prometheus.CounterVec
}

func newMetrics(q *queue.Queue) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		deliveries: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "prbench_deliveries_total",
			Help: "Webhook deliveries by event and outcome."}, []string{"event", "outcome"}),
		publishes: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "prbench_publishes_total",
			Help: "Tries to bring a job true on GitHub, by outcome."}, []string{"outcome"}),
	}
	m.registry.MustRegister(m.deliveries, m.publishes, &jobStates{q: q},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *metrics) delivered(event, outcome string) {
	m.deliveries.WithLabelValues(event, outcome).Inc()
}

func (m *metrics) published(outcome string) { m.publishes.WithLabelValues(outcome).Inc() }

// jobStates counts the unfinished jobs when it is asked, from the store: state
// that can be derived is derived.
type jobStates struct{ q *queue.Queue }

var (
	jobsDesc = prometheus.NewDesc("prbench_jobs", "Jobs that have not ended, by state.", []string{"state"}, nil)
	waitDesc = prometheus.NewDesc("prbench_queue_oldest_seconds", "How long the job that waits longest has waited.", nil, nil)
)

// Describe implements prometheus.Collector.
func (c *jobStates) Describe(out chan<- *prometheus.Desc) {
	out <- jobsDesc
	out <- waitDesc
}

// Collect implements prometheus.Collector.
func (c *jobStates) Collect(out chan<- prometheus.Metric) {
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Second)
	defer stop()
	open := []job.State{job.Queued, job.Running, job.Publishing}
	jobs, err := c.q.ByState(ctx, open...)
	if err != nil {
		out <- prometheus.NewInvalidMetric(jobsDesc, err)
		return
	}
	count := map[job.State]float64{}
	oldest := 0.0
	for _, j := range jobs {
		count[j.State]++
		if j.State == job.Queued {
			oldest = max(oldest, time.Since(j.Created).Seconds())
		}
	}
	for _, s := range open {
		out <- prometheus.MustNewConstMetric(jobsDesc, prometheus.GaugeValue, count[s], string(s))
	}
	out <- prometheus.MustNewConstMetric(waitDesc, prometheus.GaugeValue, oldest)
}
