package webhook

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/prbench/prbench/internal/forge"
	"github.com/prbench/prbench/internal/job"
)

// group is one backport: what is to be measured on several lines.
type group struct {
	wish     job.Wish // its Key is the group's
	spec     job.Spec
	change   job.Change
	head     job.Side
	lines    []string
	notes    []string
	outdated bool
}

// The keys of a group's wishes: one job a line, and the ordinary comparison that
// stands beside them.
func lineKey(group, line string) string { return group + ":line:" + line }
func mainKey(group string) string       { return group + ":main" }

// backport makes the jobs of a wish for release lines: one a line, so that several
// runners share them and a crash costs one. What is decided once stays for all of
// them: an event that comes again, after only some of the lines were queued, adds
// the rest.
func (a *Acceptor) backport(ctx context.Context, q asked, words []string, log *slog.Logger) error {
	q.whole = true
	history, err := a.Store.List(ctx, q.event.Repository.ID, q.event.PR)
	if err != nil {
		return fmt.Errorf("read the pull request's jobs: %w", err)
	}
	pr, err := q.hub.PullRequest(ctx, q.repo, q.event.PR)
	if err != nil {
		return fmt.Errorf("read the pull request: %w", err)
	}
	g, begun := begunGroup(history, q.wish)
	if !begun {
		if g, err = a.decide(ctx, q, pr, words); err != nil {
			return err
		}
	}
	return a.queueGroup(ctx, q, pr, g, history, log)
}

// decide settles what is measured where.
func (a *Acceptor) decide(ctx context.Context, q asked, pr forge.PullRequest, words []string) (group, error) {
	if pr.State != "open" && !pr.Merged {
		return group{}, refuse("this pull request is closed and was not merged, so there is nothing to put onto a release line. Reopen it, then ask again")
	}
	spec, err := a.spec(q)
	if err != nil {
		return group{}, err
	}
	spec.Gate = true // its check says whether the line is safe
	spec.KeepLabel = spec.KeepLabel || q.wish.Trigger == job.ByLabel
	names, err := lineNames(q.cfg, words)
	if err != nil {
		return group{}, err
	}
	head, err := a.pinHead(ctx, q, pr)
	if err != nil {
		return group{}, err
	}
	change, err := a.change(ctx, q, pr, head)
	if err != nil {
		return group{}, err
	}
	return group{wish: q.wish, spec: spec, change: change, head: job.Side{SHA: head, Ref: pr.Head.Label}, lines: names}, nil
}

// begunGroup finds what was decided when this wish arrived before.
func begunGroup(history []job.Job, wish job.Wish) (group, bool) {
	for _, j := range history {
		if j.Backport == nil || j.Backport.Group != wish.Key || j.Wish.Key != lineKey(wish.Key, j.Backport.Line) {
			continue
		}
		if wish.Trigger == job.ByLabel && j.State.Ended() && j.Wish.Delivery != wish.Delivery {
			continue // put on again, it is a wish of its own
		}
		return groupOf(j, wish), true
	}
	return group{}, false
}

// groupOf is the group of a job, under a wish.
func groupOf(j job.Job, wish job.Wish) group {
	return group{wish: wish, spec: j.Spec, change: j.Backport.Change, head: j.Head, lines: j.Backport.Lines, notes: j.Notes, outdated: j.Outdated}
}

// queueGroup makes the jobs of a group that there are not yet. No line is queued
// unless all lines are there.
func (a *Acceptor) queueGroup(ctx context.Context, q asked, pr forge.PullRequest, g group, history []job.Job, log *slog.Logger) error {
	var missing []string
	for _, line := range g.lines {
		there := func(j job.Job) bool {
			live := g.wish.Trigger != job.ByLabel || !j.State.Ended() || j.Wish.Delivery == g.wish.Delivery
			return j.Wish.Key == lineKey(g.wish.Key, line) && live
		}
		if !slices.ContainsFunc(history, there) {
			missing = append(missing, line)
		}
	}
	tips, err := pinLines(ctx, q, missing)
	if err != nil {
		return err
	}
	repository, err := a.repository(ctx, q)
	if err != nil {
		return err
	}
	if len(missing) == len(g.lines) { // what was begun is completed
		asked := job.Job{Repository: repository, PR: q.event.PR, Wish: g.wish, Spec: g.spec}
		if err := a.room(ctx, asked, len(missing)); err != nil {
			return err
		}
	}
	for _, tip := range tips {
		held, err := holds(ctx, q, tip.SHA, g.change)
		if err != nil {
			return err
		}
		wish := g.wish
		wish.Key = lineKey(g.wish.Key, tip.Ref)
		j, fresh, err := a.Store.Create(ctx, job.Job{Installation: q.event.Installation, Repository: repository, PR: q.event.PR,
			Wish: wish, Spec: g.spec, Base: tip, Head: g.head, Notes: g.notes, Outdated: g.outdated,
			Backport: &job.Backport{Group: g.wish.Key, Lines: g.lines, Line: tip.Ref, Change: g.change, Held: held}})
		if err != nil {
			return fmt.Errorf("queue the line %s: %w", tip.Ref, err)
		}
		logJob(log.With("line", tip.Ref), j, fresh, nil)
	}
	return a.beside(ctx, q, pr, g, history, repository, log)
}

