package forgetest_test

import (
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/prbench/prbench/internal/forgetest"
)

func (w *world) page(path string) (int, string) {
	w.t.Helper()
	resp, err := plain.Get(w.URL() + path)
	w.ok(err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	w.ok(err)
	return resp.StatusCode, string(body)
}

func TestAPullRequestsPageShowsItsConversation(t *testing.T) {
	w := newWorld(t, false)
	_, token := w.mint("")
	w.send("POST", token, "/repos/acme/engine/issues/1/comments", `{"body":"<!-- mark -->\n**2 regressions**\n\n> [!WARNING]\n> noisy\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n<details>\n<summary>More</summary>\n\nfolded *text*\n\n</details>\n\n`+"```\\n<b>raw</b>\\n```"+`"}`)
	w.send("POST", token, "/repos/acme/engine/check-runs", `{"name":"prbench","head_sha":"`+w.Head(w.pull)+`","conclusion":"failure","output":{"title":"2 regressions","summary":"s"}}`)
	w.ok(w.AddLabel("dev-a", w.pull, "benchmark"))
	status, html := w.page("/acme/engine/pull/1")
	if status != 200 {
		t.Fatalf("%d", status)
	}
	for _, want := range []string{
		"Go faster", "<strong>fast</strong>", "prbench[bot]", "<strong>2 regressions</strong>", `class="alert WARNING"`, "<td>1</td>",
		"<details>", "<summary>More</summary>", "folded <em>text</em>", "&lt;b&gt;raw&lt;/b&gt;", "failure", `<span class="label">benchmark</span>`,
	} {
		if !strings.Contains(html, want) {
			t.Errorf("no %q on the page", want)
		}
	}
	for _, never := range []string{"mark --", "[!WARNING]"} {
		if strings.Contains(html, never) {
			t.Errorf("%q is on the page", never)
		}
	}
	if status, html := w.page("/"); status != 200 || !strings.Contains(html, `href="/acme/engine/pull/1"`) {
		t.Errorf("the first page: %d %s", status, html)
	}
	for _, none := range []string{"/acme/engine/pull/2", "/acme/none/pull/1", "/acme/engine/pull/x", "/a/b/c/d/e"} {
		if status, _ := w.page(none); status != 404 {
			t.Errorf("%s: %d", none, status)
		}
	}
}

func TestAHostileCommentRendersAsText(t *testing.T) {
	w := newWorld(t, false)
	for _, body := range []string{
		"<script>alert(1)</script>", "text <img src=x onerror=alert(1)>", `<details ontoggle="alert(1)" open>`, "[x](javascript:alert(1))",
		"<svg/onload=alert(1)>", "<!-- <script> --><script>", "<!--> <script>alert(1)</script>", "<iframe src='//x'></iframe>", "<style>*{}</style>",
	} {
		forgetest.Must(w.Comment("stranger", w.pull, body))
	}
	_, html := w.page("/acme/engine/pull/1")
	body := html[strings.Index(html, "<article"):]
	for _, never := range []string{"<script", "<img", "<svg", "<iframe", "<style", "javascript:", "<details ontoggle"} {
		if strings.Contains(body, never) {
			t.Errorf("%q is live on the page", never)
		}
	}
}

var anyTag = regexp.MustCompile(`<[^>]*>?`)

func FuzzRawHTMLLetsOnlyTheListThrough(f *testing.F) {
	for _, s := range []string{"<details><summary>x</summary>", "<b>", "<<details>>", "<!-- a -->b", "<details <script>", "<", "a<", "<summary\n/>"} {
		f.Add(s)
	}
	listed := regexp.MustCompile(`^</?(details|summary|sub|sup|br|kbd)\s*/?>$`)
	f.Fuzz(func(t *testing.T, s string) {
		for _, tag := range anyTag.FindAllString(forgetest.FewTagsOnly(s), -1) {
			if !listed.MatchString(tag) {
				t.Fatalf("%q lets %q through", s, tag)
			}
		}
	})
}
