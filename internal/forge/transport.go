package forge

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/bradleyfalzon/ghinstallation/v2"
	"github.com/google/go-github/v60/github"
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

// installationTransport signs as an installation. GitHub may withdraw an
// installation's token before it expires (permissions change, a suspension is
// lifted), so that an answer of 401 drops the token and asks for a new one,
// once. A 401 has had no effect, which makes the second request safe.
type installationTransport struct {
	forge *Forge
	id    int64

	mu  sync.Mutex
	cur *ghinstallation.Transport
}

func (t *installationTransport) current() (*ghinstallation.Transport, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cur == nil {
		apps, err := t.forge.appsTransport()
		if err != nil {
			return nil, err
		}
		t.cur = ghinstallation.NewFromAppsTransport(apps, t.id)
		// Without options it would send the JSON null, where GitHub describes an object.
		t.cur.InstallationTokenOptions = &github.InstallationTokenOptions{}
	}
	return t.cur, nil
}

func (t *installationTransport) drop(stale *ghinstallation.Transport) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cur == stale {
		t.cur = nil
	}
}

func (t *installationTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	used, err := t.current()
	if err != nil {
		return nil, err
	}
	resp, err := used.RoundTrip(req)
	keepMintAnswer(err)
	if err != nil || resp.StatusCode != http.StatusUnauthorized {
		return resp, err
	}
	t.drop(used)
	again := req.Clone(req.Context())
	if req.Body != nil && req.Body != http.NoBody {
		if req.GetBody == nil {
			return resp, nil
		}
		if again.Body, err = req.GetBody(); err != nil {
			return resp, nil
		}
	}
	io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
	resp.Body.Close()
	if used, err = t.current(); err != nil {
		return nil, err
	}
	resp, err = used.RoundTrip(again)
	keepMintAnswer(err)
	return resp, err
}

// keepMintAnswer reads the answer that ghinstallation hands over unread when a
// token was refused. Once the request has returned, its context is over and
// reading could fail.
func keepMintAnswer(err error) {
	var mint *ghinstallation.HTTPError
	if errors.As(err, &mint) && mint.Response != nil {
		readMessage(mint.Response)
	}
}
