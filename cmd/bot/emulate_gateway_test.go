//go:build contract

package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httputil"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// hookPath is where emulate's webhooks come in.
const hookPath = "/emulate-webhook"

// gateway stands where emulate says that it is, and passes everything on to
// it. It adds only what emulate 0.12.2 lacks:
//
//   - git over HTTP, which it leads to a repository with the same commits;
//   - reactions, the repositories of an installation, the taking back of a
//     token, the list of an App's deliveries and its events (404 there);
//   - user.role_name and user.permissions in the answer on a permission;
//   - in webhooks: the event pull_request for a label on a pull request (it
//     sends issues), issue.pull_request in issue_comment, a unique delivery id.
//
// Every webhook goes to the product as emulate made and signed it first.
type gateway struct {
	test    *testing.T
	url     string
	emulate string // address of emulate
	code    string // address of a server of git
	intake  string // the product's

	mu        sync.Mutex
	minted    map[string][]string // tokens, with the permissions that they were asked for with
	revoked   map[string]bool
	fetched   []string // tokens that git came with
	reactions []string // "eyes on comment 3"
	raw       []hook   // as emulate sent them
	sent      int
	unknown   map[string]bool // what emulate and the gateway both do not have
}

// hook is a webhook of emulate's with the product's answer.
type hook struct {
	event, action string
	status        int
}

var (
	permissionPath = regexp.MustCompile(`^/repos/[^/]+/[^/]+/collaborators/[^/]+/permission$`)
	reactionsPath  = regexp.MustCompile(`^/repos/[^/]+/[^/]+/issues/(?:(comments)/)?(\d+)/reactions$`)
	mintPath       = regexp.MustCompile(`^/app/installations/\d+/access_tokens$`)
)

func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, token, basic := r.BasicAuth()
	if !basic {
		_, token, _ = strings.Cut(r.Header.Get("Authorization"), " ")
	}
	g.mu.Lock()
	gone := g.revoked[token]
	g.mu.Unlock()
	reaction := reactionsPath.FindStringSubmatch(r.URL.Path)
	switch {
	case r.URL.Path == hookPath:
		g.relay(w, r)
	case gone:
		answerJSON(w, http.StatusUnauthorized, map[string]any{"message": "Bad credentials"})
	case strings.Contains(r.URL.Path, ".git/"):
		g.fetch(w, r, token)
	case r.Method == http.MethodPost && mintPath.MatchString(r.URL.Path):
		g.mint(w, r)
	case r.Method == http.MethodDelete && r.URL.Path == "/installation/token":
		g.mu.Lock()
		g.revoked = with(g.revoked, token, true)
		g.mu.Unlock()
		w.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodGet && r.URL.Path == "/installation/repositories":
		answerJSON(w, http.StatusOK, map[string]any{"total_count": 1, "repositories": []any{g.get("/repos/acme/engine")}})
	case r.Method == http.MethodGet && r.URL.Path == "/app/hook/deliveries":
		answerJSON(w, http.StatusOK, []any{})
	case r.Method == http.MethodPost && reaction != nil:
		g.react(w, r, reaction)
	case r.Method == http.MethodGet && permissionPath.MatchString(r.URL.Path):
		g.pass(w, r, g.emulate, completePermission)
	default:
		g.pass(w, r, g.emulate, func(resp *http.Response) error {
			// Without its permission a person is not found; that is an answer.
			if resp.StatusCode == http.StatusNotFound {
				g.mu.Lock()
				g.unknown = with(g.unknown, r.Method+" "+r.URL.Path, true)
				g.mu.Unlock()
			}
			return nil
		})
	}
}

// pass is a reverse proxy for one request.
func (g *gateway) pass(w http.ResponseWriter, r *http.Request, to string, change func(*http.Response) error) {
	target, err := url.Parse(to)
	if err != nil {
		panic(err) // it is the test's own
	}
	(&httputil.ReverseProxy{
		Rewrite:        func(p *httputil.ProxyRequest) { p.SetURL(target) },
		ModifyResponse: change,
		// A client that ends while it waits is no fault.
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}).ServeHTTP(w, r)
}

func (g *gateway) mint(w http.ResponseWriter, r *http.Request) {
	g.pass(w, r, g.emulate, func(resp *http.Response) error {
		var answer struct {
			Token       string            `json:"token"`
			Permissions map[string]string `json:"permissions"`
		}
		return reread(resp, &answer, func() any {
			var all []string
			for _, name := range slices.Sorted(maps.Keys(answer.Permissions)) {
				all = append(all, name+":"+answer.Permissions[name])
			}
			g.mu.Lock()
			defer g.mu.Unlock()
			g.minted = with(g.minted, answer.Token, all)
			return nil
		})
	})
}

