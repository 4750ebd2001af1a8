package webhook

import (
	"slices"
	"strings"
	"testing"

	"github.com/prbench/prbench/internal/forge"
	"github.com/prbench/prbench/internal/forgetest"
	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report/stats"
)

// checkRun puts a check run on the job's head, as the publisher does.
func (w *world) checkRun(f *forge.Forge, inst int64, j job.Job) int64 {
	w.t.Helper()
	id, err := f.Installation(inst).CreateCheckRun(w.t.Context(), w.name(), forge.CheckRun{Name: "prbench", HeadSHA: j.Head.SHA,
		ExternalID: string(j.ID), Status: "completed", Conclusion: "neutral", Title: "Done", Summary: "Done"})
	w.ok(err)
	return id
}

// ended makes the job's end, as its runner would.
func (w *world) ended(j job.Job) {
	w.t.Helper()
	_, err := w.store.Update(w.t.Context(), j.ID, func(j *job.Job) error {
		j.State, j.Outcome = job.Publishing, &job.Outcome{Kind: job.Measured, Runs: 2}
		return nil
	})
	w.ok(err)
	_, err = w.store.Update(w.t.Context(), j.ID, func(j *job.Job) error { j.State = job.Done; return nil })
	w.ok(err)
}

func (w *world) press(who string, run int64, button string) {
	w.t.Helper()
	w.later()
	w.ok(w.PressAction(who, run, button))
	w.settle()
}

// measured is a finished job of a comment, with its check run.
func (w *world) measured(command string) (job.Job, int64) {
	w.t.Helper()
	w.comment("writer", command)
	j := w.onlyJob()
	w.ended(j)
	return j, w.checkRun(w.forge, w.inst.ID, j)
}

func TestRunAgainIsTheNextAttemptOnTheSameCommits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	first, run := w.measured("/benchmark http --runs 7")
	w.push("other\n")
	w.press("writer", run, job.ButtonRunAgain)
	w.press("writer", run, job.ButtonRunAgain) // while the first one waits
	jobs := w.jobs()
	if len(jobs) != 2 {
		t.Fatalf("%d jobs, want 2; replies %q", len(jobs), w.replies())
	}
	again := jobs[1]
	if again.Attempt != 2 || again.Head.SHA != first.Head.SHA || again.Base.SHA != first.Base.SHA || again.Spec.Runs != 7 || again.Wish.Trigger != job.ByButton {
		t.Errorf("job %+v", again)
	}
	w.ended(again)
	w.later()
	w.ok(w.RerequestCheckRun("writer", run)) // GitHub's own button
	w.settle()
	if jobs := w.jobs(); len(jobs) != 3 || jobs[2].Attempt != 3 {
		t.Errorf("jobs %+v", jobs)
	}
}

func TestAPressThatIsToldTwiceIsOneJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	_, run := w.measured("/benchmark")
	w.SetDeliveryMode(forgetest.DeliveryMode{Twice: true})
	w.press("writer", run, job.ButtonRunAgain)
	if n := len(w.jobs()); n != 2 {
		t.Errorf("%d jobs, want the first and one more", n)
	}
}

func TestMoreRunsGoesOnToFourTimesTheMost(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]func(job.Spec) bool{
		"/benchmark --runs 30": func(s job.Spec) bool { return s.Runs == 120 },
		"/benchmark":           func(s job.Spec) bool { return slices.Equal(s.Looks, stats.MoreLooks(stats.DefaultLooks())) },
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, goodConfig)
			first, run := w.measured(command)
			w.press("writer", run, job.ButtonMoreRuns)
			jobs := w.jobs()
			if len(jobs) != 2 || !want(jobs[1].Spec) || jobs[1].Attempt != 2 || jobs[1].Spec.Budget < first.Spec.Budget {
				t.Errorf("jobs %+v; replies %q", jobs, w.replies())
			}
		})
	}
}

