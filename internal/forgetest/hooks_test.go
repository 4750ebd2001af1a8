package forgetest_test

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-github/v60/github"

	"github.com/prbench/prbench/internal/forgetest"
)

// parsed checks a webhook's signature and reads it, as a receiver would.
func parsed(t *testing.T, r received) any {
	t.Helper()
	req := forgetest.Must(http.NewRequest("POST", "http://receiver", bytes.NewReader(r.body)))
	req.Header = r.header
	payload, err := github.ValidatePayload(req, []byte(hookSecret))
	if err != nil {
		t.Fatalf("%s: %v", r.event, err)
	}
	event, err := github.ParseWebHook(r.event, payload)
	if err != nil {
		t.Fatalf("%s: %v", r.event, err)
	}
	return event
}

func names(t *testing.T, all []received) []string {
	var out []string
	for _, r := range all {
		action := ""
		if e, ok := parsed(t, r).(interface{ GetAction() string }); ok {
			action = "." + e.GetAction()
		}
		out = append(out, r.event+action)
	}
	return out
}

func TestWebhooksTellWhatHappenedInOrder(t *testing.T) {
	w := newWorld(t, false)
	id := forgetest.Must(w.Comment("dev-a", w.pull, "/benchmark\r\n"))
	w.ok(w.EditComment("dev-a", id, "/benchmark http"))
	w.ok(w.AddLabel("dev-a", w.pull, "benchmark"))
	forgetest.Must(w.Push("dev-b", w.fork, "faster", forgetest.WriteFiles("more", map[string]string{"speed.txt": "faster\n"})))
	w.ok(w.RemoveLabel("dev-a", w.pull, "benchmark"))
	w.ok(w.ClosePull("dev-b", w.pull))
	w.ok(w.ReopenPull("dev-b", w.pull))
	w.ok(w.DeleteComment("dev-a", id))
	w.settle()
	want := []string{
		"installation.created", "pull_request.opened", "issue_comment.created", "issue_comment.edited", "pull_request.labeled",
		"pull_request.synchronize", "pull_request.unlabeled", "pull_request.closed", "pull_request.reopened", "issue_comment.deleted",
	}
	if got := names(t, w.hooks.all()); !slices.Equal(got, want) {
		t.Fatalf("got  %v\nwant %v", got, want)
	}
}

func TestAWebhookHoldsWhatAReceiverReads(t *testing.T) {
	w := newWorld(t, false)
	before := w.Head(w.pull)
	id := forgetest.Must(w.Comment("stranger", w.pull, "one"))
	w.ok(w.EditComment("stranger", id, "two"))
	w.ok(w.AddLabel("dev-a", w.pull, "benchmark"))
	after := forgetest.Must(w.Push("dev-b", w.fork, "faster", forgetest.WriteFiles("more", map[string]string{"speed.txt": "faster\n"})))
	w.settle()
	all := w.hooks.all()
	edited := parsed(t, all[3]).(*github.IssueCommentEvent)
	if edited.GetChanges().Body.GetFrom() != "one" || edited.GetComment().GetBody() != "two" || edited.GetComment().GetID() != id ||
		!edited.GetIssue().IsPullRequest() || edited.GetIssue().GetNumber() != 1 || edited.GetSender().GetLogin() != "stranger" ||
		edited.GetInstallation().GetID() != w.inst.ID || edited.GetRepo().GetFullName() != "acme/engine" {
		t.Errorf("edited: %s", all[3].body)
	}
	labeled := parsed(t, all[4]).(*github.PullRequestEvent)
	if labeled.GetLabel().GetName() != "benchmark" || labeled.GetPullRequest().GetHead().GetSHA() != before || labeled.GetSender().GetID() == 0 ||
		labeled.GetPullRequest().GetHead().GetRepo().GetFullName() != "dev-b/engine" || labeled.GetOrganization().GetLogin() != "acme" {
		t.Errorf("labeled: %s", all[4].body)
	}
	sync := parsed(t, all[5]).(*github.PullRequestEvent)
	if sync.GetBefore() != before || sync.GetAfter() != after || sync.GetPullRequest().GetHead().GetSHA() != after {
		t.Errorf("synchronize: %s", all[5].body)
	}
	h := all[4].header
	if h.Get("X-GitHub-Hook-Installation-Target-ID") != fmt.Sprint(w.app.ID) || h.Get("X-GitHub-Hook-Installation-Target-Type") != "integration" ||
		h.Get("Content-Type") != "application/json" || !strings.HasPrefix(h.Get("User-Agent"), "GitHub-Hookshot/") {
		t.Errorf("header: %v", h)
	}
}

