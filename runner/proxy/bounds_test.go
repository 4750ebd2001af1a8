package proxy

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

func TestABuildThatFloodsTheProxyIsToldInFewLines(t *testing.T) {
	s := start(t, newOutside(t), nil)
	const asked = 3 * maxLogged
	for i := range asked {
		s.say(t, fmt.Sprintf("CONNECT h%d.example.org:443 HTTP/1.1\r\n\r\n", i/2))
	}
	s.end(t)
	notes := s.Notes("the build")
	if len(notes) != maxNoted+1 || !strings.Contains(notes[maxNoted], "more times") {
		t.Errorf("notes: %q", notes)
	}
	if n := strings.Count(s.log.String(), "\n"); n != maxLogged+1 || !strings.Contains(s.log.String(), fmt.Sprintf("refused=%d", asked)) {
		t.Errorf("%d lines of log", n)
	}
}

func TestAHeadThatNeverEndsEnds(t *testing.T) {
	s := start(t, newOutside(t), func(o *Options) { o.bounds.head = 50 * time.Millisecond })
	c := s.dial(t)
	fmt.Fprint(c, "CONNECT example.com:443 HTTP/1.1\r\nX: ")
	answer, err := io.ReadAll(c)
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 400 ") {
		t.Errorf("answer %q, %v", answer, err)
	}
	s.end(t)
}

func TestASilentTunnelEnds(t *testing.T) {
	o := newOutside(t)
	s := start(t, o, func(opts *Options) { opts.bounds.idle = 50 * time.Millisecond })
	c := s.dial(t)
	fmt.Fprint(c, "CONNECT example.com:443 HTTP/1.1\r\n\r\n")
	if answer, err := io.ReadAll(c); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 200 ") {
		t.Errorf("answer %q, %v", answer, err)
	}
	s.end(t)
}

func TestConnectionsAreBoundedInNumberAndEndWithTheProxy(t *testing.T) {
	o := newOutside(t)
	s := start(t, o, func(opts *Options) { opts.bounds.connections = 2 })
	open := func() *bufio.Reader {
		c := s.dial(t)
		fmt.Fprint(c, "CONNECT example.com:443 HTTP/1.1\r\n\r\n")
		return bufio.NewReader(c)
	}
	first, second, third := open(), open(), open()
	for _, r := range []*bufio.Reader{first, second} {
		if line, err := r.ReadString('\n'); err != nil || !strings.Contains(line, " 200 ") {
			t.Fatalf("%q, %v", line, err)
		}
	}
	if len(s.slots) != 2 {
		t.Errorf("%d connections are served", len(s.slots))
	}
	s.end(t)
	for _, r := range []*bufio.Reader{first, second} {
		if _, err := io.Copy(io.Discard, r); err != nil && !errors.Is(err, io.EOF) && !strings.Contains(err.Error(), "reset") {
			t.Error(err)
		}
	}
	if rest, _ := io.ReadAll(third); len(rest) != 0 {
		t.Errorf("the third was answered: %q", rest)
	}
}
