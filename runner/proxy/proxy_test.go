package proxy

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	Main()
	goleak.VerifyTestMain(m)
}

// site is the public address that the tests' names lead to. The tests connect
// to a server on the loopback in its place.
var site = netip.MustParseAddr("93.184.215.14")

// outside is an Internet of one TLS server.
type outside struct {
	server *httptest.Server
	mu     sync.Mutex
	zone   map[string][]netip.Addr
	dialed []netip.AddrPort
	asked  int
}

func newOutside(t *testing.T) *outside {
	o := &outside{zone: map[string][]netip.Addr{"example.com": {site}}}
	o.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(w, io.MultiReader(strings.NewReader("you sent: "), r.Body)); err != nil {
			t.Error(err)
		}
	}))
	o.server.Config.ErrorLog = log.New(io.Discard, "", 0) // tunnels end before a handshake here
	o.server.StartTLS()
	t.Cleanup(o.server.Close)
	return o
}

func (o *outside) resolve(_ context.Context, host string) ([]netip.Addr, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asked++
	if a := o.zone[host]; a != nil {
		return a, nil
	}
	return nil, errors.New("lookup on 192.168.7.7:53: no such host")
}

func (o *outside) dial(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	o.mu.Lock()
	o.dialed = append(o.dialed, to)
	o.mu.Unlock()
	if to.Addr() != site {
		return nil, fmt.Errorf("dial %v: no route", to)
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", o.server.Listener.Addr().String())
}

// started is a proxy with what it logs.
type started struct {
	*Proxy
	dir string
	log *bytes.Buffer
}

func start(t *testing.T, o *outside, change func(*Options)) *started {
	t.Helper()
	s := &started{dir: t.TempDir(), log: &bytes.Buffer{}}
	opts := Options{Hosts: []string{"Example.com", "down.example.com"}, Dir: s.dir, Logger: slog.New(slog.NewTextHandler(s.log, nil)),
		Resolve: o.resolve, Dial: o.dial, bounds: bounds{connections: 8, head: time.Minute, dial: time.Minute, idle: time.Minute}}
	if change != nil {
		change(&opts)
	}
	p, err := Start(opts)
	if err != nil {
		t.Fatal(err)
	}
	s.Proxy = p
	t.Cleanup(func() { p.stop(); p.serving.Wait() })
	return s
}

func (s *started) end(t *testing.T) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// dial connects to the proxy as the sandbox does.
func (s *started) dial(t *testing.T) *net.UnixConn {
	t.Helper()
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Net: "unix", Name: filepath.Join(s.dir, socketName)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// say sends bytes and gives all that comes back.
func (s *started) say(t *testing.T, text string) string {
	t.Helper()
	c := s.dial(t)
	_, _ = io.WriteString(c, text) // the proxy may have hung up on it before the end
	answer, err := io.ReadAll(c)
	if err != nil && len(answer) == 0 {
		t.Fatalf("%.60q: %v", text, err)
	}
	return string(answer)
}

func (o *outside) client(s *started) *http.Client {
	roots := x509.NewCertPool()
	roots.AddCert(o.server.Certificate())
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		Proxy:             http.ProxyURL(&url.URL{Scheme: "http", Host: "the-proxy"}),
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", filepath.Join(s.dir, socketName))
		},
		TLSClientConfig: &tls.Config{RootCAs: roots},
	}}
}

