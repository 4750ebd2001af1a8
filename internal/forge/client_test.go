package forge_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prbench/prbench/internal/forge"
	"github.com/prbench/prbench/internal/forgetest"
)

// cut is a connection that ends after the request took effect.
func cut(method, path string) forgetest.Fault {
	return forgetest.Fault{Method: method, Path: path, DropAfter: true}
}

func TestAPullRequestIsReadWithBothSides(t *testing.T) {
	w := newWorld(t)
	p, err := w.gh.PullRequest(w.ctx, w.name, 1)
	w.ok(err)
	main, err := w.Server.Commit(w.repo, "main")
	w.ok(err)
	if p.Head.SHA != w.Head(w.pull) || p.Base.SHA != main || p.Base.Ref != "main" || p.Head.Label != "dev-b:faster" || p.State != "open" {
		t.Fatalf("read %+v", p)
	}
	if p.Mergeable == nil || !*p.Mergeable || p.Commits != 1 || p.Author.Login != "dev-b" || p.Author.ID == 0 {
		t.Fatalf("read %+v", p)
	}
	if p.Base.Repo.ID != w.repo.ID || !p.Base.Repo.Private || p.Base.Repo.CloneURL != w.CloneURL(w.repo) || p.Head.Repo.Repo.String() != "dev-b/engine" {
		t.Fatalf("read %+v and %+v", p.Base.Repo, p.Head.Repo)
	}
}

func TestAConflictIsKnownOnceItIsComputed(t *testing.T) {
	w := newWorld(t)
	_, err := w.Push("dev-a", w.repo, "main", forgetest.WriteFiles("another way", map[string]string{"speed.txt": "other\n"}))
	w.ok(err)
	w.DelayMergeable(w.pull, 1)
	for _, want := range []string{"unknown", "false"} {
		p, err := w.gh.PullRequest(w.ctx, w.name, 1)
		w.ok(err)
		got := "unknown"
		if p.Mergeable != nil {
			got = fmt.Sprint(*p.Mergeable)
		}
		if got != want {
			t.Fatalf("mergeable is %s, want %s", got, want)
		}
	}
}

func TestTheMergeBaseIsThatOfTheCompareEndpoint(t *testing.T) {
	w := newWorld(t)
	old, err := w.Server.Commit(w.repo, "main")
	w.ok(err)
	tip, err := w.Push("dev-a", w.repo, "main", forgetest.WriteFiles("go on", map[string]string{"other.txt": "x"}))
	w.ok(err)
	got, err := w.gh.MergeBase(w.ctx, w.name, tip, w.Head(w.pull))
	w.ok(err)
	if got != old {
		t.Fatalf("merge base is %s, want %s", got, old)
	}
	_, err = w.gh.MergeBase(w.ctx, w.name, "main", w.Head(w.pull))
	w.is(err, forge.Refused)
	_, err = w.gh.MergeBase(w.ctx, w.name, tip, strings.Repeat("a", 40))
	w.is(err, forge.NotFound)
}

func TestHistoriesWithNothingInCommonHaveNoMergeBase(t *testing.T) {
	w := newWorld(t)
	main, err := w.Server.Commit(w.repo, "main")
	w.ok(err)
	alone, err := w.Push("dev-a", w.repo, "alone", func(b *forgetest.Work) error {
		if _, err := b.Git("update-ref", "-d", "HEAD"); err != nil {
			return err
		}
		return forgetest.WriteFiles("start anew", map[string]string{"a": "b"})(b)
	})
	w.ok(err)
	if _, err := w.gh.MergeBase(w.ctx, w.name, main, alone); !errors.Is(err, forge.ErrNoMergeBase) {
		t.Fatalf("got %v", err)
	}
}

