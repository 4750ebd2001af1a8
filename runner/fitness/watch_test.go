package fitness

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/prbench/prbench/internal/job"
)

// measured is a job on the server of testdata, whose clock and counters the test
// moves.
type measured struct {
	*Watch
	files fstest.MapFS
	at    time.Time
	ticks [8]int // of the CPUs 2 and 3 together: user … steal
}

func measuring(t testing.TB, cpus []int) *measured {
	m := &measured{files: tree(t, "amd-server"), at: time.Unix(1_700_000_000, 0)}
	m.Watch = NewWatch(Machine{m.files, cpus})
	m.clock = func() time.Time { return m.at }
	m.Measure()
	return m
}

func (m *measured) set(name, data string) { m.files[name] = &fstest.MapFile{Data: []byte(data)} }

// pass lets time pass: what the benchmarks take of CPU 2, and what others take
// of it, in seconds.
func (m *measured) pass(seconds, own, other, stolen float64) {
	m.at = m.at.Add(time.Duration(seconds * float64(time.Second)))
	for i, v := range map[int]float64{0: own + other, 3: seconds - own - other - stolen, 7: stolen} {
		m.ticks[i] += int(math.Round(v * 100))
	}
	line := strings.Trim(fmt.Sprint(m.ticks), "[]")
	m.set("proc/stat", fmt.Sprintf("cpu  %s 0 0\ncpu2 %s 0 0\nintr 1 2 3\n", line, line))
	m.Ran(job.Run{Pair: 1, Position: 0, Usage: job.Usage{User: own / 2}})
	m.Ran(job.Run{Pair: 1, Position: 1, Usage: job.Usage{User: own / 2}})
}

func (m *measured) state(name string) string {
	for _, c := range m.End() {
		if c.Name == name {
			return string(c.State) + ": " + c.Text
		}
	}
	return ""
}

// zero makes the counters begin at 0 on CPU 2 alone.
func (m *measured) zero() *measured {
	m.set("proc/stat", "cpu  0 0 0 0 0 0 0 0 0 0\ncpu2 0 0 0 0 0 0 0 0 0 0\n")
	m.Measure()
	return m
}

func TestAQuietJobOnAReadyMachineIsFit(t *testing.T) {
	m := measuring(t, []int{2}).zero()
	for range 20 {
		m.pass(1, .9, .01, 0)
	}
	unfit, warn := Judge(m.End())
	if len(unfit)+len(warn) != 0 {
		t.Errorf("unfit %q, warn %q", unfit, warn)
	}
	// Throttling is Intel's to tell; all else is known.
	if got := states(m.End()); strings.Count(got, "unknown") != 1 || !strings.Contains(got, "throttling=unknown") {
		t.Errorf("states: %s", got)
	}
}

