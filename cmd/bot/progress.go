package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/prbench/prbench/internal/job"
)

// progress shows how far a comparison is: a bar on a terminal, now and then a
// line elsewhere.
type progress struct {
	out io.Writer

	mu    sync.Mutex
	phase job.Phase
	bars  *mpb.Progress // nil where there is no terminal
	bar   *mpb.Bar
	left  atomic.Int64 // nanoseconds; the bar reads it while it draws
	said  time.Time
}

// lineEvery is the least time between two lines where there is no terminal.
const lineEvery = 10 * time.Second

func newProgress(w io.Writer) *progress {
	p := &progress{out: w}
	if f, ok := w.(*os.File); ok && isTerminal(f) {
		p.bars = mpb.New(mpb.WithOutput(f), mpb.WithWidth(40))
	}
	return p
}

func (p *progress) say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = fmt.Fprintf(p.out, format+"\n", args...)
}

// show takes a report of progress from the runner.
func (p *progress) show(now job.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Phase != p.phase {
		p.phase = now.Phase
		if now.Phase != job.PhaseMeasure || p.bars == nil {
			_, _ = fmt.Fprintf(p.out, "%s…\n", now.Phase)
		}
		p.said = time.Now()
	}
	if now.Total == 0 {
		return
	}
	p.left.Store(int64(now.Left))
	if p.bars != nil {
		p.draw(now)
		return
	}
	if time.Since(p.said) >= lineEvery {
		p.said = time.Now()
		_, _ = fmt.Fprintf(p.out, "%d of %d runs, %s left\n", now.Done, now.Total, leftText(now.Left.Std()))
	}
}

func (p *progress) draw(now job.Progress) {
	if p.bar == nil {
		p.bar = p.bars.AddBar(int64(now.Total),
			mpb.PrependDecorators(decor.CountersNoUnit("%d of %d runs ")),
			mpb.AppendDecorators(decor.Any(func(decor.Statistics) string {
				return leftText(time.Duration(p.left.Load())) + " left"
			})), mpb.BarRemoveOnComplete())
	}
	p.bar.SetTotal(int64(now.Total), false)
	p.bar.SetCurrent(int64(now.Done))
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
