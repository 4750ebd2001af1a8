// Package pages serves the result pages of jobs: how far a job is, what its
// report says, and everything that was measured, for downloading.
//
// The address of a page has a random part of 128 bits and stands only in its
// pull request. That is enough for a public repository. Pages of a private one
// ask who the visitor is, by the App's own sign-in, and whether GitHub lets them
// read the repository. Whatever is wrong with an address gets the same answer.
package pages

import (
	"context"
	"errors"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/prbench/prbench/internal/forge"
	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/internal/queue"
	"github.com/prbench/prbench/report"
)

// Store holds the jobs and their samples. *queue.Queue is one.
type Store interface {
	Get(ctx context.Context, id job.ID) (job.Job, error)
	List(ctx context.Context, repoID int64, pr int) ([]job.Job, error)
	Watch(ctx context.Context) (<-chan queue.Change, error)
	Runs(ctx context.Context, runner string, id job.ID, try int) iter.Seq2[job.Run, error]
}

// Reports judges what jobs measured. *publish.Publisher is one.
type Reports interface {
	// Report is a finished job's, nil where nothing was measured.
	Report(ctx context.Context, j job.Job) (*report.Report, error)
	// Interim is a running job's at its last completed look, nil where it has none.
	Interim(ctx context.Context, j job.Job) (*report.Report, []report.LookFound, error)
}

// Records holds the records of backports. *queue.Queue is one.
type Records interface {
	HasRecord(ctx context.Context, id job.ID) (bool, error)
	Record(ctx context.Context, id job.ID) ([]byte, error)
	RecordSamples(ctx context.Context, id job.ID) (io.ReadCloser, error)
}

// Hub asks GitHub as an installation. *forge.Client is one.
type Hub interface {
	RepositoryByID(ctx context.Context, id int64) (forge.Repository, error)
}

// SignIn asks a person's GitHub who they are. *forge.SignIn is one.
type SignIn interface {
	Address(state, verifier string) string
	Visit(ctx context.Context, code, verifier string, repoID int64) (forge.Visitor, error)
}

// Config says what a Server works with.
type Config struct {
	Store   Store
	Reports Reports
	Records Records // nil: there are none
	// Hub gives the client of an installation.
	Hub func(installation int64) Hub
	// SignIn and ClientSecret are the App's sign-in; nil and empty: there is none,
	// and pages of private repositories are closed.
	SignIn       SignIn
	ClientSecret string
	PublicURL    string // where people reach the server, without a slash at its end
	// Limits gives a pool's limits on running jobs; nil: none.
	Limits    func(pool string) queue.Limits
	Retention time.Duration // of samples
	Log       *slog.Logger
	Now       func() time.Time
}

// Server answers everything below Root. Use New.
type Server struct {
	Config
	base    string // the path of PublicURL with Root
	seal    sealer
	cache   *cache
	line    *line
	seen    *visibility
	streams chan struct{} // bounds the downloads that stream at once
}

// What a Server keeps and does at once.
const (
	cacheBytes    = 64 << 20
	rendersAtOnce = 2
	streamsAtOnce = 8
)

// New makes a Server.
func New(c Config) (*Server, error) {
	s := &Server{Config: c, cache: newCache(cacheBytes, rendersAtOnce), line: newLine(), seen: newVisibility(), streams: make(chan struct{}, streamsAtOnce)}
	u, err := url.Parse(c.PublicURL)
	if err != nil {
		return nil, errors.New("pages: the public address is none")
	}
	s.base = strings.TrimRight(u.Path, "/") + Root
	if (c.SignIn == nil) != (c.ClientSecret == "") {
		return nil, errors.New("pages: a sign-in and its client's secret belong together")
	}
	s.seal, err = newSealer(c.ClientSecret)
	return s, err
}

// URL is the address of a job's page; empty where it has none, or none that a
// reader could open.
func (s *Server) URL(j job.Job) string {
	if !hasPage(j) || j.Repository.Private && s.SignIn == nil {
		return ""
	}
	return s.PublicURL + Root + address(j)
}

// Run follows the queue, for what the pages of waiting jobs say, until ctx ends.
func (s *Server) Run(ctx context.Context) error { return s.line.follow(ctx, s.Store) }

// Robots answers /robots.txt: nothing here is for search engines.
func Robots(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, "User-agent: *\nDisallow: /\n") // a reader that is gone is no error
}

// patience bounds the work on one answer, apart from sending it.
const patience = 2 * time.Minute

// ServeHTTP answers a request below Root.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setHeaders(w.Header())
	rest, below := strings.CutPrefix(r.URL.Path, Root)
	if !below || r.Method != http.MethodGet && r.Method != http.MethodHead {
		notFound(w)
		return
	}
	if rest == "callback" {
		s.callback(w, r)
		return
	}
	name, file, _ := strings.Cut(rest, "/")
	j, ok := s.find(r.Context(), name)
	if !ok || strings.HasSuffix(rest, "/") {
		notFound(w)
		return
	}
	private := s.private(r.Context(), j)
	switch {
	case file == "sign-in":
		s.signIn(w, r, j, private)
	case private && !s.admits(r, j):
		s.askWho(w, r, j)
	default:
		if private {
			w.Header().Set("Cache-Control", "private, no-store")
		}
		s.serve(w, r, j, file)
	}
}

// find gives the job of a page. A store that does not answer is told apart in the
// log only: a stranger learns nothing.
func (s *Server) find(ctx context.Context, name string) (job.Job, bool) {
	id, page, ok := parseAddress(name)
	if !ok {
		return job.Job{}, false
	}
	j, err := s.Store.Get(ctx, id)
	if err != nil && !errors.Is(err, queue.ErrNotFound) && ctx.Err() == nil {
		s.Log.Warn("a page's job cannot be read", "job", string(id), "err", err)
	}
	return j, err == nil && isPageOf(j, page)
}

// setHeaders sets what every answer has. What a page may show is its own style
// and pictures, and nothing else.
func setHeaders(h http.Header) {
	h.Set("Content-Security-Policy", report.ContentPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Robots-Tag", "noindex, nofollow, noarchive")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "private, no-cache")
}

// notFound is the one answer to whatever is wrong with an address.
func notFound(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusNotFound)
	_, _ = io.WriteString(w, "There is no such page.\n")
}
