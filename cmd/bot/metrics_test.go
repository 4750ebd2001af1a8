package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/prbench/prbench/internal/config"
	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/internal/queue"
)

// metricNames are the names that serve has, of which a histogram's are three.
func metricNames() map[string]bool {
	m := newMetrics([]config.Pool{{Name: "default"}})
	m.of(nil, nil)
	descs := make(chan *prometheus.Desc, 100)
	for _, c := range m.own {
		c.Describe(descs)
	}
	close(descs)
	names := map[string]bool{}
	for d := range descs {
		name := regexp.MustCompile(`fqName: "(\w+)"`).FindStringSubmatch(d.String())[1]
		names[name] = true
	}
	return names
}

func TestTheDocumentedMetricsAreThoseThatServeHas(t *testing.T) {
	have := metricNames()
	mentioned := map[string]map[string]bool{}
	files := []string{"../../docs/operate.md"}
	for _, pattern := range []string{"../../deploy/prometheus/*"} {
		more, err := filepath.Glob(pattern)
		if err != nil || len(more) < 3 {
			t.Fatalf("%v: %v", more, err)
		}
		files = append(files, more...)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		mentioned[file] = map[string]bool{}
		for _, name := range regexp.MustCompile(`prbench_[a-z_]+`).FindAllString(string(text), -1) {
			name = strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_sum")
			mentioned[file][name] = true
			if !have[name] {
				t.Errorf("%s speaks of %s, which serve does not have", file, name)
			}
		}
	}
	for name := range have {
		if !mentioned["../../docs/operate.md"][name] {
			t.Errorf("docs/operate.md does not tell of %s", name)
		}
	}
	if len(mentioned["../../deploy/prometheus/dashboard.json"]) < len(have)-2 {
		t.Errorf("the dashboard shows %v of %v", slices.Sorted(maps.Keys(mentioned["../../deploy/prometheus/dashboard.json"])), slices.Sorted(maps.Keys(have)))
	}
}

