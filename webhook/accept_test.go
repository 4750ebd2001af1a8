package webhook

import (
	"strings"
	"testing"

	"github.com/prbench/prbench/internal/forgetest"
	"github.com/prbench/prbench/internal/job"
)

func TestALabelByAWriterIsAJobOfTheMergeBaseAndTheHead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	w.label("writer", "benchmark")
	j := w.onlyJob()
	if j.Base.SHA != w.mergeBase || j.Head.SHA != w.Head(w.pull) {
		t.Errorf("compares %s with %s, want the head %s with the merge base %s", j.Head.SHA, j.Base.SHA, w.Head(w.pull), w.mergeBase)
	}
	if tip, err := w.Commit(w.repo, "main"); err != nil || tip == j.Base.SHA {
		t.Errorf("the base is the tip of main (%v), which has gone on", err)
	}
	if len(j.Spec.Suites) != 1 || j.Spec.Suites[0].Name != "strings" || j.Wish.Trigger != job.ByLabel || j.Wish.Sender != "writer" {
		t.Errorf("job %+v", j)
	}
	if j.Repository.CloneURL != w.CloneURL(w.repo) || j.State != job.Queued || j.Installation != w.inst.ID {
		t.Errorf("job %+v", j)
	}
}

func TestALabelWithASuiteRunsThatSuite(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	w.label("writer", "benchmark:http")
	if j := w.onlyJob(); len(j.Spec.Suites) != 1 || j.Spec.Suites[0].Name != "http" {
		t.Errorf("suites %+v", j.Spec.Suites)
	}
}

func TestALabelWithAnUnknownSuiteIsAnsweredWithTheKnownOnes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	w.label("writer", "benchmark:htpt")
	w.refused("htpt", "strings", "http")
}

func TestAnotherLabelIsNotOurs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	for _, name := range []string{"bug", "benchmarks", "needs benchmark"} {
		w.label("stranger", name)
	}
	if len(w.jobs()) != 0 || len(w.replies()) != 0 {
		t.Errorf("%d jobs, replies %q", len(w.jobs()), w.replies())
	}
}

// Only writers may start a job, whichever way they ask. On a public repository
// GitHub calls everybody a reader.
func TestWithoutThePermissionThereIsARefusalAndNoJob(t *testing.T) {
	t.Parallel()
	roles := []struct{ who, role string }{{"stranger", "read"}, {"reader", "read"}, {"triager", "triage"}}
	w := newWorld(t, goodConfig)
	for i, c := range roles {
		w.comment(c.who, "/benchmark")
		all := w.replies()
		if len(all) != i+1 || !strings.Contains(all[i], "`write` permission") || !strings.Contains(all[i], "`"+c.who+"` has `"+c.role+"`") {
			t.Errorf("%s, who may %s, is answered %q", c.who, c.role, all)
		}
	}
	if jobs := w.jobs(); len(jobs) > 0 {
		t.Errorf("jobs %+v", jobs)
	}
	// A label on a head has one reply, whoever puts it on.
	w = newWorld(t, goodConfig)
	for _, c := range roles {
		w.label(c.who, "benchmark")
		w.refused("`write` permission", "`"+c.who+"` has `"+c.role+"`")
		w.ok(w.RemoveLabel("writer", w.pull, "benchmark"))
		w.settle()
	}
}

func TestTheConfigMayAskForLessPermissionOrMore(t *testing.T) {
	t.Parallel()
	less := newWorld(t, strings.Replace(goodConfig, "build:", "trigger: {permission: triage}\nbuild:", 1))
	less.comment("triager", "/benchmark")
	less.onlyJob()
	more := newWorld(t, strings.Replace(goodConfig, "build:", "trigger: {permission: maintain}\nbuild:", 1))
	more.comment("writer", "/benchmark")
	more.refused("`maintain` permission", "`write`")
}

func TestARepositoryOutsideThePoolsListGetsAReplyAndNoJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t, strings.Replace(goodConfig, "build:", "pool: others\nbuild:", 1))
	w.label("writer", "benchmark")
	w.refused("`others`", "operators")
}

func TestAPoolThatIsNamedInTheCommandIsCheckedToo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	w.comment("writer", "/benchmark --pool others")
	w.refused("`others`")
}

func TestAConfigWithATypoIsAnsweredWithFileLineAndKey(t *testing.T) {
	t.Parallel()
	typo := strings.Replace(goodConfig, "format: go, command: sh bench.sh, default", "fromat: go, command: sh bench.sh, default", 1)
	for name, ask := range map[string]func(*world){
		"a label":   func(w *world) { w.label("writer", "benchmark") },
		"a comment": func(w *world) { w.comment("writer", "/benchmark") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, typo)
			ask(w)
			w.refused(".github/benchmark.yml:4", "fromat", "format")
		})
	}
}

func TestARepositoryWithoutAConfigIsToldWhatIsMissing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.comment("writer", "/benchmark")
	w.refused("`.github/benchmark.yml`", "default branch")
}

func TestTheConfigOfThePullRequestIsNotLookedAt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	w.later()
	_, err := w.Push("contributor", w.fork, "faster", forgetest.WriteFiles("run what I like", map[string]string{
		".github/benchmark.yml": strings.ReplaceAll(goodConfig, "sh bench.sh", "sh mine.sh")}))
	w.ok(err)
	w.settle()
	w.label("writer", "benchmark")
	if j := w.onlyJob(); j.Spec.Suites[0].Command != "sh bench.sh" {
		t.Errorf("the command is %q", j.Spec.Suites[0].Command)
	}
}

func TestALabelOnADeletedForkIsTheLabellersDecision(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	head := w.Head(w.pull)
	w.ok(w.DeleteRepo("contributor", w.fork))
	w.settle()
	w.label("stranger", "benchmark")
	w.refused("permission")
	w.ok(w.RemoveLabel("stranger", w.pull, "benchmark"))
	w.settle()
	w.label("writer", "benchmark")
	jobs := w.jobs()
	if len(jobs) != 1 || jobs[0].Head.SHA != head || jobs[0].Base.SHA != w.mergeBase {
		t.Fatalf("jobs %+v", jobs)
	}
}

func TestAHeadThatGitHubNoLongerHasIsAnsweredPlainly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	w.Fail(forgetest.Fault{Method: "GET", Path: "/repos/acme/engine/compare/*", Status: 404, Times: -1})
	w.label("writer", "benchmark")
	w.refused("GitHub no longer has the commit `" + w.Head(w.pull)[:10] + "`")
}

// The stand-in makes merge_commit_sha as GitHub does, and GitHub keeps the old
// one when a conflict comes up.
func TestAConflictIsNotedAndTheMergeCommitIsNeverBuilt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	w.later()
	_, err := w.Push("writer", w.repo, "main", forgetest.WriteFiles("slower", map[string]string{"speed.txt": "slower\n"}))
	w.ok(err)
	w.settle()
	w.label("writer", "benchmark")
	j := w.onlyJob()
	if j.Base.SHA != w.mergeBase || j.Head.SHA != w.Head(w.pull) {
		t.Errorf("compares %s with %s", j.Head.SHA, j.Base.SHA)
	}
	if len(j.Notes) != 1 || !strings.Contains(j.Notes[0], "conflicts with `main`") {
		t.Errorf("notes %q", j.Notes)
	}
}

func TestWhileGitHubHasNotComputedTheMergeNothingIsNoted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	w.DelayMergeable(w.pull, 5)
	w.label("writer", "benchmark")
	if j := w.onlyJob(); len(j.Notes) != 0 {
		t.Errorf("notes %q", j.Notes)
	}
}
