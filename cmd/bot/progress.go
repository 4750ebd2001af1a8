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
	"github.com/prbench/prbench/runner/measure"
)

// progress shows how far a comparison is: a bar on a terminal, now and then a
// line elsewhere.
type progress struct {
	out  io.Writer
	what string // is counted

	mu    sync.Mutex
	phase job.Phase
	bars  *mpb.Progress // nil where there is no terminal
	bar   *mpb.Bar
	left  atomic.Int64 // nanoseconds; the bar reads it while it draws
	most  atomic.Bool  // the planned runs and the time left are at most
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
	if p.bar != nil {
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
	if now.Phase != p.phase {
		p.phase = now.Phase
		if now.Phase != job.PhaseMeasure || p.bars == nil {
			p.line("%s…", now.Phase)
		}
		p.said = time.Now()
	}
	if now.Total == 0 {
		return
	}
	p.left.Store(int64(now.Left))
	p.most.Store(now.AtMost)
	if p.bars != nil {
		p.draw(now)
		return
	}
	if time.Since(p.said) >= lineEvery {
		p.said = time.Now()
		p.line("%d of %s%d %s, %s%s left", now.Done, p.atMost(), now.Total, p.what, p.atMost(), leftText(now.Left.Std()))
	}
}

func (p *progress) draw(now job.Progress) {
	if p.bar == nil {
		p.bar = p.bars.AddBar(int64(now.Total),
			mpb.PrependDecorators(decor.Any(func(s decor.Statistics) string {
				return fmt.Sprintf("%d of %s%d %s ", s.Current, p.atMost(), s.Total, p.what)
			})),
			mpb.AppendDecorators(decor.Any(func(decor.Statistics) string {
				return p.atMost() + leftText(time.Duration(p.left.Load())) + " left"
			})), mpb.BarRemoveOnComplete())
	}
	p.bar.SetTotal(int64(now.Total), false)
	p.bar.SetCurrent(int64(now.Done))
}

func (p *progress) atMost() string {
	if p.most.Load() {
		return "at most "
	}
	return ""
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
