// Package forgetest is a GitHub that runs in the process: the REST interface
// that a GitHub App uses, signed webhooks, and git over smart HTTP from real
// repositories, with the state behind them. Tests and the demo talk to it over
// a real loopback connection, as they would to GitHub.
//
// Its addresses are those of GitHub Enterprise Server: REST under
// http://HOST:PORT/api/v3, git at http://HOST:PORT/OWNER/NAME.git, and a page
// of a pull request's conversation at http://HOST:PORT/OWNER/NAME/pull/N.
//
// What changes state from outside comes in two ways: requests with a token,
// and methods of Server that act as a person (AddLabel, Comment, Push, …).
// Both send the webhooks that GitHub would send.
package forgetest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Options say how a Server is set up. The zero value is good for a test.
type Options struct {
	// Listen is the address to listen on; 127.0.0.1:0 when empty.
	Listen string
	// Dir keeps the bare repositories; a temporary folder, removed by Close,
	// when empty.
	Dir string
	// Now is the server's clock; time.Now when nil.
	Now func() time.Time
}

// TB is what Start needs of a testing.TB. This package is part of the demo's
// binary and therefore does not import testing.
type TB interface {
	Helper()
	Fatal(args ...any)
	Cleanup(func())
}

// Start runs a Server until the test ends.
func Start(tb TB) *Server {
	tb.Helper()
	s, err := New(Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Fatal(err)
		}
	})
	return s
}

// Must is for tests and set-up code, where an error is the end.
func Must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Server is a running GitHub stand-in. All its methods may be called
// concurrently.
type Server struct {
	dir    string
	ownDir bool
	now    func() time.Time
	base   string // http://host:port
	http   *http.Server
	done   chan error
	api    *http.ServeMux
	gitCGI string // path of git http-backend
	page   *pageRenderer
	hooks  *hookQueue
	active sync.WaitGroup // requests that are being answered

	mu            sync.Mutex
	closing       bool
	lastID        int64
	users         map[string]*User // by lower-case login
	repos         map[int64]*Repo
	repoNames     map[string]*Repo // by lower-case owner/name, former names too
	apps          map[int64]*App
	installations map[int64]*Installation
	tokens        map[string]*token
	comments      map[int64]*comment
	checkRuns     map[int64]*checkRun
	pending       map[string]*pendingApp // by code
	oauth         oauthState
	browser       *User       // who is signed in on the pages
	deliveries    []*Delivery // oldest first
	budgets       map[string]*budget
	budgetSize    int
	contentLimit  int
	faults        []*armedFault
	requests      []Request
}

// New starts a Server.
func New(opts Options) (*Server, error) {
	s := &Server{
		dir: opts.Dir, now: opts.Now, done: make(chan error, 1), lastID: 1000, budgetSize: 5000,
		users: map[string]*User{}, repos: map[int64]*Repo{}, repoNames: map[string]*Repo{}, apps: map[int64]*App{},
		installations: map[int64]*Installation{}, tokens: map[string]*token{}, comments: map[int64]*comment{},
		checkRuns: map[int64]*checkRun{}, pending: map[string]*pendingApp{}, budgets: map[string]*budget{},
		oauth: oauthState{grants: map[string]*grant{}, agreed: map[*App]map[*User]bool{}}, page: newPageRenderer(),
	}
	if s.now == nil {
		s.now = time.Now
	}
	execPath, err := runGit(context.Background(), "", "--exec-path")
	if err != nil {
		return nil, fmt.Errorf("forgetest needs git: %w", err)
	}
	s.gitCGI = filepath.Join(strings.TrimSpace(execPath), "git-http-backend")
	if _, err := os.Stat(s.gitCGI); err != nil {
		return nil, fmt.Errorf("forgetest needs git http-backend: %w", err)
	}
	if s.dir == "" {
		if s.dir, err = os.MkdirTemp("", "forgetest-"); err != nil {
			return nil, fmt.Errorf("make a folder for repositories: %w", err)
		}
		s.ownDir = true
	}
	listen := opts.Listen
	if listen == "" {
		listen = "127.0.0.1:0"
	}
	ln, err := net.Listen("tcp", listen)
	if err != nil {
		s.removeDir()
		return nil, fmt.Errorf("listen: %w", err)
	}
	s.base = "http://" + ln.Addr().String()
	s.hooks = newHookQueue(s)
	s.api = s.routes()
	s.http = &http.Server{Handler: s.handler(), ReadHeaderTimeout: 30 * time.Second}
	go func() { s.done <- s.http.Serve(ln) }()
	return s, nil
}

// Close stops the server, drops webhooks that are not delivered yet, and
// removes the repositories where New made the folder.
func (s *Server) Close() error {
	s.hooks.close()
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.http.Close()
	err := <-s.done
	s.active.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return errors.Join(err, s.removeDir())
}

// begin counts a request as being answered, unless the server is closing.
func (s *Server) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return false
	}
	s.active.Add(1)
	return true
}

func (s *Server) removeDir() error {
	if !s.ownDir {
		return nil
	}
	return os.RemoveAll(s.dir)
}

// URL is the server's root, without a trailing slash.
func (s *Server) URL() string { return s.base }

// APIURL is the REST root, without a trailing slash.
func (s *Server) APIURL() string { return s.base + "/api/v3" }

// id gives out the next identifier; the caller holds mu.
func (s *Server) id() int64 {
	s.lastID += 7
	return s.lastID
}

// stamp is the present time as GitHub writes it, in whole seconds.
func (s *Server) stamp() time.Time { return s.now().UTC().Truncate(time.Second) }