func TestABuildReachesTheHostsThatAreNamed(t *testing.T) {
	o := newOutside(t)
	s := start(t, o, nil)
	body := strings.Repeat("all of it ", 100_000)
	resp, err := o.client(s).Post("https://EXAMPLE.com/x", "text/plain", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil || string(got) != "you sent: "+body {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
	s.end(t)
	if n := s.Notes("the build"); len(n) != 0 {
		t.Errorf("notes: %q", n)
	}
	if want := netip.AddrPortFrom(site, 443); len(o.dialed) != 1 || o.dialed[0] != want {
		t.Errorf("dialed %v, want %v", o.dialed, want)
	}
	if text := s.log.String(); !strings.Contains(text, "connections=1 sent=100") || !strings.Contains(text, "refused=0") {
		t.Errorf("log: %s", text)
	}
}

func TestWhatIsNotNamedIsRefusedAndTold(t *testing.T) {
	o := newOutside(t)
	runnersPort := o.server.Listener.Addr().String()
	for _, c := range []struct{ name, ask, status, note string }{
		{"another host", "CONNECT evil.example.org:443 HTTP/1.1\r\n\r\n", "403", "evil.example.org, which is not in build.network"},
		{"a host below one that is named", "CONNECT a.example.com:443 HTTP/1.1\r\n\r\n", "403", "a.example.com, which is not"},
		{"a host that ends alike", "CONNECT notexample.com:443 HTTP/1.1\r\n\r\n", "403", "notexample.com, which is not"},
		{"another port", "CONNECT example.com:22 HTTP/1.1\r\n\r\n", "403", "example.com:22, and only port 443"},
		{"a service by its name", "CONNECT example.com:https HTTP/1.1\r\n\r\n", "403", "only port 443"},
		{"a metadata service", "CONNECT 169.254.169.254:443 HTTP/1.1\r\n\r\n", "403", "169.254.169.254:443, which is an address"},
		{"IPv6", "CONNECT [fd00:ec2::254]:443 HTTP/1.1\r\n\r\n", "403", "which is an address"},
		{"the public address of a named host", "CONNECT 93.184.215.14:443 HTTP/1.1\r\n\r\n", "403", "which is an address"},
		{"an address as a number", "CONNECT 2130706433:443 HTTP/1.1\r\n\r\n", "403", "2130706433, which is not in build.network"},
		{"the runner's own port", "CONNECT " + runnersPort + " HTTP/1.1\r\n\r\n", "403", "which is an address"},
		{"localhost", "CONNECT localhost:443 HTTP/1.1\r\n\r\n", "403", "localhost, which is not"},
		{"plain http", "GET http://example.com/x HTTP/1.1\r\nHost: example.com\r\n\r\n", "403", "example.com, by plain http"},
		{"no proxy's request", "GET / HTTP/1.1\r\nHost: example.com\r\n\r\n", "400", "something that is no request to a proxy"},
		{"no port", "CONNECT example.com HTTP/1.1\r\n\r\n", "400", "which is no host with a port"},
		{"no name", "CONNECT exa\x00mple.com:443 HTTP/1.1\r\n\r\n", "400", `"exa\x00mple.com:443", which is no host's name`},
		{"markup", "CONNECT <img>@user:443 HTTP/1.1\r\n\r\n", "400", `"<img>@user:443", which is no host's name`},
		{"TLS at once", "\x16\x03\x01\x02\x00\x01\r\n\r\n", "400", "something that is no request"},
		{"another version", "CONNECT example.com:443 HTTP/2.0\r\n\r\n", "400", "something that is no request"},
		{"a huge line", "CONNECT " + strings.Repeat("a", 2*maxHead) + ":443 HTTP/1.1\r\n\r\n", "400", "something that is no request"},
		{"a huge head", "CONNECT example.com:443 HTTP/1.1\r\n" + strings.Repeat("X: y\r\n", maxHead), "400", "something that is no request"},
		{"a long name", "CONNECT " + strings.Repeat("a", 1000) + ".org:443 HTTP/1.1\r\n\r\n", "400", strings.Repeat("a", 100) + `…, which is no host's name`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := start(t, o, nil)
			answer := s.say(t, c.ask)
			s.end(t)
			notes := strings.Join(s.Notes("the build of the head"), "\n")
			// An answer can be lost with what was not read of a huge request.
			if !strings.HasPrefix(answer, "HTTP/1.1 "+c.status) && len(c.ask) < maxHead {
				t.Errorf("answer %q", answer)
			}
			if !strings.Contains(notes, "the build of the head asked for ") || !strings.Contains(notes, c.note) {
				t.Errorf("notes %q", notes)
			}
			if text := s.log.String(); !strings.Contains(text, "refused=1") || !strings.Contains(text, "level=WARN") {
				t.Errorf("log %s", text)
			}
		})
	}
	if o.asked != 0 || len(o.dialed) != 0 {
		t.Errorf("%d names were resolved, %v dialed", o.asked, o.dialed)
	}
}

func TestANamedHostThatLeadsToAPrivateAddressIsRefused(t *testing.T) {
	o := newOutside(t)
	for _, a := range []string{"127.0.0.1", "10.1.2.3", "172.31.0.1", "192.168.1.1", "169.254.169.254", "100.100.100.200", "0.0.0.0",
		"224.0.0.1", "255.255.255.255", "192.0.0.192", "168.63.129.16", "::1", "::", "fe80::1", "fe80::1%eth0", "fd00:ec2::254", "ff02::1",
		"::ffff:10.0.0.1", "::ffff:127.0.0.1", "64:ff9b::a00:1", "64:ff9b::7f00:1", "64:ff9b:1::a00:1", "::7f00:1", "2002:7f00:1::",
		"2001:0:7f00:1::", "2001:db8::1", "198.51.100.7"} {
		t.Run(a, func(t *testing.T) {
			o.zone["example.com"] = []netip.Addr{netip.MustParseAddr(a)}
			s := start(t, o, nil)
			answer := s.say(t, "CONNECT example.com:443 HTTP/1.1\r\n\r\n")
			s.end(t)
			if !strings.HasPrefix(answer, "HTTP/1.1 403 ") || strings.Contains(answer, a) {
				t.Errorf("answer %q", answer)
			}
			if n := s.Notes("the build"); len(n) != 1 || n[0] != "the build asked for example.com, which leads to no public address" {
				t.Errorf("notes %q", n)
			}
			if !strings.Contains(s.log.String(), a) {
				t.Errorf("the log does not name the address: %s", s.log)
			}
		})
	}
	if len(o.dialed) != 0 {
		t.Errorf("dialed %v", o.dialed)
	}
}

func TestPublicAddressesArePublic(t *testing.T) {
	for _, a := range []string{"93.184.215.14", "1.1.1.1", "172.32.0.1", "100.128.0.1", "::ffff:1.1.1.1", "2606:4700::1111", "64:ff9b::101:101"} {
		if !public(netip.MustParseAddr(a)) {
			t.Errorf("%s is taken for private", a)
		}
	}
	if public(netip.Addr{}) {
		t.Error("no address is taken for a public one")
	}
}

func TestTheRunnersOwnAddressIsRefusedHoweverPublic(t *testing.T) {
	o := newOutside(t)
	s := start(t, o, func(opts *Options) { opts.Own = func() ([]netip.Addr, error) { return []netip.Addr{site}, nil } })
	if answer := s.say(t, "CONNECT example.com:443 HTTP/1.1\r\n\r\n"); !strings.HasPrefix(answer, "HTTP/1.1 403 ") {
		t.Errorf("answer %q", answer)
	}
	s.end(t)
	if own, err := interfaceAddresses(); err != nil || len(own) == 0 || !own[0].IsValid() {
		t.Errorf("this machine's addresses: %v, %v", own, err)
	}
}

func TestTheAddressThatWasJudgedIsTheOneThatIsDialed(t *testing.T) {
	o := newOutside(t)
	turn := 0
	s := start(t, o, func(opts *Options) {
		opts.Resolve = func(context.Context, string) ([]netip.Addr, error) {
			if turn++; turn > 1 { // the name leads inside from its second look-up on
				return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
			}
			return []netip.Addr{netip.MustParseAddr("10.0.0.1"), site}, nil
		}
	})
	c := s.dial(t)
	fmt.Fprint(c, "CONNECT example.com:443 HTTP/1.1\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: "CONNECT"})
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("%v, %v", resp, err)
	}
	if answer := s.say(t, "CONNECT example.com:443 HTTP/1.1\r\n\r\n"); !strings.HasPrefix(answer, "HTTP/1.1 403 ") {
		t.Errorf("answer %q", answer)
	}
	s.end(t)
	if turn != 2 || len(o.dialed) != 1 || o.dialed[0].Addr() != site {
		t.Errorf("%d look-ups, dialed %v", turn, o.dialed)
	}
}

func TestAHostThatIsAwayIsToldWithoutTheRunnersOwnNames(t *testing.T) {
	o := newOutside(t)
	s := start(t, o, nil)
	answer := s.say(t, "CONNECT down.example.com:443 HTTP/1.1\r\n\r\n")
	o.zone["example.com"] = []netip.Addr{netip.MustParseAddr("1.1.1.1")}
	answer += s.say(t, "CONNECT example.com:443 HTTP/1.1\r\n\r\n")
	s.end(t)
	told := answer + strings.Join(s.Notes("the build"), "\n")
	if strings.Count(answer, "HTTP/1.1 502 ") != 2 || !strings.Contains(told, "could not be found") || !strings.Contains(told, "could not be reached") ||
		strings.Contains(told, "192.168") || strings.Contains(told, "route") {
		t.Errorf("told: %s", told)
	}
	if !strings.Contains(s.log.String(), "192.168.7.7") {
		t.Errorf("the log lacks the cause: %s", s.log)
	}
}

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

func TestASocketMayLieDeep(t *testing.T) {
	o := newOutside(t)
	deep := filepath.Join(t.TempDir(), strings.Repeat("deep", 20), strings.Repeat("down", 20))
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	s := start(t, o, func(opts *Options) { opts.Dir = deep })
	info, err := os.Stat(filepath.Join(deep, socketName))
	if err != nil || info.Mode().Type() != os.ModeSocket {
		t.Errorf("%v, %v", info, err)
	}
	if info, err := os.Stat(filepath.Join(deep, programName)); err != nil || info.Mode().Perm()&0o111 == 0 {
		t.Errorf("the program: %v, %v", info, err)
	}
	s.end(t)
}

func TestTheProgramInsideForwardsAndKeepsTheStatus(t *testing.T) {
	o := newOutside(t)
	s := start(t, o, nil)
	socket := filepath.Join(s.dir, socketName)
	// A shell of the kind that builds are run by speaks to the proxy over TCP.
	ask := `exec 3<>/dev/tcp/127.0.0.1/$PORT; printf 'CONNECT other.example.org:443 HTTP/1.1\r\n\r\n' >&3; grep -q '403 Forbidden' <&3 && exit 7`
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(at)
	if got := forward(at, socket, []string{"/bin/bash", "-c", "PORT=" + port + "; " + ask}); got != 7 {
		t.Errorf("status %d", got)
	}
	for script, want := range map[string]int{"exit 0": 0, "exit 3": 3, "kill -9 $$": 137} {
		if got := forward("127.0.0.1:0", socket, []string{"/bin/sh", "-c", script}); got != want {
			t.Errorf("%s: status %d, want %d", script, got, want)
		}
	}
	if got := forward("127.0.0.1:0", socket, []string{"/nowhere/program"}); got != 126 {
		t.Errorf("a missing program: status %d", got)
	}
	s.end(t)
	if n := s.Notes("the build"); len(n) != 1 {
		t.Errorf("notes %q", n)
	}
}

func FuzzARequestIsReadOrRefused(f *testing.F) {
	for _, s := range []string{"CONNECT a.example.org:443 HTTP/1.1\r\nHost: x\r\n\r\n", "GET http://h/ HTTP/1.0\n\n", "CONNECT [::1]:443 HTTP/1.1\r\n\r\n", "\x16\x03\x01"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		line, err := readLine(bufio.NewReaderSize(bytes.NewReader(data), maxHead))
		if err != nil {
			return
		}
		host, err := hostOf(line)
		if err == nil {
			if _, addr := netip.ParseAddr(host); addr == nil || !isName(host) {
				t.Errorf("%q was taken for a name", host)
			}
			return
		}
		no, ok := errors.AsType[*refusal](err)
		if !ok {
			t.Fatalf("%v is no refusal", err)
		}
		for _, r := range no.text() {
			if r < ' ' || r > '~' && r != '…' {
				t.Fatalf("%q has %q", no.text(), r)
			}
		}
	})
}
