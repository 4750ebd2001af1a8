package webhook

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"strings"

	"github.com/prbench/prbench/internal/config"
	"github.com/prbench/prbench/internal/forge"
	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/internal/queue"
)

// say turns the end of a wish into a reply: nothing for nil, its words for a
// refusal; anything else is the caller's error.
func (a *Acceptor) say(ctx context.Context, hub Hub, e job.Event, marker string, err error, log *slog.Logger) error {
	if !isRefusal(err) {
		return err
	}
	log.Info("wish refused", "sender", e.Sender.Login, "why", err.Error())
	return a.reply(ctx, hub, e, marker, notDone(e)+": "+sentence(err.Error()))
}

// reply writes one comment for each marker: what was said before is replaced.
// So an event that is handled twice shows once, and a mended command's reply
// is mended too.
func (a *Acceptor) reply(ctx context.Context, hub Hub, e job.Event, marker, body string) error {
	body = replyTag(marker) + "\n" + body
	repo := repoOf(e.Repository)
	found, ok, err := hub.FindComment(ctx, repo, e.PR, replyTag(marker))
	if err != nil {
		return fmt.Errorf("look for our reply: %w", err)
	}
	if !ok {
		_, err = hub.CreateComment(ctx, repo, e.PR, body)
	} else if strings.TrimSpace(found.Body) != strings.TrimSpace(body) {
		_, err = hub.EditComment(ctx, repo, found.ID, body)
	}
	if err != nil {
		return fmt.Errorf("reply: %w", err)
	}
	return nil
}

// mend takes back what an earlier reply said, where there is one, once the
// command has been changed into one that needs no reply, or is gone.
func (a *Acceptor) mend(ctx context.Context, hub Hub, e job.Event, marker, say string) error {
	_, ok, err := hub.FindComment(ctx, repoOf(e.Repository), e.PR, replyTag(marker))
	if err != nil {
		return fmt.Errorf("look for our reply: %w", err)
	}
	if !ok {
		return nil
	}
	return a.reply(ctx, hub, e, marker, say)
}

// replyTag finds a reply again. A marker may hold a label's name, which could
// end an HTML comment.
func replyTag(marker string) string {
	return fmt.Sprintf("<!-- prbench reply %x -->", sha256.Sum256([]byte(marker)))
}

// sentence ends a text that is none yet. A block of code needs no full stop.
func sentence(s string) string {
	if strings.HasSuffix(s, ".") || strings.HasSuffix(s, "```") {
		return s
	}
	return s + "."
}

// mistake says what is wrong with one command, and what would be right. what is
// Markdown: whatever it quotes is code in it.
func mistake(c Command, what string, cfg *config.Repo) string {
	if c.Verb == Backport || c.Verb == Accept { // no suite can be named there
		return fmt.Sprintf("%s was not run: %s\n\n`%s help` shows the commands.", code(c.Text), sentence(what), Word)
	}
	return fmt.Sprintf("%s was not run: %s\n\nThe suites of this repository are %s. `%s help` shows the rest.",
		code(c.Text), sentence(what), suiteNames(cfg), Word)
}

func suiteNames(cfg *config.Repo) string {
	var names []string
	for _, s := range cfg.Suites {
		names = append(names, code(s.Name))
	}
	return strings.Join(names, ", ")
}

func help(cfg *config.Repo) string {
	return "A maintainer can write on a line of its own:\n\n" + fence(Word+" [SUITE…] [--filter RE] [--runs N|adaptive] [--margin 2%] [--set k=v]… [--base REF] [--sha SHA]\n"+
		"          [--pool P] [--budget 60m] [--harness base|head] [--gate]\n"+
		Word+" backport [LINE…] [the flags above, but --base and --sha]\n"+
		"          is this change safe on the release lines? Each line by itself, from its tip\n"+
		Word+" accept BENCHMARK --reason \"…\" [--until 2006-01-02]\n"+
		"          a regression that a report here shows is known and wanted\n"+
		Word+" rerun     the last command once more\n"+
		Word+" cancel    take back what waits or runs\n"+
		Word+" status    what waits and runs\n"+
		Word+" explain   judge a table that compare.R printed, in the fenced block below or the quote above\n"+
		"          [--margin 2%] [--runs N]\n"+
		Word+" help      this text") +
		"\n\nThe suites of this repository are " + suiteNames(cfg) + ". The label " + code(cfg.Trigger.Label) + " runs the default ones."
}

func (a *Acceptor) status(ctx context.Context, cfg *config.Repo, e job.Event) (string, error) {
	jobs, err := a.Store.List(ctx, e.Repository.ID, e.PR)
	if err != nil {
		return "", fmt.Errorf("read the pull request's jobs: %w", err)
	}
	all, err := a.Store.ByState(ctx)
	if err != nil {
		return "", fmt.Errorf("read the queue: %w", err)
	}
	line := queue.NewLine(all...)
	var b strings.Builder
	for _, j := range jobs {
		if j.State.Ended() || j.Explain != nil {
			continue
		}
		on := ""
		if j.Backport != nil {
			on = "the release line " + code(j.Backport.Line) + ", "
		}
		fmt.Fprintf(&b, "- %s against %s%s: %s", code(short(j.Head.SHA)), on, code(short(j.Base.SHA)), j.State)
		if p := j.Progress; j.State == job.Running && p.Total > 0 {
			most := ""
			if p.AtMost {
				most = "at most "
			}
			fmt.Fprintf(&b, ", %s, %d of %s%d runs", p.Phase, p.Done, most, p.Total)
		}
		if left := j.Progress.Left.Std(); j.State == job.Running && left > 0 {
			fmt.Fprintf(&b, ", expected to end by %s UTC", j.Progress.At.Add(left).UTC().Format("15:04"))
		}
		if place, ok := line.Place(j.ID, a.limits(j.Spec.Pool)); ok {
			fmt.Fprintf(&b, " in the pool %s. %s", code(j.Spec.Pool), place)
		}
		b.WriteString("\n")
	}
	if b.Len() == 0 {
		b.WriteString("No benchmark of this pull request waits or runs.\n")
	}
	fmt.Fprintf(&b, "\nJobs waiting in the pool %s: %d.", code(cfg.Pool), len(line.Waiting(cfg.Pool)))
	return b.String(), nil
}

var _ Hub = (*forge.Client)(nil)
