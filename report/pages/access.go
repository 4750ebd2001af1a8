package pages

import (
	"context"
	"crypto/subtle"
	"fmt"
	"net/http"
	"regexp"
	"sync"
	"time"

	"github.com/prbench/prbench/internal/forge"
	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report"
)

// visibility is what GitHub last said of each repository: one that was public when
// its job was made may be private now.
type visibility struct {
	mu    sync.Mutex
	known map[int64]seenAs
}

type seenAs struct {
	private bool
	at      time.Time
}

// How long an answer is believed, and for how many repositories it is kept.
const (
	visibilityTime     = 5 * time.Minute
	visibilityPatience = 10 * time.Second
	// visibilityRest is how long GitHub is not asked again after it did not answer.
	visibilityRest = 30 * time.Second
	mostSeen       = 10_000
)

func newVisibility() *visibility { return &visibility{known: map[int64]seenAs{}} }

// private tells whether the job's repository is private now. Where GitHub does not
// answer it is as it was; one that we may no longer see counts as private.
func (s *Server) private(ctx context.Context, j job.Job) bool {
	s.seen.mu.Lock()
	last, known := s.seen.known[j.Repository.ID]
	s.seen.mu.Unlock()
	if known && s.Now().Sub(last.at) < visibilityTime {
		return last.private
	}
	asking, stop := context.WithTimeout(context.WithoutCancel(ctx), visibilityPatience)
	defer stop()
	r, err := s.Hub(j.Installation).RepositoryByID(asking, j.Repository.ID)
	private, at := r.Private, s.Now()
	if err != nil {
		switch forge.Classify(err).Kind {
		case forge.NotFound, forge.Gone, forge.Uninstalled, forge.Suspended, forge.NoPermission:
			private = true
		default:
			s.Log.With(j.About()...).Warn("it is not known whether a repository is private now", "err", err)
			private, at = j.Repository.Private, at.Add(visibilityRest-visibilityTime)
			if known {
				private = last.private
			}
		}
	}
	s.seen.mu.Lock()
	defer s.seen.mu.Unlock()
	if len(s.seen.known) >= mostSeen {
		clear(s.seen.known)
	}
	s.seen.known[j.Repository.ID] = seenAs{private, at}
	return private
}

// sessionCookie is one a repository, so that a person may read several.
func sessionCookie(repoID int64) string { return fmt.Sprintf("prbench-session-%d", repoID) }

// stateShape is that of our own states; their beginning names a cookie.
var stateShape = regexp.MustCompile(`^[A-Z2-7]{26}$`)

func signInCookie(state string) string { return "prbench-sign-in-" + state[:8] }

// admits tells whether the visitor was seen to be allowed to read the repository,
// not too long ago.
func (s *Server) admits(r *http.Request, j job.Job) bool {
	c, err := r.Cookie(sessionCookie(j.Repository.ID))
	if s.SignIn == nil || err != nil {
		return false
	}
	var kept session
	return s.seal.open(forSession, c.Value, &kept) && kept.Repository == j.Repository.ID && kept.User > 0 && s.Now().Before(kept.Until)
}

// cookie is one of ours; a negative time deletes it.
func (s *Server) cookie(name, value string, lives time.Duration) *http.Cookie {
	c := &http.Cookie{Name: name, Value: value, Path: s.base, HttpOnly: true, SameSite: http.SameSiteLaxMode,
		Secure: len(s.PublicURL) > 8 && s.PublicURL[:8] == "https://", MaxAge: int(lives / time.Second)}
	if lives < 0 {
		c.MaxAge = -1
	}
	return c
}

