package proxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Proxy serves one build. It must be closed.
type Proxy struct {
	o       Options
	hosts   map[string]bool
	ln      *net.UnixListener
	ctx     context.Context
	stop    context.CancelFunc
	serving sync.WaitGroup
	slots   chan struct{}
	journal journal
}

// Start makes the socket and the program for inside in Options.Dir, and serves
// until Close. Whoever runs the build needs access to both.
func Start(o Options) (*Proxy, error) {
	if len(o.Hosts) == 0 || o.Dir == "" {
		return nil, errors.New("the build's proxy: want hosts and a directory")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Resolve == nil {
		o.Resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
			// The final dot keeps the resolver from trying this machine's own domain.
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host+".")
		}
	}
	if o.Dial == nil {
		o.Dial = func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", to.String())
		}
	}
	if o.Own == nil {
		o.Own = interfaceAddresses
	}
	if o.bounds == (bounds{}) {
		o.bounds = usual
	}
	p := &Proxy{o: o, hosts: map[string]bool{}, slots: make(chan struct{}, o.bounds.connections), journal: journal{log: o.Logger}}
	for _, h := range o.Hosts {
		p.hosts[strings.TrimSuffix(strings.ToLower(h), ".")] = true
	}
	if err := copyProgram(filepath.Join(o.Dir, programName)); err != nil {
		return nil, fmt.Errorf("the build's proxy: %w", err)
	}
	var err error
	if p.ln, err = listen(o.Dir); err != nil {
		return nil, fmt.Errorf("the build's proxy: %w", err)
	}
	p.ctx, p.stop = context.WithCancel(context.Background())
	p.serving.Go(p.accept)
	return p, nil
}

// listen makes the socket in dir. A socket's address has 107 bytes, fewer than
// the path of a job may have: the way through the open directory is short.
func listen(dir string) (*net.UnixListener, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: fmt.Sprintf("/proc/self/fd/%d/%s", d.Fd(), socketName)})
	if err != nil {
		return nil, err
	}
	ln.SetUnlinkOnClose(false) // the descriptor will be another's by then; the directory goes as a whole
	return ln, nil
}

// copyProgram copies the running program, whose own place may be closed to who
// runs the build.
func copyProgram(to string) error {
	from, err := os.Open("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("read the running program: %w", err)
	}
	defer from.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, from)
	if err := errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("copy the running program: %w", err)
	}
	return nil
}

// Close ends all connections and returns when nothing of the proxy runs any
// more.
func (p *Proxy) Close() error {
	p.stop()
	err := p.ln.Close()
	p.serving.Wait()
	p.journal.sum()
	return err
}

// Notes are sentences for the job's report about what was asked for in vain.
// who is the build: "the build of the head".
func (p *Proxy) Notes(who string) []string { return p.journal.notes(who) }

func (p *Proxy) accept() {
	for {
		select {
		case p.slots <- struct{}{}:
		case <-p.ctx.Done():
			return
		}
		c, err := p.ln.AcceptUnix()
		if err != nil {
			<-p.slots
			if p.ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return
			}
			p.o.Logger.Error("the build's proxy accepts nothing", "error", err)
			select { // out of descriptors, most likely
			case <-time.After(100 * time.Millisecond):
			case <-p.ctx.Done():
			}
			continue
		}
		p.serving.Go(func() {
			defer func() { <-p.slots }()
			p.serve(c)
		})
	}
}

// serve is the life of one connection.
func (p *Proxy) serve(c *net.UnixConn) {
	defer c.Close()
	defer context.AfterFunc(p.ctx, func() { c.Close() })()
	if err := c.SetDeadline(time.Now().Add(p.o.bounds.head)); err != nil {
		return
	}
	r := bufio.NewReaderSize(c, maxHead)
	line, err := readLine(r)
	if err != nil {
		if !errors.Is(err, io.EOF) && p.ctx.Err() == nil {
			p.refuse(c, &refusal{status: 400, why: "something that is no request to a proxy", cause: err})
		}
		return
	}
	host, err := hostOf(line)
	if err == nil {
		var server net.Conn
		if server, err = p.reach(host); err == nil {
			p.tunnel(c, r, server, host)
			return
		}
	}
	var no *refusal
	if errors.As(err, &no) && p.ctx.Err() == nil {
		p.refuse(c, no)
	}
}

