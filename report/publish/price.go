package publish

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report"
)

// price is how long a job should take from its start to its end, going by what was
// measured before; the zero value where nothing like it was.
type price struct {
	// as says that it is what the same comparison took; else it is made from what a
	// pair of runs of the same benchmarks took.
	as          bool
	least, most time.Duration
}

// pricedBy is how many earlier jobs a price is taken from, the newest ones.
const pricedBy = 5

// price finds the price of a waiting job. It is asked for once.
func (p *Publisher) price(ctx context.Context, j job.Job) (price, error) {
	p.line.mu.Lock()
	known, ok := p.line.prices[j.ID]
	p.line.mu.Unlock()
	if ok {
		return known, nil
	}
	all, err := p.Store.List(ctx, j.Repository.ID, 0)
	if err != nil {
		return price{}, fmt.Errorf("read the repository's jobs: %w", err)
	}
	cost := priceOf(j, all)
	p.line.mu.Lock()
	defer p.line.mu.Unlock()
	p.line.prices[j.ID] = cost
	return cost, nil
}

// priceOf is the middle of what the repository's last jobs like this one took.
// Where there was none, but the same benchmarks were measured with other runs or
// another margin, it comes from the time of a pair of theirs. All are the
// repository's jobs, the oldest first.
func priceOf(j job.Job, all []job.Job) price {
	var took []time.Duration
	var fixed, adaptive []pace
	for _, k := range slices.Backward(all) {
		if k.Outcome == nil || k.Outcome.Kind != job.Measured || !k.Finished.After(k.Started) || measures(k) != measures(j) {
			continue
		}
		if design(k) == design(j) {
			took = append(took, k.Finished.Sub(k.Started))
		}
		if of, ok := paceOf(k); ok && k.Spec.Runs == job.Adaptive {
			adaptive = append(adaptive, of)
		} else if ok {
			fixed = append(fixed, of)
		}
	}
	switch {
	case len(took) > 0:
		d := middle(took, func(d time.Duration) time.Duration { return d })
		return price{true, d, d}
	case len(fixed) > 0: // how often these ran is known
		return scaled(fixed, j.Spec)
	}
	return scaled(adaptive, j.Spec)
}

// pace is how long a job took, apart from its pairs and for each pair of runs of
// all its benchmarks.
type pace struct{ around, least, most time.Duration }

// paceOf is the pace of a job that was measured. That of one with adaptive runs has
// bounds: each of its benchmarks ran between the first and the last look.
func paceOf(k job.Job) (pace, bool) {
	wall := time.Duration(k.Outcome.WallSeconds * float64(time.Second))
	most, least := k.Outcome.Pairs, k.Outcome.Pairs
	if k.Spec.Runs == job.Adaptive && len(k.Spec.Looks) > 0 {
		least = k.Spec.Looks[0]
	}
	// One that its budget ended did fewer pairs than were planned.
	cut := k.Spec.Runs != job.Adaptive && k.Spec.Budget > 0 && wall >= k.Spec.Budget.Std()
	if wall <= 0 || least <= 0 || most < least || cut {
		return pace{}, false
	}
	return pace{max(0, k.Finished.Sub(k.Started)-wall), wall / time.Duration(most), wall / time.Duration(least)}, true
}

// scaled is the price of so many pairs at the middle pace of earlier jobs. A budget
// ends the measuring.
func scaled(by []pace, s job.Spec) price {
	least, most := int(s.Runs), int(s.Runs)
	if s.Runs == job.Adaptive && len(s.Looks) > 0 {
		least, most = s.Looks[0], s.Looks[len(s.Looks)-1]
	}
	if len(by) == 0 || least <= 0 {
		return price{}
	}
	around := middle(by, func(p pace) time.Duration { return p.around })
	from := time.Duration(least) * middle(by, func(p pace) time.Duration { return p.least })
	to := time.Duration(most) * middle(by, func(p pace) time.Duration { return p.most })
	if budget := s.Budget.Std(); budget > 0 {
		from, to = min(from, budget), min(to, budget)
	}
	return price{least: around + from, most: around + to}
}

// middle is the median of a value of the newest, which come first.
func middle[T any](newest []T, of func(T) time.Duration) time.Duration {
	var all []time.Duration
	for _, x := range newest[:min(len(newest), pricedBy)] {
		all = append(all, of(x))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// measures is the same for jobs that measure the same cases on the same machines.
func measures(j job.Job) string {
	parts := []string{j.Spec.Pool, j.Spec.Filter, j.Spec.Adhoc}
	if j.Backport != nil {
		parts = append(parts, "backport")
	}
	for _, s := range j.Spec.Suites {
		parts = append(parts, s.Name)
	}
	return strings.Join(append(parts, j.Spec.Set...), "\x00")
}

// design is the same for jobs that run as often, or until the same is resolved, and
// that the same budget ends.
func design(j job.Job) string {
	return fmt.Sprint(j.Spec.Runs, j.Spec.Looks, j.Spec.Margin, j.Spec.Budget)
}

// words is the price as a sentence.
func (c price) words(s job.Spec) string {
	const unknown, goingBy = "Nothing like it was measured here yet, so how long it takes is not known", ", going by what a pair of runs of these benchmarks took before."
	from, to := report.RoundTime(c.least), report.RoundTime(c.most)
	switch {
	case c.most == 0 && s.Budget > 0:
		return unknown + "; its budget is " + report.RoundTime(s.Budget.Std()) + "."
	case c.most == 0:
		return unknown + "."
	case !c.as && c.most > 4*c.least: // too far apart to tell anybody
		return "It should take at most about " + to + goingBy
	case !c.as && from != to:
		return "It should take about " + from + " to " + to + goingBy
	case !c.as:
		return "It should take about " + to + goingBy
	case s.Runs == job.Adaptive:
		return fmt.Sprintf("It takes about %s to resolve %s at this pool's noise, as the last such comparisons did.", to, report.ExactPercent(s.Margin))
	}
	return "Such a comparison took about " + to + " before."
}
