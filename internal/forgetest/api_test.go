package forgetest_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prbench/prbench/internal/forge"
	"github.com/prbench/prbench/internal/forgetest"
)

// ask is send with the answer's header and any JSON.
func (w *world) ask(method, token, path, body string, into any) (int, http.Header) {
	w.t.Helper()
	req, err := http.NewRequest(method, w.APIURL()+path, strings.NewReader(body))
	w.ok(err)
	if token != "" {
		req.Header.Set("Authorization", "token "+token)
	}
	resp, err := plain.Do(req)
	w.ok(err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	w.ok(err)
	if into != nil {
		w.ok(json.Unmarshal(data, into))
	}
	return resp.StatusCode, resp.Header
}

func TestEveryAnswerLooksLikeGitHubs(t *testing.T) {
	w := newWorld(t, true)
	_, token := w.mint("")
	for _, path := range []string{"/repos/acme/engine", "/repos/acme/none", "/none", "/repos/acme/engine/pulls/99"} {
		var body map[string]any
		status, h := w.ask("GET", token, path, "", &body)
		for _, key := range []string{"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Used", "X-Ratelimit-Reset", "X-Ratelimit-Resource", "X-Github-Request-Id"} {
			if h.Get(key) == "" {
				t.Errorf("%s: no %s", path, key)
			}
		}
		if status == 404 && (body["message"] != "Not Found" || body["status"] != "404" || body["documentation_url"] == "") {
			t.Errorf("%s: %v", path, body)
		}
	}
}

func TestListingsComeInPages(t *testing.T) {
	w := newWorld(t, false)
	for i := range 7 {
		forgetest.Must(w.Comment("dev-a", w.pull, fmt.Sprint(i)))
	}
	seen, path := "", "/repos/acme/engine/issues/1/comments?per_page=3"
	for range 3 {
		var page []struct{ Body string }
		_, h := w.ask("GET", "", path, "", &page)
		for _, c := range page {
			seen += c.Body
		}
		next := ""
		for link := range strings.SplitSeq(h.Get("Link"), ", ") {
			if address, is := strings.CutSuffix(link, `>; rel="next"`); is {
				next = strings.TrimPrefix(address, "<"+w.APIURL())
			}
		}
		path = next
		if path == "" {
			break
		}
	}
	if seen != "0123456" || path != "" {
		t.Fatalf("saw %q, and %q is left", seen, path)
	}
}

func TestPullRequestsAreListedByState(t *testing.T) {
	w := newWorld(t, false)
	forgetest.Must(w.Push("dev-b", w.fork, "second", forgetest.WriteFiles("x", map[string]string{"x": "y"})))
	second := forgetest.Must(w.OpenPull(forgetest.PullSpec{Base: w.repo, Head: w.fork, HeadRef: "second", Title: "second"}))
	w.ok(w.ClosePull("dev-a", second))
	for query, want := range map[string]int{"": 1, "?state=closed": 1, "?state=all": 2, "?head=dev-b:faster": 1, "?head=dev-b:none": 0, "?base=main&state=all": 2} {
		var list []any
		if w.ask("GET", "", "/repos/acme/engine/pulls"+query, "", &list); len(list) != want {
			t.Errorf("%q lists %d, want %d", query, len(list), want)
		}
	}
	w.ok(w.ReopenPull("dev-a", second))
	var p map[string]any
	w.ask("GET", "", "/repos/acme/engine/pulls/2", "", &p)
	if p["state"] != "open" || p["closed_at"] != nil {
		t.Fatalf("reopened, it is %v since %v", p["state"], p["closed_at"])
	}
}

func TestAMergedPullRequestMovesItsBase(t *testing.T) {
	w := newWorld(t, false)
	head := w.Head(w.pull)
	w.ok(w.MergePull("dev-a", w.pull))
	if got := forgetest.Must(w.repo1("main^2")); got != head {
		t.Fatalf("main's second parent is %s, want %s", got, head)
	}
	var p map[string]any
	w.ask("GET", "", "/repos/acme/engine/pulls/1", "", &p)
	if p["state"] != "closed" || p["merged"] != true || p["merged_at"] == nil {
		t.Fatalf("it is %v, merged %v", p["state"], p["merged"])
	}
	if err := w.MergePull("dev-a", w.pull); err == nil {
		t.Fatal("it was merged twice")
	}
}

func (w *world) repo1(rev string) (string, error) { return w.Server.Commit(w.repo, rev) }

func TestAComparisonSpansForks(t *testing.T) {
	w := newWorld(t, false)
	base := forgetest.Must(w.repo1("main"))
	forgetest.Must(w.Push("dev-a", w.repo, "main", forgetest.WriteFiles("go on", map[string]string{"other.txt": "x\n"})))
	type comparison struct {
		Status    string
		Ahead     int                  `json:"ahead_by"`
		Behind    int                  `json:"behind_by"`
		MergeBase struct{ SHA string } `json:"merge_base_commit"`
		Commits   []struct{ SHA string }
		Files     []struct{ Filename, Status string }
	}
	for spec, want := range map[string]comparison{
		"main...dev-b:faster":      {Status: "diverged", Ahead: 1, Behind: 1},
		"main..." + w.Head(w.pull): {Status: "diverged", Ahead: 1, Behind: 1},
		"v1.0...dev-b:faster":      {Status: "ahead", Ahead: 1},
		"main...v1.0":              {Status: "behind", Behind: 1},
		"main...main":              {Status: "identical"},
	} {
		var got comparison
		if status, _ := w.ask("GET", "", "/repos/acme/engine/compare/"+spec, "", &got); status != 200 {
			t.Errorf("%s: %d", spec, status)
			continue
		}
		if got.Status != want.Status || got.Ahead != want.Ahead || got.Behind != want.Behind || len(got.Commits) != want.Ahead {
			t.Errorf("%s: %+v", spec, got)
		}
		if spec != "main...main" && got.MergeBase.SHA != base {
			t.Errorf("%s: merge base %s, want %s", spec, got.MergeBase.SHA, base)
		}
		if want.Ahead == 1 && (len(got.Files) != 1 || got.Files[0].Filename != "speed.txt" || got.Files[0].Status != "modified") {
			t.Errorf("%s: files %+v", spec, got.Files)
		}
	}
	for _, spec := range []string{"main...none", "none...main", "main...stranger:main", "main"} {
		if status, _ := w.ask("GET", "", "/repos/acme/engine/compare/"+spec, "", nil); status != 404 {
			t.Errorf("%s: %d, want 404", spec, status)
		}
	}
}

func TestContentsAreThoseOfTheRef(t *testing.T) {
	w := newWorld(t, false)
	forgetest.Must(w.Push("dev-a", w.repo, "main", func(b *forgetest.Work) error {
		if err := os.Symlink("speed.txt", filepath.Join(b.Dir(), "link")); err != nil {
			return err
		}
		return forgetest.WriteFiles("change", map[string]string{"speed.txt": "slower\n", "run.sh": "#!/bin/sh\n"})(b)
	}))
	type content struct{ Type, Encoding, Content, Path, Target string }
	file := func(path string) string {
		var c content
		if status, _ := w.ask("GET", "", "/repos/acme/engine/contents/"+path, "", &c); status != 200 || c.Encoding != "base64" || c.Type != "file" {
			t.Fatalf("%s: %d %+v", path, status, c)
		}
		return string(forgetest.Must(base64.StdEncoding.DecodeString(strings.ReplaceAll(c.Content, "\n", ""))))
	}
	if got := file("speed.txt"); got != "slower\n" {
		t.Errorf("at the default branch: %q", got)
	}
	if got := file("speed.txt?ref=v1.0"); got != "slow\n" {
		t.Errorf("at the tag: %q", got)
	}
	if got := file("speed.txt?ref=" + w.Head(w.pull)); got != "fast\n" {
		t.Errorf("at the fork's commit: %q", got)
	}
	var link content
	if w.ask("GET", "", "/repos/acme/engine/contents/link", "", &link); link.Type != "symlink" || link.Target != "speed.txt" {
		t.Errorf("the link is %+v", link)
	}
	var list []content
	if w.ask("GET", "", "/repos/acme/engine/contents/.github", "", &list); len(list) != 1 || list[0].Path != ".github/benchmark.yml" {
		t.Errorf("the folder holds %+v", list)
	}
	for _, path := range []string{"none", "speed.txt/x", "speed.txt?ref=none", "speed.txt%2F..%2Frun.sh"} {
		if status, _ := w.ask("GET", "", "/repos/acme/engine/contents/"+path, "", nil); status == 200 {
			t.Errorf("%s is there", path)
		}
	}
}

func TestGitHubsLimitsAreKept(t *testing.T) {
	w := newWorld(t, false)
	_, token := w.mint("")
	marks := func(n int) string {
		one := `{"path":"a","start_line":1,"end_line":1,"annotation_level":"notice","message":"m"}`
		return strings.TrimSuffix(strings.Repeat(one+",", n), ",")
	}
	run := func(rest string) string { return `{"name":"x","head_sha":"` + w.Head(w.pull) + `"` + rest + `}` }
	output := func(rest string) string { return run(`,"output":{"title":"t","summary":"s"` + rest + `}`) }
	action := func(label, description, id string) string {
		return run(fmt.Sprintf(`,"actions":[{"label":%q,"description":%q,"identifier":%q}]`, label, description, id))
	}
	long := strings.Repeat("x", 65536)
	for _, c := range []struct {
		name, path, body string
		want             int
	}{
		{"a comment of 65,536 characters", "/issues/1/comments", `{"body":"` + long + `"}`, 201},
		{"a comment of one more", "/issues/1/comments", `{"body":"` + long + `x"}`, 422},
		{"a blank comment", "/issues/1/comments", `{"body":" \n"}`, 422},
		{"no body", "/issues/1/comments", `{}`, 422},
		{"no JSON", "/issues/1/comments", `{`, 400},
		{"fifty annotations", "/check-runs", output(`,"annotations":[` + marks(50) + `]`), 201},
		{"fifty-one annotations", "/check-runs", output(`,"annotations":[` + marks(51) + `]`), 422},
		{"an annotation without a line", "/check-runs", output(`,"annotations":[{"path":"a","annotation_level":"notice","message":"m"}]`), 422},
		{"a summary of 65,536 characters", "/check-runs", run(`,"output":{"title":"t","summary":"` + long + `"}`), 422},
		{"an output without a summary", "/check-runs", run(`,"output":{"title":"t"}`), 422},
		{"completed without a conclusion", "/check-runs", run(`,"status":"completed"`), 422},
		{"an unknown conclusion", "/check-runs", run(`,"conclusion":"great"`), 422},
		{"an unknown status", "/check-runs", run(`,"status":"done"`), 422},
		{"a good action", "/check-runs", action("12345678901234567890", strings.Repeat("d", 40), "12345678901234567890"), 201},
		{"a long label", "/check-runs", action("123456789012345678901", "d", "i"), 422},
		{"a long description", "/check-runs", action("l", strings.Repeat("d", 41), "i"), 422},
		{"a long identifier", "/check-runs", action("l", "d", "123456789012345678901"), 422},
		{"an unknown commit", "/check-runs", `{"name":"x","head_sha":"` + strings.Repeat("a", 40) + `"}`, 422},
		{"an unknown reaction", "/issues/1/reactions", `{"content":"shrug"}`, 422},
		{"a long status", "/statuses/" + w.Head(w.pull), `{"state":"success","description":"` + strings.Repeat("d", 141) + `"}`, 422},
		{"an unknown state", "/statuses/" + w.Head(w.pull), `{"state":"good"}`, 422},
		{"a long label's name", "/issues/1/labels", `{"labels":["` + strings.Repeat("l", 51) + `"]}`, 422},
	} {
		if status, _ := w.ask("POST", token, "/repos/acme/engine"+c.path, c.body, nil); status != c.want {
			t.Errorf("%s: %d, want %d", c.name, status, c.want)
		}
	}
}

func TestTooMuchContentMeetsASecondaryLimit(t *testing.T) {
	w := newWorld(t, false)
	w.SetContentLimit(2)
	for range 2 {
		_, err := w.gh.CreateComment(t.Context(), w.name, 1, "text")
		w.ok(err)
	}
	_, err := w.gh.CreateComment(t.Context(), w.name, 1, "text")
	if got := forge.Classify(err); got.Kind != forge.SecondaryLimit || got.RetryAfter != time.Minute {
		t.Fatalf("%v reads %+v", err, got)
	}
	if got := len(w.Conversation(w.pull).Comments); got != 2 {
		t.Fatalf("%d comments, want 2", got)
	}
}

func TestACheckRunBelongsToItsApp(t *testing.T) {
	w := newWorld(t, false)
	_, token := w.mint("")
	other := forgetest.Must(w.AddApp(forgetest.AppSpec{Slug: "other"}))
	theirs := forgetest.Must(w.Install(other, "acme"))
	var run struct{ ID int64 }
	w.ask("POST", token, "/repos/acme/engine/check-runs", `{"name":"x","head_sha":"`+w.Head(w.pull)+`"}`, &run)
	_, out := w.send("POST", jwt(t, keyOf(t, other), "RS256", claims(other)), fmt.Sprintf("/app/installations/%d/access_tokens", theirs.ID), "")
	path := fmt.Sprintf("/repos/acme/engine/check-runs/%d", run.ID)
	if status, _ := w.send("PATCH", out["token"].(string), path, `{"status":"in_progress"}`); status != 403 {
		t.Fatalf("another App changes it: %d", status)
	}
	if status, _ := w.send("PATCH", token, path, `{"conclusion":"success"}`); status != 200 {
		t.Fatalf("its own App does not: %d", status)
	}
	if got := w.Conversation(w.pull).CheckRuns; len(got) != 1 || got[0].Status != "completed" || got[0].Conclusion != "success" {
		t.Fatalf("shown: %+v", got)
	}
}

func TestAFaultHitsWhatItNames(t *testing.T) {
	w := newWorld(t, false)
	const path = "/repos/acme/engine/pulls/1"
	status := func() int { s, _ := w.get("", path); return s }
	w.Fail(forgetest.Fault{Method: "GET", Path: "/repos/*/*/pulls/*", Skip: 1, Times: 2, Status: 503, Header: map[string]string{"Retry-After": "5"}})
	for i, want := range []int{200, 503, 503, 200} {
		if got := status(); got != want {
			t.Fatalf("request %d: %d, want %d", i, got, want)
		}
	}
	w.Fail(forgetest.Fault{Path: "/repos/**", Times: -1, Status: 500, Body: "<html>"})
	for range 2 {
		if status() != 500 {
			t.Fatal("a lasting fault ended")
		}
	}
	if s, _ := w.get("", "/rate_limit"); s != 200 {
		t.Fatal("a fault hit another path")
	}
	w.ClearFaults()
	w.Fail(forgetest.Fault{Path: path, Delay: 30 * time.Millisecond})
	begin := time.Now()
	if status() != 200 || time.Since(begin) < 30*time.Millisecond {
		t.Fatal("the answer was not delayed")
	}
	_, token := w.mint("")
	for _, f := range []forgetest.Fault{{Method: "POST", DropAfter: true}, {Method: "POST", Drop: true}} {
		before := len(w.Conversation(w.pull).Comments)
		w.Fail(f)
		req := forgetest.Must(http.NewRequest("POST", w.APIURL()+"/repos/acme/engine/issues/1/comments", strings.NewReader(`{"body":"x"}`)))
		req.Header.Set("Authorization", "token "+token)
		if resp, err := plain.Do(req); err == nil {
			resp.Body.Close()
			t.Fatal("the connection was not cut")
		}
		if got := len(w.Conversation(w.pull).Comments) - before; (got == 1) != f.DropAfter {
			t.Fatalf("%+v: %d comments came", f, got)
		}
	}
}

func TestManyCallersAtOnceSeeOneState(t *testing.T) {
	w := newWorld(t, false)
	_, token := w.mint("")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 10 {
				w.send("POST", token, "/repos/acme/engine/issues/1/comments", `{"body":"x"}`)
				w.send("POST", token, "/repos/acme/engine/issues/1/reactions", `{"content":"eyes"}`)
				w.get("", "/repos/acme/engine/pulls/1")
				w.Conversation(w.pull)
			}
			if _, err := w.Push("dev-b", w.fork, fmt.Sprint("branch-", i), forgetest.WriteFiles("x", map[string]string{"x": fmt.Sprint(i)})); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	c := w.Conversation(w.pull)
	ids := map[int64]bool{}
	for _, one := range c.Comments {
		ids[one.ID] = true
	}
	if len(ids) != 80 || len(c.Reactions) != 1 {
		t.Fatalf("%d comments and %d reactions, want 80 and 1", len(ids), len(c.Reactions))
	}
}

func TestClosingLeavesNothingBehind(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s := forgetest.Must(forgetest.New(forgetest.Options{}))
	forgetest.Must(s.AddRepo("acme/engine", forgetest.RepoSpec{Build: forgetest.WriteFiles("x", map[string]string{"a": "b"})}))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	left := forgetest.Must(os.ReadDir(os.Getenv("TMPDIR")))
	if len(left) != 0 {
		t.Fatalf("left: %v", left)
	}
}

func TestARepositoryIsTakenFromAGitFolder(t *testing.T) {
	w := newWorld(t, false)
	dir := filepath.Join(t.TempDir(), "copy")
	if out, err := git(t, t.TempDir(), "clone", "-q", w.CloneURL(w.repo), dir); err != nil {
		t.Fatal(out)
	}
	copied := forgetest.Must(w.AddRepo("acme/copied", forgetest.RepoSpec{Source: dir}))
	if got, want := forgetest.Must(w.Server.Commit(copied, "v1.0")), forgetest.Must(w.repo1("main")); got != want {
		t.Fatalf("v1.0 is %s, want %s", got, want)
	}
	for _, bad := range []string{"acme", "acme/engine", "../x", "acme/..\x00"} {
		if _, err := w.AddRepo(bad, forgetest.RepoSpec{}); err == nil {
			t.Errorf("%q was added", bad)
		}
	}
}
