package webhook

import (
	"context"
	"fmt"
	"slices"

	"github.com/prbench/prbench/internal/config"
	"github.com/prbench/prbench/internal/job"
)

// room refuses what would make too many jobs wait for one person or for one
// repository. n jobs are asked for, of which j is one. Several events at once may
// go a little beyond the limit: it keeps a queue usable, and guards nothing.
func (a *Acceptor) room(ctx context.Context, j job.Job, n int) error {
	i := slices.IndexFunc(a.Pools, func(p config.Pool) bool { return p.Name == j.Spec.Pool })
	if a.Waiting == nil || i < 0 {
		return nil
	}
	limits := a.Pools[i].Limits
	person, repository := a.Waiting(j.Spec.Pool, j.Wish.SenderID, j.Repository.ID)
	var err error
	switch {
	case limits.QueuedPerPerson > 0 && person+n > limits.QueuedPerPerson:
		err = refuse("%s has %s waiting in the pool %s and asks for %d more; at most %d may wait there for one person. Please ask again when some are done",
			code(j.Wish.Sender), plural(person), code(j.Spec.Pool), n, limits.QueuedPerPerson)
	case limits.QueuedPerRepository > 0 && repository+n > limits.QueuedPerRepository:
		err = refuse("this repository has %s waiting in the pool %s, and this would be %d more; at most %d may wait there for one repository. Please ask again when some are done",
			plural(repository), code(j.Spec.Pool), n, limits.QueuedPerRepository)
	default:
		return nil
	}
	// A wish that has its job already arrived twice.
	history, listErr := a.Store.List(ctx, j.Repository.ID, j.PR)
	if listErr != nil {
		return fmt.Errorf("read the pull request's jobs: %w", listErr)
	}
	if slices.ContainsFunc(history, func(k job.Job) bool { return k.Wish.Key == j.Wish.Key }) {
		return nil
	}
	return err
}

func plural(n int) string {
	if n == 1 {
		return "1 job"
	}
	return fmt.Sprintf("%d jobs", n)
}
