package queue

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prbench/prbench/internal/job"
)

func calibrated(cv float64) job.Calibration {
	return job.Calibration{At: time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC), Suite: "process", Benchmarks: 12, Pairs: 30, CV: cv, Detectable80: .01, Worst80: .03}
}

func TestARunnersCalibrationIsKeptUnderItsOwnKeyAndStandsInItsReports(t *testing.T) {
	onBoth(t, func(t *testing.T, q *Queue, seedA, seedB string) {
		serve(t, q, &forge{})
		a, b := dial(t, q.RunnerURL(), seedA), dial(t, q.RunnerURL(), seedB)
		ctx := t.Context()
		if err := errors.Join(a.Calibrated(ctx, calibrated(.5)), a.Calibrated(ctx, calibrated(.01)), b.Calibrated(ctx, calibrated(.02))); err != nil {
			t.Fatal(err)
		}
		all, err := q.Calibrations(ctx, "default")
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]float64{}
		for _, c := range all {
			got[c.Name+" "+c.Key] = c.CV
		}
		if diff := cmp.Diff(map[string]float64{"a " + a.Key(): .01, "b " + b.Key(): .02}, got); diff != "" {
			t.Errorf("want - got +\n%s", diff)
		}
		if others, err := q.Calibrations(ctx, "big"); err != nil || len(others) != 0 {
			t.Errorf("another pool: %v, %v", others, err)
		}
		// A runner whose own copy is gone gets what it told before; one that has its
		// own keeps that.
		own := calibrated(.04)
		for _, c := range []struct {
			told *job.Calibration
			want float64
		}{{nil, .01}, {&own, .04}} {
			id := create(t, q, wish(1, 1, time.Now().String())).ID
			l := claim(t, a)
			if err := a.Done(ctx, id, l.Try, job.Outcome{Kind: job.Measured, Host: job.Host{Calibration: c.told}}); err != nil {
				t.Fatal(err)
			}
			if h := get(t, q, id).Outcome.Host; h.Calibration == nil || h.Calibration.CV != c.want {
				t.Errorf("told %+v: the outcome has %+v, want a cv of %v", c.told, h.Calibration, c.want)
			}
		}
		if err := q.Revoke(ctx, "b"); err != nil {
			t.Fatal(err)
		}
		if all, err := q.Calibrations(ctx, "default"); err != nil || len(all) != 1 || all[0].Name != "a" {
			t.Errorf("after b was revoked: %+v, %v", all, err)
		}
	})
}

func TestACalibrationNamesNoSuiteInAnotherRepositorysJobs(t *testing.T) {
	q := open(t)
	serve(t, q, &forge{})
	a := enroll(t, q, "a", "default")
	of := func(repository int64) *job.Calibration {
		c := calibrated(.01)
		c.Suite, c.Repository, c.Stars, c.ExpectedStars, c.Unfit = "secret-codec", repository, 2, .6, []string{"it swapped"}
		return &c
	}
	if err := a.Calibrated(t.Context(), *of(1)); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		told  *job.Calibration // by the runner, with the outcome
		repo  int64
		named bool
	}{
		"its own, as serve knows it":      {nil, 1, true},
		"another one, as serve knows it":  {nil, 2, false},
		"its own, as the runner tells it": {of(1), 1, true},
		"another one, as told":            {of(1), 2, false},
		"one that nobody knows":           {of(0), 2, false},
	} {
		id := create(t, q, wish(c.repo, 1, name)).ID
		l := claim(t, a)
		if err := a.Done(t.Context(), id, l.Try, job.Outcome{Kind: job.Measured, Host: job.Host{Calibration: c.told}}); err != nil {
			t.Fatal(err)
		}
		got := get(t, q, id).Outcome.Host.Calibration
		if got == nil || (got.Suite != "") != c.named || got.Elsewhere == c.named || !c.named && got.Repository != 0 {
			t.Errorf("%s: %+v", name, got)
		}
		if got != nil && (got.Stars != 2 || got.ExpectedStars != .6 || len(got.Unfit) != 1) {
			t.Errorf("%s: what it is worth is lost: %+v", name, got)
		}
	}
}

func TestACalibrationOfAnotherSetupIsNotRecalled(t *testing.T) {
	q := open(t)
	serve(t, q, &forge{})
	a := enroll(t, q, "a", "default")
	c := calibrated(.01)
	c.Setup = "kernel 6.1.0; CPUs 2-3"
	if err := a.Calibrated(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	for setup, holds := range map[string]bool{c.Setup: true, "kernel 6.1.9; CPUs 2-3": false, "": false} {
		id := create(t, q, wish(1, 1, "under "+setup)).ID
		l := claim(t, a)
		if err := a.Done(t.Context(), id, l.Try, job.Outcome{Kind: job.Measured, Host: job.Host{Setup: setup}}); err != nil {
			t.Fatal(err)
		}
		if got := get(t, q, id).Outcome.Host.Calibration; (got != nil) != holds {
			t.Errorf("%q: %+v", setup, got)
		}
	}
}

func TestACalibrationThatMakesNoSenseIsRefused(t *testing.T) {
	q := open(t)
	serve(t, q, &forge{})
	a := enroll(t, q, "a", "default")
	for name, change := range map[string]func(*job.Calibration){
		"a negative cv":              func(c *job.Calibration) { c.CV = -1 },
		"a huge change":              func(c *job.Calibration) { c.Detectable80 = 1e9 },
		"no time":                    func(c *job.Calibration) { c.At = time.Time{} },
		"no benchmark":               func(c *job.Calibration) { c.Benchmarks = 0 },
		"no pairs":                   func(c *job.Calibration) { c.Pairs = -3 },
		"a correlation < -1":         func(c *job.Calibration) { c.Correlation = -1.5 },
		"more stars than benchmarks": func(c *job.Calibration) { c.Stars = 13 },
		"stars below zero":           func(c *job.Calibration) { c.ExpectedStars = -1 },
		"a NaN":                      func(c *job.Calibration) { c.Worst80 = math.NaN() },
	} {
		c := calibrated(.01)
		change(&c)
		if err := a.Calibrated(t.Context(), c); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
	long := calibrated(.01)
	long.Suite = strings.Repeat("x", 5000)
	if err := a.Calibrated(t.Context(), long); err != nil {
		t.Fatal(err)
	}
	if all, err := q.Calibrations(t.Context(), "default"); err != nil || len(all) != 1 || len(all[0].Suite) > 300 {
		t.Errorf("kept: %d, %v", len(all), err)
	}
	// What a runner puts into an outcome is held to the same.
	id := create(t, q, wish(1, 1, "k")).ID
	l := claim(t, a)
	bad := calibrated(-1)
	if err := a.Done(t.Context(), id, l.Try, job.Outcome{Kind: job.Measured, Host: job.Host{Calibration: &bad}}); err != nil {
		t.Fatal(err)
	}
	if c := get(t, q, id).Outcome.Host.Calibration; c == nil || c.CV != .01 {
		t.Errorf("the outcome has %+v", c)
	}
}
