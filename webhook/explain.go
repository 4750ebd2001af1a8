package webhook

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/prbench/prbench/internal/config"
	"github.com/prbench/prbench/internal/job"
)

// explain makes the job of a printed table. The publisher judges the table: there
// is nothing for a runner to do.
func (a *Acceptor) explain(ctx context.Context, cfg *config.Repo, e job.Event, c Command, log *slog.Logger) error {
	if !a.serves(e.Repository.FullName(), e.Installation) {
		return refuse("this repository may not use this server; its operators decide that")
	}
	if strings.TrimSpace(c.Adhoc) == "" {
		return refuse("there is no table to explain. Put what compare.R printed into a fenced block (three backticks) right below the command, " +
			"or quote the comment that holds it above the command, with an empty line between")
	}
	spec, err := c.Flags.Spec(cfg, nil)
	if err != nil {
		return refuse("%s", code(err.Error()))
	}
	spec = job.Spec{Pool: spec.Pool, Margin: spec.Margin, Alpha: spec.Alpha}
	if c.Flags.Runs != nil {
		spec.Runs = *c.Flags.Runs
	}
	j := job.Job{Installation: e.Installation, Repository: e.Repository, PR: e.PR, Wish: commentWish(e, c), Spec: spec,
		Explain: &job.Explain{Table: c.Adhoc}, State: job.Publishing, Outcome: &job.Outcome{Kind: job.Explained}, Finished: a.Now().UTC()}
	made, fresh, err := a.Store.Create(ctx, j)
	if err != nil {
		return fmt.Errorf("keep the table: %w", err)
	}
	log.Info("table accepted", "job", made.ID, "try", made.Try, "new", fresh)
	return nil
}