func TestTheCancelButtonTakesItsOwnJobBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	w.comment("writer", "/benchmark http\n/benchmark strings")
	run := w.checkRun(w.forge, w.inst.ID, w.jobs()[1])
	w.press("writer", run, job.ButtonCancel)
	if jobs := w.jobs(); jobs[0].State != job.Queued || jobs[1].State != job.Cancelled || jobs[1].Cancel.By != "writer" {
		t.Errorf("jobs %+v", jobs)
	}
}

func TestAButtonNeedsThePermissionOfACommand(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	_, run := w.measured("/benchmark")
	for _, button := range []string{job.ButtonRunAgain, job.ButtonMoreRuns} {
		w.press("triager", run, button)
	}
	if n := len(w.jobs()); n != 1 {
		t.Errorf("%d jobs, want the first alone", n)
	}
	w.said("`triager` has `triage`")
}

func TestARefusalSaysWhatWasRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	w.comment("writer", "/benchmark")
	run := w.checkRun(w.forge, w.inst.ID, w.jobs()[0])
	w.press("triager", run, job.ButtonCancel)
	w.comment("reader", "/benchmark cancel")
	w.comment("reader", "/benchmark status\n/benchmark help")
	w.comment("reader", "/benchmark cancel\n/benchmark http")
	all := w.replies()
	if len(all) != 4 {
		t.Fatalf("replies %q", all)
	}
	for i, want := range []string{"Nothing was cancelled: ", "Nothing was cancelled: ", "Nothing was done: ", "No benchmark was started: "} {
		if !strings.HasPrefix(all[i], want) {
			t.Errorf("reply %d does not begin with %q: %s", i, want, all[i])
		}
	}
	if j := w.jobs()[0]; j.State != job.Queued || j.Cancel != nil {
		t.Errorf("job %+v", j)
	}
}

// Another App can give its check run any external id.
func TestACheckRunOfAnotherAppCommandsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	j, _ := w.measured("/benchmark")
	other, err := w.AddApp(forgetest.AppSpec{Slug: "other"})
	w.ok(err)
	inst, err := w.Install(other, "acme", w.repo)
	w.ok(err)
	w.SetWebhook(other, w.hook.URL, secret)
	f, err := forge.New(forge.Config{URL: w.APIURL(), AppID: other.ID, PrivateKey: other.PrivateKey, Pace: -1, Transport: w.transport})
	w.ok(err)
	run := w.checkRun(f, inst.ID, j)
	w.press("writer", run, job.ButtonRunAgain)
	if n := len(w.jobs()); n != 1 {
		t.Errorf("%d jobs, want the first alone", n)
	}
}

func TestAButtonThatIsNotOursHasNoEffect(t *testing.T) {
	t.Parallel()
	for _, payload := range []string{
		`{"action":"requested_action","check_run":{"id":1,"external_id":"5.1.1","app":{"id":1}},"requested_action":{"identifier":"format-disk"},"repository":{"id":5,"full_name":"acme/engine"}}`,
		`{"action":"rerequested","check_run":{"id":1,"external_id":"6.1.1","app":{"id":1}},"repository":{"id":5,"full_name":"acme/engine"}}`,
		`{"action":"rerequested","check_run":{"id":1,"external_id":"","app":{"id":1}},"repository":{"id":5,"full_name":"acme/engine"}}`,
		`{"action":"rerequested","check_run":{"id":1,"external_id":"5.1.1","app":null},"repository":{"id":5,"full_name":"acme/engine"}}`,
		`{"action":"completed","check_run":{"id":1,"external_id":"5.1.1","app":{"id":1}},"repository":{"id":5,"full_name":"acme/engine"}}`,
	} {
		if _, acts, err := Reduce("check_run", "d", testTime, []byte(payload)); acts || err != nil {
			t.Errorf("acts %v, error %v on %s", acts, err, payload)
		}
	}
}
