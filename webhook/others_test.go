package webhook

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prbench/prbench/internal/forgetest"
	"github.com/prbench/prbench/internal/job"
)

// The header tells a receiver of several hosts which one sent the delivery, and is
// not signed. A receiver that asks that host hands it a token.
func TestAForgedEnterpriseHostHeaderChoosesNoHost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	var asked atomic.Int64
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(elsewhere.Close)
	w.SetDeliveryMode(forgetest.DeliveryMode{Lost: true})
	w.later()
	_, err := w.Comment("writer", w.pull, "/benchmark http")
	w.ok(err)
	w.ok(w.Settle(t.Context()))
	w.SetDeliveryMode(forgetest.DeliveryMode{})
	d := w.lastDelivery("issue_comment")
	status, said := deliver(t, w.hook.URL, d.Payload, map[string]string{"X-GitHub-Event": d.Event, "X-GitHub-Delivery": d.GUID,
		"X-Hub-Signature-256": sign(d.Payload), "X-GitHub-Enterprise-Host": strings.TrimPrefix(elsewhere.URL, "http://"),
		"X-GitHub-Enterprise-Version": "3.12.0", "X-Forwarded-Host": strings.TrimPrefix(elsewhere.URL, "http://")})
	if status != http.StatusAccepted {
		t.Fatalf("answered %d: %s", status, said)
	}
	w.settle()
	if j := w.onlyJob(); !strings.HasPrefix(j.Repository.CloneURL, w.URL()) {
		t.Errorf("the code would come from %s", j.Repository.CloneURL)
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("%d requests went to the host of the header", n)
	}
}

func TestTheNameOfATrustedBotIsNotItsID(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	id := w.bot("helpful")("Hello.")
	w.stop()
	w.trusted = []int64{id}
	w.start()
	// The trusted bot's App was deleted, and its name is free for anybody's App,
	// which may be installed with every right.
	imitator := job.Person{ID: id + 1_000_000, Login: "helpful[bot]", Type: "Bot"}
	if ignored, err := w.clerk.ignores(t.Context(), imitator); err != nil || !ignored {
		t.Errorf("the imitator is ignored: %v, %v", ignored, err)
	}
	if ignored, err := w.clerk.ignores(t.Context(), job.Person{ID: id, Login: "renamed[bot]", Type: "Bot"}); err != nil || ignored {
		t.Errorf("the trusted bot, renamed, is ignored: %v, %v", ignored, err)
	}
	say := w.bot("help-ful")
	w.ok(w.Grant(w.repo, "help-ful[bot]", "write"))
	say("/benchmark")
	if jobs := w.jobs(); len(jobs) != 0 {
		t.Errorf("jobs %+v", jobs)
	}
}

// stale is what GitHub answers of the pull request now, to be answered later.
func (w *world) stale() string {
	w.t.Helper()
	resp, err := http.Get(w.APIURL() + w.pullPath())
	w.ok(err)
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	w.ok(err)
	return string(body)
}

func (w *world) pullPath() string { return fmt.Sprintf("/repos/acme/engine/pulls/%d", w.pull.Number) }

func TestAnAnswerThatIsOlderThanTheEventIsAskedForAgain(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]func(*world){
		"a label":   func(w *world) { w.label("writer", "benchmark") },
		"a comment": func(w *world) { w.comment("writer", "/benchmark") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, goodConfig)
			old, before := w.Head(w.pull), w.stale()
			head := w.push("newer\n")
			w.settle()
			w.Fail(forgetest.Fault{Method: "GET", Path: w.pullPath(), Times: 1, Status: 200, Body: before, Header: map[string]string{"Content-Type": "application/json"}})
			ask(w)
			if j := w.onlyJob(); j.Head.SHA != head || j.Head.SHA == old {
				t.Errorf("the job is of %s; the head is %s, and was %s", j.Head.SHA, head, old)
			}
		})
	}
}

func TestAnEditThatIsToldBeforeTheCommentItselfIsOneJob(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		edit, suite string
		jobs        int
	}{
		"the command is mended":     {"/benchmark strings", "strings", 1},
		"only the text is mended":   {"/benchmark http\n\nPlease.", "http", 1},
		"the command is taken away": {"Never mind.", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, goodConfig)
			w.SetDeliveryMode(forgetest.DeliveryMode{Lost: true})
			id := w.comment("writer", "/benchmark http")
			w.edit("writer", id, c.edit)
			w.SetDeliveryMode(forgetest.DeliveryMode{})
			all := w.Deliveries()
			for _, action := range []string{"edited", "created"} {
				for _, d := range all {
					if d.Event == "issue_comment" && d.Action == action {
						w.ok(w.Redeliver(d.ID))
						w.settle()
					}
				}
			}
			jobs := w.jobs()
			if len(jobs) != c.jobs || c.jobs == 1 && jobs[0].Spec.Suites[0].Name != c.suite {
				t.Errorf("%d jobs, want %d of %q: %+v; replies %q", len(jobs), c.jobs, c.suite, jobs, w.replies())
			}
		})
	}
}

func TestACommandOfADeletedCommentIsNoLongerAskedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	w.SetDeliveryMode(forgetest.DeliveryMode{Lost: true})
	id := w.comment("writer", "/benchmark http")
	w.ok(w.DeleteComment("writer", id))
	w.ok(w.Settle(t.Context()))
	w.SetDeliveryMode(forgetest.DeliveryMode{})
	for _, d := range w.Deliveries() {
		if d.Event == "issue_comment" && d.Action == "created" {
			e, _, err := Reduce(d.Event, d.GUID, w.now().Add(-time.Minute), d.Payload)
			w.ok(err)
			w.ok(w.clerk.Handle(t.Context(), e))
		}
	}
	if jobs, said := w.jobs(), w.replies(); len(jobs) != 0 || len(said) != 0 {
		t.Errorf("%d jobs and replies %q, want none", len(jobs), said)
	}
}

func TestAReplyThatWouldBeTooLongIsCutAndNotDropped(t *testing.T) {
	t.Parallel()
	for name, yml := range map[string]string{
		"a config with thousands of mistakes": "version: 1\n" + strings.Repeat("a_key_that_nobody_knows_%d: x\n", 1),
		"a config with thousands of suites":   goodConfig,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b strings.Builder
			b.WriteString(strings.TrimSuffix(yml, "a_key_that_nobody_knows_%d: x\n"))
			for i := range 1200 {
				if strings.Contains(yml, "suites") {
					fmt.Fprintf(&b, "  a-suite-with-a-long-name-%04d: {format: go, command: x}\n", i)
				} else {
					fmt.Fprintf(&b, "a_key_that_nobody_knows_%04d: x\n", i)
				}
			}
			w := newWorld(t, b.String())
			w.comment("writer", "/benchmark nothing-like-it")
			said := w.refused()
			if len(said) > 60_000 || strings.Count(said, "```")%2 != 0 {
				t.Errorf("%d bytes: %.300s … %s", len(said), said, said[max(0, len(said)-200):])
			}
		})
	}
}
