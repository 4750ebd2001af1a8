//go:build contract

package webhook

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prbench/prbench/internal/job"
)

// published is where `make contract` installs the payloads that GitHub
// publishes: one folder for github.com and one for each Enterprise Server.
const published = "../internal/forgetest/contract/node_modules/@octokit/webhooks-examples/*/index.json"

// example is one published payload.
type example struct {
	name  string // unique
	event string
	body  []byte
}

func publishedPayloads(t *testing.T) []example {
	t.Helper()
	files, err := filepath.Glob(published)
	if err != nil || len(files) == 0 {
		t.Fatalf("no published payloads: run `make contract` (%v)", err)
	}
	var all []example
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var events []struct {
			Name     string            `json:"name"`
			Examples []json.RawMessage `json:"examples"`
		}
		if err := json.Unmarshal(raw, &events); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, e := range events {
			for i, body := range e.Examples {
				name := fmt.Sprintf("%s/%s/%d", filepath.Base(filepath.Dir(file)), e.Name, i)
				all = append(all, example{name: name, event: e.Name, body: body})
			}
		}
	}
	return all
}

// intakeOf posts payloads to an intake, as JSON and as a form, and gives what
// was kept of each: nil for those without an effect.
type intakeOf struct {
	t    *testing.T
	url  string
	kept *kept
	sent int
}

