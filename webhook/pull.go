package webhook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/prbench/prbench/internal/config"
	"github.com/prbench/prbench/internal/forge"
	"github.com/prbench/prbench/internal/job"
)

// pullRequest acts on what happens to a pull request. own is true when we, or
// a bot that is not trusted, did it: then it gives no command, but a new head
// is a new head whoever pushed it.
func (a *Acceptor) pullRequest(ctx context.Context, e job.Event, own bool, log *slog.Logger) error {
	switch e.Action {
	case "opened", "reopened", "synchronize":
		return a.headTold(ctx, e)
	case "closed":
		return a.closed(ctx, e)
	case "edited":
		return a.baseChanged(ctx, e)
	case "labeled":
		if !own {
			return a.labeled(ctx, e, log)
		}
	case "unlabeled":
		if !own {
			return a.unlabeled(ctx, e)
		}
	}
	return nil
}

// errOlderAnswer asks for the event to come again a little later.
var errOlderAnswer = errors.New("GitHub's answer is older than its event")

// present reads the pull request as it is now. Events come late, twice and out of
// order: none is acted on for what it says alone.
func (a *Acceptor) present(ctx context.Context, e job.Event) (forge.PullRequest, error) {
	pr, err := a.Hub(e.Installation).PullRequest(ctx, repoOf(e.Repository), e.PR)
	if err != nil {
		return forge.PullRequest{}, fmt.Errorf("read the pull request: %w", err)
	}
	if pr.UpdatedAt.Before(e.At) && a.Now().Sub(e.Received) < unknownHeadPatience {
		return forge.PullRequest{}, errOlderAnswer
	}
	return pr, nil
}

// headTold keeps which commit became the head, and acts on a push if that commit
// is the head still.
func (a *Acceptor) headTold(ctx context.Context, e job.Event) error {
	at := e.At
	if at.IsZero() {
		at = e.Received
	}
	newest, err := a.Store.BecameHead(ctx, e.Repository.ID, e.PR, e.HeadSHA, at)
	if err != nil {
		return fmt.Errorf("keep the head: %w", err)
	}
	if e.Action != "synchronize" && newest.SHA == e.HeadSHA {
		return nil
	}
	// Read before the head is: then none is of a head that came later.
	jobs, err := a.Store.List(ctx, e.Repository.ID, e.PR)
	if err != nil {
		return fmt.Errorf("read the pull request's jobs: %w", err)
	}
	if len(jobs) == 0 && !a.serves(e.Repository.FullName(), e.Installation) {
		return nil
	}
	pr, err := a.present(ctx, e)
	if err != nil || pr.Head.SHA != e.HeadSHA {
		return err // where it moved on, the event of that push acts
	}
	if newest.SHA != e.HeadSHA {
		// Told out of order. It is the head, but since when is not known.
		if _, err := a.Store.BecameHead(ctx, e.Repository.ID, e.PR, e.HeadSHA, a.Now()); err != nil {
			return fmt.Errorf("keep the head: %w", err)
		}
	}
	if e.Action != "synchronize" {
		return nil
	}
	return a.headMoved(ctx, e, jobs)
}

// labeled acts on the config's label, alone or with a suite: "benchmark:http".
func (a *Acceptor) labeled(ctx context.Context, e job.Event, log *slog.Logger) error {
	hub, repo := a.Hub(e.Installation), repoOf(e.Repository)
	marker := fmt.Sprintf("label:%s:%s", e.HeadSHA, e.Label)
	cfg, err := readConfig(ctx, hub, repo)
	if err != nil && !isRefusal(err) {
		return err
	}
	name, suite, _ := strings.Cut(e.Label, ":")
	line := ""
	if name != triggerLabel(cfg) {
		if line = lineOfLabel(cfg, e.Label); line == "" {
			return nil
		}
	}
	if cfg, err = a.trusted(ctx, hub, repo, e); err != nil {
		return a.say(ctx, hub, e, marker, err, log)
	}
	pr, err := a.present(ctx, e)
	switch {
	case err != nil:
		return err
	case !pr.HasLabel(e.Label):
		log.Info("the label is off again")
		return nil
	case pr.Head.SHA != e.HeadSHA:
		err := refuse("the label was put on %s, and this pull request has a newer head, %s. Please look at that commit, then put the label on it",
			code(short(e.HeadSHA)), code(short(pr.Head.SHA)))
		return a.say(ctx, hub, e, marker, err, log)
	}
	q := asked{event: e, hub: hub, repo: repo, cfg: cfg, head: e.HeadSHA, at: e.At, wish: labelWish(e)}
	if line != "" {
		return a.say(ctx, hub, e, marker, a.backport(ctx, q, []string{line}, log), log)
	}
	if suite != "" {
		q.suite = []string{suite}
	}
	j, fresh, err := a.place(ctx, q)
	logJob(log, j, fresh, err)
	return a.say(ctx, hub, e, marker, err, log)
}

