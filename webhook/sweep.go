package webhook

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/prbench/prbench/internal/forge"
	"github.com/prbench/prbench/internal/job"
)

// Deliveries are the App's webhooks as GitHub keeps them. *forge.Forge is one.
type Deliveries interface {
	FailedDeliveries(ctx context.Context, since time.Time) ([]forge.Delivery, error)
	Redeliver(ctx context.Context, id int64) error
}

// Sweep asks GitHub for the deliveries that never arrived: GitHub does not repeat
// one by itself. One serve at a time is to run it.
type Sweep struct {
	Deliveries Deliveries
	// Every is the time between two looks; DefaultSweep when 0.
	Every time.Duration
	Log   *slog.Logger
	Now   func() time.Time // GitHub's time, as near as we know it
	// Swept, where set, is called after each look, with what was asked for again.
	Swept func(redelivered int, err error)

	tried map[string]tries // by GUID
	// from is the beginning of the next look.
	from time.Time
}

// tries is how often a delivery was asked for again, and when it may be next.
type tries struct {
	times int
	next  time.Time
}

const (
	// DefaultSweep is the time between two looks at GitHub's deliveries.
	DefaultSweep = 3 * time.Minute
	// keptFor is how long GitHub keeps a delivery and lets it be repeated.
	keptFor = 72 * time.Hour
	// overlap is how far a look reaches back beyond the one before, for deliveries
	// that were still under way then.
	overlap = 15 * time.Minute
	// mostAtOnce bounds the redeliveries of one look: they share GitHub's limits
	// with everything else.
	mostAtOnce = 200
	// longestRest bounds the doubling time between two tries of one delivery.
	longestRest = 6 * time.Hour
)

// Run looks at once, and then time and again until the context ends. What goes
// wrong in one look is left to the next.
func (s *Sweep) Run(ctx context.Context) error {
	every := s.Every
	if every <= 0 {
		every = DefaultSweep
	}
	s.tried, s.from = map[string]tries{}, time.Time{}
	for {
		n, err := s.look(ctx, every)
		if err != nil && ctx.Err() == nil {
			s.Log.Warn("failed deliveries not all asked for again", "redelivered", n, "err", err)
		} else if n > 0 {
			s.Log.Info("failed deliveries asked for again", "redelivered", n)
		}
		if s.Swept != nil {
			s.Swept(n, err)
		}
		timer := time.NewTimer(every)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
	}
}

// look asks for every failed delivery again that is due, oldest first.
func (s *Sweep) look(ctx context.Context, every time.Duration) (n int, err error) {
	now := s.Now()
	from := s.from
	if oldest := now.Add(-keptFor); from.Before(oldest) {
		from = oldest
	}
	failed, err := s.Deliveries.FailedDeliveries(ctx, from)
	if err != nil {
		return 0, fmt.Errorf("list the failed deliveries: %w", err)
	}
	next := now.Add(-overlap)
	for _, d := range failed {
		if !slices.Contains(actions[d.Event], d.Action) {
			continue
		}
		// What has not arrived yet is looked at again, so the next look begins there.
		if d.At.Before(next) {
			next = d.At
		}
		a := s.tried[d.GUID]
		if n == mostAtOnce || now.Before(a.next) {
			continue
		}
		if err := s.Deliveries.Redeliver(ctx, d.ID); err != nil && again(err) {
			return n, fmt.Errorf("ask for delivery %d again: %w", d.ID, err)
		} else if err != nil {
			s.Log.Warn("GitHub does not deliver this again", "delivery", d.GUID, "event", d.Event, "err", err)
		}
		n++
		a.times++
		a.next = now.Add(min(every<<min(a.times-1, 10), longestRest))
		s.tried[d.GUID] = a
	}
	s.from = next
	for guid, a := range s.tried {
		if now.Sub(a.next) > longestRest {
			delete(s.tried, guid) // it arrived
		}
	}
	return n, nil
}