func TestOnlyOwnBranchesAndTagsAreResolved(t *testing.T) {
	w := newWorld(t)
	main, err := w.Server.Commit(w.repo, "main")
	w.ok(err)
	_, err = w.Push("dev-a", w.repo, "v8.x/staging", func(*forgetest.Work) error { return nil })
	w.ok(err)
	for name, full := range map[string]string{
		"main": "refs/heads/main", "v1.0": "refs/tags/v1.0", "light": "refs/tags/light", "v8.x/staging": "refs/heads/v8.x/staging",
		"refs/heads/main": "refs/heads/main", "refs/tags/v1.0": "refs/tags/v1.0",
	} {
		got, err := w.gh.ResolveRef(w.ctx, w.name, name)
		w.ok(err)
		if got != (forge.Ref{Name: full, SHA: main}) {
			t.Errorf("%s is %+v", name, got)
		}
	}
	head := w.Head(w.pull)
	for _, name := range []string{"faster", "dev-b:faster", head, head[:10], "refs/pull/1/head", "pull/1/head", "refs/tags/main", "refs/heads/v1.0"} {
		if got, err := w.gh.ResolveRef(w.ctx, w.name, name); err == nil {
			t.Errorf("%s is %+v, want nothing", name, got)
		}
	}
	asked := len(w.Requests())
	for _, name := range []string{"", "a..b", "../../../app", "-x", "a b", "a~1", "a^", "a:b", "a?b", "a\\b", "x/", "/x", "a//b", ".x", "x.lock", "a@{1}", "a\x00b", "\xff", strings.Repeat("a", 300)} {
		_, err := w.gh.ResolveRef(w.ctx, w.name, name)
		w.is(err, forge.Refused)
	}
	if len(w.Requests()) != asked {
		t.Fatal("a name that git does not allow was sent")
	}
}

func TestAFileIsReadAtTheDefaultBranch(t *testing.T) {
	w := newWorld(t)
	f, err := w.gh.FileAtDefaultBranch(w.ctx, w.name, ".github/benchmark.yml")
	w.ok(err)
	if string(f.Data) != "version: 1\n" || len(f.SHA) != 40 {
		t.Fatalf("read %+v", f)
	}
	_, err = w.gh.FileAtDefaultBranch(w.ctx, w.name, ".github/none.yml")
	w.is(err, forge.NotFound)
	_, err = w.gh.FileAtDefaultBranch(w.ctx, w.name, ".github")
	w.is(err, forge.Unprocessable)
	_, err = w.Push("dev-a", w.repo, "main", forgetest.WriteFiles("large", map[string]string{"large": strings.Repeat("x", 1<<20+1)}))
	w.ok(err)
	_, err = w.gh.FileAtDefaultBranch(w.ctx, w.name, "large")
	w.is(err, forge.Unprocessable)
}

func TestARoleIsNotTheFoldedPermission(t *testing.T) {
	w := newWorld(t)
	for _, role := range []forge.Role{forge.RoleNone, forge.RoleRead, forge.RoleTriage, forge.RoleWrite, forge.RoleMaintain, forge.RoleAdmin} {
		w.ok(w.Grant(w.repo, "dev-a", string(role)))
		got, err := w.gh.Permission(w.ctx, w.name, "dev-a")
		w.ok(err)
		if got != role {
			t.Errorf("%s reads %s", role, got)
		}
	}
	for _, nobody := range []string{"stranger", "no-such-person"} {
		if got, err := w.gh.Permission(w.ctx, w.name, nobody); err != nil || got.AtLeast(forge.RoleRead) {
			t.Errorf("%s reads %s, %v", nobody, got, err)
		}
	}
	if _, err := w.gh.Permission(w.ctx, w.name, "a/../../x"); forge.Classify(err).Kind != forge.Refused {
		t.Errorf("a login that is none: %v", err)
	}
}