// labels are the values of a label over all of a metric's series.
func labels(t *testing.T, m *metrics, metric, label string) []string {
	t.Helper()
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]bool{}
	for _, f := range families {
		for _, s := range f.Metric {
			for _, l := range s.Label {
				if f.GetName() == metric && l.GetName() == label {
					values[l.GetValue()] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(values))
}

func TestStrangersNameNoSeriesOfAMetric(t *testing.T) {
	m := newMetrics([]config.Pool{{Name: "default"}})
	for _, kind := range []string{"sponsorship", "x' OR 1=1", strings.Repeat("a", 10000), "issue_comment"} {
		m.eventHandled(kind, queue.EventHandled)
	}
	if got := labels(t, m, "prbench_events_total", "event"); !slices.Equal(got, []string{"issue_comment", "other"}) {
		t.Errorf("events %q", got)
	}
	m.tally.put(queue.Change{Job: job.Job{ID: "1.1.1", State: job.Queued, Spec: job.Spec{Pool: "a-pool-of-long-ago"}}})
	if got := labels(t, m, "prbench_queue_depth", "pool"); !slices.Equal(got, []string{"default", "other"}) {
		t.Errorf("pools %q", got)
	}
}

func TestJobsAreCountedByTheirPresentState(t *testing.T) {
	m := newMetrics([]config.Pool{{Name: "default"}})
	one := job.Job{ID: "1.1.1", State: job.Queued, Spec: job.Spec{Pool: "default"}}
	two := one
	two.ID = "1.1.2"
	m.tally.put(queue.Change{Job: one})
	m.tally.put(queue.Change{Job: two})
	m.tally.put(queue.Change{CaughtUp: true})
	one.State, one.Try, one.Runner = job.Running, 1, "U"
	m.tally.put(queue.Change{Job: one})
	if got := m.tally.holders(); !slices.Equal(got, []string{"U"}) {
		t.Errorf("holders %v", got)
	}
	one.State = job.Done
	m.tally.put(queue.Change{Job: one})
	m.tally.put(queue.Change{Job: one})
	want := map[job.State]int{job.Queued: 1, job.Running: 0, job.Done: 1}
	for state, n := range want {
		if m.tally.states[state] != n {
			t.Errorf("%d jobs are %s, want %d", m.tally.states[state], state, n)
		}
	}
	if got := m.tally.holders(); len(got) != 0 {
		t.Errorf("holders %v", got)
	}
	if got := labels(t, m, "prbench_queue_wait_seconds", "pool"); !slices.Equal(got, []string{"default"}) {
		t.Errorf("waits of pools %q", got)
	}
}

func TestFaultsAreCountedByRunnerAndStopsAreNot(t *testing.T) {
	m := newMetrics([]config.Pool{{Name: "default"}})
	m.tally.put(queue.Change{CaughtUp: true})
	j := job.Job{ID: "1.1.1", Spec: job.Spec{Pool: "default"}, Runner: "U", RunnerName: "box"}
	put := func(change func()) {
		change()
		m.tally.put(queue.Change{Job: j})
	}
	runs := func() { j.State, j.NotBefore, j.Started = job.Running, time.Time{}, time.Now().Add(-time.Hour) }
	lost := func(pause bool) func() {
		return func() {
			j.State, j.LostTries = job.Queued, append(slices.Clone(j.LostTries), "lost")
			if pause {
				j.NotBefore = time.Now()
			}
		}
	}
	put(runs)
	if got := metric(t, m, "prbench_running_oldest_seconds"); got < 3600 || got > 7200 {
		t.Errorf("the job has run for %v s", got)
	}
	if got := labels(t, m, "prbench_faults_total", "runner"); !slices.Equal(got, []string{"box"}) {
		t.Errorf("before its first fault the runners are %q", got)
	}
	put(lost(false)) // it was stopped
	put(runs)
	put(lost(true))
	put(runs)
	put(func() {
		lost(false)()
		j.State, j.Outcome = job.Publishing, &job.Outcome{Kind: job.Fault}
	})
	put(func() { j.State = job.Failed })
	if got := metric(t, m, "prbench_faults_total"); got != 2 {
		t.Errorf("%v faults", got)
	}
	if got := metric(t, m, "prbench_running_oldest_seconds"); got != 0 {
		t.Errorf("none runs, and one has run for %v s", got)
	}
}

func TestAClashIsNoFaultOfARunner(t *testing.T) {
	m := newMetrics([]config.Pool{{Name: "default"}})
	m.tally.put(queue.Change{CaughtUp: true})
	j := job.Job{ID: "1.1.1", Spec: job.Spec{Pool: "default"}, Runner: "U", RunnerName: "box"}
	for try := range job.MaxTries {
		j.State, j.NotBefore = job.Running, time.Time{}
		m.tally.put(queue.Change{Job: j})
		j.State, j.NotBefore = job.Queued, time.Now()
		j.LostTries, j.Clash = append(slices.Clone(j.LostTries), "lost"), &job.Clash{Case: "a.js", Side: job.New, Tries: try + 1}
		if try+1 == job.MaxTries {
			j.State, j.NotBefore, j.Outcome = job.Publishing, time.Time{}, &job.Outcome{Kind: job.Fault, Clash: j.Clash}
		}
		m.tally.put(queue.Change{Job: j})
	}
	if got := metric(t, m, "prbench_faults_total"); got != 0 {
		t.Errorf("%v faults", got)
	}
}

// metric is the value of the metric's only series.
func metric(t *testing.T, m *metrics, name string) float64 {
	t.Helper()
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if s := f.GetMetric(); f.GetName() == name && len(s) == 1 {
			return s[0].GetCounter().GetValue() + s[0].GetGauge().GetValue()
		}
	}
	t.Fatalf("no single series of %s", name)
	return 0
}