// beside queues the ordinary comparison that stands beside the lines, unless it
// has been measured or waits. Where there is none the lines do without.
func (a *Acceptor) beside(ctx context.Context, q asked, pr forge.PullRequest, g group, history []job.Job, repository job.Repository, log *slog.Logger) error {
	base, ref, err := pinBase(ctx, q, pr, g.head.SHA)
	if isRefusal(err) {
		log.Info("no comparison beside the lines", "why", err.Error())
		return nil
	}
	if err != nil {
		return err
	}
	known := func(j job.Job) bool {
		return j.Backport == nil && j.Explain == nil && j.Base.SHA == base && j.Head.SHA == g.head.SHA &&
			sameBenchmarks(j.Spec, g.spec) && (!j.State.Ended() || j.Outcome != nil && j.Outcome.Kind == job.Measured)
	}
	if slices.ContainsFunc(history, known) {
		return nil
	}
	wish, spec := g.wish, g.spec
	wish.Key = mainKey(g.wish.Key)
	spec.Gate = q.cfg.Compare.Gate || q.flags.Gate != nil // a backport refuses --gate=false
	j, fresh, err := a.Store.Create(ctx, job.Job{Installation: q.event.Installation, Repository: repository, PR: q.event.PR,
		Wish: wish, Spec: spec, Base: job.Side{SHA: base, Ref: ref}, Head: g.head, Outdated: g.outdated})
	if err != nil {
		return fmt.Errorf("queue the comparison beside the lines: %w", err)
	}
	logJob(log, j, fresh, nil)
	return nil
}

// sameBenchmarks tells whether two specs measure the same things.
func sameBenchmarks(a, b job.Spec) bool {
	same := func(x, y job.Suite) bool { return x.Name == y.Name }
	return slices.EqualFunc(a.Suites, b.Suites, same) && a.Filter == b.Filter && slices.Equal(a.Set, b.Set) && a.Adhoc == b.Adhoc
}

// groupNamed gives the group that a job is of, or stands beside; empty: none.
func groupNamed(history []job.Job, j job.Job) string {
	if j.Backport != nil {
		return j.Backport.Group
	}
	for _, other := range history {
		if other.Backport != nil && mainKey(other.Backport.Group) == strings.TrimSuffix(j.Wish.Key, takenOff) {
			return other.Backport.Group
		}
	}
	return ""
}

// repeatGroup makes a group's next round under a wish of its own, with the lines'
// tips as they are now: where a line has moved that is a new comparison.
func (a *Acceptor) repeatGroup(ctx context.Context, q asked, of string, change func(*job.Spec), log *slog.Logger) error {
	history, err := a.Store.List(ctx, q.event.Repository.ID, q.event.PR)
	if err != nil {
		return fmt.Errorf("read the pull request's jobs: %w", err)
	}
	g, begun := begunGroup(history, q.wish)
	if !begun {
		i := slices.IndexFunc(history, func(j job.Job) bool { return j.Backport != nil && j.Backport.Group == of })
		if i < 0 {
			return refuse("the release lines of that command are not known any more")
		}
		g = groupOf(history[i], q.wish)
		if change != nil {
			change(&g.spec)
		}
	}
	if !a.allows(g.spec.Pool, q.event.Repository.FullName(), q.event.Installation) {
		return refuse("this repository may not use the pool %s of this server any more; its operators decide that", code(g.spec.Pool))
	}
	pr, err := q.hub.PullRequest(ctx, q.repo, q.event.PR)
	if err != nil {
		return fmt.Errorf("read the pull request: %w", err)
	}
	return a.queueGroup(ctx, q, pr, g, history, log)
}
