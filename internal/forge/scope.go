package forge

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bradleyfalzon/ghinstallation/v2"
	"github.com/google/go-github/v60/github"
)

// scope is what an installation's token is good for.
type scope struct {
	repository string // name without its owner
	id         int64  // in place of the name; neither: all of the installation's repositories
	writes     bool
	whole      bool // everything that the installation grants
}

// scopeOf is the least that a request needs: one that reads gets a token that can
// do no more, and one that changes something a token for its repository alone. A
// start reads all repositories of an installation, and a token for each of them
// would use up the App's own budget of requests. What the App may write at all is
// for its manifest to say: GitHub knows several permissions that let it comment.
func (t *installationTransport) scopeOf(r *http.Request) scope {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return scope{}
	}
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, t.forge.base.Path), "/")
	switch {
	case parts[0] == "repos" && len(parts) > 2:
		return scope{repository: parts[2], writes: true}
	case parts[0] == "repositories" && len(parts) > 1: // where a former name led
		if id, err := strconv.ParseInt(parts[1], 10, 64); err == nil {
			return scope{id: id, writes: true}
		}
	}
	return scope{whole: true}
}

func (s scope) options() *github.InstallationTokenOptions {
	if s.whole {
		// Not nil: that would be sent as JSON's null, where GitHub describes an object.
		return &github.InstallationTokenOptions{}
	}
	o := &github.InstallationTokenOptions{}
	if !s.writes {
		read := github.String("read")
		o.Permissions = &github.InstallationPermissions{Contents: read, Issues: read, Checks: read, PullRequests: read}
	}
	if s.repository != "" {
		o.Repositories = []string{s.repository}
	}
	if s.id != 0 {
		o.RepositoryIDs = []int64{s.id}
	}
	return o
}

// refusedFor is how long a scope that GitHub refused to make a token for is not
// asked for again.
const refusedFor = time.Hour

// mostScopes bounds how many tokens of an installation are kept.
const mostScopes = 256

// installationTransport signs as an installation, with the narrowest token that
// does. Where GitHub refuses that one (the repository is known by a former name,
// or the App was given other permissions than its manifest asks for) the
// installation's own is used. GitHub may withdraw a token before it expires
// (permissions change, a suspension is lifted), so that an answer of 401 drops the
// token and asks for a new one, once. A 401 has had no effect, which makes the
// second request safe.
type installationTransport struct {
	forge *Forge
	id    int64

	mu      sync.Mutex
	kept    map[scope]*ghinstallation.Transport
	refused map[scope]time.Time // until when
}

func (t *installationTransport) of(s scope) (*ghinstallation.Transport, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.forge.clock.Now().Before(t.refused[s]) {
		s = scope{whole: true}
	}
	if kept := t.kept[s]; kept != nil {
		return kept, nil
	}
	apps, err := t.forge.appsTransport()
	if err != nil {
		return nil, err
	}
	made := ghinstallation.NewFromAppsTransport(apps, t.id)
	made.InstallationTokenOptions = s.options()
	if t.kept == nil || len(t.kept) >= mostScopes {
		t.kept, t.refused = map[scope]*ghinstallation.Transport{}, map[scope]time.Time{}
	}
	t.kept[s] = made
	return made, nil
}

// signer gives a transport that has a token for the request.
func (t *installationTransport) signer(r *http.Request) (*ghinstallation.Transport, error) {
	s := t.scopeOf(r)
	made, err := t.of(s)
	if err != nil || s.whole {
		return made, err
	}
	_, err = made.Token(r.Context())
	keepMintAnswer(err)
	var mint *ghinstallation.HTTPError
	if !errors.As(err, &mint) || mint.Response == nil || mint.Response.StatusCode != http.StatusUnprocessableEntity {
		return made, err
	}
	t.mu.Lock()
	t.refused[s] = t.forge.clock.Now().Add(refusedFor)
	delete(t.kept, s)
	t.mu.Unlock()
	return t.of(scope{whole: true})
}

func (t *installationTransport) drop(stale *ghinstallation.Transport) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for s, kept := range t.kept {
		if kept == stale {
			delete(t.kept, s)
		}
	}
}

func (t *installationTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	used, err := t.signer(req)
	if err != nil {
		if req.Body != nil {
			req.Body.Close()
		}
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
	if used, err = t.signer(again); err != nil {
		if again.Body != nil {
			again.Body.Close()
		}
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
