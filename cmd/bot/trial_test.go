package main

import (
	"time"

	"github.com/spf13/pflag"
)

// The tests start this binary as the product. It then has flags that the product
// has not: for a forge of one's own, and for what happens when a process dies.
func init() {
	trialServeFlags = func(fs *pflag.FlagSet, p *pace) {
		for name, to := range map[string]*time.Duration{
			"pace": &p.mutations, "progress-every": &p.progress, "lease": &p.lease, "lead-lease": &p.lead, "publish-retry": &p.retry,
			"sweep-every": &p.sweep,
		} {
			fs.DurationVar(to, name, 0, "")
		}
	}
	trialRunnerFlags = func(fs *pflag.FlagSet, m *machine) {
		fs.DurationVar(&m.beat, "beat", 0, "how often serve is told of the progress")
		fs.BoolVar(&m.loopback, "loopback-forge", false, "fetch without TLS from a forge on this machine")
		fs.StringVar(&m.hostLock, "host-lock", "", "the file that stands for this machine")
	}
}
