package fitness

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// What is not recorded of a machine is unknown; rest fills it in.
func rest(known string) string {
	all := map[string]string{}
	for _, name := range []string{"affinity", "aslr", "clocksource", "cores", "governor", "isolation", "load", "pressure", "smt", "swap", "thermal", "turbo"} {
		all[name] = name + "=unknown"
	}
	for _, k := range strings.Fields(known) {
		name, _, _ := strings.Cut(k, "=")
		all[name] = k
	}
	return strings.Join(slices.Sorted(maps.Values(all)), " ")
}

// Where each recording is from, testdata/README.md tells.
func TestRecordedMachinesAreJudgedByWhatTheyTell(t *testing.T) {
	for _, c := range []struct {
		machine string
		cpus    []int
		want    string
		says    map[string]string
	}{
		{"recorded-intel-laptop", nil, "affinity=warn cores=ok governor=warn isolation=warn smt=warn turbo=warn",
			map[string]string{"governor": "is powersave, not performance → cpupower", "turbo": "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo",
				"smt": "cores are shared by 2 threads (SMT is on) → echo off > /sys/devices/system/cpu/smt/control"}},
		{"recorded-intel-laptop", []int{2, 3}, "cores=ok governor=warn isolation=warn smt=warn turbo=warn",
			map[string]string{"smt": "smt/control, or take CPUs 6-7 offline (echo 0 > /sys/devices/system/cpu/cpuN/online)"}},
		{"recorded-intel-laptop", []int{2, 6}, "cores=ok governor=warn isolation=warn smt=warn turbo=warn",
			map[string]string{"smt": "the benchmarks' CPUs 2,6: another thread shares the core (SMT is on) → echo off > /sys/devices/system/cpu/smt/control, or leave CPU 6 out of sandbox.cpus"}},
		{"recorded-intel-laptop", []int{7, 8}, "affinity=warn governor=warn isolation=warn smt=warn turbo=warn",
			map[string]string{"affinity": "the benchmarks' CPU 8: not there, or offline → name others in sandbox.cpus of runner.yaml; here are CPUs 0-7"}},
		{"recorded-amd-server", nil, "affinity=warn cores=ok governor=ok isolation=warn smt=warn turbo=warn",
			map[string]string{"turbo": "echo 0 > /sys/devices/system/cpu/cpufreq/boost", "governor": "is performance"}},
		{"recorded-amd-server", []int{40, 41}, "cores=ok governor=ok isolation=warn smt=warn turbo=warn",
			map[string]string{"smt": "take CPUs 88-89 offline", "isolation": "CPUs 40-41"}},
		{"recorded-arm-phone", nil, "affinity=warn cores=warn governor=warn isolation=warn smt=ok turbo=warn",
			map[string]string{"cores": "are not equally fast: CPUs 0-2 against CPUs 3-6 against CPU 7 → name CPUs of one kind", "governor": "is walt, not"}},
		{"recorded-arm-phone", []int{3, 4, 5, 6}, "cores=ok governor=warn isolation=warn smt=ok turbo=warn", nil},
		{"recorded-power9-server", nil, "affinity=warn isolation=warn smt=warn swap=ok",
			map[string]string{"smt": "cores are shared by 4 threads (SMT is on) → take all but one thread of each core offline", "governor": "frequency driver"}},
		{"recorded-power9-server", []int{4, 5, 88}, "isolation=warn smt=warn swap=ok",
			map[string]string{"smt": "the benchmarks' CPUs 4-5,88: another thread shares the core (SMT is on) → take CPUs 6-7,89-91 offline (echo 0 > /sys/devices/system/cpu/cpuN/online) and leave CPU 5 out of sandbox.cpus"}},
		{"recorded-power9-server", []int{16}, "affinity=warn isolation=warn swap=ok",
			map[string]string{"affinity": "CPU 16: not there, or offline → name others in sandbox.cpus of runner.yaml; here are CPUs 0-15,88-103"}},
		{"recorded-s390-partition", nil, "affinity=warn isolation=warn swap=ok",
			map[string]string{"governor": "a virtual machine's host decides", "turbo": "a virtual machine's host decides", "smt": "ask who runs it for whole cores"}},
		{"recorded-s390-offline-cpus", []int{5, 6}, "affinity=warn", map[string]string{"affinity": "CPU 6: not there, or offline"}},
		{"recorded-s390-offline-cpus", []int{8}, "", nil}, // its kernel has no file of isolated CPUs
		{"recorded-kvm-guest", nil, "affinity=warn isolation=warn smt=warn swap=ok", map[string]string{"governor": "a virtual machine's host decides", "smt": "by 2 threads"}},
		{"recorded-pieces", nil, "affinity=warn clocksource=ok governor=warn isolation=warn load=ok pressure=ok swap=warn thermal=ok",
			map[string]string{"thermal": "the CPUs have 55 °C, and their limit is 100 °C", "swap": "1014 MiB", "load": "load 0.2 on 4 CPUs"}},
		{"recorded-pieces", []int{3}, "clocksource=ok governor=warn isolation=ok load=ok pressure=ok swap=warn thermal=ok",
			map[string]string{"isolation": "but for the timer's tick"}},
	} {
		t.Run(c.machine+cpuText(c.cpus), func(t *testing.T) {
			checks := Machine{tree(t, c.machine), c.cpus}.Look()
			if got, want := states(checks), rest(c.want); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			for name, want := range c.says {
				if got := text(checks, name); !strings.Contains(got, want) {
					t.Errorf("%s: %q does not say %q", name, got, want)
				}
			}
		})
	}
}

