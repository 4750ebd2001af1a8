package webhook

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/prbench/prbench/internal/forge"
	"github.com/prbench/prbench/internal/job"
)

// stillWritten gives those of the commands that the comment holds now. Its events
// come late and out of order: what was mended or deleted since is no longer asked
// for, and what an edit brought is its own event's to act on.
func (a *Acceptor) stillWritten(ctx context.Context, hub Hub, e job.Event, commands []Command, log *slog.Logger) ([]Command, error) {
	if len(commands) == 0 {
		return nil, nil
	}
	now, err := hub.Comment(ctx, repoOf(e.Repository), e.Comment.ID)
	missing := forge.IsNotFound(err)
	if err != nil && !missing {
		return nil, fmt.Errorf("read the comment: %w", err)
	}
	if (missing || now.UpdatedAt.Before(e.Comment.Updated)) && a.Now().Sub(e.Received) < unknownHeadPatience {
		return nil, errOlderAnswer
	}
	present, _ := Commands(now.Body)
	left := slices.DeleteFunc(slices.Clone(commands), func(c Command) bool {
		return !slices.ContainsFunc(present, func(p Command) bool { return p.Text == c.Text && p.Adhoc == c.Adhoc })
	})
	if n := len(commands) - len(left); n > 0 {
		log.Info("commands are no longer written", "comment", e.Comment.ID, "commands", n, "deleted", missing)
	}
	return left, nil
}

// notDone says what a refusal refused, by what was asked for.
func notDone(e job.Event) string {
	const cancelled, started = "Nothing was cancelled", "No benchmark was started"
	if e.CheckRun != nil && e.CheckRun.Button == job.ButtonCancel {
		return cancelled
	}
	if e.Comment == nil {
		return started
	}
	commands, _ := Commands(e.Comment.Body)
	only := func(verbs ...Verb) bool {
		return len(commands) > 0 && !slices.ContainsFunc(commands, func(c Command) bool { return !slices.Contains(verbs, c.Verb) })
	}
	switch {
	case only(Cancel):
		return cancelled
	case only(Cancel, Status, Help, Explain):
		return "Nothing was done"
	}
	return started
}
