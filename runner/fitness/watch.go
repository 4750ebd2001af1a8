package fitness

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/prbench/prbench/internal/job"
)

// Watch follows a machine through one job. It is used by one goroutine.
type Watch struct {
	m        Machine
	clock    func() time.Time
	before   []Check // settings, when the job began
	began    []Check // the rest, at the same moment
	start    reading // of the measuring
	last     reading
	runs     ran // since start
	sinceRun ran // since last
	worst    float64
	former   []Check // what was found before the job was gone on with
}

// ran is what the benchmarks' processes took.
type ran struct {
	runs          int
	cpu           float64 // seconds
	switches      int64
	later, faults int64 // processes that are not a case's first, and their major faults
}

// NewWatch looks at the machine when a job begins, before its builds make it
// busy.
func NewWatch(m Machine) *Watch {
	return &Watch{m: m, clock: time.Now, before: m.settings(), began: m.now()}
}

// Measure is called when the measuring begins.
func (w *Watch) Measure() {
	w.start = w.m.read(w.clock())
	w.start.throttled, w.start.heatTold = w.m.throttled()
	w.last = w.start
}

// between is the shortest time between two looks while it measures.
const between = time.Second

// Ran is told of each process that has ended, between it and the next. It reads
// a few small files, at most once a second and only between pairs, so that
// nothing of it falls into a measured time, or between the two sides of a pair.
func (w *Watch) Ran(r job.Run) {
	w.runs.add(r)
	w.sinceRun.add(r)
	now := w.clock()
	if r.Position != 1 || now.Sub(w.last.at) < between {
		return
	}
	reading := w.m.read(now)
	if share := others(w.last, reading, w.sinceRun); share > w.worst {
		w.worst = share
	}
	w.last, w.sinceRun = reading, ran{}
}

func (r *ran) add(one job.Run) {
	r.runs++
	r.cpu += one.Usage.User + one.Usage.System
	r.switches += one.Usage.InvoluntarySwitches
	if one.Pair > 0 {
		r.later++
		r.faults += one.Usage.MajorFaults
	}
}

// End is called when the measuring is over. It tells of the machine before and
// after, and of what happened in between.
func (w *Watch) End() []Check { return w.withFormer(w.seen()) }

// seen is what this watch has seen itself.
func (w *Watch) seen() []Check {
	after := w.m.settings()
	checks := make([]Check, 0, len(after)+12)
	for i, c := range after {
		if was := w.before[i]; was.Text != c.Text {
			c = Check{c.Name, Unfit, fmt.Sprintf("this changed during the job: first %s, then %s", was.Text, c.Text), "let nothing change it while jobs run"}
		}
		checks = append(checks, c)
	}
	checks = append(checks, w.began...)
	// Load and pressure are now the benchmarks' own.
	checks = append(checks, w.m.heat())
	if w.start.at.IsZero() {
		return checks
	}
	end := w.m.read(w.clock())
	end.throttled, end.heatTold = w.m.throttled()
	checks = append(checks, w.work(end), steal(w.start, end), throttling(w.start, end), swapped(w.start, end))
	checks = append(checks, waits(w.start, end)...)
	return append(checks, w.runs.switched(), w.runs.faulted())
}

// reading is what the kernel has counted up to a moment.
type reading struct {
	at time.Time
	// Of the benchmarks' CPUs, in seconds (filesystems/proc.rst, 1.7): busy is all
	// but idle, waiting for a disk, and stolen.
	busy, idle, stolen float64
	told               bool
	waited             [len(resources)]float64 // seconds; NaN unknown
	swapIn, swapOut    int64                   // pages
	swapTold           bool
	throttled          slowed
	heatTold           bool
}

// userHZ is the unit of /proc/stat, the same on all machines that Go runs on.
const userHZ = 100

