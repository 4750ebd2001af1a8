package publish

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"github.com/prbench/prbench/internal/forge"
	"github.com/prbench/prbench/internal/job"
)

// bring makes GitHub show what the record says, in the order in which people
// look: the 👀 on the command, the check run, the comment, the 🚀. Each step
// looks for what an earlier, interrupted call may have left.
func (p *Publisher) bring(ctx context.Context, j job.Job) error {
	hub, shown := p.Hub(j.Installation), j.Published
	if forgotten, err := p.forgotten(ctx, j); err != nil {
		return fmt.Errorf("look for the samples of job %s: %w", j.ID, err)
	} else if forgotten {
		return p.record(ctx, j, shown)
	}
	if finished(j) {
		there, ok, err := p.whereNow(ctx, hub, j)
		if err != nil {
			return err
		}
		if !ok {
			shown.Problem = "the repository is gone or out of reach"
			return p.record(ctx, j, shown)
		}
		j = there
	}
	repo := forge.Repo{Owner: j.Repository.Owner, Name: j.Repository.Name}
	if j.Backport != nil {
		if err := p.backport(ctx, hub, repo, j, &shown); err != nil {
			return err
		}
		return p.record(ctx, j, shown)
	}
	if err := p.react(ctx, hub, repo, j, &shown.Seen, forge.ReactionEyes); err != nil {
		return err
	}
	if j.Explain != nil {
		if err := p.explain(ctx, hub, repo, j, &shown); err != nil {
			return err
		}
		return p.record(ctx, j, shown)
	}
	page, err := p.page(ctx, j)
	if err != nil {
		return err
	}
	if err := p.check(ctx, hub, repo, j, page, &shown); err != nil {
		return err
	}
	if j.State == job.Queued {
		p.line.tell(j.ID, page.place)
	}
	if page.comment != "" {
		if err := p.comment(ctx, hub, repo, j, page.comment, &shown); err != nil {
			return err
		}
		if err := p.react(ctx, hub, repo, j, &shown.Rocket, forge.ReactionRocket); err != nil {
			return err
		}
	}
	if finished(j) {
		shown.Summary = page.found
		if err := p.takeLabelOff(ctx, hub, repo, j); err != nil {
			return err
		}
		if err := p.toMatrix(ctx, j); err != nil {
			return err
		}
	}
	return p.record(ctx, j, shown)
}

// finished tells whether the job's execution is over.
func finished(j job.Job) bool { return j.State == job.Publishing || j.State.Ended() }

// finalState is what a published job becomes.
func finalState(j job.Job) job.State {
	if j.State != job.Publishing || j.Outcome == nil {
		return j.State
	}
	switch j.Outcome.Kind {
	case job.Measured, job.Explained, job.NotPicked:
		return job.Done
	case job.Stopped:
		return job.Cancelled
	default:
		return job.Failed
	}
}

