package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/prbench/prbench/internal/job"
)

// seesText says what the machine saw when it was last measured against itself,
// the hostile part put through quote.
func (r *Report) seesText(quote func(string) string) string {
	c := r.About.Host.Calibration
	if c == nil || len(r.Rows) == 0 {
		return ""
	}
	day := c.At.UTC().Format(time.DateOnly)
	if len(c.Unfit) > 0 {
		text := quote(shorten(Visible(c.Unfit[0]), 200))
		if more := len(c.Unfit) - 1; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		return fmt.Sprintf("This machine was unfit when it was last measured against itself, on %s (%s), so that nothing is known of what it sees.", day, text)
	}
	what := plural(c.Pairs, "pair", "pairs")
	switch {
	case c.Elsewhere:
		what += " of benchmarks that need not be these"
	case c.Suite != "":
		what += " of " + quote(shorten(Visible(c.Suite), 80))
	}
	text := fmt.Sprintf("This machine, measured against itself on %s (%s), sees a change of %s in 8 of 10 tries", day, what, Percent(c.Detectable80))
	if c.Benchmarks > 1 {
		text += fmt.Sprintf("; in its noisiest benchmark, of %s", Percent(c.Worst80))
	}
	return text + "." + starsText(*c)
}

// starsText says how many stars there were though nothing differed. A runner of
// before tells nothing of that.
func starsText(c job.Calibration) string {
	if c.ExpectedStars <= 0 {
		return ""
	}
	text := fmt.Sprintf(" Though nothing differed there, %d of %s had a star (%.1f expected by chance)", c.Stars, plural(c.Benchmarks, "benchmark", "benchmarks"), c.ExpectedStars)
	if c.Drifting > 0 {
		text += fmt.Sprintf(" and %d drifted", c.Drifting)
	}
	text += fmt.Sprintf("; the two runs of a pair correlated by %s", strings.Replace(fmt.Sprintf("%.2f", c.Correlation), "-0.00", "0.00", 1))
	if c.TooManyStars {
		return text + ". That is more stars than chance explains: something on the machine changed while it measured, and what it sees is in doubt."
	}
	return text + "."
}
