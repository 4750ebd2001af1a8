package fitness

import (
	"fmt"
	"math"
)

// Bounds of what may have happened while a job was measured, as shares of the
// benchmarks' CPU time.
const (
	stealWarn  = .01
	stealUnfit = .05

	// Work of others on CPUs that only benchmarks should have.
	pinnedWarn  = .05
	pinnedUnfit = .20
	pinnedBurst = .50 // in one stretch between two looks
	// Work of others somewhere on the machine, the runner's own included.
	anywhereWarn  = .20
	anywhereUnfit = .50
)

// swapUnfit is how many pages may pass between memory and swap: more than any
// idle process that is written out.
const swapUnfit = 10_000

// Bounds of what the benchmarks' processes told.
const (
	switchesWarn = 100 // in a second of CPU time: a time slice is some milliseconds
	faultsWarn   = 1.  // for each process that is not a case's first
)

// atLeast sorts a value by its two bounds.
func atLeast(v, warn, unfit float64) State {
	switch {
	case math.IsNaN(v):
		return Unknown
	case v >= unfit:
		return Unfit
	case v >= warn:
		return Warn
	}
	return OK
}

// work tells who else was busy on the benchmarks' CPUs.
func (w *Watch) work(end reading) Check {
	share := others(w.start, end, w.runs)
	if math.IsNaN(share) {
		return Check{"other work", Unknown, "the machine does not tell who used its CPUs while it measured", ""}
	}
	if len(w.m.CPUs) == 0 {
		c := Check{Name: "other work", State: atLeast(share, anywhereWarn, anywhereUnfit),
			Text: fmt.Sprintf("other work took %.0f %% of the machine's CPU time while it measured", share*100)}
		if c.State != OK {
			c.Advice = "stop what else runs here, or give benchmarks CPUs of their own (sandbox.cpus)"
		}
		return c
	}
	c := Check{Name: "other work", State: atLeast(share, pinnedWarn, pinnedUnfit),
		Text: fmt.Sprintf("other work took %.0f %% of the benchmarks' %s while it measured", share*100, cpuText(w.m.CPUs))}
	if c.State == OK && w.worst >= pinnedBurst {
		c.State = Warn
	}
	if c.State != OK {
		c.Text += fmt.Sprintf(", and at its worst %.0f %%", max(share, w.worst)*100)
		c.Advice = "isolcpus= with these CPUs on the kernel's command line"
	}
	return c
}

func steal(a, b reading) Check {
	all := b.busy + b.idle + b.stolen - a.busy - a.idle - a.stolen
	if !a.told || !b.told || all <= 0 {
		return Check{"steal", Unknown, "the machine does not tell what its hypervisor took while it measured", ""}
	}
	share := max(0, b.stolen-a.stolen) / all
	c := Check{Name: "steal", State: atLeast(share, stealWarn, stealUnfit),
		Text: fmt.Sprintf("other guests took %.1f %% of the CPU time while it measured", share*100)}
	if c.State != OK {
		c.Advice = "a machine with CPUs of its own"
	}
	return c
}

func throttling(a, b reading) Check {
	switch n := max(b.throttled.cores-a.throttled.cores, b.throttled.packages-a.throttled.packages); {
	case !a.heatTold || !b.heatTold:
		return Check{"throttling", Unknown, "the machine does not tell whether it was slowed down for heat", ""}
	case n > 0:
		return Check{"throttling", Unfit, fmt.Sprintf("the CPUs were slowed down for heat %d times while it measured", n), "mend the cooling, or lower the highest frequency"}
	}
	return Check{"throttling", OK, "the CPUs were not slowed down for heat", ""}
}

func swapped(a, b reading) Check {
	if !a.swapTold || !b.swapTold {
		return Check{"swapping", Unknown, "the machine does not tell whether it swapped while it measured", ""}
	}
	n := max(0, b.swapIn-a.swapIn) + max(0, b.swapOut-a.swapOut)
	if n == 0 {
		return Check{"swapping", OK, "nothing was swapped while it measured", ""}
	}
	return Check{"swapping", atLeast(float64(n), 1, swapUnfit), fmt.Sprintf("%d pages were swapped while it measured", n), "swapoff -a, and memory enough"}
}

// waits tells what was short while it measured.
func waits(a, b reading) []Check {
	took := b.at.Sub(a.at).Seconds()
	var out []Check
	for i, r := range resources {
		c := Check{Name: "pressure", State: Unknown, Text: "the machine does not tell whether anything waited for " + r.word + " while it measured"}
		if share := (b.waited[i] - a.waited[i]) / took; !math.IsNaN(share) && took > 0 {
			share = min(1, max(0, share))
			c.State = atLeast(share, r.warn, r.unfit)
			c.Text = fmt.Sprintf("something waited for %s in %.0f %% of the time while it measured", r.word, share*100)
		}
		out = append(out, c)
	}
	return out
}

// switched tells how often benchmarks were put off their CPU.
func (r ran) switched() Check {
	if r.cpu <= 0 {
		return Check{"switches", Unknown, "the benchmarks took no CPU time that was counted", ""}
	}
	rate := float64(r.switches) / r.cpu
	c := Check{Name: "switches", State: atLeast(rate, switchesWarn, math.Inf(1)),
		Text: fmt.Sprintf("the benchmarks were put off a CPU %.0f times in a second of their CPU time", rate)}
	if c.State != OK {
		c.Text += ", by other work or by threads of their own"
		c.Advice = "as many CPUs as they have busy threads, and nothing else there"
	}
	return c
}

// faulted tells how often benchmarks waited for a page from the disk, the first
// run of each aside.
func (r ran) faulted() Check {
	if r.later == 0 {
		return Check{"page faults", Unknown, "no case ran often enough to tell whether it waits for the disk", ""}
	}
	each := float64(r.faults) / float64(r.later)
	c := Check{Name: "page faults", State: atLeast(each, faultsWarn, math.Inf(1)),
		Text: fmt.Sprintf("a benchmark's process waited for a page from the disk %.1f times", each)}
	if c.State != OK {
		c.Advice = "memory enough to hold both builds"
	}
	return c
}