// record notes what is shown now. Changes that came in meanwhile keep the
// record's revision ahead, and the job comes round again.
func (p *Publisher) record(ctx context.Context, seen job.Job, shown job.Published) error {
	final := finalState(seen)
	_, err := p.Store.Update(ctx, seen.ID, func(j *job.Job) error {
		shown.Revision, shown.Retries = seen.Revision, 0
		j.Published = shown
		if j.State == job.Publishing && final.Ended() {
			j.State = final
			if j.Revision == seen.Revision {
				// The change of state raises the revision, and GitHub shows it already.
				j.Published.Revision++
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("note what is published: %w", err)
	}
	return nil
}

// react puts a reaction on the comment that gave the command. A comment that
// is gone, or a conversation that is locked, needs none.
func (p *Publisher) react(ctx context.Context, hub Hub, repo forge.Repo, j job.Job, done *bool, reaction string) error {
	if *done || j.Wish.CommentID == 0 {
		return nil
	}
	err := hub.ReactToComment(ctx, repo, j.Wish.CommentID, reaction)
	if err != nil && !permanent(err) {
		return fmt.Errorf("react to the command: %w", err)
	}
	*done = true
	return nil
}

// takeLabelOff removes the label that asked for the job, unless it is to stay
// or another job waits for its own report under it.
func (p *Publisher) takeLabelOff(ctx context.Context, hub Hub, repo forge.Repo, j job.Job) error {
	if j.Wish.Trigger != job.ByLabel || j.Spec.KeepLabel || j.Outdated || j.State.Ended() {
		return nil
	}
	all, err := p.Store.List(ctx, j.Repository.ID, j.PR)
	if err != nil {
		return fmt.Errorf("read the pull request's jobs: %w", err)
	}
	for _, k := range all {
		if k.ID != j.ID && k.Wish.Trigger == job.ByLabel && strings.EqualFold(k.Wish.Label, j.Wish.Label) && !k.State.Ended() {
			return nil
		}
	}
	if err := hub.RemoveLabel(ctx, repo, j.PR, j.Wish.Label); err != nil && !permanent(err) {
		return fmt.Errorf("take the label off: %w", err)
	}
	return nil
}

// checkName is how the check run, or the status, is called on GitHub.
const checkName = "prbench"

// check makes the check run (or, with a plain token, the commit status) true.
func (p *Publisher) check(ctx context.Context, hub Hub, repo forge.Repo, j job.Job, page page, shown *job.Published) error {
	run := forge.CheckRun{Name: checkName, HeadSHA: j.Head.SHA, ExternalID: string(j.ID), DetailsURL: p.pageURL(j),
		Status: page.status, Conclusion: page.conclusion, Title: page.title, Summary: page.summary, Actions: buttons(j)}
	if page.status == "completed" {
		run.EndedAt = firstTime(j.Finished, p.Now())
	}
	return p.putCheck(ctx, hub, repo, j, run, page.annotations, shown)
}

// putCheck writes the check run, the one whose id is known or one that an earlier
// call left, or a new one.
func (p *Publisher) putCheck(ctx context.Context, hub Hub, repo forge.Repo, j job.Job, run forge.CheckRun, annotations []forge.Annotation, shown *job.Published) error {
	if !p.Checks {
		return p.status(ctx, hub, repo, run)
	}
	if shown.CheckRun == 0 {
		found, ok, err := hub.FindCheckRun(ctx, repo, run.HeadSHA, run.ExternalID)
		switch {
		case err == nil && ok:
			shown.CheckRun = found.ID
		case err != nil && !permanent(err):
			return fmt.Errorf("look for the check run: %w", err)
		}
	}
	var err error
	if shown.CheckRun != 0 {
		run.HeadSHA = ""
		if run.Annotations, err = missing(ctx, hub, repo, shown.CheckRun, annotations); err == nil {
			err = hub.UpdateCheckRun(ctx, repo, shown.CheckRun, run)
		}
	} else {
		run.Annotations = annotations
		run.StartedAt = j.Created
		shown.CheckRun, err = hub.CreateCheckRun(ctx, repo, run)
	}
	if err != nil && !permanent(err) {
		return fmt.Errorf("write the check run: %w", err)
	}
	if err != nil {
		shown.Problem = err.Error()
		p.observe("given-up")
		p.Log.With(j.About()...).Warn("check run given up", "err", err)
	}
	return nil
}

// buttons are what can be asked for by a press on the check run. An update without
// any would leave those that were there: there is always one.
func buttons(j job.Job) []forge.Action {
	again := forge.Action{Label: "Run again", Description: "The same comparison once more", Identifier: job.ButtonRunAgain}
	switch {
	case j.State == job.Queued:
		return []forge.Action{{Label: "Cancel", Description: "Take this comparison back", Identifier: job.ButtonCancel}}
	case j.State == job.Running:
		return []forge.Action{{Label: "Cancel", Description: "Stop; what was measured is reported", Identifier: job.ButtonCancel}}
	case j.Outcome != nil && j.Outcome.Kind == job.Measured:
		return []forge.Action{again, {Label: "More runs", Description: "Again, with up to four times the runs", Identifier: job.ButtonMoreRuns}}
	default:
		return []forge.Action{again}
	}
}

// missing gives the annotations that the check run does not have yet: an update
// adds to those that are there.
func missing(ctx context.Context, hub Hub, repo forge.Repo, id int64, want []forge.Annotation) ([]forge.Annotation, error) {
	if len(want) == 0 {
		return nil, nil
	}
	have, err := hub.CheckRunByID(ctx, repo, id)
	if err != nil {
		return nil, err
	}
	return want[min(have.AnnotationsCount, len(want)):], nil
}

func firstTime(times ...time.Time) time.Time {
	for _, t := range times {
		if !t.IsZero() {
			return t
		}
	}
	return time.Time{}
}

// status sets the commit status that says what the check run would.
func (p *Publisher) status(ctx context.Context, hub Hub, repo forge.Repo, run forge.CheckRun) error {
	s := forge.Status{Context: run.Name, TargetURL: run.DetailsURL, Description: clipRunes(run.Title, 140)}
	switch {
	case run.Status != "completed":
		s.State = "pending"
	case run.Conclusion == "failure":
		s.State = "failure"
	case run.Conclusion == "cancelled":
		s.State = "error"
	default:
		s.State = "success"
	}
	if err := hub.SetStatus(ctx, repo, run.HeadSHA, s); err != nil && !permanent(err) {
		return fmt.Errorf("set the commit status: %w", err)
	}
	return nil
}

func clipRunes(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// marker finds the report comment of a head commit, or the answer to a command
// that asks to explain a table.
func marker(j job.Job) string {
	if j.Explain != nil {
		return fmt.Sprintf("<!-- prbench explain %d %x -->", j.Wish.CommentID, sha256.Sum256([]byte(j.Wish.Command)))
	}
	if j.Backport != nil {
		return "<!-- prbench backport " + j.Head.SHA + " -->"
	}
	return "<!-- prbench report " + j.Head.SHA + " -->"
}

// comment writes the one report comment of the head commit: the one whose id is
// known, else one with our marker, else a new one. Where it can never be
// written, the check run has the report and the job goes on.
func (p *Publisher) comment(ctx context.Context, hub Hub, repo forge.Repo, j job.Job, body string, shown *job.Published) error {
	body = marker(j) + "\n" + body
	id, err := p.commentID(ctx, hub, repo, j, *shown)
	if err == nil && id != 0 {
		_, err = hub.EditComment(ctx, repo, id, body)
		if forge.IsNotFound(err) {
			// Deleted since: its place is taken by another of ours, or a new one.
			id, err = p.findComment(ctx, hub, repo, j)
			if err == nil && id != 0 {
				_, err = hub.EditComment(ctx, repo, id, body)
			}
		}
	}
	if err == nil && id == 0 {
		var made forge.Comment
		made, err = hub.CreateComment(ctx, repo, j.PR, body)
		id = made.ID
	}
	switch {
	case err == nil:
		shown.CommentID, shown.Problem = id, ""
		return nil
	case permanent(err):
		shown.Problem = err.Error()
		p.observe("given-up")
		p.Log.With(j.About()...).Warn("comment given up; the result stays on the check run", "err", err)
		return nil
	default:
		return fmt.Errorf("write the comment: %w", err)
	}
}

// commentID is the stored id of this job, or of another one with the same comment.
func (p *Publisher) commentID(ctx context.Context, hub Hub, repo forge.Repo, j job.Job, shown job.Published) (int64, error) {
	if shown.CommentID != 0 {
		return shown.CommentID, nil
	}
	others, err := p.Store.List(ctx, j.Repository.ID, j.PR)
	if err != nil {
		return 0, fmt.Errorf("read the pull request's jobs: %w", err)
	}
	for _, o := range others {
		if marker(o) == marker(j) && o.Published.CommentID != 0 {
			return o.Published.CommentID, nil
		}
	}
	return p.findComment(ctx, hub, repo, j)
}

func (p *Publisher) findComment(ctx context.Context, hub Hub, repo forge.Repo, j job.Job) (int64, error) {
	found, ok, err := hub.FindComment(ctx, repo, j.PR, marker(j))
	if err != nil || !ok {
		return 0, err
	}
	return found.ID, nil
}
