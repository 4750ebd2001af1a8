package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// drainDelay is how long the output pipes of a payload that is gone may stay open.
const drainDelay = 2 * time.Second

// process is one payload that has been made ready to begin.
type process struct {
	begin func() error // lets it go, once, and sets began
	began time.Time
	kill  func()        // ends it and all its children; safe to call at any time, more than once
	stuck func() bool   // tells, once a second, whether it stands still at its memory limit; nil where that is not known
	done  chan struct{} // closed when all of them are gone and end is set
	end   ending
}

// ending is what the system tells about a payload that is gone.
type ending struct {
	exit   int
	signal string
	usage  Usage
	limit  string // LimitMemory, LimitPids or LimitFileSize
	at     time.Time
	err    error // the sandbox failed, not the payload
}

// Held is a payload that is held in its finished sandbox, with its limits in force, until it is told to run. It is to be run or discarded.
type Held interface {
	// Run lets the payload go and runs it to its end, as [Sandbox.Run] does.
	Run(ctx context.Context) (Outcome, error)
	// Discard gives it up; after Run it does nothing. When it returns, no process of it exists any more.
	Discard() error
}

// Run runs c to its end. When it returns, no process of the run exists any more. The error is for faults of the sandbox and of c
// itself, and wraps ctx.Err() when ctx ended the run; whatever the payload does is an Outcome, limits and crashes included.
func (s *Sandbox) Run(ctx context.Context, c Command) (Outcome, error) {
	h, err := s.Prepare(ctx, c)
	if err != nil {
		return Outcome{}, err
	}
	return h.Run(ctx)
}

// Prepare makes the sandbox of c and holds c at a gate in it. Where Ahead says so, that may be done while another payload is measured.
func (s *Sandbox) Prepare(ctx context.Context, c Command) (Held, error) {
	c, err := c.checked()
	if err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("sandbox: run %s: %w", c.Argv[0], err)
	}
	h, err := s.hold(c)
	if err != nil {
		return nil, fmt.Errorf("sandbox: run %s: %w", c.Argv[0], err)
	}
	return h, nil
}

// held is a process with the readers of its output.
type held struct {
	s       *Sandbox
	c       Command
	col     *collector
	pipes   *pipes
	readers sync.WaitGroup
	p       *process
	over    bool // it has been run, or discarded
}

// hold makes c ready to begin.
func (s *Sandbox) hold(c Command) (*held, error) {
	h := &held{s: s, c: c, col: newCollector(c)}
	var err error
	if h.pipes, err = s.newPipes(); err != nil {
		return nil, err
	}
	h.readers.Go(func() { h.col.readStdout(h.pipes.outR) })
	h.readers.Go(func() { h.col.readStderr(h.pipes.errR) })
	if h.p, err = s.start(c, h.pipes); err != nil {
		h.pipes.closeWriters()
		h.drain()
		return nil, withLog(err, h.col)
	}
	return h, nil
}

// drain reads what output is left and closes the pipes.
func (h *held) drain() {
	if !wait(&h.readers, drainDelay) {
		h.pipes.closeReaders()
		h.readers.Wait()
	}
	h.pipes.closeReaders()
}

func (h *held) Discard() error {
	if h.over {
		return nil
	}
	h.over = true
	h.p.kill()
	<-h.p.done
	h.drain()
	if err := h.p.end.err; err != nil {
		return fmt.Errorf("sandbox: give up %s: %w", h.c.Argv[0], err)
	}
	return nil
}

func (h *held) Run(ctx context.Context) (Outcome, error) {
	if h.over {
		return Outcome{}, fmt.Errorf("sandbox: run %s: it has been run or discarded", h.c.Argv[0])
	}
	o, err := h.run(ctx)
	if err != nil {
		return o, fmt.Errorf("sandbox: run %s: %w", h.c.Argv[0], err)
	}
	return o, nil
}