func TestAPullRequestOpenedWithALabelTellsTwice(t *testing.T) {
	w := newWorld(t, false)
	forgetest.Must(w.OpenPull(forgetest.PullSpec{Base: w.repo, Head: w.fork, HeadRef: "faster", Title: "again", Labels: []string{"benchmark"}}))
	w.settle()
	got := names(t, w.hooks.all())
	if want := []string{"pull_request.opened", "pull_request.labeled"}; !slices.Equal(got[len(got)-2:], want) {
		t.Fatalf("got %v", got)
	}
	opened := parsed(t, w.hooks.all()[len(got)-2]).(*github.PullRequestEvent)
	if len(opened.GetPullRequest().Labels) != 1 {
		t.Fatal("the opened pull request does not carry its label")
	}
}

func TestADeletedForkIsNullInWebhooks(t *testing.T) {
	w := newWorld(t, false)
	w.ok(w.DeleteRepo("dev-b", w.fork))
	w.ok(w.AddLabel("dev-a", w.pull, "benchmark"))
	w.settle()
	all := w.hooks.all()
	event := parsed(t, all[len(all)-1]).(*github.PullRequestEvent)
	if event.GetPullRequest().GetHead().Repo != nil || event.GetPullRequest().GetHead().GetSHA() == "" {
		t.Fatalf("head: %s", all[len(all)-1].body)
	}
}

func TestACheckRunsButtonsTellItsApp(t *testing.T) {
	w := newWorld(t, false)
	_, token := w.mint("")
	var run struct{ ID int64 }
	w.ask("POST", token, "/repos/acme/engine/check-runs", `{"name":"prbench","head_sha":"`+w.Head(w.pull)+`","external_id":"1.1.1"}`, &run)
	w.ok(w.RerequestCheckRun("dev-a", run.ID))
	w.ok(w.PressAction("dev-a", run.ID, "cancel"))
	w.settle()
	all := w.hooks.all()
	got := names(t, all)
	if want := []string{"check_run.created", "check_run.rerequested", "check_run.requested_action"}; !slices.Equal(got[len(got)-3:], want) {
		t.Fatalf("got %v", got)
	}
	pressed := parsed(t, all[len(all)-1]).(*github.CheckRunEvent)
	if pressed.GetRequestedAction().Identifier != "cancel" || pressed.GetCheckRun().GetExternalID() != "1.1.1" || pressed.GetSender().GetLogin() != "dev-a" {
		t.Fatalf("pressed: %s", all[len(all)-1].body)
	}
}

func TestAWebhookComesFormEncodedWhereAskedFor(t *testing.T) {
	w := newWorld(t, false)
	w.settle()
	w.SetDeliveryMode(forgetest.DeliveryMode{Form: true, Sync: true})
	forgetest.Must(w.Comment("dev-a", w.pull, "/benchmark http & fs=1+1"))
	all := w.hooks.all()
	last := all[len(all)-1]
	if last.header.Get("Content-Type") != "application/x-www-form-urlencoded" || !bytes.HasPrefix(last.body, []byte("payload=")) {
		t.Fatalf("got %v", last.header)
	}
	if got := parsed(t, last).(*github.IssueCommentEvent).GetComment().GetBody(); got != "/benchmark http & fs=1+1" {
		t.Fatalf("the comment reads %q", got)
	}
}