func newIntakeOf(t *testing.T) *intakeOf {
	k := &kept{}
	in, err := NewIntake([]string{secret}, k.publish, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(in)
	var panics strings.Builder // read only once the server is closed
	server.Config.ErrorLog = slog.NewLogLogger(slog.NewTextHandler(&panics, nil), slog.LevelError)
	server.Start()
	t.Cleanup(func() {
		server.Close()
		if panics.Len() > 0 {
			t.Errorf("the server's own log: %s", panics.String())
		}
	})
	return &intakeOf{t: t, url: server.URL, kept: k}
}

func (in *intakeOf) post(x example) *job.Event {
	in.t.Helper()
	var got [2]*job.Event
	form := []byte("payload=" + url.QueryEscape(string(x.body)))
	for i, one := range []struct {
		media string
		body  []byte
	}{{"application/json", x.body}, {"application/x-www-form-urlencoded", form}} {
		in.sent++
		id := fmt.Sprintf("00000000-0000-4000-8000-%012d", in.sent)
		before := len(in.kept.events)
		status, said := deliver(in.t, in.url, one.body, map[string]string{
			"Content-Type": one.media, "X-GitHub-Event": x.event, "X-GitHub-Delivery": id, "X-Hub-Signature-256": sign(one.body),
		})
		if status != http.StatusAccepted {
			in.t.Errorf("%s as %s: answered %d: %s", x.name, one.media, status, said)
		}
		if len(in.kept.events) > before {
			e := in.kept.events[before]
			if e.Delivery != id || e.Kind != x.event {
				in.t.Errorf("%s: kept as %s %s", x.name, e.Kind, e.Delivery)
			}
			got[i] = &e
		}
	}
	if (got[0] == nil) != (got[1] == nil) {
		in.t.Errorf("%s: has an effect as JSON or as a form, but not as both", x.name)
	}
	return got[0]
}

// must are the events that have an effect whatever else they say.
var must = map[string][]string{
	"pull_request":              {"labeled", "unlabeled", "opened", "reopened", "synchronize", "closed"},
	"installation":              {"created", "deleted", "suspend", "unsuspend", "new_permissions_accepted"},
	"installation_repositories": {"added", "removed"},
	"repository":                {"renamed", "transferred", "deleted", "privatized", "publicized"},
}

func TestEveryPublishedPayloadIsAcceptedAndMeansWhatItSays(t *testing.T) {
	in := newIntakeOf(t)
	all := publishedPayloads(t)
	acted := map[string]int{}
	for _, x := range all {
		e := in.post(x)
		var raw map[string]any
		if err := json.Unmarshal(x.body, &raw); err != nil {
			t.Fatalf("%s: %v", x.name, err)
		}
		if e == nil {
			if slices.Contains(must[x.event], textAt(raw, "action")) {
				t.Errorf("%s: %s has no effect", x.name, textAt(raw, "action"))
			}
			continue
		}
		acted[x.event+" "+e.Action]++
		says(t, x, raw, e)
	}
	for event, actions := range must {
		for _, action := range actions {
			if acted[event+" "+action] == 0 {
				t.Errorf("no published payload of %s %s", event, action)
			}
		}
	}
	t.Logf("%d published payloads, posted as JSON and as a form; %d of them have an effect: %v",
		len(all), sum(acted), slices.Sorted(maps.Keys(acted)))
}

// says compares what was kept with what the payload says, read without the
// product's own types.
func says(t *testing.T, x example, raw map[string]any, e *job.Event) {
	t.Helper()
	want := map[string]any{
		"action": textAt(raw, "action"), "installation": numberAt(raw, "installation", "id"),
		"sender": numberAt(raw, "sender", "id"), "sender's login": textAt(raw, "sender", "login"), "sender's type": textAt(raw, "sender", "type"),
		"repository": numberAt(raw, "repository", "id"), "repository's name": textAt(raw, "repository", "full_name"),
		"clone URL": textAt(raw, "repository", "clone_url"), "default branch": textAt(raw, "repository", "default_branch"),
	}
	repository := ""
	if e.Repository.ID != 0 {
		repository = e.Repository.FullName()
	}
	got := map[string]any{
		"action": e.Action, "installation": e.Installation, "sender": e.Sender.ID, "sender's login": e.Sender.Login, "sender's type": e.Sender.Type,
		"repository": e.Repository.ID, "repository's name": repository,
		"clone URL": e.Repository.CloneURL, "default branch": e.Repository.DefaultBranch,
	}
	switch x.event {
	case "pull_request":
		want["number"], got["number"] = numberAt(raw, "pull_request", "number"), int64(e.PR)
		want["head"], got["head"] = textAt(raw, "pull_request", "head", "sha"), e.HeadSHA
		want["base"], got["base"] = textAt(raw, "pull_request", "base", "ref"), e.BaseRef
		want["closed"], got["closed"] = textAt(raw, "pull_request", "state") == "closed", e.PRClosed
		want["label"], got["label"] = textAt(raw, "label", "name"), e.Label
		want["at"], got["at"] = textAt(raw, "pull_request", "updated_at"), e.At.Format("2006-01-02T15:04:05Z")
	case "issue_comment":
		if e.Comment == nil {
			t.Fatalf("%s: the comment is not kept", x.name)
		}
		want["number"], got["number"] = numberAt(raw, "issue", "number"), int64(e.PR)
		want["comment"], got["comment"] = numberAt(raw, "comment", "id"), e.Comment.ID
		want["author"], got["author"] = numberAt(raw, "comment", "user", "id"), e.Comment.Author.ID
		want["body"], got["body"] = textAt(raw, "comment", "body"), e.Comment.Body
		want["former body"], got["former body"] = textAt(raw, "changes", "body", "from"), e.Comment.OldBody
		want["written"], got["written"] = textAt(raw, "comment", "created_at"), e.Comment.Created.Format("2006-01-02T15:04:05Z")
	}
	for what := range want {
		if want[what] != got[what] {
			t.Errorf("%s: the %s is %v, want %v", x.name, what, got[what], want[what])
		}
	}
}

// TestAPublishedCommentWithACommandMeansWhatItSays puts a command into the
// published comments, and the comments on a pull request: as published, they
// are on an issue and have no effect.
func TestAPublishedCommentWithACommandMeansWhatItSays(t *testing.T) {
	in := newIntakeOf(t)
	acted := map[string]int{}
	for _, x := range publishedPayloads(t) {
		if x.event != "issue_comment" {
			continue
		}
		if e := in.post(x); e != nil {
			t.Errorf("%s: a comment on an issue has an effect", x.name)
		}
		var raw map[string]any
		if err := json.Unmarshal(x.body, &raw); err != nil {
			t.Fatal(err)
		}
		comment, issue := raw["comment"].(map[string]any), raw["issue"].(map[string]any)
		comment["body"] = "Thanks!\r\n\r\n/benchmark process --runs 40\r\n"
		repository := textAt(raw, "repository", "url")
		issue["pull_request"] = map[string]any{"url": fmt.Sprintf("%s/pulls/%d", repository, numberAt(raw, "issue", "number"))}
		x.name += " with a command"
		var err error
		if x.body, err = json.Marshal(raw); err != nil {
			t.Fatal(err)
		}
		e := in.post(x)
		if action := textAt(raw, "action"); (e != nil) != (action == "created" || action == "edited") {
			t.Errorf("%s: %s: kept %v", x.name, action, e)
		}
		if e == nil {
			continue
		}
		acted[e.Action]++
		says(t, x, raw, e)
		commands, _ := Commands(e.Comment.Body)
		if len(commands) != 1 || commands[0].Err != nil || commands[0].Text != "/benchmark process --runs 40" {
			t.Errorf("%s: read as %+v", x.name, commands)
		}
	}
	if acted["created"] == 0 || acted["edited"] == 0 {
		t.Errorf("acted on %v", acted)
	}
	t.Logf("comments with a command: %v", acted)
}

// valueAt walks into a payload; nil where the way ends or something is null.
func valueAt(v any, way ...string) any {
	for _, key := range way {
		m, _ := v.(map[string]any)
		v = m[key]
	}
	return v
}

func textAt(v any, way ...string) string {
	s, _ := valueAt(v, way...).(string)
	return s
}

func numberAt(v any, way ...string) int64 {
	n, _ := valueAt(v, way...).(float64)
	return int64(n)
}

func sum(counts map[string]int) int {
	n := 0
	for _, c := range counts {
		n += c
	}
	return n
}
