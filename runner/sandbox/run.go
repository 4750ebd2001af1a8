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

// process is one payload that has been started.
type process struct {
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

// Run runs c to its end. When it returns, no process of the run exists any more. The error is for faults of the sandbox and of c
// itself, and wraps ctx.Err() when ctx ended the run; whatever the payload does is an Outcome, limits and crashes included.
func (s *Sandbox) Run(ctx context.Context, c Command) (Outcome, error) {
	c, err := c.checked()
	if err != nil {
		return Outcome{}, fmt.Errorf("sandbox: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return Outcome{}, fmt.Errorf("sandbox: run %s: %w", c.Argv[0], err)
	}
	o, err := s.run(ctx, c)
	if err != nil {
		return o, fmt.Errorf("sandbox: run %s: %w", c.Argv[0], err)
	}
	return o, nil
}

func (s *Sandbox) run(ctx context.Context, c Command) (Outcome, error) {
	col := newCollector(c)
	pipes, err := s.newPipes()
	if err != nil {
		return Outcome{}, err
	}
	defer pipes.closeAll()
	var readers sync.WaitGroup
	readers.Go(func() { col.readStdout(pipes.outR) })
	readers.Go(func() { col.readStderr(pipes.errR) })

	p, err := s.start(c, pipes.outW, pipes.errW)
	pipes.closeWriters()
	if err != nil {
		readers.Wait()
		return Outcome{}, withLog(err, col)
	}
	reason, ctxErr := s.watch(ctx, c, p, col)
	if !wait(&readers, drainDelay) {
		pipes.closeReaders()
		readers.Wait()
	}
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
		if free, err := freeBytes(d); err == nil && free < s.cfg.KeepFree {
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