// ReadLabels makes the jobs of labels whose events were lost for good: of each
// open pull request that carries the trigger label and has no job of it for its
// head. Who put the label on is asked of GitHub, and held to the same rules as
// the event. A head that was not known before the label was put on is left alone:
// nobody has looked at it.
func (a *Acceptor) ReadLabels(ctx context.Context, installation int64) error {
	return a.eachRepository(ctx, installation, "read the labels", func(ctx context.Context, hub Hub, r forge.Repository) error {
		return a.readLabels(ctx, hub, r, installation)
	})
}

func (a *Acceptor) readLabels(ctx context.Context, hub Hub, r forge.Repository, installation int64) error {
	pulls, err := hub.OpenPulls(ctx, r.Repo)
	if err != nil {
		return fmt.Errorf("list the open pull requests of %s: %w", r.Repo, err)
	}
	pulls = slices.DeleteFunc(pulls, func(p forge.PullRequest) bool { return len(p.Labels) == 0 })
	if len(pulls) == 0 {
		return nil
	}
	cfg, err := readConfig(ctx, hub, r.Repo)
	if isRefusal(err) {
		return nil // without a config no label means anything
	}
	if err != nil {
		return err
	}
	for _, p := range pulls {
		for _, label := range p.Labels {
			if word, _, _ := strings.Cut(label, ":"); word != cfg.Trigger.Label && lineOfLabel(cfg, label) == "" {
				continue
			}
			e, ok, err := a.lostLabel(ctx, hub, r, p, label)
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			e.Installation = installation
			if err := a.Handle(ctx, e); err != nil {
				return fmt.Errorf("act on the label of %s#%d: %w", r.Repo, p.Number, err)
			}
		}
	}
	return nil
}

// lostLabel gives the event of a label that has no job, as it would have come.
func (a *Acceptor) lostLabel(ctx context.Context, hub Hub, r forge.Repository, p forge.PullRequest, label string) (job.Event, bool, error) {
	jobs, err := a.Store.List(ctx, r.ID, p.Number)
	if err != nil {
		return job.Event{}, false, fmt.Errorf("read the jobs of %s#%d: %w", r.Repo, p.Number, err)
	}
	made := func(j job.Job) bool {
		return j.Head.SHA == p.Head.SHA && j.Wish.Trigger == job.ByLabel && strings.EqualFold(j.Wish.Label, label)
	}
	if slices.ContainsFunc(jobs, made) {
		return job.Event{}, false, nil
	}
	put, ok, err := hub.LastLabelling(ctx, r.Repo, p.Number, label)
	if err != nil {
		return job.Event{}, false, fmt.Errorf("ask who labelled %s#%d: %w", r.Repo, p.Number, err)
	}
	seen, known, err := a.headSince(ctx, r.ID, p.Number, p.Head.SHA)
	if err != nil {
		return job.Event{}, false, fmt.Errorf("look up the head of %s#%d: %w", r.Repo, p.Number, err)
	}
	if !ok || !known || !seen.Before(put.At) {
		a.Log.Info("a label without a job is left alone", "repository", r.Repo.String(), "pr", p.Number, "label", label,
			"who_is_known", ok, "head_seen_before", known && seen.Before(put.At))
		return job.Event{}, false, nil
	}
	return job.Event{Version: job.SchemaVersion, Delivery: fmt.Sprintf("read-at-start-%d-%d", r.ID, p.Number), Kind: "pull_request", Action: "labeled",
		Received: a.Now().UTC(), At: put.At, PR: p.Number, HeadSHA: p.Head.SHA, BaseRef: p.Base.Ref, Label: label,
		Repository: job.Repository{ID: r.ID, Owner: r.Repo.Owner, Name: r.Repo.Name, Private: r.Private,
			DefaultBranch: r.DefaultBranch, CloneURL: r.CloneURL, HTMLURL: r.HTMLURL},
		Sender: job.Person{ID: put.By.ID, Login: put.By.Login, Type: put.By.Type}}, true, nil
}