// read takes a reading, but for the throttling, which has a file for each CPU.
func (m Machine) read(now time.Time) reading {
	r := reading{at: now}
	want := map[string]bool{"cpu": len(m.CPUs) == 0}
	for _, c := range m.CPUs {
		want["cpu"+strconv.Itoa(c)] = true
	}
	found := 0
	for line := range strings.Lines(m.text("proc/stat")) {
		if !strings.HasPrefix(line, "cpu") {
			break // the lines of CPUs are the first, and one that follows is long
		}
		if words := strings.Fields(line); want[words[0]] && r.count(words[1:]) {
			found++
		}
	}
	r.told = found > 0 && found == max(1, len(m.CPUs))
	for i, res := range resources {
		r.waited[i] = field(m.pressured(res.file), "total") / 1e6
	}
	r.swapIn, r.swapOut, r.swapTold = m.swapping()
	return r
}

// count adds a CPU's line: user nice system idle iowait irq softirq steal. What
// guests took is in user.
func (r *reading) count(words []string) bool {
	if len(words) < 8 {
		return false
	}
	var v [8]float64
	for i := range v {
		n, err := strconv.ParseUint(words[i], 10, 64)
		if err != nil {
			return false
		}
		v[i] = float64(n) / userHZ
	}
	r.busy += v[0] + v[1] + v[2] + v[5] + v[6]
	r.idle += v[3] + v[4]
	r.stolen += v[7]
	return true
}

func (m Machine) swapping() (in, out int64, ok bool) {
	for line := range strings.Lines(m.text("proc/vmstat")) {
		words := strings.Fields(line)
		if len(words) != 2 || words[0] != "pswpin" && words[0] != "pswpout" {
			continue
		}
		n, err := strconv.ParseInt(words[1], 10, 64)
		if err != nil {
			return 0, 0, false
		}
		if ok = true; words[0] == "pswpin" {
			in = n
		} else {
			out = n
		}
	}
	return in, out, ok
}

// slowed counts how often CPUs were slowed down for heat, by themselves and with
// their package. One heat is often counted by both.
type slowed struct{ cores, packages int64 }

// throttled is how often the benchmarks' CPUs, or their packages, were slowed
// down for heat (ABI/testing/sysfs-devices-system-cpu; Intel only). Each thread
// tells the count of its core, and each CPU that of its package, so that one of
// them counts.
func (m Machine) throttled() (s slowed, told bool) {
	seen := map[string]bool{}
	count := func(to *int64, cpu int, file, place string) {
		n, ok := m.number(fmt.Sprintf(cpuDir+"cpu%d/thermal_throttle/%s", cpu, file))
		if !ok || seen[file+place] {
			return
		}
		seen[file+place], told = true, true
		*to += n
	}
	for _, c := range m.bench() {
		pack, core := m.place(c)
		count(&s.cores, c, "core_throttle_count", core)
		count(&s.packages, c, "package_throttle_count", pack)
	}
	return s, told
}

// place names a CPU's package and core; what it does not tell is its own.
func (m Machine) place(cpu int) (pack, core string) {
	dir := fmt.Sprintf(cpuDir+"cpu%d/topology/", cpu)
	pack, core = "of CPU "+strconv.Itoa(cpu), m.text(dir+"thread_siblings_list")
	if core == "" {
		core = pack
	}
	if n, ok := m.number(dir + "physical_package_id"); ok && n >= 0 {
		pack = strconv.FormatInt(n, 10)
	}
	return pack, core
}

// perRun is what starting and ending a process's sandbox may take, in seconds of
// CPU time; the kernel does not count it with the process.
const perRun = .015

// others is the share of the CPUs' time that neither the benchmarks nor idleness
// took; NaN where that is not known.
func others(a, b reading, r ran) float64 {
	if !a.told || !b.told {
		return math.NaN()
	}
	all := b.busy + b.idle - a.busy - a.idle
	if all <= 0 {
		return math.NaN()
	}
	return min(1, max(0, (b.busy-a.busy-r.cpu-perRun*float64(r.runs))/all))
}
