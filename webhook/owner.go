package webhook

import (
	"context"
	"fmt"
	"slices"

	"github.com/prbench/prbench/internal/forge"
	"github.com/prbench/prbench/internal/job"
)

// suspended is why the jobs of an installation are held.
const suspended = "the App's installation is suspended"

// installation acts on who has the App now, and on what. Events are hints: GitHub
// is asked again.
func (a *Acceptor) installation(ctx context.Context, e job.Event) error {
	for _, id := range e.Removed {
		if err := a.repositoryChanged(ctx, e, id); err != nil {
			return err
		}
	}
	switch e.Action {
	case "deleted", "suspend", "unsuspend":
		if err := a.KnowInstallations(ctx); err != nil {
			return err
		}
	}
	switch e.Action {
	case "created", "added", "unsuspend", "new_permissions_accepted":
		return a.SeeInstallation(ctx, e.Installation)
	}
	return nil
}

// KnowInstallations brings the jobs that have not ended in line with who has the
// App: those of a suspended installation are held, those of one that is gone are
// taken back, and those that were held go on where it is no longer suspended. It
// gives no error where there is no App.
func (a *Acceptor) KnowInstallations(ctx context.Context) error {
	if a.Installations == nil {
		return nil
	}
	// Read before the installations are: then none is of one that came later.
	open, err := a.Store.ByState(ctx, job.Queued, job.Running, job.Publishing)
	if err != nil {
		return fmt.Errorf("read the open jobs: %w", err)
	}
	all, err := a.Installations(ctx)
	if err != nil {
		return fmt.Errorf("list the installations: %w", err)
	}
	for _, j := range open {
		i := slices.IndexFunc(all, func(in forge.Installation) bool { return in.ID == j.Installation })
		switch {
		case j.Installation == 0: // of the time of a plain token
		case i < 0:
			err = a.takeBack(ctx, j, "the App is no longer installed on "+j.Repository.Owner)
		case all[i].Suspended:
			err = a.hold(ctx, j, suspended)
		case j.Held != "":
			err = a.hold(ctx, j, "")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// hold keeps a job as it is until it is released with why "". What rested because
// it could not be told is told then.
func (a *Acceptor) hold(ctx context.Context, j job.Job, why string) error {
	if j.Held == why {
		return nil
	}
	_, err := a.Store.Update(ctx, j.ID, func(j *job.Job) error {
		j.Held = why
		if why == "" {
			j.Refresh++
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("hold job %s: %w", j.ID, err)
	}
	a.Log.With(j.About()...).Info("job held", "why", why, "goes_on", why == "")
	return nil
}

// takeBack cancels a job of which nobody can be told any more. One that is being
// published is left to the publisher, who finds out alike.
func (a *Acceptor) takeBack(ctx context.Context, j job.Job, why string) error {
	if j.State != job.Queued && j.State != job.Running || j.Cancel != nil {
		return nil
	}
	if err := a.hold(ctx, j, ""); err != nil {
		return err
	}
	if _, err := a.Store.Cancel(ctx, j.ID, job.Cancel{Reason: why, At: a.Now().UTC()}); err != nil {
		return fmt.Errorf("cancel job %s: %w", j.ID, err)
	}
	a.Log.With(j.About()...).Info("job taken back", "why", why)
	return nil
}

// repositoryChanged acts on a repository that has another name, another owner or
// other readers, is read-only, or is gone. Its id is what stays.
func (a *Acceptor) repositoryChanged(ctx context.Context, e job.Event, id int64) error {
	jobs, err := a.Store.List(ctx, id, 0)
	if err != nil {
		return fmt.Errorf("read the jobs of repository %d: %w", id, err)
	}
	if len(jobs) == 0 {
		return nil
	}
	name := repoOf(e.Repository)
	if e.Repository.ID != id { // the event is of an installation
		name = repoOf(jobs[len(jobs)-1].Repository) // a former name leads to the present one
	}
	now, installation, err := a.whereabouts(ctx, e, id, name)
	gone := ""
	switch {
	case forge.IsNotFound(err) || forge.Classify(err).Kind == forge.Uninstalled:
		gone = "the App no longer has this repository: it was deleted, moved, or taken off the App"
	case err != nil:
		return err
	case now.Archived:
		gone = "the repository was archived"
	}
	for _, j := range jobs {
		if gone != "" {
			err = a.takeBack(ctx, j, gone)
		}
		if err == nil && now.ID == id {
			err = a.rename(ctx, j, now, installation)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// whereabouts asks for a repository's present name and the installation that
// covers it. A suspended one tells no name.
func (a *Acceptor) whereabouts(ctx context.Context, e job.Event, id int64, name forge.Repo) (forge.Repository, int64, error) {
	installation := e.Installation
	if a.InstallationOf != nil {
		found, err := a.InstallationOf(ctx, name)
		if err != nil {
			return forge.Repository{}, 0, fmt.Errorf("look for the installation on %s: %w", name, err)
		}
		if installation = found.ID; found.Suspended {
			return forge.Repository{}, installation, nil
		}
	}
	now, err := a.Hub(installation).RepositoryByID(ctx, id)
	if err != nil {
		return forge.Repository{}, 0, fmt.Errorf("read repository %d: %w", id, err)
	}
	return now, installation, nil
}

// rename makes a job's record say what its repository is called now, and through
// whom it is reached. Ended ones too: their reports are marked outdated later, and
// their pages are for the readers that the repository has now.
func (a *Acceptor) rename(ctx context.Context, j job.Job, now forge.Repository, installation int64) error {
	next := job.Repository{ID: now.ID, Owner: now.Repo.Owner, Name: now.Repo.Name, Private: now.Private,
		DefaultBranch: now.DefaultBranch, CloneURL: now.CloneURL, HTMLURL: now.HTMLURL}
	if j.Repository == next && j.Installation == installation {
		return nil
	}
	_, err := a.Store.Update(ctx, j.ID, func(j *job.Job) error {
		j.Repository, j.Installation = next, installation
		return nil
	})
	if err != nil {
		return fmt.Errorf("note the repository's new name in job %s: %w", j.ID, err)
	}
	a.Log.With(j.About()...).Info("the job's repository has changed",
		"from", j.Repository.FullName(), "to", next.FullName(), "private", next.Private)
	return nil
}
