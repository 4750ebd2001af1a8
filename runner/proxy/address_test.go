package proxy

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

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
