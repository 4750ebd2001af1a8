//go:build contract

package main

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// TestTheWholeWayOnAGitHubThatOthersWrote lets serve and a runner work against
// npm's emulate: an App's JWT and tokens, a label, a stranger's comment, a
// command, check runs and comments. See gateway for what emulate lacks.
func TestTheWholeWayOnAGitHubThatOthersWrote(t *testing.T) {
	installed(t)
	w := newEmulated(t)
	serve := w.serve()
	runner := w.runner("box-1")
	w.as("contributor", http.MethodPost, "/repos/acme/engine/pulls", map[string]any{"title": "Change", "head": "change", "base": "main"})
	w.eventually("serve is told of the pull request", func() bool { return w.told("pull_request", "opened") })

	w.as("writer", http.MethodPost, "/repos/acme/engine/issues/1/labels", map[string]any{"labels": []string{"benchmark"}})
	w.eventually("the label's report is there", func() bool {
		runs, complete := w.checkRuns()
		return len(runs) == 1 && complete == 1 && len(w.ourComments()) == 1 && w.labels() == 0
	})
	report := w.ourComments()[0]
	for _, word := range []string{"<!-- prbench report " + w.head, "### 1 regression beyond 10 %", "`Sum`: ", "Scan", "5 runs a side · on `box-1`"} {
		if !strings.Contains(report, word) {
			t.Errorf("the report does not say %q:\n%s", word, report)
		}
	}
	runs, _ := w.checkRuns()
	if run := runs[0]; run["conclusion"] != "neutral" || !strings.Contains(fmt.Sprint(run["output"]), "regression") {
		t.Errorf("check run %v", run)
	}

	w.as("stranger", http.MethodPost, "/repos/acme/engine/issues/1/comments", map[string]any{"body": "/benchmark"})
	w.eventually("the stranger is refused", func() bool { return len(w.ourComments()) == 2 })
	if said := w.ourComments()[1]; !strings.Contains(said, "`write` permission") {
		t.Errorf("the stranger is told: %s", said)
	}
	if runs, _ := w.checkRuns(); len(runs) != 1 {
		t.Errorf("%d check runs after a stranger's comment", len(runs))
	}

	command := w.as("writer", http.MethodPost, "/repos/acme/engine/issues/1/comments", map[string]any{"body": "Once more:\n\n/benchmark main --runs 6"})
	rocket := fmt.Sprintf("rocket on comments %v", command["id"])
	w.eventually("the command's report is there", func() bool {
		_, complete := w.checkRuns()
		return complete == 2 && strings.Contains(w.ourComments()[0], "6 runs a side") && slices.Contains(w.seen(), rocket)
	})
	if seen := w.seen(); !slices.Contains(seen, fmt.Sprintf("eyes on comments %v", command["id"])) {
		t.Errorf("reactions %q", seen)
	}
	if n := len(w.ourComments()); n != 2 {
		t.Errorf("%d comments, want the report and the refusal", n)
	}
	runner.stop()
	serve.stop()
	w.judge()
	w.nothingRuns()
}

// told tells whether emulate's own webhook was taken.
func (w *emulated) told(event, action string) bool {
	w.gateway.mu.Lock()
	defer w.gateway.mu.Unlock()
	return slices.ContainsFunc(w.raw, func(h hook) bool { return h.event == event && h.action == action && h.status/100 == 2 })
}

func (w *emulated) seen() []string {
	w.gateway.mu.Lock()
	defer w.gateway.mu.Unlock()
	return slices.Clone(w.reactions)
}

// judge looks at what went through the gateway, when all is over.
func (w *emulated) judge() {
	w.t.Helper()
	w.gateway.mu.Lock()
	defer w.gateway.mu.Unlock()
	kinds := map[string]int{}
	for _, h := range w.raw {
		kinds[h.event+" "+h.action]++
		if h.status/100 != 2 {
			w.t.Errorf("emulate's %s %s, with its own signature, was answered %d", h.event, h.action, h.status)
		}
	}
	for _, kind := range []string{"pull_request opened", "issues labeled", "issue_comment created", "check_run created"} {
		if kinds[kind] == 0 {
			w.t.Errorf("emulate never sent %s", kind)
		}
	}
	if len(w.fetched) == 0 {
		w.t.Error("nobody fetched the code")
	}
	for _, token := range w.fetched {
		if got := w.minted[token]; !slices.Equal(got, []string{"contents:read"}) {
			w.t.Errorf("the code was fetched with a token for %q", got)
		}
		if !w.revoked[token] {
			w.t.Error("a token that fetched the code was not taken back")
		}
	}
	w.t.Logf("emulate's webhooks %v; %d tokens minted, %d taken back; not found: %q",
		kinds, len(w.minted), len(w.revoked), slices.Sorted(maps.Keys(w.unknown)))
}
