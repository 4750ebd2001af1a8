package forgetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// apiPrefix is where the REST interface lives, as on GitHub Enterprise Server.
const apiPrefix = "/api/v3"

// handler is the whole server: log and faults around REST, git and pages.
func (s *Server) handler() http.Handler {
	root := http.NewServeMux()
	root.Handle(apiPrefix+"/", http.StripPrefix(apiPrefix, http.HandlerFunc(s.serveAPI)))
	root.HandleFunc("/", s.serveRoot)
	return s.recorded(root)
}

// serveRoot tells git from pages.
func (s *Server) serveRoot(w http.ResponseWriter, r *http.Request) {
	if repo, rest, ok := s.gitPath(r.URL.Path); ok {
		s.serveGit(w, r, repo, rest)
		return
	}
	if org, ok := newAppPath(r.URL.Path); ok {
		s.serveNewApp(w, r, org)
		return
	}
	switch r.URL.Path {
	case "/login/oauth/authorize":
		s.serveAuthorize(w, r)
	case "/login/oauth/access_token":
		s.serveAccessToken(w, r)
	default:
		s.servePage(w, r)
	}
}

// call is one REST request.
type call struct {
	*Server
	w    http.ResponseWriter
	r    *http.Request
	who  principal
	repo *Repo // where the path names one
	body []byte
}

// apiError is an answer that GitHub gives instead of the thing asked for.
type apiError struct {
	status  int
	message string
	errors  any
	docs    string
}

func (e *apiError) Error() string { return e.message }

func fail(status int, message string) error { return &apiError{status: status, message: message} }

func notFound() error { return fail(http.StatusNotFound, "Not Found") }

// invalid is GitHub's 422 with its list of fields.
func invalid(resource, field, code string) error {
	return &apiError{
		status: http.StatusUnprocessableEntity, message: "Validation Failed",
		errors: []object{{"resource": resource, "field": field, "code": code}},
	}
}

// invalidBecause is GitHub's 422 with words.
func invalidBecause(resource, field, words string) error {
	return &apiError{
		status: http.StatusUnprocessableEntity, message: "Validation Failed",
		errors: []object{{"resource": resource, "field": field, "code": "custom", "message": words}},
	}
}

const docsRoot = "https://docs.github.com/rest"

// answer is what a route gives back: a status and a value to encode.
type answer struct {
	status int
	value  any
}

func ok(v any) (answer, error)      { return answer{http.StatusOK, v}, nil }
func created(v any) (answer, error) { return answer{http.StatusCreated, v}, nil }
func noContent() (answer, error)    { return answer{http.StatusNoContent, nil}, nil }

// serveAPI authenticates, counts and routes a REST request.
func (s *Server) serveAPI(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("X-GitHub-Media-Type", "github.v3; format=json")
	w.Header().Set("X-GitHub-Request-Id", strings.ToUpper(newGUID()))
	who, err := s.authenticate(r)
	if limited := s.spend(w, who, r); limited != nil && err == nil {
		err = limited
	}
	if err != nil {
		writeError(w, err)
		return
	}
	if target := s.movedTo(r); target != "" {
		status := http.StatusMovedPermanently
		if r.Method != http.MethodGet {
			status = http.StatusTemporaryRedirect
		}
		w.Header().Set("Location", target)
		w.WriteHeader(status)
		w.Write(encode(object{"message": "Moved Permanently", "url": target, "documentation_url": docsRoot + "/guides/best-practices-for-using-the-rest-api#follow-redirects"}))
		return
	}
	r = r.WithContext(withPrincipal(r.Context(), who))
	if own := ownName(r.URL.Path); own != r.URL.Path {
		r = r.Clone(r.Context())
		r.URL.Path, r.URL.RawPath = own, ""
	}
	s.api.ServeHTTP(w, r)
}

