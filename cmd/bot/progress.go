package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report"
	"github.com/prbench/prbench/runner/measure"
)

// progress shows how far a comparison is: a bar on a terminal, now and then a
// line elsewhere.
type progress struct {
	out  io.Writer
	what string // is counted

	mu    sync.Mutex
	phase job.Phase
	bars  *mpb.Progress                // nil where there is no terminal
	bar   *mpb.Bar                     // of the phase
	now   atomic.Pointer[job.Progress] // the bar reads it while it draws
	drawn bool                         // there was a bar, so that lines go above it
	said  time.Time
}

// lineEvery is the least time between two lines where there is no terminal.
const lineEvery = 10 * time.Second

func newProgress(w io.Writer) *progress {
	p := &progress{out: w, what: "runs", said: time.Now()}
	if f, ok := w.(*os.File); ok && isTerminal(f) {
		p.bars = mpb.New(mpb.WithOutput(f), mpb.WithWidth(40))
	}
	return p
}

func (p *progress) say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line(format, args...)
}

// line writes a line, above the bar where there is one.
func (p *progress) line(format string, args ...any) {
	w := p.out
	if p.drawn {
		w = p.bars
	}
	_, _ = fmt.Fprintf(w, format+"\n", args...)
}

// looked shows what a look found.
func (p *progress) looked(l measure.Look, margin float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line("%s", strings.Join(lookLines(l, margin), "\n"))
	p.said = time.Now()
}

// show takes a report of progress from the runner.
func (p *progress) show(now job.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.At.IsZero() {
		now.At = time.Now()
	}
	if now.Phase != p.phase {
		p.begin(now)
	}
	p.now.Store(&now)
	if p.bars != nil {
		p.draw(now)
		return
	}
	if now.Total > 0 && time.Since(p.said) >= lineEvery {
		p.said = time.Now()
		line := report.ProgressLine(now, p.what)
		if place := report.ProgressPlace(now, report.Visible); place != "" {
			line += "; at " + place
		}
		p.line("%s", line)
	}
}

// begin ends the phase before, with the time that a build took, and says which
// begins.
func (p *progress) begin(now job.Progress) {
	if was := p.now.Load(); was != nil {
		if took := was.Now(now.At); took.Spent > 0 {
			p.line("%s: took %s", was.Phase, report.RoundTime(took.Spent.Std()))
		}
	}
	if p.bar != nil {
		p.bar.Abort(true)
		p.bar = nil
	}
	p.phase, p.said = now.Phase, time.Now()
	if p.bars != nil && (now.Phase == job.PhaseMeasure || builds(now)) {
		return // the bar says it
	}
	line := string(now.Phase) + "…"
	if rest := report.ProgressRest(now); rest != "" {
		line += " " + rest
	}
	p.line("%s", line)
}

func builds(now job.Progress) bool {
	return now.Phase == job.PhaseBuildBase || now.Phase == job.PhaseBuildHead
}

// caseColumns bounds the case's name beside the bar.
const caseColumns = 24

// draw shows a bar of what is counted, or of a build how long it has taken.
func (p *progress) draw(now job.Progress) {
	switch {
	case p.bar == nil && builds(now):
		p.bar = p.bars.New(0, mpb.NopStyle(), mpb.PrependDecorators(decor.Any(func(decor.Statistics) string {
			return report.ProgressTitle(p.now.Load().Now(time.Now()))
		})), mpb.BarRemoveOnComplete())
	case p.bar == nil && now.Total > 0:
		p.bar = p.bars.AddBar(int64(now.Total),
			mpb.PrependDecorators(decor.Any(func(decor.Statistics) string { return report.ProgressCount(*p.now.Load(), p.what) + " " })),
			mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return besideBar(*p.now.Load()) })), mpb.BarRemoveOnComplete())
	}
	p.drawn = p.drawn || p.bar != nil
	if p.bar != nil && now.Total > 0 {
		p.bar.SetTotal(int64(now.Total), false)
		p.bar.SetCurrent(int64(now.Done))
	}
}

// besideBar is what the bar does not show: the times, and the case as far as
// there is room for it.
func besideBar(now job.Progress) string {
	text := report.ProgressRest(now)
	place := report.ProgressPlace(now, func(name string) string { return report.Short(name, caseColumns) })
	if text != "" && place != "" {
		text += "; "
	}
	return text + place
}

func leftText(d time.Duration) string {
	if d <= 0 {
		return "unknown time"
	}
	return d.Round(time.Second).String()
}

// end takes the bar away, so that the report can follow.
func (p *progress) end() {
	if p.bars == nil {
		return
	}
	p.mu.Lock()
	bar := p.bar
	p.mu.Unlock()
	if bar != nil {
		bar.Abort(true)
	}
	p.bars.Wait()
}
