package proxy

import (
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// How much a build can make the runner say.
const (
	maxLogged = 200 // lines of refusals in the log
	maxNoted  = 10  // sentences in the job's notes
)

// journal remembers what one build asked for.
type journal struct {
	log *slog.Logger

	mu       sync.Mutex
	refusals int
	noted    []string
	seen     map[string]bool // up to maxLogged
	more     int             // refusals that are neither noted nor like one that is
	tunnels  int
	up, down int64
}

// refused logs a refusal, and keeps it for the notes where it is a new one.
func (j *journal) refused(no *refusal) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.refusals++; j.refusals <= maxLogged {
		j.log.Warn("the build's network: refused", "target", no.target, "why", no.why, "cause", no.cause)
	}
	text := no.text()
	if j.seen[text] {
		return
	}
	if len(j.seen) < maxLogged {
		if j.seen == nil {
			j.seen = map[string]bool{}
		}
		j.seen[text] = true
	}
	if len(j.noted) < maxNoted {
		j.noted = append(j.noted, text)
	} else {
		j.more++
	}
}

// passed logs a connection that has ended; up and down are bytes from and to the
// build.
func (j *journal) passed(host string, up, down int64, took time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.tunnels++
	j.up += up
	j.down += down
	j.log.Debug("the build's network: connection", "host", host, "sent", up, "received", down, "seconds", took.Seconds())
}

func (j *journal) sum() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.log.Info("the build's network", "connections", j.tunnels, "sent", j.up, "received", j.down, "refused", j.refusals)
}

func (j *journal) notes(who string) []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var out []string
	for _, t := range j.noted {
		out = append(out, who+" asked for "+t)
	}
	if j.more > 0 {
		out = append(out, fmt.Sprintf("%s asked %d more times for what was refused", who, j.more))
	}
	return out
}