// movedTo is the address of a renamed repository, or empty.
func (s *Server) movedTo(r *http.Request) string {
	parts := strings.SplitN(strings.TrimPrefix(r.URL.Path, "/"), "/", 4)
	if len(parts) < 3 || parts[0] != "repos" {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	repo := s.repoNames[strings.ToLower(parts[1]+"/"+parts[2])]
	if repo == nil || strings.EqualFold(repo.fullName(), parts[1]+"/"+parts[2]) {
		return ""
	}
	escaped := strings.SplitN(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/", 4)
	target := fmt.Sprintf("%s/repositories/%d", s.APIURL(), repo.ID)
	if len(escaped) == 4 {
		target += "/" + escaped[3]
	}
	if r.URL.RawQuery != "" {
		target += "?" + r.URL.RawQuery
	}
	return target
}

func writeError(w http.ResponseWriter, err error) {
	e, known := err.(*apiError)
	if !known {
		e = &apiError{status: http.StatusInternalServerError, message: "Server Error: " + err.Error()}
	}
	body := object{"message": e.message, "documentation_url": docsRoot, "status": strconv.Itoa(e.status)}
	if e.docs != "" {
		body["documentation_url"] = e.docs
	}
	if e.errors != nil {
		body["errors"] = e.errors
	}
	w.WriteHeader(e.status)
	w.Write(encode(body))
}

// route wraps a handler that needs no repository.
func (s *Server) route(fn func(*call) (answer, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the connection is gone
		}
		c := &call{Server: s, w: w, r: r, who: principalOf(r.Context()), body: body}
		c.answer(fn)
	}
}

// in wraps a handler of a repository's path, which needs one of the named
// permissions at the level.
func (s *Server) in(level string, permissions []string, fn func(*call) (answer, error)) http.HandlerFunc {
	return s.route(func(c *call) (answer, error) {
		if err := c.enter(level, permissions); err != nil {
			return answer{}, err
		}
		return fn(c)
	})
}

func (c *call) answer(fn func(*call) (answer, error)) {
	a, err := fn(c)
	if err != nil {
		writeError(c.w, err)
		return
	}
	if a.status == http.StatusNoContent {
		c.w.Header().Del("Content-Type")
		c.w.WriteHeader(a.status)
		return
	}
	c.w.WriteHeader(a.status)
	c.w.Write(encode(a.value))
}

// decode reads the JSON body.
func (c *call) decode(v any) error {
	if len(bytes.TrimSpace(c.body)) == 0 {
		return nil
	}
	if err := json.Unmarshal(c.body, v); err != nil {
		return fail(http.StatusBadRequest, "Problems parsing JSON")
	}
	return nil
}

// number reads a number of the path.
func (c *call) number(name string) (int64, error) {
	n, err := strconv.ParseInt(c.r.PathValue(name), 10, 64)
	if err != nil {
		return 0, notFound()
	}
	return n, nil
}

// pull finds the pull request of the path; the caller holds mu.
func (c *call) pull() (*Pull, error) {
	n, err := c.number("number")
	if err != nil || n < 1 || n > int64(len(c.repo.pulls)) {
		return nil, notFound()
	}
	return c.repo.pulls[n-1], nil
}

// window is the part of a listing that the query asks for. It sets the Link
// header.
func (c *call) window(total int) (from, to int) {
	page, size := 1, 30
	q := c.r.URL.Query()
	if n, err := strconv.Atoi(q.Get("per_page")); err == nil && n > 0 {
		size = min(n, 100)
	}
	if n, err := strconv.Atoi(q.Get("page")); err == nil && n > 0 {
		page = n
	}
	last := max((total+size-1)/size, 1)
	var links []string
	add := func(rel string, n int) {
		q.Set("page", strconv.Itoa(n))
		links = append(links, fmt.Sprintf(`<%s>; rel="%s"`, c.here(q), rel))
	}
	if page > 1 {
		add("prev", page-1)
	}
	if page < last {
		add("next", page+1)
		add("last", last)
	}
	if page > 1 {
		add("first", 1)
	}
	if len(links) > 0 {
		c.w.Header().Set("Link", strings.Join(links, ", "))
	}
	return min((page-1)*size, total), min(page*size, total)
}

func (c *call) here(q url.Values) string {
	return c.APIURL() + c.r.URL.EscapedPath() + "?" + q.Encode()
}

// budget is what one credential has left of its hour.
type budget struct {
	used    int
	reset   time.Time
	changes []time.Time // of the last minute
}

// SetRateLimit sets how many requests an hour each credential has, and starts
// a new hour for all.
func (s *Server) SetRateLimit(perHour int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.budgetSize, s.budgets = perHour, map[string]*budget{}
}

// SetContentLimit makes the server answer with a secondary limit when one
// credential changes something more often than so many times in a minute; 0,
// as it is at first, for never.
func (s *Server) SetContentLimit(perMinute int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.contentLimit = perMinute
}

// tooMuch counts a change against its credential's minute; the caller holds mu.
func (s *Server) tooMuch(w http.ResponseWriter, b *budget, r *http.Request) error {
	if s.contentLimit == 0 || r.Method == http.MethodGet || strings.HasPrefix(r.URL.Path, "/app") || strings.HasPrefix(r.URL.Path, "/installation") {
		return nil
	}
	now := s.now()
	for len(b.changes) > 0 && now.Sub(b.changes[0]) >= time.Minute {
		b.changes = b.changes[1:]
	}
	if len(b.changes) >= s.contentLimit {
		w.Header().Set("Retry-After", "60")
		return &apiError{
			status:  http.StatusForbidden,
			message: "You have exceeded a secondary rate limit and have been temporarily blocked from content creation. Please retry your request again later.",
			docs:    docsRoot + "/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits",
		}
	}
	b.changes = append(b.changes, now)
	return nil
}

// spend counts a request against its credential's hour and writes the headers.
func (s *Server) spend(w http.ResponseWriter, who principal, r *http.Request) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	key, now := who.budgetKey(), s.stamp()
	b := s.budgets[key]
	if b == nil || !now.Before(b.reset) {
		b = &budget{reset: now.Add(time.Hour)}
		s.budgets[key] = b
	}
	over := b.used >= s.budgetSize
	if !over && r.URL.Path != "/rate_limit" {
		b.used++
	}
	h := w.Header()
	h.Set("X-RateLimit-Limit", strconv.Itoa(s.budgetSize))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(s.budgetSize-b.used))
	h.Set("X-RateLimit-Used", strconv.Itoa(b.used))
	h.Set("X-RateLimit-Reset", strconv.FormatInt(b.reset.Unix(), 10))
	h.Set("X-RateLimit-Resource", "core")
	if over && r.URL.Path != "/rate_limit" {
		return &apiError{
			status: http.StatusForbidden, message: "API rate limit exceeded for " + key + ".",
			docs: docsRoot + "/overview/rate-limits-for-the-rest-api",
		}
	}
	return s.tooMuch(w, b, r)
}
