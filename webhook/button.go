package webhook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/prbench/prbench/internal/config"
	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/internal/queue"
	"github.com/prbench/prbench/report/stats"
)

// moreTimes is what "more runs" makes of the most runs that a job may take.
const moreTimes = 4

// button acts on a button of a check run of ours. Whoever presses it needs the
// permission that a command needs: GitHub shows the buttons to more people.
func (a *Acceptor) button(ctx context.Context, e job.Event, log *slog.Logger) error {
	self, err := a.Self(ctx)
	if err != nil {
		return fmt.Errorf("learn who we are: %w", err)
	}
	if self.AppID == 0 || e.CheckRun.AppID != self.AppID {
		return nil // it names a job, and yet is another App's
	}
	last, err := a.Store.Get(ctx, e.CheckRun.Job)
	if errors.Is(err, queue.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the check run's job: %w", err)
	}
	hub, repo := a.Hub(e.Installation), repoOf(e.Repository)
	marker := fmt.Sprintf("button:%d", e.CheckRun.ID)
	cfg, err := a.trusted(ctx, hub, repo, e)
	if err != nil {
		return a.say(ctx, hub, e, marker, err, log)
	}
	log = log.With("button", e.CheckRun.Button, "pressed_on", last.ID)
	if e.CheckRun.Button == job.ButtonCancel {
		_, err := a.cancelJobs(ctx, e, "cancelled by a button", func(j job.Job) bool { return j.ID == last.ID || sameGroup(j, last) })
		return err
	}
	if last.Backport != nil {
		q := asked{event: e, hub: hub, repo: repo, cfg: cfg, at: e.At}
		return a.say(ctx, hub, e, marker, a.repeatGroupByButton(ctx, q, last, log), log)
	}
	if last.State == job.Queued || last.State == job.Running {
		log.Info("nothing to repeat yet")
		return nil
	}
	made, fresh, err := a.repeatByButton(ctx, e, last)
	if err == nil {
		logJob(log, made, fresh, nil)
	}
	return a.say(ctx, hub, e, marker, err, log)
}

// repeatByButton makes one job of a button pressed several times, until that job
// has ended.
func (a *Acceptor) repeatByButton(ctx context.Context, e job.Event, last job.Job) (job.Job, bool, error) {
	change, err := buttonsChange(e, last)
	if err != nil {
		return job.Job{}, false, err
	}
	pressed, wish := buttonWish(e)
	jobs, err := a.Store.List(ctx, e.Repository.ID, e.PR)
	if err != nil {
		return job.Job{}, false, fmt.Errorf("read the pull request's jobs: %w", err)
	}
	for _, j := range jobs {
		if strings.HasPrefix(j.Wish.Key, pressed) && !j.State.Ended() {
			return j, false, nil
		}
	}
	return a.repeat(ctx, e, last, wish, change)
}

// repeatGroupByButton makes a backport's next round, on all its lines, once its
// present one has ended.
func (a *Acceptor) repeatGroupByButton(ctx context.Context, q asked, last job.Job, log *slog.Logger) error {
	change, err := buttonsChange(q.event, last)
	if err != nil {
		return err
	}
	var pressed string
	pressed, q.wish = buttonWish(q.event)
	jobs, err := a.Store.List(ctx, q.event.Repository.ID, q.event.PR)
	if err != nil {
		return fmt.Errorf("read the pull request's jobs: %w", err)
	}
	for _, j := range jobs {
		again := strings.HasPrefix(j.Wish.Key, pressed) && j.Wish.Delivery != q.event.Delivery
		waits := sameGroup(j, last) && (j.State == job.Queued || j.State == job.Running)
		if waits || again && !j.State.Ended() {
			log.Info("nothing to repeat yet")
			return nil
		}
	}
	return a.repeatGroup(ctx, q, last.Backport.Group, change, log)
}

func sameGroup(a, b job.Job) bool {
	return a.Backport != nil && b.Backport != nil && a.Backport.Group == b.Backport.Group
}

// buttonWish is the wish of a button; pressed begins the keys of all wishes of
// that button.
func buttonWish(e job.Event) (pressed string, wish job.Wish) {
	pressed = fmt.Sprintf("button:%d:%s:", e.CheckRun.ID, e.CheckRun.Button)
	return pressed, job.Wish{Key: pressed + e.Delivery, Trigger: job.ByButton, Command: e.CheckRun.Button,
		Sender: e.Sender.Login, SenderID: e.Sender.ID, Delivery: e.Delivery, At: e.At}
}

// buttonsChange is what a button makes of the spec of the job that it repeats.
func buttonsChange(e job.Event, last job.Job) (func(*job.Spec), error) {
	if e.CheckRun.Button != job.ButtonMoreRuns {
		return nil, nil
	}
	more, ok := withMoreRuns(last.Spec)
	if !ok {
		return nil, refuse("this comparison had as many runs as one may have already")
	}
	return func(s *job.Spec) { *s = more }, nil
}

// withMoreRuns lets a comparison go on to four times the most runs that it had,
// with the time for them. ok is false where there are no more to be had.
func withMoreRuns(s job.Spec) (more job.Spec, ok bool) {
	if s.Runs == job.Adaptive {
		looks := s.Looks
		if len(looks) == 0 {
			looks = stats.DefaultLooks()
		}
		more := stats.MoreLooks(looks)
		if ok = !slices.Equal(more, looks) && stats.ValidateLooks(more) == nil; ok {
			s.Looks = more
		}
	} else {
		ok = s.Runs < job.MaxRuns
		s.Runs = min(moreTimes*s.Runs, job.MaxRuns)
	}
	s.Budget = min(moreTimes*s.Budget, max(s.Budget, job.Duration(config.MaxTime)))
	return s, ok
}
