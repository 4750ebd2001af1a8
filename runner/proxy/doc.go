// Package proxy lets a build reach the hosts that its configuration names, and
// nothing else.
//
// A build has a loopback of its own and no network. Where the configuration
// names hosts, the runner starts a [Proxy] for that one build, outside of the
// sandbox. It listens on a unix socket, which is all that the sandbox is given.
// Since tools want a proxy at a TCP address, the build's command is started by
// [Main], inside, which passes connections from a port of the sandbox's loopback
// to the socket. What is inside can be forged or killed by the build; it has no
// more authority than the build itself, and the build gains nothing by speaking
// to the socket directly. All decisions are made outside:
//
//   - CONNECT only, to port 443 of a host that is named, by its name. Plain http
//     is refused, since anybody on the way could change what comes.
//   - The name is resolved here. Addresses that are not public are refused after
//     that, and the connection is made to the address that was judged: a name that
//     leads somewhere else a moment later gains nothing.
//   - Heads are bounded in size and time, connections in number, silence in time.
//
// What a build may read from it may also write to: a named host can be sent
// whatever the build sees. The proxy does not look into what passes.
package proxy

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"time"
)

// Options say what a Proxy passes on.
type Options struct {
	// Hosts are the full names that may be asked for; no patterns.
	Hosts []string
	// Dir is an empty directory of the proxy's own, for the socket and the program
	// that is started inside. It is bound at [Inside].
	Dir    string
	Logger *slog.Logger // nil: none

	// Resolve gives the addresses of a host; nil: as this machine resolves.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	// Dial connects to an address that was judged; nil: over TCP.
	Dial func(ctx context.Context, to netip.AddrPort) (net.Conn, error)
	// Own gives the addresses of this machine, which are refused however public
	// they look; nil: those of its interfaces.
	Own func() ([]netip.Addr, error)

	bounds bounds
}

// bounds are what one build may take of the runner. Tests lower them.
type bounds struct {
	connections int           // at once
	head        time.Duration // from the connection to the end of its request's head
	dial        time.Duration // to resolve and connect
	idle        time.Duration // without a byte in either direction
}

var usual = bounds{connections: 128, head: 10 * time.Second, dial: 30 * time.Second, idle: 5 * time.Minute}

// Where the sandbox has what it needs.
const (
	// Inside is where Options.Dir is bound, read-only.
	Inside = "/run/prbench"

	socketName  = "socket"
	programName = "forward"
	// address is the proxy's on the sandbox's loopback.
	address = "127.0.0.1:3128"
)

// Command is argv with the program before it that Main is.
func Command(argv ...string) []string {
	return append([]string{Inside + "/" + programName}, argv...)
}

// Environment tells tools of the proxy.
func Environment() []string {
	const url, none = "http://" + address, "localhost,127.0.0.1,::1"
	return []string{
		"HTTP_PROXY=" + url, "http_proxy=" + url, "HTTPS_PROXY=" + url, "https_proxy=" + url, "ALL_PROXY=" + url, "all_proxy=" + url,
		"NO_PROXY=" + none, "no_proxy=" + none,
	}
}
