package runner

import (
	"fmt"
	"time"

	"github.com/prbench/prbench/internal/job"
)

// buildTimes are how long the last builds took, by repository and recipe, for
// saying how long the next one will. A runner that is started anew learns them
// again. It is used by one goroutine.
type buildTimes map[string]time.Duration

// mostBuildTimes bounds how many are remembered.
const mostBuildTimes = 1000

func buildTimeKey(j job.Job) string { return fmt.Sprint(j.Repository.ID, " ", j.Spec.Build.Run) }

// keep remembers what the job's last build took, where it built something.
func (b buildTimes) keep(j job.Job, took time.Duration) {
	if took <= 0 {
		return
	}
	if len(b) >= mostBuildTimes {
		clear(b)
	}
	b[buildTimeKey(j)] = took
}
