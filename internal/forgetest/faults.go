package forgetest

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"
)

// Fault makes requests fail. Faults are looked at in the order in which they
// were set; the first that fits and is not used up applies.
type Fault struct {
	// Method is empty for any.
	Method string
	// Path is a pattern of path.Match for the path below /api/v3, or for the
	// whole path of git and pages; "*" does not cross a slash. A final "/**"
	// stands for anything below. Empty fits every path.
	Path string
	// Skip lets so many fitting requests pass first.
	Skip int
	// Times is how often the fault applies: once when 0, always when negative.
	Times int

	// Delay comes before anything else.
	Delay time.Duration
	// Drop cuts the connection instead of an answer, before the request had
	// any effect.
	Drop bool
	// DropAfter cuts the connection after the request took effect.
	DropAfter bool
	// Status answers with this status, Header and Body, without any effect. A
	// Body that is empty becomes GitHub's error JSON. 0: no answer is made up.
	Status int
	Header map[string]string
	Body   string
}

type armedFault struct {
	Fault
	skip, left int
}

// Fail sets a fault.
func (s *Server) Fail(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := f.Times
	if left == 0 {
		left = 1
	}
	s.faults = append(s.faults, &armedFault{Fault: f, skip: f.Skip, left: left})
}

// ClearFaults takes all faults back.
func (s *Server) ClearFaults() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

func (f *armedFault) fits(method, p string) bool {
	if f.Method != "" && f.Method != method {
		return false
	}
	if root, deep := strings.CutSuffix(f.Path, "/**"); deep {
		parts := strings.Split(p, "/")
		depth := len(strings.Split(root, "/"))
		if len(parts) <= depth {
			return false
		}
		fits, _ := path.Match(root, strings.Join(parts[:depth], "/"))
		return fits
	}
	fits, _ := path.Match(f.Path, p)
	return f.Path == "" || fits
}

// fault takes the next fault for a request, or gives nil.
func (s *Server) fault(method, p string) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.faults {
		if f.left == 0 || !f.fits(method, p) {
			continue
		}
		if f.skip > 0 {
			f.skip--
			continue
		}
		if f.left > 0 {
			f.left--
		}
		return &f.Fault
	}
	return nil
}

// Request is one request that the server got.
type Request struct {
	At     time.Time
	Method string
	// Path is below /api/v3 for REST (then API is set), else whole.
	Path  string
	Query string
	API   bool
	// Token is the Fingerprint of the credential, or empty.
	Token string
	// Who is the kind and number of the credential's owner, as in
	// "installation ID 1042", or "anonymous".
	Who string
	// Header is the request's, without Authorization.
	Header http.Header
	// Body and Response are kept for REST only.
	Body     []byte
	Status   int // 0: the connection was cut
	Response []byte
	// Answer is the answer's header.
	Answer http.Header
}

// Requests gives every request so far, in the order in which they arrived.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// RequestsTo gives the requests of a method (empty: any) to a path pattern as
// in Fault.Path.
func (s *Server) RequestsTo(method, pattern string) []Request {
	f := armedFault{Fault: Fault{Method: method, Path: pattern}}
	return slices.DeleteFunc(s.Requests(), func(r Request) bool { return !f.fits(r.Method, r.Path) })
}

// recorded keeps the log of requests and applies the faults.
func (s *Server) recorded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.begin() {
			panic(http.ErrAbortHandler)
		}
		defer s.active.Done()
		p, api := r.URL.Path, false
		if rest, below := strings.CutPrefix(p, apiPrefix); below && (rest == "" || rest[0] == '/') {
			p, api = rest, true
		}
		entry := Request{
			At: s.now(), Method: r.Method, Path: p, Query: r.URL.RawQuery, API: api, Token: fingerprintOf(r),
			Header: r.Header.Clone(), Who: s.nameOf(r),
		}
		entry.Header.Del("Authorization")
		if api {
			entry.Body, _ = io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(entry.Body))
		}
		s.mu.Lock()
		index := len(s.requests)
		s.requests = append(s.requests, entry)
		s.mu.Unlock()
		rec := &recorder{ResponseWriter: w, keep: api}
		fault, escaped := s.fault(r.Method, p), strings.TrimPrefix(r.URL.EscapedPath(), apiPrefix)
		defer func() {
			s.mu.Lock()
			one := &s.requests[index]
			one.Status, one.Response, one.Answer = rec.status, rec.body.Bytes(), w.Header().Clone()
			entry = *one
			s.mu.Unlock()
			if r.Context().Err() != nil && rec.status == http.StatusInternalServerError {
				entry.Status = 0 // whoever asked has gone, and git was ended: nobody got an answer
			}
			logRequest(entry, escaped, fault != nil && fault.Status != 0)
		}()
		s.apply(fault, rec, r, next)
	})
}

func (s *Server) apply(f *Fault, rec *recorder, r *http.Request, next http.Handler) {
	if f == nil {
		next.ServeHTTP(rec, r)
		return
	}
	if f.Delay > 0 {
		if !pause(r.Context(), f.Delay) {
			return
		}
	}
	switch {
	case f.Drop:
		panic(http.ErrAbortHandler)
	case f.DropAfter:
		lost := &recorder{ResponseWriter: discard{http.Header{}}}
		next.ServeHTTP(lost, r)
		panic(http.ErrAbortHandler)
	case f.Status != 0:
		h := rec.Header()
		h.Set("Content-Type", "application/json; charset=utf-8")
		h.Set("X-GitHub-Request-Id", strings.ToUpper(newGUID()))
		for key, value := range f.Header {
			h.Set(key, value)
		}
		if f.Body == "" {
			writeError(rec, fail(f.Status, http.StatusText(f.Status)))
			return
		}
		rec.WriteHeader(f.Status)
		io.WriteString(rec, f.Body)
	default:
		next.ServeHTTP(rec, r)
	}
}

// pause waits, unless the client goes away first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// poll asks until done reports true or the context ends.
func poll(ctx context.Context, done func() bool) error {
	for !done() {
		if !pause(ctx, 10*time.Millisecond) {
			return ctx.Err()
		}
	}
	return nil
}

// discard is where an answer goes that the client never gets.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(p []byte) (int, error) { return len(p), nil }
func (d discard) WriteHeader(int)             {}

// recorder notes the status and, for REST, the body of an answer.
type recorder struct {
	http.ResponseWriter
	keep   bool
	status int
	body   bytes.Buffer
}

func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *recorder) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	if w.keep {
		w.body.Write(p)
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// secretOf is the credential of a request.
func secretOf(r *http.Request) string {
	if _, password, ok := r.BasicAuth(); ok {
		return password
	}
	_, value, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return value
}

func fingerprintOf(r *http.Request) string {
	secret := secretOf(r)
	if secret == "" {
		return ""
	}
	return Fingerprint(secret)
}

// nameOf is for the log: who the credential belongs to.
func (s *Server) nameOf(r *http.Request) string {
	secret := secretOf(r)
	if strings.Count(secret, ".") == 2 {
		if who, err := s.byJWT(secret, "/app"); err == nil {
			return who.String()
		}
		return "unknown"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.tokens[secret]; t != nil {
		return principal{token: t}.String()
	}
	if secret != "" {
		return "unknown"
	}
	return "anonymous"
}