func TestAFailedWebhookIsRecordedAndDeliveredAgainUnderItsID(t *testing.T) {
	w := newWorld(t, false)
	w.settle()
	w.SetDeliveryMode(forgetest.DeliveryMode{Sync: true})
	w.hooks.answer(503)
	forgetest.Must(w.Comment("dev-a", w.pull, "one"))
	w.hooks.answer(202)
	all := w.Deliveries()
	failed := all[len(all)-1]
	if failed.StatusCode != 503 || failed.Status != "Invalid HTTP Response: 503" || failed.Redelivery {
		t.Fatalf("recorded %+v", failed)
	}
	w.ok(w.Redeliver(failed.ID))
	all = w.Deliveries()
	again := all[len(all)-1]
	if again.StatusCode != 202 || again.GUID != failed.GUID || !again.Redelivery || again.ID == failed.ID {
		t.Fatalf("recorded %+v", again)
	}
	got := w.hooks.all()
	if n := len(got); !bytes.Equal(got[n-1].body, got[n-2].body) || got[n-1].guid != got[n-2].guid {
		t.Fatal("the second delivery is another")
	}
}

func TestWebhooksComeTwiceOrNotAtAllWhereAskedFor(t *testing.T) {
	w := newWorld(t, false)
	w.settle()
	before := len(w.hooks.all())
	w.SetDeliveryMode(forgetest.DeliveryMode{Sync: true, Twice: true})
	forgetest.Must(w.Comment("dev-a", w.pull, "one"))
	if got := w.hooks.all(); len(got) != before+2 || got[before].guid != got[before+1].guid {
		t.Fatalf("%d webhooks, want 2 of one id", len(got)-before)
	}
	w.SetDeliveryMode(forgetest.DeliveryMode{Sync: true, Lost: true})
	forgetest.Must(w.Comment("dev-a", w.pull, "two"))
	if got := w.hooks.all(); len(got) != before+2 {
		t.Fatal("a lost webhook arrived")
	}
	all := w.Deliveries()
	if last := all[len(all)-1]; last.StatusCode == 200 || !last.Done {
		t.Fatalf("recorded %+v", last)
	}
}

func TestOnlyAnInstallationIsTold(t *testing.T) {
	w := newWorld(t, false)
	w.settle()
	before := len(w.hooks.all())
	other := forgetest.Must(w.AddRepo("umbrella/engine", forgetest.RepoSpec{Build: forgetest.WriteFiles("x", map[string]string{"a": "b"})}))
	forgetest.Must(w.Push("umbrella", other, "new", forgetest.WriteFiles("y", map[string]string{"a": "c"})))
	p := forgetest.Must(w.OpenPull(forgetest.PullSpec{Base: other, HeadRef: "new", Title: "elsewhere"}))
	forgetest.Must(w.Comment("dev-a", p, "text"))
	w.ok(w.Suspend("acme", w.inst, true))
	forgetest.Must(w.Comment("dev-a", w.pull, "text"))
	w.ok(w.Suspend("acme", w.inst, false))
	w.ok(w.SelectRepos("acme", w.inst, nil, []*forgetest.Repo{w.repo}))
	forgetest.Must(w.Comment("dev-a", w.pull, "text"))
	w.ok(w.Uninstall("acme", w.inst))
	w.Ping(w.app)
	w.settle()
	want := []string{"installation.suspend", "installation.unsuspend", "installation_repositories.removed", "installation.deleted", "ping"}
	if got := names(t, w.hooks.all()[before:]); !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

func TestARepositorysChangesAreTold(t *testing.T) {
	w := newWorld(t, false)
	w.settle()
	before := len(w.hooks.all())
	w.ok(w.Rename("acme", w.repo, "motor"))
	w.ok(w.Archive("acme", w.repo, true))
	w.ok(w.Archive("acme", w.repo, false))
	forgetest.Must(w.Push("dev-a", w.repo, "next", forgetest.WriteFiles("x", map[string]string{"a": "b"})))
	w.ok(w.ChangeBase("dev-a", w.pull, "next"))
	w.ok(w.DeleteRepo("acme", w.repo))
	w.settle()
	all := w.hooks.all()[before:]
	want := []string{"repository.renamed", "repository.archived", "repository.unarchived", "pull_request.edited", "repository.deleted"}
	if got := names(t, all); !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	if from := parsed(t, all[3]).(*github.PullRequestEvent).GetChanges().Base.Ref.GetFrom(); from != "main" {
		t.Fatalf("the base was %q", from)
	}
	if status, _ := w.get("", "/repos/acme/motor"); status != 404 {
		t.Fatalf("the deleted repository answers %d", status)
	}
}
