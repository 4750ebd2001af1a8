package proxy

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

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