func (h *held) run(ctx context.Context) (Outcome, error) {
	p, col := h.p, h.col
	if err := ctx.Err(); err != nil {
		return Outcome{}, errors.Join(err, h.Discard())
	}
	if err := p.begin(); err != nil {
		return Outcome{}, withLog(errors.Join(err, h.Discard()), col)
	}
	h.over = true
	reason, ctxErr := h.s.watch(ctx, h.c, p, col)
	h.drain()
	o := Outcome{Exit: p.end.exit, Signal: p.end.signal, Rusage: p.end.usage, LimitHit: p.end.limit, Wall: p.end.at.Sub(p.began)}
	col.fill(&o)
	// A payload that hangs after it ran into a limit has that limit to blame, not the time.
	switch {
	case o.LimitHit != "":
	case reason != "":
		o.LimitHit = reason
	case col.cut:
		o.LimitHit = LimitOutput
	}
	o.TimedOut = reason == LimitTime
	if ctxErr != nil {
		return o, ctxErr
	}
	if p.end.err != nil {
		return o, withLog(p.end.err, col)
	}
	return o, nil
}

// watch waits for the end of p, brings it about where a limit or ctx asks for it, and tells which.
func (s *Sandbox) watch(ctx context.Context, c Command, p *process, col *collector) (limit string, err error) {
	var timeout, disk, memory <-chan time.Time
	if c.Timeout > 0 {
		t := time.NewTimer(c.Timeout)
		defer t.Stop()
		timeout = t.C
	}
	if dirs := hostDirs(c); s.cfg.KeepFree > 0 && len(dirs) > 0 {
		t := time.NewTicker(time.Second / 2)
		defer t.Stop()
		disk = t.C
	}
	if p.stuck != nil {
		t := time.NewTicker(time.Second)
		defer t.Stop()
		memory = t.C
	}
	for {
		select {
		case <-p.done:
			return "", nil
		case <-ctx.Done():
			err = ctx.Err()
		case <-timeout:
			limit = LimitTime
		case <-col.full:
			limit = LimitOutput
		case <-disk:
			if !s.diskLow(hostDirs(c)) {
				continue
			}
			limit = LimitDisk
		case <-memory:
			if !p.stuck() {
				continue
			}
			limit = LimitMemory
		}
		p.kill()
		<-p.done
		return limit, err
	}
}

// hostDirs are the directories of the host that c may write.
func hostDirs(c Command) []string {
	var dirs []string
	if c.Writable {
		dirs = append(dirs, c.Tree)
	}
	if c.Out != nil {
		dirs = append(dirs, c.Out.dir)
	}
	for _, b := range c.ReadWrite {
		dirs = append(dirs, b.Host)
	}
	return dirs
}

func (s *Sandbox) diskLow(dirs []string) bool {
	for _, d := range dirs {
		if s.DiskLow(d) {
			return true
		}
	}
	return false
}

// withLog adds what the failed process said, which is bubblewrap's own message where the sandbox could not be set up.
func withLog(err error, col *collector) error {
	log := col.tail.bytes()
	if len(log) == 0 {
		return err
	}
	const most = 1 << 10
	if len(log) > most {
		log = log[len(log)-most:]
	}
	return fmt.Errorf("%w: %q", err, log)
}

func wait(wg *sync.WaitGroup, d time.Duration) bool {
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-done:
		return true
	case <-t.C:
		return false
	}
}

// pipes are the two output streams of a run.
type pipes struct {
	outR, outW, errR, errW *os.File
}

func (s *Sandbox) newPipes() (*pipes, error) {
	p := &pipes{}
	var err1, err2 error
	p.outR, p.outW, err1 = os.Pipe()
	p.errR, p.errW, err2 = os.Pipe()
	if err := errors.Join(err1, err2); err != nil {
		p.closeAll()
		return nil, fmt.Errorf("output pipes: %w", err)
	}
	for _, f := range []*os.File{p.outW, p.errW} {
		// A payload that opens /dev/stdout anew needs to own the pipe.
		if err := s.acct.chownFile(f); err != nil {
			p.closeAll()
			return nil, fmt.Errorf("output pipes: %w", err)
		}
	}
	return p, nil
}

func (p *pipes) closeWriters() { closeFiles(p.outW, p.errW) }
func (p *pipes) closeReaders() { closeFiles(p.outR, p.errR) }
func (p *pipes) closeAll()     { p.closeWriters(); p.closeReaders() }

func closeFiles(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}
