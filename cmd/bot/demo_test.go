package main

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/prbench/prbench/report/backport"
)

var pullPage = regexp.MustCompile(`http://127\.0\.0\.1:\d+/acme/textkit/pull/\d+`)

// The demo's own repository and machinery, with fewer runs.
func TestTheDemoTellsItsStoryAndLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	w := &world{t: t, dir: t.TempDir()}
	passable(t, w.dir)
	p := start(t, w.dir, "demo", "--runs", "5", "--backport", "--keep")
	eventually(t, "the demo has told its story", func() bool {
		if p.ended() {
			t.Fatalf("it ended: %s\n%s", p.text(), &p.out)
		}
		return strings.Contains(p.out.String(), "It goes on running")
	})
	told := p.out.String()
	for _, words := range []string{"A maintainer puts the label", "The report is on the pull request", "Encode", "Sum", "Scan", "Fetch",
		"5 runs a side", "A stranger", "permission", "Act two", "already in v4.x", "conflicts with v1.x", "v0.x", "Each line has its answer", "Done."} {
		if !strings.Contains(told, words) {
			t.Errorf("the demo does not say %q:\n%s", words, told)
		}
	}
	resp, err := http.Get(pullPage.FindString(told))
	w.ok(err)
	page, err := io.ReadAll(resp.Body)
	w.ok(err)
	w.ok(resp.Body.Close())
	if resp.StatusCode != 200 || !strings.Contains(string(page), "prbench") {
		t.Errorf("the page of the pull request: %d\n%s", resp.StatusCode, page)
	}
	if code := p.interrupt(); code != exitOK {
		t.Errorf("exit %d: %s", code, p.text())
	}
	w.nothingStays()
}

func TestADemoThatIsInterruptedLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	w := &world{t: t, dir: t.TempDir()}
	passable(t, w.dir)
	p := start(t, w.dir, "demo")
	eventually(t, "the job has begun", func() bool { return strings.Contains(p.out.String(), "in progress") || p.ended() })
	if code := p.interrupt(); code != exitFailed || p.text() != "bot: stopped; nothing is left behind\n" {
		t.Errorf("exit %d: %s", code, p.text())
	}
	w.nothingStays()
}

// The demo shows the matrix once the change has been compared with its own base
// too, and knows by this row that it has not.
func TestTheDemoKnowsAMatrixThatIsNotWhole(t *testing.T) {
	open := backport.Matrix{Cells: []backport.Cell{{Line: "v1.x", Kind: backport.Contained}}}
	if !strings.Contains(open.Markdown(), demoOpen) {
		t.Errorf("want %q in\n%s", demoOpen, open.Markdown())
	}
}