func TestACustomRoleCountsByWhatItGrants(t *testing.T) {
	answer := func(user string) recorded {
		return recorded{Status: 200, Body: json.RawMessage(`{"permission":"write","user":` + user + `}`)}
	}
	for _, c := range []struct {
		user string
		want forge.Role
	}{
		{`{"login":"dev-a","role_name":"Release manager","permissions":{"pull":true,"triage":true,"push":false}}`, forge.RoleTriage},
		{`{"login":"dev-a","role_name":"admin","permissions":{"pull":true}}`, forge.RoleRead},
		{`{"login":"dev-a","role_name":"write"}`, forge.RoleWrite},
		{`{"login":"dev-a"}`, forge.RoleNone},
		{`null`, forge.RoleNone},
		{`{"login":"somebody-else","role_name":"admin","permissions":{"admin":true}}`, forge.RoleNone},
	} {
		got, err := newReplay(t, answer(c.user)).Permission(t.Context(), engine, "dev-a")
		if err != nil || got != c.want {
			t.Errorf("%s reads %s, %v; want %s", c.user, got, err, c.want)
		}
	}
}

func TestACommentIsWrittenEditedReadAndDeleted(t *testing.T) {
	w := newWorld(t)
	c, err := w.gh.CreateComment(w.ctx, w.name, 1, "one <b>&amp;")
	w.ok(err)
	if c.Author.Login != "prbench[bot]" || c.Author.Type != "Bot" || c.Body != "one <b>&amp;" {
		t.Fatalf("created %+v", c)
	}
	_, err = w.gh.EditComment(w.ctx, w.name, c.ID, "two")
	w.ok(err)
	got, err := w.gh.Comment(w.ctx, w.name, c.ID)
	w.ok(err)
	if got.Body != "two" {
		t.Fatalf("read %q", got.Body)
	}
	w.ok(w.gh.DeleteComment(w.ctx, w.name, c.ID))
	w.ok(w.gh.DeleteComment(w.ctx, w.name, c.ID))
	_, err = w.gh.Comment(w.ctx, w.name, c.ID)
	w.is(err, forge.NotFound)
	_, err = w.gh.EditComment(w.ctx, w.name, c.ID, "three")
	w.is(err, forge.NotFound)
}

func TestOurOwnCommentIsFoundOnALaterPage(t *testing.T) {
	w := newWorld(t)
	const marker = "<!-- prbench:report -->"
	for i := range 130 {
		_, err := w.Comment("stranger", w.pull, fmt.Sprintf("%s forged %d", marker, i))
		w.ok(err)
	}
	if _, found, err := w.gh.FindComment(w.ctx, w.name, 1, marker); err != nil || found {
		t.Fatalf("somebody else's marker was taken: %v", err)
	}
	want, err := w.gh.CreateComment(w.ctx, w.name, 1, "report "+marker)
	w.ok(err)
	got, found, err := w.gh.FindComment(w.ctx, w.name, 1, marker)
	w.ok(err)
	if !found || got.ID != want.ID {
		t.Fatalf("found %+v", got)
	}
	all, err := w.gh.Comments(w.ctx, w.name, 1)
	w.ok(err)
	if len(all) != 131 {
		t.Fatalf("%d comments, want 131", len(all))
	}
}

func TestAReactionShowsOnce(t *testing.T) {
	w := newWorld(t)
	id, err := w.Comment("dev-a", w.pull, "/benchmark")
	w.ok(err)
	for range 2 {
		w.ok(w.gh.ReactToComment(w.ctx, w.name, id, forge.ReactionEyes))
	}
	if got := w.Conversation(w.pull).Comments[0].Reactions; !slices.Equal(got, []string{"eyes by prbench[bot]"}) {
		t.Fatalf("shown: %v", got)
	}
}

func TestLabelsOfAnyNameGoOnAndOff(t *testing.T) {
	w := newWorld(t)
	for _, label := range []string{"benchmark", "needs: a/b test?", "été 100%", "a#b"} {
		w.ok(w.gh.AddLabel(w.ctx, w.name, 1, label))
		if got := w.Conversation(w.pull).Labels; !slices.Equal(got, []string{label}) {
			t.Fatalf("labels are %q", got)
		}
		w.ok(w.gh.RemoveLabel(w.ctx, w.name, 1, label))
		w.ok(w.gh.RemoveLabel(w.ctx, w.name, 1, label))
		if got := w.Conversation(w.pull).Labels; len(got) != 0 {
			t.Fatalf("labels are %q", got)
		}
	}
}

