package publish

import (
	"math"
	"strings"
	"testing"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report"
)

func TestProgressOfAnySizeIsShownWithinItsBar(t *testing.T) {
	for _, p := range []job.Progress{
		{Phase: "measure", Done: math.MaxInt, Total: 1}, {Phase: "measure", Done: math.MaxInt, Total: math.MaxInt},
		{Phase: "measure", Done: -5, Total: 10}, {Phase: "é\x00", Done: math.MinInt, Total: math.MaxInt}, {Phase: job.Phase(strings.Repeat("ß", 999)), Total: 3},
	} {
		j := job.Job{Progress: p}
		text := progressText(j)
		if n := strings.Count(text, "█") + strings.Count(text, "░"); n != barWidth {
			t.Errorf("a bar of %d, want %d:\n%s", n, barWidth, text)
		}
		title := report.ProgressTitle(j.Progress)
		if strings.ContainsAny(title, "\x00\ufffd") || len(title) > 300 {
			t.Errorf("title %q", title)
		}
	}
	if title := report.ProgressTitle(job.Progress{Phase: "étude", Done: 1, Total: 2}); title != "Étude: 1 of 2 runs" {
		t.Errorf("title %q", title)
	}
}

func TestACommentNeverOutgrowsItsLimit(t *testing.T) {
	for _, newest := range []int{100, report.MaxMarkdown - 150, report.MaxMarkdown} {
		var all []headReport
		for range 1000 {
			all = append(all, headReport{title: strings.Repeat("t", 300), markdown: strings.Repeat("m", 20000)})
		}
		all = append(all, headReport{title: "new", markdown: strings.Repeat("n", newest)})
		body := compose(all)
		if len(body) > report.MaxMarkdown || !strings.HasPrefix(body, "nnn") {
			t.Errorf("%d bytes, at most %d", len(body), report.MaxMarkdown)
		}
		if newest < report.MaxMarkdown && !strings.Contains(body, " more, which the check runs show.") {
			t.Errorf("what has no room is not counted: %q", body[len(body)-100:])
		}
	}
}

func TestOneBadRecordDoesNotStopTheOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	bad := w.ask(func(j *job.Job) { j.Installation = 666 })
	good := w.ask(nil)
	p := w.publisher()
	hub := p.Hub
	p.Hub = func(id int64) Hub {
		if id == 666 {
			panic("a bad record")
		}
		return hub(id)
	}
	w.run(p)
	w.await(good.ID, "is shown", func(j job.Job) bool { return j.Published.Revision == j.Revision })
	if j, err := w.store.Get(t.Context(), bad.ID); err != nil || j.Published.Revision != 0 {
		t.Errorf("the bad one: %+v, %v", j.Published, err)
	}
	if log := w.log.String(); !strings.Contains(log, "a bad record") || !strings.Contains(log, string(bad.ID)) {
		t.Errorf("the log does not tell:\n%s", log)
	}
}

func TestTheLabelStaysWhileAnotherJobOfItIsUnderWay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ok(w.AddLabel("writer", w.pull, "benchmark"))
	first, second := w.ask(nil), w.ask(nil)
	w.run(w.publisher())
	w.measure(1)
	w.shown(first.ID)
	if labels := w.Conversation(w.pull).Labels; len(labels) != 1 {
		t.Errorf("labels %q while the second job waits", labels)
	}
	w.measure(1)
	w.shown(second.ID)
	if labels := w.Conversation(w.pull).Labels; len(labels) != 0 {
		t.Errorf("labels %q after the last report", labels)
	}
}
