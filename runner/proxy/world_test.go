package proxy

import (
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