// askWho answers who has not signed in. It says nothing of the repository.
func (s *Server) askWho(w http.ResponseWriter, _ *http.Request, j job.Job) {
	if s.SignIn == nil {
		s.words(w, http.StatusForbidden, "This page is closed", []string{
			"It belongs to a private repository, and this server has no sign-in by which people could show that they may read it.",
			"Its operators have to configure github.client_id and github.client_secret_file."}, nil)
		return
	}
	s.words(w, http.StatusForbidden, "Sign in to see this page", []string{
		"It belongs to a private repository. GitHub tells this server who you are and whether you may read it, and nothing more."},
		[]report.PageLink{{Text: "Sign in with GitHub", URL: s.base + address(j) + "/sign-in"}})
}

// signIn sends the browser to GitHub.
func (s *Server) signIn(w http.ResponseWriter, r *http.Request, j job.Job, private bool) {
	if !private || s.SignIn == nil || s.admits(r, j) {
		s.goTo(w, r, s.base+address(j))
		return
	}
	state := newState()
	sealed, err := s.seal.seal(forSignIn, begun{State: state, Page: address(j), Until: s.Now().Add(signInTime)})
	if err != nil {
		s.fault(w, j, "begin a sign-in", err)
		return
	}
	http.SetCookie(w, s.cookie(signInCookie(state), sealed, signInTime))
	s.goTo(w, r, s.SignIn.Address(state, s.seal.verifier(state)))
}

// goTo redirects, and leaves nothing in a cache.
func (s *Server) goTo(w http.ResponseWriter, r *http.Request, where string) {
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, where, http.StatusSeeOther)
}

// callback is where GitHub sends the browser back. It leads nowhere but to the
// page for which this browser began the sign-in.
func (s *Server) callback(w http.ResponseWriter, r *http.Request) {
	if s.SignIn == nil {
		notFound(w)
		return
	}
	began, ok := s.begun(r)
	if !ok {
		s.words(w, http.StatusForbidden, "This sign-in did not begin here", []string{"Or it took more than ten minutes. Open the page again, from the pull request."}, nil)
		return
	}
	http.SetCookie(w, s.cookie(signInCookie(began.State), "", -1))
	j, ok := s.find(r.Context(), began.Page)
	if !ok {
		notFound(w)
		return
	}
	again := []report.PageLink{{Text: "Try again", URL: s.base + address(j) + "/sign-in"}}
	if r.URL.Query().Get("error") != "" {
		s.words(w, http.StatusForbidden, "Nobody signed in", []string{"GitHub says that the sign-in was declined."}, again)
		return
	}
	ctx, stop := context.WithTimeout(r.Context(), patience)
	defer stop()
	who, err := s.SignIn.Visit(ctx, r.URL.Query().Get("code"), s.seal.verifier(began.State), j.Repository.ID)
	switch {
	case err != nil:
		s.Log.With(j.About()...).Warn("a visitor could not sign in", "err", err)
		s.words(w, http.StatusBadGateway, "The sign-in did not work", []string{"GitHub did not say who you are."}, again)
	case !who.MayRead:
		s.words(w, http.StatusForbidden, "This page is not for your account", []string{"GitHub says that it may not read the repository."}, again)
	default:
		sealed, err := s.seal.seal(forSession, session{User: who.ID, Repository: j.Repository.ID, Until: s.Now().Add(sessionTime)})
		if err != nil {
			s.fault(w, j, "begin a session", err)
			return
		}
		http.SetCookie(w, s.cookie(sessionCookie(j.Repository.ID), sealed, sessionTime))
		s.goTo(w, r, s.base+address(j))
	}
}

// begun finds the sign-in that this browser began and that the state names.
func (s *Server) begun(r *http.Request) (begun, bool) {
	state := r.URL.Query().Get("state")
	if !stateShape.MatchString(state) {
		return begun{}, false
	}
	c, err := r.Cookie(signInCookie(state))
	if err != nil {
		return begun{}, false
	}
	var b begun
	ok := s.seal.open(forSignIn, c.Value, &b) && subtle.ConstantTimeCompare([]byte(b.State), []byte(state)) == 1 && s.Now().Before(b.Until)
	return b, ok
}
