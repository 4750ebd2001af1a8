package sandbox

import (
	"bytes"
	"fmt"
	"io"
	"sync"
)

// tailLine is how much of one line the log tail shows, so that one endless line does not push out all others.
const tailLine = 4 << 10

// lineReader cuts a stream into lines and holds at most limit bytes, whatever comes.
type lineReader struct {
	limit int
	line  func(line []byte)           // a whole line, without its newline
	long  func(begin []byte, n int64) // a line over the limit: its beginning and its length
	buf   []byte                      // of the line that is being read; its beginning when over > 0
	over  int64                       // length so far of a line over the limit
}

// readFrom reads r to its end. An error of r counts as its end: the writer is gone.
func (l *lineReader) readFrom(r io.Reader) {
	chunk := make([]byte, 64<<10)
	for {
		n, err := r.Read(chunk)
		l.write(chunk[:n])
		if err != nil {
			l.finish()
			return
		}
	}
}

func (l *lineReader) write(p []byte) {
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			l.grow(p)
			return
		}
		if len(l.buf) == 0 && l.over == 0 && i <= l.limit {
			l.line(p[:i])
		} else {
			l.grow(p[:i])
			l.end()
		}
		p = p[i+1:]
	}
}

func (l *lineReader) grow(p []byte) {
	if l.over == 0 && len(l.buf)+len(p) <= l.limit {
		l.buf = append(l.buf, p...)
		return
	}
	if l.over == 0 {
		l.over = int64(len(l.buf))
		// The room of a long line is given back, its beginning kept.
		l.buf = append(make([]byte, 0, tailLine), l.buf[:min(tailLine, len(l.buf))]...)
	}
	l.over += int64(len(p))
	l.buf = append(l.buf, p[:min(tailLine-len(l.buf), len(p))]...)
}

func (l *lineReader) end() {
	if l.over > 0 {
		l.long(l.buf, l.over)
	} else {
		l.line(l.buf)
	}
	l.buf, l.over = l.buf[:0], 0
}

func (l *lineReader) finish() {
	if len(l.buf) > 0 || l.over > 0 {
		l.end()
	}
}

// tail keeps the last bytes of what several streams wrote.
type tail struct {
	mu      sync.Mutex
	max     int
	buf     []byte
	dropped int64
}

func (t *tail) line(line []byte) { t.add(line, int64(len(line))) }

// add takes the beginning of a line that is n bytes long in all.
func (t *tail) add(begin []byte, n int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	begin = begin[:min(len(begin), tailLine)]
	t.buf = append(t.buf, begin...)
	if rest := n - int64(len(begin)); rest > 0 {
		t.buf = fmt.Appendf(t.buf, "… [%d bytes of this line left out]", rest)
	}
	t.buf = append(t.buf, '\n')
	if len(t.buf) > 2*t.max+tailLine {
		t.cut()
	}
}

func (t *tail) cut() {
	if drop := len(t.buf) - t.max; drop > 0 {
		t.dropped += int64(drop)
		t.buf = t.buf[:copy(t.buf, t.buf[drop:])]
	}
}

// bytes is the tail, with a note of what is missing before it.
func (t *tail) bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cut()
	if t.dropped == 0 {
		return bytes.Clone(t.buf)
	}
	return fmt.Appendf(nil, "[%d bytes before this left out]\n%s", t.dropped, t.buf)
}

// collector takes the two streams of one run.
type collector struct {
	cmd     Command
	tail    tail
	full    chan struct{} // closed when the output limit is reached
	kept    int64
	stdout  []byte
	cut     bool
	long    int
	skipped int64
}

func newCollector(c Command) *collector {
	return &collector{cmd: c, tail: tail{max: c.LogTail}, full: make(chan struct{})}
}

func (c *collector) readStdout(r io.Reader) {
	l := lineReader{limit: c.cmd.LineLimit, line: c.row, long: func(begin []byte, n int64) {
		c.long++
		c.skipped += n
		c.tail.add(begin, n)
	}}
	l.readFrom(r)
}

func (c *collector) readStderr(r io.Reader) {
	l := lineReader{limit: tailLine, line: c.tail.line, long: c.tail.add}
	l.readFrom(r)
}

func (c *collector) row(line []byte) {
	c.tail.line(line)
	if c.cut {
		return
	}
	if c.kept += int64(len(line)) + 1; c.kept > c.cmd.OutputLimit {
		c.cut = true
		close(c.full)
		return
	}
	if c.cmd.Stdout != nil {
		c.cmd.Stdout(line)
		return
	}
	c.stdout = append(append(c.stdout, line...), '\n')
}

// fill puts what was read into o; the streams have ended.
func (c *collector) fill(o *Outcome) {
	o.Stdout, o.LogTail = c.stdout, c.tail.bytes()
	o.LongLines, o.SkippedBytes = c.long, c.skipped
	o.Truncated = c.cut || c.long > 0
}
