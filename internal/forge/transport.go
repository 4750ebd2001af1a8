package forge

import (
	"net/http"
	"net/url"
	"strings"
)

// refusal is this package's decision not to send a request.
type refusal string

func (r refusal) Error() string { return string(r) }

// errForeignHost is the refusal to send a credential anywhere but to the
// configured forge.
const errForeignHost refusal = "the request would leave the configured forge"

// hostGuard stands before the transport that adds the credential, and lets
// only requests to the forge's own scheme, host and path through. The
// standard client's own rule is not enough here: it drops the header, and the
// transport would add it again.
type hostGuard struct {
	base     *url.URL
	next     http.RoundTripper
	answered func(http.Header) // is told of each answer's headers
}

func (g *hostGuard) RoundTrip(req *http.Request) (*http.Response, error) {
	if !within(g.base, req.URL) {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, errForeignHost
	}
	resp, err := g.next.RoundTrip(req)
	if err == nil {
		g.answered(resp.Header)
	}
	return resp, err
}

func within(base, u *url.URL) bool {
	return u.Scheme == base.Scheme && strings.EqualFold(u.Host, base.Host) &&
		strings.HasPrefix(u.Path, base.Path)
}

// checkRedirect follows what GitHub answers for a renamed repository, and
// nothing else: it stays on the forge, and a mutation stays a mutation (a 301
// would turn a POST into a GET that succeeds without any effect).
func (f *Forge) checkRedirect(req *http.Request, via []*http.Request) error {
	switch {
	case len(via) >= 5:
		return refusal("too many redirects")
	case !within(f.base, req.URL):
		return errForeignHost
	case req.Method != via[0].Method:
		return refusal("a redirect would turn " + via[0].Method + " into " + req.Method)
	}
	return nil
}