func TestOpenPullRequestsWithALabelAreListed(t *testing.T) {
	w := newWorld(t)
	for i := range 3 {
		branch := fmt.Sprintf("b%d", i)
		w.push(branch, branch)
		_, err := w.OpenPull(forgetest.PullSpec{Base: w.repo, Head: w.fork, HeadRef: branch, Title: branch, Labels: []string{"Benchmark"}})
		w.ok(err)
	}
	all := func() []int {
		got, err := w.gh.PullsWithLabel(w.ctx, w.name, "benchmark")
		w.ok(err)
		var numbers []int
		for _, p := range got {
			numbers = append(numbers, p.Number)
		}
		slices.Sort(numbers)
		return numbers
	}
	if got := all(); !slices.Equal(got, []int{2, 3, 4}) {
		t.Fatalf("listed %v", got)
	}
	w.ok(w.ClosePull("dev-a", w.pull))
	open, err := w.gh.OpenPulls(w.ctx, w.name)
	w.ok(err)
	if len(open) != 3 || !open[0].HasLabel("benchmark") || open[0].Head.SHA == "" {
		t.Fatalf("open are %+v", open)
	}
}

func TestManyAnnotationsGoInChunksToOneCheckRun(t *testing.T) {
	w := newWorld(t)
	data, err := os.ReadFile("testdata/more-annotations-than-one-request-takes.json")
	w.ok(err)
	var size struct {
		N int `json:"annotations_to_send"`
	}
	w.ok(json.Unmarshal(data, &size))
	run := forge.CheckRun{
		Name: "prbench", HeadSHA: w.Head(w.pull), ExternalID: "1.1.1", Status: "completed", Conclusion: "neutral",
		Title: "120 regressions", Summary: "all of them", StartedAt: time.Now(), EndedAt: time.Now(),
		Actions: []forge.Action{{Label: "Run again", Description: "Measure once more", Identifier: "rerun"}},
	}
	for i := range size.N {
		run.Annotations = append(run.Annotations, forge.Annotation{Path: "speed.txt", StartLine: i + 1, EndLine: i + 1, Level: "warning", Message: "slower"})
	}
	id, err := w.gh.CreateCheckRun(w.ctx, w.name, run)
	w.ok(err)
	got := w.Conversation(w.pull).CheckRuns
	if len(got) != 1 || got[0].ID != id || got[0].Annotations != size.N || got[0].Updates != 2 || !slices.Equal(got[0].Actions, []string{"rerun"}) {
		t.Fatalf("shown: %+v", got)
	}
	run.Annotations, run.ExternalID = nil, "1.1.2"
	if _, err := w.gh.CreateCheckRun(w.ctx, w.name, run); err != nil {
		t.Fatalf("with no annotation: %v", err)
	}
}

func TestACheckRunIsUpdatedAndFoundByItsExternalID(t *testing.T) {
	w := newWorld(t)
	head := w.Head(w.pull)
	id, err := w.gh.CreateCheckRun(w.ctx, w.name, forge.CheckRun{Name: "prbench", HeadSHA: head, ExternalID: "7.1.1", Status: "queued", Title: "Waiting", Summary: "2 before"})
	w.ok(err)
	w.ok(w.gh.UpdateCheckRun(w.ctx, w.name, id, forge.CheckRun{Name: "prbench", Status: "in_progress", Title: "Running", Summary: "40 %"}))
	got, found, err := w.gh.FindCheckRun(w.ctx, w.name, head, "7.1.1")
	w.ok(err)
	if !found || got.ID != id || got.Status != "in_progress" || got.Title != "Running" || got.AppID != w.app.ID {
		t.Fatalf("found %+v", got)
	}
	if _, found, err := w.gh.FindCheckRun(w.ctx, w.name, head, "7.1.2"); err != nil || found {
		t.Fatalf("found another: %v", err)
	}
	_, err = w.gh.CreateCheckRun(w.ctx, w.name, forge.CheckRun{Name: "prbench", HeadSHA: strings.Repeat("a", 40), Title: "x", Summary: "x"})
	w.is(err, forge.Unprocessable)
}