func TestWorkOfOthersOnTheBenchmarksCPUsIsTold(t *testing.T) {
	for _, c := range []struct {
		name   string
		cpus   []int
		others func(second int) float64
		want   string
	}{
		{"none", []int{2}, func(int) float64 { return .01 }, "ok: other work took"},
		{"some", []int{2}, func(int) float64 { return .12 }, "warn: other work took 9 % of the benchmarks' CPU 2 while it measured, and at its worst 9 %"},
		{"much", []int{2}, func(int) float64 { return .3 }, "unfit: "},
		{"a burst", []int{2}, func(s int) float64 {
			if s == 7 {
				return .7
			}
			return .03
		}, "warn: other work took 2 % of the benchmarks' CPU 2 while it measured, and at its worst 67 %"},
		{"some, anywhere", nil, func(int) float64 { return .12 }, "ok: other work took 9 % of the machine's CPU time"},
		{"much, anywhere", nil, func(int) float64 { return .3 }, "warn: "},
		{"most, anywhere", nil, func(int) float64 { return .7 }, "unfit: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := measuring(t, c.cpus).zero()
			for s := range 30 {
				m.pass(1, .3, c.others(s), 0)
			}
			if got := m.state("other work"); !strings.HasPrefix(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestStolenTimeIsTold(t *testing.T) {
	for share, want := range map[float64]string{.005: "ok: ", .02: "warn: other guests took 2.0 %", .06: "unfit: other guests took 6.0 %"} {
		m := measuring(t, []int{2}).zero()
		m.pass(100, 80, 1, 100*share)
		if got := m.state("steal"); !strings.HasPrefix(got, want) {
			t.Errorf("%v: %q", share, got)
		}
	}
}

func TestWhatHappenedWhileItMeasuredIsTold(t *testing.T) {
	const intel = "sys/devices/system/cpu/cpu2/thermal_throttle/core_throttle_count"
	for _, c := range []struct {
		name   string
		change func(*measured)
		check  string
		want   string
	}{
		{"heat", func(m *measured) { m.set(intel, "9\n") }, "throttling", "unfit: the CPUs were slowed down for heat 2 times"},
		{"no heat", func(*measured) {}, "throttling", "ok: "},
		{"a little swapping", func(m *measured) { m.set("proc/vmstat", "pswpin 3\npswpout 4\n") }, "swapping", "warn: 7 pages"},
		{"much swapping", func(m *measured) { m.set("proc/vmstat", "pswpin 9000\npswpout 4000\n") }, "swapping", "unfit: 13000 pages"},
		{"a governor that is switched", func(m *measured) {
			m.set("sys/devices/system/cpu/cpu2/cpufreq/scaling_governor", "powersave\n")
		}, "governor", "unfit: this changed during the job: first the frequency governor is performance, then the frequency governor is powersave"},
		{"a clock that is given up", func(m *measured) {
			m.set("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n")
		}, "clocksource", "unfit: this changed"},
		{"benchmarks that are put off", func(m *measured) {
			m.Ran(job.Run{Usage: job.Usage{User: 1, InvoluntarySwitches: 5000}})
		}, "switches", "warn: the benchmarks were put off a CPU 1"},
		{"benchmarks that wait for their first pages", func(m *measured) {
			m.Ran(job.Run{Pair: 0, Usage: job.Usage{MajorFaults: 5000}})
		}, "page faults", "ok: "},
		{"benchmarks that wait for pages", func(m *measured) {
			m.Ran(job.Run{Pair: 3, Usage: job.Usage{MajorFaults: 500}})
		}, "page faults", "warn: "},
		{"heat at the end", func(m *measured) { m.set("sys/class/hwmon/hwmon1/temp1_input", "69000\n") }, "thermal", "warn: a CPU has 69 °C"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := measuring(t, []int{2})
			m.set(intel, "7\n")
			m.zero()
			for range 30 {
				m.pass(1, .9, 0, 0)
			}
			c.change(m)
			found := false
			for _, k := range m.End() {
				if k.Name == c.check && strings.HasPrefix(string(k.State)+": "+k.Text, c.want) {
					found = true
				}
			}
			if !found {
				t.Errorf("%s: %q", c.check, m.state(c.check))
			}
		})
	}
}

func TestAShortageOfMemoryBarsAVerdictOfSafety(t *testing.T) {
	for waited, want := range map[int]State{10_000: OK, 300_000: Warn, 3_000_000: Unfit} { // µs of 10 s
		m := measuring(t, []int{2}).zero()
		for range 10 {
			m.pass(1, .9, 0, 0)
		}
		m.set("proc/pressure/memory", fmt.Sprintf("some avg10=0.00 avg60=0.00 avg300=0.00 total=%d\n", waited))
		got := Unknown
		for _, c := range m.End() {
			if c.Name == "pressure" && strings.Contains(c.Text, "memory in") {
				got = c.State
			}
		}
		if got != want {
			t.Errorf("%d µs: %s, want %s", waited, got, want)
		}
	}
}

func TestTheMachineIsReadBetweenPairsAloneAndOnceASecond(t *testing.T) {
	m := measuring(t, []int{2}).zero()
	began := m.last.at
	step := func(d time.Duration, position int) time.Time {
		m.at = m.at.Add(d)
		m.Ran(job.Run{Position: position})
		return m.last.at
	}
	if step(400*time.Millisecond, 1) != began {
		t.Error("it was read before a second had passed")
	}
	if step(time.Minute, 0) != began {
		t.Error("it was read between the sides of a pair")
	}
	if step(0, 1) == began {
		t.Error("it was not read between pairs")
	}
}

// BenchmarkTheReadingBetweenPairs is the price that a measuring pays at most once
// a second.
func BenchmarkTheReadingBetweenPairs(b *testing.B) {
	m := Here([]int{0})
	for b.Loop() {
		if r := m.read(time.Now()); !r.told {
			b.Fatal("CPU 0 tells nothing")
		}
	}
}