// fetch lets only a token that emulate minted fetch the code.
func (g *gateway) fetch(w http.ResponseWriter, r *http.Request, token string) {
	g.mu.Lock()
	_, known := g.minted[token]
	if known && !slices.Contains(g.fetched, token) {
		g.fetched = append(g.fetched, token)
	}
	g.mu.Unlock()
	if !known {
		w.Header().Set("WWW-Authenticate", `Basic realm="GitHub"`)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	r.Header.Del("Authorization") // the other server has not minted it
	g.pass(w, r, g.code, nil)
}

func (g *gateway) react(w http.ResponseWriter, r *http.Request, path []string) {
	var in struct {
		Content string `json:"content"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	g.mu.Lock()
	g.reactions = append(g.reactions, fmt.Sprintf("%s on %s %s", in.Content, path[1], path[2]))
	id := len(g.reactions)
	g.mu.Unlock()
	answerJSON(w, http.StatusCreated, map[string]any{"id": id, "content": in.Content})
}

// completePermission adds what GitHub says of the person, from what emulate
// says beside the person.
func completePermission(resp *http.Response) error {
	if resp.StatusCode != http.StatusOK {
		return nil
	}
	answer := map[string]any{}
	return reread(resp, &answer, func() any {
		if user, ok := answer["user"].(map[string]any); ok && user["role_name"] == nil {
			user["role_name"] = answer["role_name"]
		}
		return answer
	})
}

// reread decodes an answer's body, and replaces it where change gives
// something.
func reread(resp *http.Response, into any, change func() any) error {
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if err := resp.Body.Close(); err != nil {
		return err
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return err
	}
	if changed := change(); changed != nil {
		if raw, err = json.Marshal(changed); err != nil {
			return err
		}
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(raw)), int64(len(raw))
	resp.Header.Set("Content-Length", fmt.Sprint(len(raw)))
	return nil
}

// relay gives a webhook to the product as it is, then what emulate left out.
func (g *gateway) relay(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	event := r.Header.Get("X-GitHub-Event")
	var payload map[string]any
	if err := json.Unmarshal(body, &payload); err != nil {
		g.test.Errorf("emulate's %s is not JSON: %v", event, err)
		return
	}
	action, _ := payload["action"].(string)
	// Its ids are milliseconds: two webhooks may have one.
	status := g.post(event, body, r.Header.Get("X-Hub-Signature-256"))
	g.mu.Lock()
	g.raw = append(g.raw, hook{event, action, status})
	g.mu.Unlock()
	if now := g.complete(event, action, payload); now != "" {
		raw, err := json.Marshal(payload)
		if err != nil {
			g.test.Error(err)
			return
		}
		mac := hmac.New(sha256.New, []byte(hookSecret))
		mac.Write(raw)
		g.post(now, raw, "sha256="+hex.EncodeToString(mac.Sum(nil)))
	}
}

// complete makes of emulate's payload what GitHub sends, and gives the event's
// name; "" where emulate's own is complete.
func (g *gateway) complete(event, action string, payload map[string]any) string {
	issue, ok := payload["issue"].(map[string]any)
	if !ok {
		return ""
	}
	path := fmt.Sprintf("/repos/acme/engine/pulls/%v", issue["number"])
	switch {
	case event == "issue_comment" && issue["pull_request"] == nil:
		issue["pull_request"] = map[string]any{"url": g.url + path}
		return "issue_comment"
	case event == "issues" && (action == "labeled" || action == "unlabeled"):
		delete(payload, "issue")
		payload["pull_request"], payload["number"] = g.get(path), issue["number"]
		return "pull_request"
	}
	return ""
}

func (g *gateway) post(event string, body []byte, signature string) int {
	g.mu.Lock()
	g.sent++
	id := fmt.Sprintf("00000000-0000-4000-8000-%012d", g.sent)
	g.mu.Unlock()
	req, err := http.NewRequest(http.MethodPost, g.intake, bytes.NewReader(body))
	if err != nil {
		g.test.Error(err)
		return 0
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-GitHub-Event", event)
	req.Header.Set("X-GitHub-Delivery", id)
	req.Header.Set("X-Hub-Signature-256", signature)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0 // the product is ending
	}
	defer func() { _ = resp.Body.Close() }()
	return resp.StatusCode
}

// get reads from emulate as the repository's owner.
func (g *gateway) get(path string) map[string]any {
	req, err := http.NewRequest(http.MethodGet, g.emulate+path, nil)
	if err != nil {
		g.test.Error(err)
		return nil
	}
	req.Header.Set("Authorization", "Bearer acme-token")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		g.test.Errorf("GET %s: %v", path, err)
		return nil
	}
	defer func() { _ = resp.Body.Close() }()
	var out map[string]any
	if err := json.NewDecoder(resp.Body).Decode(&out); err != nil {
		g.test.Errorf("GET %s: %v", path, err)
	}
	return out
}

func answerJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may have gone
}

// with adds to a map that may not be made yet.
func with[K comparable, V any](m map[K]V, key K, value V) map[K]V {
	if m == nil {
		m = map[K]V{}
	}
	m[key] = value
	return m
}
