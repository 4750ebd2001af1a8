package fitness

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
)

// goneOn is the job gone on with by another process, which has the past from a
// file.
func (m *measured) goneOn(t *testing.T) *measured {
	t.Helper()
	data, err := json.Marshal(m.Past())
	if err != nil {
		t.Fatal(err)
	}
	var p Past
	if err := json.Unmarshal(data, &p); err != nil {
		t.Fatal(err)
	}
	next := &measured{files: m.files, at: m.at, ticks: m.ticks}
	next.Watch = NewWatch(m.m)
	next.clock = func() time.Time { return next.at }
	if err := next.Follow(p); err != nil {
		t.Fatal(err)
	}
	next.Measure()
	return next
}

func TestWhatWasSeenBeforeAJobWasGoneOnWithCounts(t *testing.T) {
	m := measuring(t, []int{2}).zero()
	m.pass(10, 6, 3, 0)
	if unfit, _ := Judge(m.End()); len(unfit) != 1 {
		t.Fatalf("the first part is to be unfit: %q", unfit)
	}
	// The machine is quiet again, and stays so over a second interruption.
	for range 2 {
		m = m.goneOn(t)
		for range 10 {
			m.pass(1, .9, .01, 0)
		}
		unfit, warn := Judge(m.End())
		if len(unfit) != 1 || !strings.HasPrefix(unfit[0], "before the runner was stopped: other work took 30 % of the benchmarks' CPU 2 while it measured") {
			t.Errorf("unfit %q", unfit)
		}
		if len(warn) != 0 {
			t.Errorf("warn %q", warn)
		}
	}
}

func TestASettingThatChangedWhileTheRunnerWasStoppedHasChangedDuringTheJob(t *testing.T) {
	const governor = "sys/devices/system/cpu/cpu2/cpufreq/scaling_governor"
	m := measuring(t, []int{2}).zero()
	m.pass(10, 9, .1, 0)
	m.set(governor, "powersave\n")
	for range 2 {
		m = m.goneOn(t)
		m.pass(10, 9, .1, 0)
		unfit, _ := Judge(m.End())
		want := "this changed during the job: first the frequency governor is performance, then the frequency governor is powersave, not performance"
		if len(unfit) != 1 || !strings.HasPrefix(unfit[0], want) {
			t.Errorf("unfit %q", unfit)
		}
	}
}

func TestWhatIsAsItWasBeforeIsSaidOnce(t *testing.T) {
	m := measuring(t, nil)
	_, first := Judge(m.End())
	_, then := Judge(m.goneOn(t).End())
	if len(first) == 0 || !slices.Equal(first, then) {
		t.Errorf("first %q, then %q", first, then)
	}
}

func TestThePastOfAnotherKindOfWatchIsRefused(t *testing.T) {
	m := measuring(t, nil)
	for name, p := range map[string]Past{
		"none":     {},
		"too long": {Settings: append(slices.Clone(m.before), Check{Name: "more"})},
		"another":  {Settings: append([]Check{{Name: "moon"}}, m.before[1:]...)},
	} {
		if err := NewWatch(m.m).Follow(p); err == nil || !strings.Contains(err.Error(), "settings") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