var statusText = map[int]string{400: "Bad Request", 403: "Forbidden", 502: "Bad Gateway"}

// refuse tells the build, the log and the job's notes.
func (p *Proxy) refuse(c net.Conn, no *refusal) {
	p.journal.refused(no)
	text := "prbench: the build asked for " + no.text() + "\n"
	_ = c.SetDeadline(time.Now().Add(p.o.bounds.head))
	// A build that does not read its answer loses nothing of ours.
	_, _ = fmt.Fprintf(c, "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		no.status, statusText[no.status], len(text), text)
}

// reach connects to a host by its name. Every error is a *refusal.
func (p *Proxy) reach(host string) (net.Conn, error) {
	no := func(status int, why string, cause error) error {
		return &refusal{status: status, target: host, why: why, cause: cause}
	}
	if !p.hosts[host] {
		return nil, no(403, "which is not in build.network", nil)
	}
	ctx, cancel := context.WithTimeout(p.ctx, p.o.bounds.dial)
	defer cancel()
	found, err := p.o.Resolve(ctx, host)
	if err != nil {
		return nil, no(502, "whose address could not be found", err)
	}
	own, err := p.o.Own()
	if err != nil {
		return nil, no(502, "which the runner could not judge", err)
	}
	ok := slices.DeleteFunc(slices.Clone(found), func(a netip.Addr) bool { return !public(a) || slices.Contains(own, plain(a)) })
	if len(ok) == 0 {
		return nil, no(403, "which leads to no public address", fmt.Errorf("it leads to %v", found))
	}
	var failed error
	for _, a := range ok[:min(len(ok), maxAddresses)] {
		c, err := p.o.Dial(ctx, netip.AddrPortFrom(a.Unmap(), 443))
		if err == nil {
			return c, nil
		}
		failed = errors.Join(failed, err)
	}
	return nil, no(502, "which could not be reached", failed)
}

// maxAddresses is how many addresses of one host are tried.
const maxAddresses = 8

// tunnel passes bytes in both directions until both ends have ended, or one has
// failed, or neither has said anything for long.
func (p *Proxy) tunnel(client *net.UnixConn, head *bufio.Reader, server net.Conn, host string) {
	defer server.Close()
	defer context.AfterFunc(p.ctx, func() { server.Close() })()
	if err := client.SetDeadline(time.Time{}); err != nil {
		return
	}
	if _, err := io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	quiet := time.AfterFunc(p.o.bounds.idle, func() {
		client.Close()
		server.Close()
	})
	defer quiet.Stop()
	began := time.Now()
	var up, down int64
	var both sync.WaitGroup
	both.Go(func() { up = p.pass(server, client, head, quiet) })
	both.Go(func() { down = p.pass(client, server, server, quiet) })
	both.Wait()
	p.journal.passed(host, up, down, time.Since(began))
}

// pass copies one direction, and ends it at the other side.
func (p *Proxy) pass(to, fromConn net.Conn, from io.Reader, quiet *time.Timer) int64 {
	n, err := io.Copy(&pulse{to, quiet, p.o.bounds.idle}, from)
	if err != nil {
		to.Close()
		fromConn.Close()
		return n
	}
	if half, ok := to.(interface{ CloseWrite() error }); !ok || half.CloseWrite() != nil {
		to.Close()
	}
	return n
}

// pulse is a writer that keeps a connection from counting as quiet.
type pulse struct {
	io.Writer
	quiet *time.Timer
	idle  time.Duration
}

func (w *pulse) Write(b []byte) (int, error) {
	w.quiet.Reset(w.idle)
	return w.Writer.Write(b)
}
