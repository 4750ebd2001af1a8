package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"

	"github.com/prbench/prbench/internal/config"
	"github.com/prbench/prbench/internal/forgetest"
)

func TestFailuresAreToldPlainlyAndAPushMakesThemOld(t *testing.T) {
	t.Parallel()
	base, good := cheap()
	const token = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
	w := newWorld(t, worldSpec{head: map[string]string{"build.sh": "echo cc -o engine engine.c\n" +
		"echo '```' '@acme/core' token " + token + "\necho 'engine.c:7: error: no such thing' >&2\nexit 7\n"}})
	w.serve()
	w.runner("box-1")

	w.label()
	c := w.wait("the failed build is told", func(c forgetest.Conversation) bool { return finished(c) && len(ours(c)) == 1 })
	failed := ours(c)[0].Body
	for _, word := range []string{"engine.c:7: error: no such thing", "cc -o engine engine.c", "***"} {
		if !strings.Contains(failed, word) {
			t.Errorf("the comment does not say %q:\n%s", word, failed)
		}
	}
	if run := c.CheckRuns[0]; strings.Contains(failed+run.Summary+run.Title, token) || run.Conclusion == "success" {
		t.Errorf("check run %+v\n%s", run, failed)
	}
	if !strings.Contains(failed, "````") {
		t.Errorf("the log's fence is not longer than the one inside:\n%s", failed)
	}

	good["build.sh"] = base["build.sh"]
	_, err := w.Push("contributor", w.fork, "change", forgetest.WriteFiles("mend the build", good))
	w.ok(err)
	c = w.wait("the old report says that it is old", func(c forgetest.Conversation) bool {
		return strings.Contains(strings.ToLower(ours(c)[0].Body), "outdated")
	})
	if len(ours(c)) != 1 {
		t.Errorf("%d comments, want 1", len(ours(c)))
	}

	w.comment("writer", "/benchmark silent")
	c = w.wait("that nothing was measured is told", func(c forgetest.Conversation) bool { return finished(c) && len(ours(c)) == 2 })
	if body := ours(c)[1].Body; !strings.Contains(body, c.HeadSHA) || !strings.Contains(body, "I have nothing to say") || !strings.Contains(body, "silent") {
		t.Errorf("the comment says neither which suite nor what it printed:\n%s", body)
	}

	w.label()
	c = w.wait("the report is there", func(c forgetest.Conversation) bool {
		return finished(c) && len(c.CheckRuns) == 3 && strings.Contains(ours(c)[1].Body, "1 regression beyond 10 %")
	})
	// The same head has one comment, whatever was asked of it.
	if len(ours(c)) != 2 || !strings.Contains(ours(c)[1].Body, "silent") {
		t.Errorf("%d comments; the second:\n%s", len(ours(c)), ours(c)[1].Body)
	}
}

func TestWhatGitHubDidNotSignIsRefusedByTheRunningServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldSpec{base: map[string]string{config.RepoPath: "version: 1\nsiutes: {}\n"}})
	serve := w.serve()
	body := []byte(`{"zen":"x"}`)
	mac := hmac.New(sha256.New, []byte(hookSecret))
	mac.Write(body)
	signed := "sha256=" + hex.EncodeToString(mac.Sum(nil))
	for name, c := range map[string]struct {
		header map[string]string
		body   []byte
		want   int
	}{
		"signed, of an unknown event": {map[string]string{"X-Hub-Signature-256": signed, "X-GitHub-Event": "sponsorship"}, body, 202},
		"unsigned":                    {map[string]string{"X-GitHub-Event": "ping"}, body, 401},
		"signed for another body":     {map[string]string{"X-Hub-Signature-256": signed, "X-GitHub-Event": "ping"}, []byte(`{"zen":"y"}`), 401},
		"26 MiB":                      {map[string]string{"X-Hub-Signature-256": signed, "X-GitHub-Event": "ping"}, make([]byte, 26<<20), 413},
	} {
		req, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+w.listen+"/webhook", bytes.NewReader(c.body))
		w.ok(err)
		req.Header.Set("X-GitHub-Delivery", "00000000-0000-4000-8000-000000000001")
		req.Header.Set("Expect", "100-continue") // a body that is not wanted is not sent
		for k, v := range c.header {
			req.Header.Set(k, v)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		_ = resp.Body.Close()
		if resp.StatusCode != c.want {
			t.Errorf("%s: answered %d, want %d", name, resp.StatusCode, c.want)
		}
	}
	w.label()
	c := w.wait("the wrong key is told", func(c forgetest.Conversation) bool { return len(ours(c)) == 1 })
	if body := ours(c)[0].Body; !strings.Contains(body, ".github/benchmark.yml:2") || !strings.Contains(body, "siutes") {
		t.Errorf("the reply names neither line nor key:\n%s", body)
	}
	serve.stop()
	if log := serve.text(); strings.Contains(log, hookSecret) {
		t.Error("the secret is in the log")
	}
}
