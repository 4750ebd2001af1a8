package proxy

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// maxHead is how many bytes the head of a request may have.
const maxHead = 16 << 10

// tlsPort is the only one that is passed on.
const tlsPort = "443"

// refusal is a request that is not passed on.
type refusal struct {
	status int
	target string // what was asked for, fit to be shown; empty where that is unknown
	why    string // what comes after the target: "which is not in build.network"
	cause  error  // for the log only: it may tell of this machine
}

func (r *refusal) Error() string {
	if r.cause != nil {
		return r.text() + ": " + r.cause.Error()
	}
	return r.text()
}

// text is what the build asked for and why it does not get it, for everybody to
// read.
func (r *refusal) text() string {
	if r.target == "" {
		return r.why
	}
	return r.target + ", " + r.why
}

func (r *refusal) Unwrap() error { return r.cause }

var errHead = errors.New("the head of the request is too long")

// readLine reads the head of a request, and gives its first line.
func readLine(r *bufio.Reader) (string, error) {
	var first string
	for size := 0; ; {
		line, err := r.ReadSlice('\n')
		size += len(line)
		if errors.Is(err, bufio.ErrBufferFull) || size > maxHead {
			return "", errHead
		}
		if err != nil {
			return "", fmt.Errorf("read the head of the request: %w", err)
		}
		text := strings.TrimRight(string(line), "\r\n")
		switch {
		case first == "":
			if first = text; text == "" {
				return "", errors.New("the request is empty")
			}
		case text == "":
			return first, nil
		}
	}
}

// hostOf takes the host's name out of a request's first line, or says why it is
// not asked for rightly. The name is in small letters, without a final dot.
func hostOf(line string) (string, error) {
	method, rest, _ := strings.Cut(line, " ")
	target, version, _ := strings.Cut(rest, " ")
	if !strings.HasPrefix(version, "HTTP/1.") {
		return "", &refusal{status: 400, why: "something that is no request to a proxy"}
	}
	if method != "CONNECT" {
		if _, after, ok := strings.Cut(target, "://"); ok {
			host, _, _ := strings.Cut(after, "/")
			return "", &refusal{status: 403, target: shown(host), why: "by plain http, which is not passed on; its address must begin with https"}
		}
		return "", &refusal{status: 400, why: "something that is no request to a proxy"}
	}
	host, port, err := net.SplitHostPort(target)
	if err != nil {
		return "", &refusal{status: 400, target: shown(target), why: "which is no host with a port"}
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return "", &refusal{status: 403, target: shown(target), why: "which is an address; hosts are reached by their names in build.network"}
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if !isName(host) {
		return "", &refusal{status: 400, target: shown(target), why: "which is no host's name"}
	}
	if port != tlsPort {
		return "", &refusal{status: 403, target: shown(target), why: "and only port " + tlsPort + " is passed on"}
	}
	return host, nil
}

func isName(s string) bool {
	return s != "" && len(s) <= 253 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == ""
}

// shown is what a build asked for in a form that can be shown: a name, or else
// what Go would quote, cut.
func shown(s string) string {
	const most = 100
	cut := ""
	if len(s) > most {
		s, cut = s[:most], "…"
	}
	if strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz0123456789-_.:[]") == "" {
		return s + cut
	}
	return fmt.Sprintf("%+q", s) + cut
}