// triggerLabel is the label that asks for a job; the default one where the
// config cannot be read (nil), so that whoever puts it on learns that.
func triggerLabel(cfg *config.Repo) string {
	if cfg == nil {
		return config.DefaultLabel
	}
	return cfg.Trigger.Label
}

func labelWish(e job.Event) job.Wish {
	return job.Wish{Key: fmt.Sprintf("label:%s:%s", e.HeadSHA, e.Label), Trigger: job.ByLabel, Label: e.Label,
		Sender: e.Sender.Login, SenderID: e.Sender.ID, Delivery: e.Delivery, At: e.At}
}

// unlabeled takes back the jobs that the label asked for.
func (a *Acceptor) unlabeled(ctx context.Context, e job.Event) error {
	pr, err := a.present(ctx, e)
	if err != nil || pr.HasLabel(e.Label) {
		return err
	}
	asked := func(j job.Job) bool { return j.Wish.Trigger == job.ByLabel && j.Wish.Label == e.Label }
	jobs, err := a.Store.List(ctx, e.Repository.ID, e.PR)
	if err != nil {
		return fmt.Errorf("read the pull request's jobs: %w", err)
	}
	line := slices.ContainsFunc(jobs, func(j job.Job) bool { return j.Backport != nil && asked(j) })
	others := slices.ContainsFunc(jobs, func(j job.Job) bool { return j.Backport != nil && !asked(j) && !j.State.Ended() })
	_, err = a.cancelJobs(ctx, e, "the label "+e.Label+" was taken off", func(j job.Job) bool {
		if j.Backport == nil && groupNamed(jobs, j) != "" {
			// What stands beside one line stands beside the others too.
			return line && !others && j.Wish.Trigger == job.ByLabel
		}
		return asked(j)
	})
	return err
}

// closed takes back what waits. What runs goes on: the machine's time is spent,
// and a merged pull request's result is worth having. So is that on its release
// lines, which a merge is often only the beginning of.
func (a *Acceptor) closed(ctx context.Context, e job.Event) error {
	pr, err := a.present(ctx, e)
	if err != nil || pr.State != "closed" {
		return err
	}
	jobs, err := a.Store.List(ctx, e.Repository.ID, e.PR)
	if err != nil {
		return fmt.Errorf("read the pull request's jobs: %w", err)
	}
	_, err = a.cancelJobs(ctx, e, "the pull request was closed", func(j job.Job) bool {
		return j.State == job.Queued && !(pr.Merged && groupNamed(jobs, j) != "")
	})
	return err
}

