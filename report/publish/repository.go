package publish

import (
	"context"
	"fmt"

	"github.com/prbench/prbench/internal/job"
)

// whereNow gives the job with what its repository is called now. A report is
// worth the question: the name that the record has may be another repository's by
// now, and the id is not. ok is false where the repository is gone or out of reach,
// so that nobody can be told.
func (p *Publisher) whereNow(ctx context.Context, hub Hub, j job.Job) (_ job.Job, ok bool, err error) {
	now, err := hub.RepositoryByID(ctx, j.Repository.ID)
	if err != nil && !permanent(err) {
		return j, false, fmt.Errorf("look for the repository: %w", err)
	}
	if err != nil {
		p.observe("given-up")
		p.Log.With(j.About()...).Warn("the report is given up: its repository is gone or out of reach",
			"repository", j.Repository.FullName(), "err", err)
		return j, false, nil
	}
	if now.Repo.Owner == j.Repository.Owner && now.Repo.Name == j.Repository.Name && now.Private == j.Repository.Private {
		return j, true, nil
	}
	next := job.Repository{ID: j.Repository.ID, Owner: now.Repo.Owner, Name: now.Repo.Name, Private: now.Private,
		DefaultBranch: now.DefaultBranch, CloneURL: now.CloneURL, HTMLURL: now.HTMLURL}
	_, err = p.Store.Update(ctx, j.ID, func(j *job.Job) error {
		j.Repository = next
		return nil
	})
	if err != nil {
		return j, false, fmt.Errorf("note the repository's new name: %w", err)
	}
	j.Repository = next
	return j, true, nil
}
