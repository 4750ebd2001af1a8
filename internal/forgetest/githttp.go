package forgetest

import (
	"bytes"
	"io"
	"net/http"
	"net/http/cgi"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// gitPath takes a smart HTTP address apart: /OWNER/NAME[.git]/info/refs and
// /OWNER/NAME[.git]/git-upload-pack. Other addresses are not git's.
func (s *Server) gitPath(p string) (*Repo, string, bool) {
	parts := strings.SplitN(strings.TrimPrefix(p, "/"), "/", 3)
	if len(parts) != 3 {
		return nil, "", false
	}
	switch parts[2] {
	case "info/refs", "git-upload-pack", "git-receive-pack":
	default:
		if !strings.HasSuffix(parts[1], ".git") {
			return nil, "", false
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	name := strings.TrimSuffix(parts[1], ".git")
	return s.repoNames[strings.ToLower(parts[0]+"/"+name)], parts[2], true
}

// serveGit serves fetches. As on GitHub, a repository that the caller may not
// see does not exist, and without a credential the answer is to bring one.
func (s *Server) serveGit(w http.ResponseWriter, r *http.Request, repo *Repo, rest string) {
	service := r.URL.Query().Get("service")
	switch {
	case rest == "info/refs" && service == "git-upload-pack", rest == "git-upload-pack" && r.Method == http.MethodPost:
	case rest == "git-receive-pack", service == "git-receive-pack":
		http.Error(w, "Write access to repository not granted.", http.StatusForbidden)
		return
	default:
		http.Error(w, "Not Found", http.StatusNotFound)
		return
	}
	if status := s.mayFetch(r, repo); status != http.StatusOK {
		if status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", `Basic realm="GitHub"`)
		}
		http.Error(w, "Repository not found.", status)
		return
	}
	// CGI has no chunked bodies; git uses them for large requests.
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<20))
	if err != nil {
		return
	}
	r = r.Clone(r.Context())
	r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	r.Header.Del("Authorization")
	r.Header.Set("Content-Length", strconv.Itoa(len(body)))
	r.URL.Path = "/" + filepath.Base(repo.dir) + "/" + rest
	r.URL.RawPath = ""
	(&cgi.Handler{
		Path: s.gitCGI, Root: "/", Dir: s.dir, Stderr: io.Discard,
		Env: append(gitEnv(), "GIT_PROJECT_ROOT="+s.dir, "GIT_HTTP_EXPORT_ALL=1", "GIT_PROTOCOL="+r.Header.Get("Git-Protocol"),
			"PATH="+os.Getenv("PATH")),
	}).ServeHTTP(w, r)
}

// mayFetch gives the status that a fetch is answered with.
func (s *Server) mayFetch(r *http.Request, repo *Repo) int {
	user, password, given := r.BasicAuth()
	if !given && r.Header.Get("Authorization") != "" {
		return http.StatusUnauthorized
	}
	var who principal
	if given {
		secret := password
		if secret == "" {
			secret = user // git also takes https://TOKEN@host
		}
		var err error
		if who, err = s.byToken(secret); err != nil {
			return http.StatusUnauthorized
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch t := who.token; {
	case repo == nil || repo.deleted:
	case !repo.private:
		return http.StatusOK
	case t == nil:
	case t.user != nil && roleRank[repo.role(t.user)] >= roleRank["read"]:
		return http.StatusOK
	case t.inst != nil && installationAllowed(repo, t, false, []string{"contents"}) == nil:
		return http.StatusOK
	case t.inst != nil && t.inst.covers(repo) && (t.repos == nil || t.repos[repo.ID]):
		return http.StatusForbidden
	}
	if !given {
		return http.StatusUnauthorized
	}
	return http.StatusNotFound
}