// Every CPU of a package counts its heats, and every thread its core's.
func TestAHeatThatManyCPUsCountIsOneHeat(t *testing.T) {
	for machine, want := range map[string]slowed{"recorded-intel-laptop": {cores: 49 + 99 + 8, packages: 156}, "recorded-pieces": {cores: 5 + 9, packages: 30 + 6}} {
		if got, told := (Machine{Root: tree(t, machine)}).throttled(); got != want || !told {
			t.Errorf("%s: %+v, want %+v", machine, got, want)
		}
	}
	files := tree(t, "recorded-intel-laptop")
	m := Machine{files, []int{2, 6}}
	before := reading{heatTold: true}
	before.throttled, _ = m.throttled()
	for _, cpu := range []string{"2", "6"} {
		files[cpuDir+"cpu"+cpu+"/thermal_throttle/core_throttle_count"] = &fstest.MapFile{Data: []byte("102\n")}
		files[cpuDir+"cpu"+cpu+"/thermal_throttle/package_throttle_count"] = &fstest.MapFile{Data: []byte("158\n")}
	}
	after := reading{heatTold: true}
	after.throttled, _ = m.throttled()
	if c := throttling(before, after); c.State != Unfit || !strings.Contains(c.Text, "slowed down for heat 3 times") {
		t.Errorf("%+v", c)
	}
}

func TestTheCountersOfRecordedMachinesAreRead(t *testing.T) {
	never := reading{told: true}
	for _, c := range []struct {
		machine string
		cpus    []int
		want    string
	}{
		{"recorded-kvm-guest", nil, "ok: other guests took 0.2 % of the CPU time"},
		{"recorded-kvm-guest", []int{0}, "ok: other guests took 0.4 % of the CPU time"},
		{"recorded-s390-partition", []int{0, 19}, "ok: other guests took 0.0 % of the CPU time"},
		{"recorded-s390-partition", []int{0, 20}, "unknown: "}, // 20 is offline
		{"recorded-pieces", nil, "ok: other guests took 0.0 % of the CPU time"},
	} {
		got := steal(never, Machine{tree(t, c.machine), c.cpus}.read(time.Unix(1, 0)))
		if said := string(got.State) + ": " + got.Text; !strings.HasPrefix(said, c.want) {
			t.Errorf("%s, %v: %q, want %q", c.machine, c.cpus, said, c.want)
		}
	}
	r := Machine{Root: tree(t, "recorded-pieces")}.read(time.Unix(1, 0))
	if !r.swapTold || r.swapIn != 1476 || r.swapOut != 35045 || r.waited != [...]float64{14.036781, 0, 159.886802} {
		t.Errorf("%+v", r)
	}
}

// The tests that follow lay the kernel's files over a recording, where no public
// one has them.

func TestAHybridProcessorsCoresAreToldApart(t *testing.T) {
	files := tree(t, "recorded-intel-laptop")
	files["sys/devices/cpu_core/cpus"] = &fstest.MapFile{Data: []byte("0-1\n")}
	files["sys/devices/cpu_atom/cpus"] = &fstest.MapFile{Data: []byte("2-7\n")}
	for want, cpus := range map[string][]int{"not equally fast: CPUs 0-1 against CPUs 2-7": nil, "not equally fast: CPU 1 against CPU 2": {1, 2}, "are equally fast": {2, 3}} {
		if c := (Machine{files, cpus}).kinds(); !strings.Contains(c.Text, want) {
			t.Errorf("%v: %+v", cpus, c)
		}
	}
}

func TestABoostThatIsOffForTheBenchmarksCPUsIsOff(t *testing.T) {
	files := tree(t, "recorded-amd-server")
	for _, cpu := range []string{"2", "3"} {
		files[cpuDir+"cpu"+cpu+"/cpufreq/boost"] = &fstest.MapFile{Data: []byte("0\n")}
	}
	for state, cpus := range map[State][]int{OK: {2, 3}, Warn: {3, 4}} {
		if c := (Machine{files, cpus}).turbo(); c.State != state {
			t.Errorf("%v: %+v", cpus, c)
		}
	}
}

func TestAGovernorThatSomeCPUsDoNotTellIsUnknown(t *testing.T) {
	files := tree(t, "recorded-amd-server")
	delete(files, cpuDir+"cpu3/cpufreq/scaling_governor")
	if c := (Machine{files, []int{2, 3}}).governor(); c.State != Unknown || !strings.Contains(c.Text, "the benchmarks' CPU 3") {
		t.Errorf("%+v", c)
	}
}

func TestATemperatureIsHeldAgainstWhereItIsSlowedDown(t *testing.T) {
	files := tree(t, "recorded-pieces") // max is 84 °C there, crit 100 °C
	for now, want := range map[string]string{"84000": "ok: the CPUs have 84 °C, and their limit is 100 °C", "96000": "warn: a CPU has 96 °C, and its limit is 100 °C"} {
		files["sys/class/hwmon/hwmon1/temp3_input"] = &fstest.MapFile{Data: []byte(now + "\n")}
		if c := (Machine{Root: files}).heat(); string(c.State)+": "+c.Text != want {
			t.Errorf("%s: %+v", now, c)
		}
	}
}

func TestWhoStandsBetweenAKernelAndItsCPUsIsKnown(t *testing.T) {
	for machine, want := range map[string]bool{"recorded-kvm-guest": true, "recorded-s390-partition": true, "vm": true,
		"recorded-intel-laptop": false, "recorded-amd-server": false, "recorded-power9-server": false, "recorded-arm-phone": false} {
		if got := (Machine{Root: tree(t, machine)}).virtual(); got != want {
			t.Errorf("%s: virtual is %v", machine, got)
		}
	}
}
