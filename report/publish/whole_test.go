package publish

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prbench/prbench/internal/forgetest"
	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report/stats"
)

// linking gives a Publisher whose jobs have pages.
func (w *world) linking() *Publisher {
	p := w.publisher()
	p.PageURL = func(j job.Job) string { return "https://bench.test/r/" + string(j.ID) + "-" + j.Page }
	return p
}

func TestEveryPlaceOnGitHubLeadsToThePage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.linking()
	w.run(p)
	first := w.ask(nil)
	checkLeads := func(what string, j job.Job) {
		t.Helper()
		for limit := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
			c := w.Conversation(w.pull)
			if i := len(c.CheckRuns) - 1; i >= 0 && c.CheckRuns[i].DetailsURL == p.PageURL(j) && strings.Contains(c.CheckRuns[i].Summary, p.PageURL(j)) {
				return
			}
			if time.Now().After(limit) {
				t.Fatalf("%s: the check run does not lead to %s: %+v", what, p.PageURL(j), c.CheckRuns)
			}
		}
	}
	checkLeads("waiting", first)
	w.measure(1.5)
	w.shown(first.ID)
	second := w.ask(nil)
	w.measure(1.5)
	w.shown(second.ID)
	body := w.onlyComment()
	for _, words := range []string{"[The whole report, with pictures and samples](" + p.PageURL(second) + ")", "([report](" + p.PageURL(first) + "))"} {
		if !strings.Contains(body, words) {
			t.Errorf("the comment does not say %q:\n%s", words, body)
		}
	}
	r, err := p.Report(t.Context(), second)
	w.ok(err)
	if len(r.About.Ledger) != 2 || r.About.Ledger[0].Page != p.PageURL(first) || r.Rows[0].Verdict != stats.Regression {
		t.Errorf("the report of the second attempt: %+v", r.About.Ledger)
	}
}

func TestAJobWithoutAPageHasNoLink(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.publisher()
	p.PageURL = func(job.Job) string { return "" }
	w.run(p)
	j := w.ask(nil)
	w.measure(1.5)
	w.shown(j.ID)
	c := w.Conversation(w.pull)
	if strings.Contains(w.onlyComment(), "whole report") || strings.Contains(c.CheckRuns[0].Summary, "(http") {
		t.Errorf("a link to nowhere: %s\n%+v", w.onlyComment(), c.CheckRuns)
	}
}

func TestARunningJobIsJudgedAtItsCompletedLooksOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.publisher()
	w.ask(func(j *job.Job) { j.Spec.Runs, j.Spec.Looks = job.Adaptive, []int{8, 15, 25} })
	l := w.claim()
	running := func() job.Job {
		j, err := w.store.Get(t.Context(), l.Job.ID)
		w.ok(err)
		return j
	}
	w.pairs(l, 0, 7, 1.5)
	r, looks, err := p.Interim(t.Context(), running())
	w.ok(err)
	if r.Rows[0].Verdict != stats.NoVerdict || len(looks) != 0 {
		t.Errorf("after 7 pairs of a first look at 8: %q", r.Rows[0].Verdict)
	}
	w.pairs(l, 7, 10, 1.5)
	r, looks, err = p.Interim(t.Context(), running())
	w.ok(err)
	if row := r.Rows[0]; row.Verdict != stats.Regression || row.Stat.Look != 1 || row.Stat.LookReached != 8 || len(looks) != 1 || len(looks[0].Resolved) != 1 {
		t.Errorf("after 10 pairs: %q at look %d, at %d pairs", row.Verdict, row.Stat.Look, row.Stat.LookReached)
	}
}

func TestACheckRunShowsTheTableOfTheLastLookWhileItsJobRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(w.publisher())
	w.ask(func(j *job.Job) { j.Spec.Runs, j.Spec.Looks = job.Adaptive, []int{8, 15, 25} })
	l := w.claim()
	tell := func(done int) (summary string) {
		title := fmt.Sprintf("%d of at most 50 runs", done)
		_, err := w.runner.Beat(t.Context(), l.Job.ID, l.Try, job.Progress{Phase: job.PhaseMeasure, Done: done, Total: 50, AtMost: true})
		w.ok(err)
		w.ok(w.Wait(t.Context(), w.pull, func(c forgetest.Conversation) bool {
			if len(c.CheckRuns) != 1 || !strings.Contains(c.CheckRuns[0].Title, title) {
				return false
			}
			summary = c.CheckRuns[0].Summary
			return true
		}))
		return summary
	}
	w.pairs(l, 0, 7, 1.5)
	if s := tell(14); strings.Contains(s, "Interim") || strings.Contains(s, "Encode") {
		t.Errorf("before the first look:\n%s", s)
	}
	w.pairs(l, 7, 10, 1.5)
	s := tell(20)
	for _, words := range []string{"█", "**Interim.**", "Look 1 of 3, at 8 pairs: 1 resolved, 0 futile, 0 open", "Encode", "***", "slower by >2 %", "may still change"} {
		if !strings.Contains(s, words) {
			t.Errorf("after the first look there is no %q:\n%s", words, s)
		}
	}
	if c := w.comments(); len(c) != 0 {
		t.Errorf("there is a comment before there is a report: %q", c)
	}
}

func TestAFixedNumberOfRunsIsNotJudgedOnTheWay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ask(nil)
	l := w.claim()
	w.pairs(l, 0, 4, 1.5)
	j, err := w.store.Get(t.Context(), l.Job.ID)
	w.ok(err)
	if r, _, err := w.publisher().Interim(t.Context(), j); r != nil || err != nil {
		t.Errorf("4 of 5 runs are judged: %+v, %v", r, err)
	}
}