// baseChanged notes for the report that the pull request goes elsewhere now. Both
// commits of a job stay what they are.
func (a *Acceptor) baseChanged(ctx context.Context, e job.Event) error {
	jobs, err := a.Store.List(ctx, e.Repository.ID, e.PR)
	if err != nil {
		return fmt.Errorf("read the pull request's jobs: %w", err)
	}
	for _, j := range jobs {
		if j.State.Ended() || j.Base.Ref == e.BaseRef || j.Explain != nil || j.Backport != nil {
			continue
		}
		note := fmt.Sprintf("After this was asked for, the base of the pull request was changed from %s to %s. This comparison is with the merge base of %s.",
			code(e.OldBase), code(e.BaseRef), code(j.Base.Ref))
		_, err := a.Store.Update(ctx, j.ID, func(j *job.Job) error {
			if !slices.Contains(j.Notes, note) {
				j.Notes = append(j.Notes, note)
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("note the new base of job %s: %w", j.ID, err)
		}
	}
	return nil
}

// headMoved cancels what waits for an older head, marks the rest outdated and
// takes the label off: it was put on another commit.
func (a *Acceptor) headMoved(ctx context.Context, e job.Event, jobs []job.Job) error {
	for _, j := range jobs {
		if j.Head.SHA == e.HeadSHA || j.Outdated || j.Explain != nil {
			continue
		}
		if err := a.outdate(ctx, j, e); err != nil {
			return err
		}
	}
	if !a.serves(e.Repository.FullName(), e.Installation) {
		return nil
	}
	return a.takeLabelsOff(ctx, e)
}

// takeLabelsOff removes the labels that ask for a job, whatever became of their
// wish: one that was refused would otherwise seem to be meant for the new head.
func (a *Acceptor) takeLabelsOff(ctx context.Context, e job.Event) error {
	hub, repo := a.Hub(e.Installation), repoOf(e.Repository)
	cfg, err := readConfig(ctx, hub, repo)
	if err != nil && !isRefusal(err) {
		return err
	}
	if cfg != nil && cfg.Trigger.KeepLabel {
		return nil
	}
	pr, err := hub.PullRequest(ctx, repo, e.PR)
	if err != nil {
		return fmt.Errorf("read the pull request: %w", err)
	}
	if pr.Head.SHA != e.HeadSHA {
		return nil // the label may be meant for that one
	}
	for _, label := range pr.Labels {
		if word, _, _ := strings.Cut(label, ":"); word != triggerLabel(cfg) {
			continue
		}
		if err := hub.RemoveLabel(ctx, repo, e.PR, label); err != nil {
			return fmt.Errorf("take the label off: %w", err)
		}
	}
	return nil
}

// outdate cancels a job that waits, and marks one that runs or has run.
func (a *Acceptor) outdate(ctx context.Context, j job.Job, e job.Event) error {
	if j.State == job.Queued {
		c := job.Cancel{By: e.Sender.Login, Reason: "the pull request got a new head", At: a.Now().UTC()}
		if _, err := a.Store.Cancel(ctx, j.ID, c); err != nil {
			return fmt.Errorf("cancel job %s of an older head: %w", j.ID, err)
		}
	}
	_, err := a.Store.Update(ctx, j.ID, func(j *job.Job) error {
		j.Outdated = true
		return nil
	})
	if err != nil {
		return fmt.Errorf("mark job %s as outdated: %w", j.ID, err)
	}
	return nil
}

// cancelAll is the command "cancel": it takes back all jobs of the pull request.
func (a *Acceptor) cancelAll(ctx context.Context, e job.Event) (string, error) {
	n, err := a.cancelJobs(ctx, e, "cancelled by command", func(job.Job) bool { return true })
	if err != nil {
		return "", err
	}
	switch n {
	case 0:
		return "There is nothing to cancel: no benchmark of this pull request waits or runs.", nil
	case 1:
		return "Cancelled 1 benchmark job. What it measured so far is kept.", nil
	default:
		return fmt.Sprintf("Cancelled %d benchmark jobs. What they measured so far is kept.", n), nil
	}
}

func (a *Acceptor) cancelJobs(ctx context.Context, e job.Event, reason string, chosen func(job.Job) bool) (int, error) {
	jobs, err := a.Store.List(ctx, e.Repository.ID, e.PR)
	if err != nil {
		return 0, fmt.Errorf("read the pull request's jobs: %w", err)
	}
	cancel := job.Cancel{By: e.Sender.Login, Reason: reason, At: a.Now().UTC()}
	n := 0
	for _, j := range jobs {
		if !chosen(j) || (j.State != job.Queued && j.State != job.Running) {
			continue
		}
		_, err := a.Store.Cancel(ctx, j.ID, cancel)
		if err == nil && j.Wish.Trigger == job.ByLabel {
			err = a.release(ctx, j)
		}
		if err != nil {
			return n, fmt.Errorf("cancel job %s: %w", j.ID, err)
		}
		n++
	}
	return n, nil
}

// takenOff ends the key of a wish whose label is off.
const takenOff = ":taken-off"

// release lets the wish of a label go while its job still stops, so that the
// label put on again is a wish of its own.
func (a *Acceptor) release(ctx context.Context, j job.Job) error {
	_, err := a.Store.Update(ctx, j.ID, func(j *job.Job) error {
		j.Wish.Key += takenOff
		return nil
	})
	return err
}
