package webhook

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prbench/prbench/internal/config"
	"github.com/prbench/prbench/internal/forgetest"
	"github.com/prbench/prbench/internal/job"
)

const linesConfig = goodConfig + `release_lines: [v1.x-staging, v2.x-staging, v3.x-staging]
backport_label: backport-requested-*
`

// newLines is a world with three release lines, each a commit apart from main.
func newLines(t *testing.T, yml string) (w *world, tips map[string]string) {
	t.Helper()
	w, tips = newWorld(t, yml), map[string]string{"v1.x-staging": "", "v2.x-staging": "", "v3.x-staging": ""}
	_, err := w.Push("writer", w.repo, "main", func(b *forgetest.Work) error {
		for line := range tips {
			sha, err := b.Git("commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "on "+line)
			if err != nil {
				return err
			}
			if _, err := b.Git("branch", line, sha); err != nil {
				return err
			}
			tips[line] = sha
		}
		return nil
	})
	w.ok(err)
	w.settle()
	return w, tips
}

// moveLine commits to a branch of the repository, which is made where there is none.
func (w *world) moveLine(line string) string {
	w.t.Helper()
	w.later()
	sha, err := w.Push("writer", w.repo, line, forgetest.WriteFiles("on "+line, map[string]string{"line.txt": fmt.Sprint(line, w.ahead.Load())}))
	w.ok(err)
	return sha
}

// backports are the pull request's jobs on lines, and the others.
func (w *world) backports() (on, others []job.Job) {
	for _, j := range w.jobs() {
		if j.Backport != nil {
			on = append(on, j)
		} else {
			others = append(others, j)
		}
	}
	return on, others
}

// bases are the lines of jobs with the commits that they were pinned to.
func bases(jobs []job.Job) map[string]string {
	out := map[string]string{}
	for _, j := range jobs {
		out[j.Base.Ref] = j.Base.SHA
	}
	return out
}

func TestABackportIsOneJobALineAndTheComparisonBesideThem(t *testing.T) {
	t.Parallel()
	w, tips := newLines(t, linesConfig)
	id := w.comment("writer", "/benchmark backport --runs 12")
	on, others := w.backports()
	if diff := cmp.Diff(tips, bases(on)); diff != "" || len(w.replies()) > 0 {
		t.Fatalf("want - got +\n%s; replies %q", diff, w.replies())
	}
	group := fmt.Sprintf("comment:%d:/benchmark backport --runs 12", id)
	for _, j := range on {
		b := j.Backport
		if b.Group != group || j.Wish.Key != group+":line:"+b.Line || b.Line != j.Base.Ref || j.Head.SHA != w.Head(w.pull) || j.State != job.Queued {
			t.Errorf("job %+v of %+v", j, b)
		}
		if !slices.Equal(b.Lines, []string{"v1.x-staging", "v2.x-staging", "v3.x-staging"}) || !j.Spec.Gate || j.Spec.Runs != 12 {
			t.Errorf("lines %q, spec %+v", b.Lines, j.Spec)
		}
		if want := (job.Change{Picks: []job.Pick{{SHA: w.Head(w.pull)}}, Note: "the commit " + short(w.Head(w.pull))}); !cmp.Equal(b.Change, want) {
			t.Errorf("change %+v, want %+v", b.Change, want)
		}
	}
	if len(others) != 1 || others[0].Base.SHA != w.mergeBase || others[0].Head.SHA != w.Head(w.pull) || others[0].Wish.Key != group+":main" ||
		others[0].Spec.Gate || others[0].Spec.Runs != 12 {
		t.Errorf("beside the lines: %+v", others)
	}
}

func TestALineIsNamedInFullInShortOrAsAnyBranch(t *testing.T) {
	t.Parallel()
	w, tips := newLines(t, linesConfig)
	tips["old/branch"] = w.moveLine("old/branch")
	w.comment("writer", "/benchmark backport v3.x-staging v1.x old/branch v1.x-staging")
	on, _ := w.backports()
	delete(tips, "v2.x-staging")
	if diff := cmp.Diff(tips, bases(on)); diff != "" {
		t.Errorf("want - got +\n%s; replies %q", diff, w.replies())
	}
	if len(on) != 3 || !slices.Equal(on[0].Backport.Lines, []string{"v3.x-staging", "v1.x-staging", "old/branch"}) {
		t.Errorf("jobs %+v", on)
	}
}

func TestWhatIsNoLineIsRefusedWithTheLines(t *testing.T) {
	t.Parallel()
	w, _ := newLines(t, linesConfig)
	_, err := w.Push("writer", w.repo, "main", func(b *forgetest.Work) error { _, err := b.Git("tag", "v9.0"); return err })
	w.ok(err)
	w.comment("writer", "/benchmark backport v9.0 v1.x 'a:b'")
	w.refused("`v9.0` and `a:b` are no branches", "`v1.x-staging`, `v2.x-staging` and `v3.x-staging`")
}

func TestAClosedPullRequestHasNothingToPutOntoALine(t *testing.T) {
	t.Parallel()
	w, _ := newLines(t, linesConfig)
	w.ok(w.ClosePull("contributor", w.pull))
	w.settle()
	w.comment("writer", "/benchmark backport")
	w.refused("closed and was not merged")
}

func TestABackportNeedsThePermissionAndThePoolOfAnyCommand(t *testing.T) {
	t.Parallel()
	w, _ := newLines(t, linesConfig)
	w.comment("reader", "/benchmark backport")
	w.refused("`write` permission")
	w.comment("writer", "/benchmark backport --pool others")
	if said := w.replies(); len(said) != 2 || !strings.Contains(said[1], "may not use the pool `others`") || len(w.jobs()) > 0 {
		t.Errorf("%d jobs, replies %q", len(w.jobs()), said)
	}
}

// dying is a store that keeps so many jobs and then, once, none, as if the process
// ended there.
type dying struct {
	Store
	after int
	then  func()
	once  sync.Once
}

func (d *dying) Create(ctx context.Context, j job.Job) (made job.Job, fresh bool, err error) {
	if d.after--; d.after < 0 {
		d.once.Do(func() {
			d.then()
			err = errors.New("this is the end of the process")
		})
		if err != nil {
			return job.Job{}, false, err
		}
	}
	return d.Store.Create(ctx, j)
}

func TestABackportThatWasCutOffIsCompletedAsItWasDecided(t *testing.T) {
	t.Parallel()
	w, tips := newLines(t, linesConfig)
	w.SetDeliveryMode(forgetest.DeliveryMode{Twice: true})
	w.clerk.Store = &dying{Store: w.store, after: 1, then: func() {
		for line := range tips { // they go on, and the config is another one
			moved := w.moveLine(line)
			if line != "v1.x-staging" {
				tips[line] = moved
			}
		}
		_, err := w.Push("writer", w.repo, "main", forgetest.WriteFiles("one line less", map[string]string{config.RepoPath: goodConfig + "release_lines: [v1.x-staging]\n"}))
		w.ok(err)
	}}
	w.comment("writer", "/benchmark backport")
	on, others := w.backports()
	if diff := cmp.Diff(tips, bases(on)); diff != "" || len(on) != 3 || len(others) != 1 {
		t.Errorf("want - got +\n%s; %d on lines, %d others", diff, len(on), len(others))
	}
	for _, j := range on {
		if !slices.Equal(j.Backport.Lines, on[0].Backport.Lines) || !cmp.Equal(j.Backport.Change, on[0].Backport.Change) {
			t.Errorf("%s is another backport than %s: %+v", j.Backport.Line, on[0].Backport.Line, j.Backport)
		}
	}
}

func TestWhatWasMeasuredOnTheMainBranchIsNotMeasuredAgain(t *testing.T) {
	t.Parallel()
	w, _ := newLines(t, linesConfig)
	w.comment("writer", "/benchmark")
	w.comment("writer", "/benchmark backport v1.x")
	w.comment("writer", "/benchmark backport v2.x --filter x") // other benchmarks
	if on, others := w.backports(); len(on) != 2 || len(others) != 2 {
		t.Errorf("%d on lines, %d others", len(on), len(others))
	}
}

func TestAHeadThatMovedIsNotPutOntoALine(t *testing.T) {
	t.Parallel()
	w, _ := newLines(t, linesConfig)
	w.SetDeliveryMode(forgetest.DeliveryMode{Lost: true})
	w.later()
	_, err := w.Comment("writer", w.pull, "/benchmark backport")
	w.ok(err)
	moved := w.push("evil\n")
	w.ok(w.Settle(t.Context()))
	w.SetDeliveryMode(forgetest.DeliveryMode{})
	w.ok(w.Redeliver(w.lastDelivery("issue_comment").ID))
	w.settle()
	if said := w.refused("moved to `"+short(moved)+"`", "then ask again"); strings.Contains(said, "--sha") {
		t.Errorf("it offers a flag that backport refuses: %s", said)
	}
	w.comment("writer", "/benchmark backport v1.x")
	if on, _ := w.backports(); len(on) != 1 || on[0].Head.SHA != moved {
		t.Errorf("asked again, the jobs are %+v; replies %q", on, w.replies())
	}
}

func TestAPushOutdatesABackportAndAMergeDoesNotCancelIt(t *testing.T) {
	t.Parallel()
	w, _ := newLines(t, linesConfig)
	w.comment("writer", "/benchmark backport v1.x")
	w.push("other\n")
	w.settle()
	on, _ := w.backports()
	if on[0].State != job.Cancelled || !on[0].Outdated {
		t.Errorf("after a push: %+v", on[0])
	}
	w.comment("writer", "/benchmark http")
	w.comment("writer", "/benchmark backport v1.x")
	w.moveLine("v1.x-staging")
	w.later()
	w.ok(w.Merge("writer", w.pull, forgetest.MergeSquash))
	w.settle()
	on, others := w.backports()
	if on[1].State != job.Queued || on[1].Outdated {
		t.Errorf("after the merge, on the line: %+v", on[1])
	}
	for _, j := range others[1:] {
		if want := map[bool]job.State{true: job.Queued, false: job.Cancelled}[strings.HasSuffix(j.Wish.Key, ":main")]; j.State != want {
			t.Errorf("after the merge %s is %s, want %s", j.Wish.Key, j.State, want)
		}
	}
}

func TestAPullRequestToAReleaseLineIsComparedWithThatLine(t *testing.T) {
	t.Parallel()
	w, tips := newLines(t, linesConfig)
	_, err := w.Push("writer", w.repo, "fix", func(b *forgetest.Work) error {
		if _, err := b.Git("reset", "-q", "--hard", tips["v1.x-staging"]); err != nil {
			return err
		}
		return forgetest.WriteFiles("a fix", map[string]string{"speed.txt": "fast\n"})(b)
	})
	w.ok(err)
	w.pull, err = w.OpenPull(forgetest.PullSpec{Base: w.repo, BaseRef: "v1.x-staging", HeadRef: "fix", Author: "writer", Title: "A fix of the line"})
	w.ok(err)
	w.settle()
	w.moveLine("v1.x-staging")
	w.label("writer", "benchmark")
	if j := w.onlyJob(); j.Backport != nil || j.Base != (job.Side{SHA: tips["v1.x-staging"], Ref: "v1.x-staging"}) || j.Head.SHA != w.Head(w.pull) {
		t.Errorf("job %+v", j)
	}
}