func TestAPlainTokenSetsAStatusWhereItMayNotMakeACheckRun(t *testing.T) {
	w := newWorld(t)
	w.ok(w.Grant(w.repo, "dev-a", "write"))
	token, err := w.AddUserToken("dev-a")
	w.ok(err)
	f := w.connect(forge.Config{Token: token})
	gh := f.Installation(12345)
	_, err = gh.CreateCheckRun(w.ctx, w.name, forge.CheckRun{Name: "prbench", HeadSHA: w.Head(w.pull), Title: "x", Summary: "x"})
	w.is(err, forge.NoPermission)
	w.ok(gh.SetStatus(w.ctx, w.name, w.Head(w.pull), forge.Status{State: "success", Context: "prbench", Description: "no change"}))
	if got := w.Conversation(w.pull).Statuses; len(got) != 1 || got[0].State != "success" || got[0].Context != "prbench" {
		t.Fatalf("shown: %+v", got)
	}
	self, err := f.Self(w.ctx)
	w.ok(err)
	if self.Login != "dev-a" || self.ID == 0 || self.AppID != 0 {
		t.Fatalf("self is %+v", self)
	}
	if _, err := f.RepoToken(w.ctx, 1, w.repo.ID, forge.CloneOnly); !errors.Is(err, forge.ErrNotAnApp) {
		t.Fatalf("a plain token was narrowed: %v", err)
	}
	_, err = gh.CreateComment(w.ctx, w.name, 1, "mark")
	w.ok(err)
	if _, found, err := gh.FindComment(w.ctx, w.name, 1, "mark"); err != nil || !found {
		t.Fatalf("own comment is not found: %v", err)
	}
}

func TestARenamedRepositoryAnswersUnderItsNewName(t *testing.T) {
	w := newWorld(t)
	w.ok(w.Rename("dev-a", w.repo, "motor"))
	r, err := w.gh.Repository(w.ctx, w.name)
	w.ok(err)
	if r.Repo.String() != "acme/motor" {
		t.Fatalf("read %+v", r)
	}
	if _, err := w.gh.CreateComment(w.ctx, w.name, 1, "under the old name"); err != nil {
		t.Fatal(err)
	}
	if got := w.Conversation(w.pull).Comments; len(got) != 1 {
		t.Fatalf("%d comments", len(got))
	}
}

func TestWhatIsRefusedIsToldApart(t *testing.T) {
	w := newWorld(t)
	w.ok(w.LockPull("dev-a", w.pull, true))
	_, err := w.gh.CreateComment(w.ctx, w.name, 1, "text")
	w.is(err, forge.Locked)
	w.ok(w.LockPull("dev-a", w.pull, false))
	_, err = w.gh.CreateComment(w.ctx, w.name, 1, strings.Repeat("x", 65537))
	w.is(err, forge.Unprocessable)
	_, err = w.gh.CreateComment(w.ctx, w.name, 99, "text")
	w.is(err, forge.NotFound)
	w.ok(w.Archive("dev-a", w.repo, true))
	_, err = w.gh.CreateComment(w.ctx, w.name, 1, "text")
	w.is(err, forge.Archived)
	w.ok(w.Archive("dev-a", w.repo, false))
	w.SetRateLimit(0)
	_, err = w.gh.PullRequest(w.ctx, w.name, 1)
	if got := w.is(err, forge.PrimaryLimit); got.RetryAfter < 55*time.Minute {
		t.Fatalf("waits %v", got.RetryAfter)
	}
}
