package fitness

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"
)

// tree is a machine's files out of testdata; its head says where they are from.
func tree(t testing.TB, name string) fstest.MapFS {
	t.Helper()
	a, err := txtar.ParseFile(filepath.Join("testdata", name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	out := fstest.MapFS{}
	for _, f := range a.Files {
		out[f.Name] = &fstest.MapFile{Data: f.Data}
	}
	return out
}

// states gives "name=state" of the checks.
func states(checks []Check) string {
	var s []string
	for _, c := range checks {
		s = append(s, c.Name+"="+string(c.State))
	}
	slices.Sort(s)
	return strings.Join(s, " ")
}

// text finds what a check says and advises.
func text(checks []Check, name string) string {
	for _, c := range checks {
		if c.Name == name {
			return c.Text + " → " + c.Advice
		}
	}
	return ""
}

func TestEachMachineIsJudgedByWhatItTells(t *testing.T) {
	for _, c := range []struct {
		machine string
		cpus    []int
		want    string
		says    map[string]string
	}{
		{"intel-desktop", []int{2, 3},
			"affinity=warn aslr=unfit clocksource=warn cores=unknown governor=warn isolation=warn load=warn pressure=warn smt=warn swap=warn thermal=warn turbo=warn",
			map[string]string{"governor": "is powersave, not", "turbo": "intel_pstate/no_turbo", "smt": "CPUs 2-3: another thread", "isolation": "CPUs 2-3",
				"clocksource": `"hpet", which is slow to read → dmesg`, "swap": "512 MiB", "thermal": "97 °C, and its limit is 100", "load": "load 9.3 on 8 CPUs",
				"affinity": "the runner shares", "aslr": "randomize_va_space=2", "pressure": "a CPU 31 %, memory 0 %, the disk 1 %"}},
		{"intel-desktop", nil,
			"affinity=warn aslr=unfit clocksource=warn cores=unknown governor=warn isolation=warn load=warn pressure=warn smt=warn swap=warn thermal=warn turbo=warn",
			map[string]string{"governor": "is powersave, not", "affinity": "sandbox.cpus", "smt": "smt/control", "isolation": "isolcpus="}},
		{"amd-server", []int{2, 3},
			"affinity=ok aslr=ok clocksource=ok cores=ok governor=ok isolation=ok load=ok pressure=ok smt=ok swap=ok thermal=ok turbo=ok",
			map[string]string{"isolation": "and of the timer's tick", "affinity": "CPUs 2-3", "thermal": "41 °C, and their limit is 70 °C"}},
		{"amd-server", nil,
			"affinity=warn aslr=ok clocksource=ok cores=unknown governor=warn isolation=warn load=ok pressure=ok smt=ok swap=ok thermal=ok turbo=ok",
			map[string]string{"governor": "is schedutil, not performance → cpupower"}},
		{"amd-server", []int{1, 2},
			"affinity=warn aslr=ok clocksource=ok cores=unknown governor=warn isolation=warn load=ok pressure=ok smt=ok swap=ok thermal=ok turbo=ok",
			map[string]string{"isolation": "the benchmarks' CPU 1 → "}},
		{"vm", nil,
			"affinity=warn aslr=ok clocksource=ok cores=unknown governor=unknown isolation=warn load=warn pressure=warn smt=unknown swap=ok thermal=unknown turbo=unknown", nil},
		{"container", []int{0},
			"affinity=unknown aslr=unknown clocksource=unknown cores=unknown governor=unknown isolation=unknown load=unknown pressure=unknown smt=unknown swap=unknown thermal=unknown turbo=unknown", nil},
		{"arm-board", []int{3},
			"affinity=ok aslr=ok clocksource=ok cores=unknown governor=warn isolation=ok load=ok pressure=unknown smt=ok swap=ok thermal=unfit turbo=warn",
			map[string]string{"isolation": "but for the timer's tick", "turbo": "cpu*/cpufreq/boost", "thermal": `"cpufreq-cpu0" at step 2`, "pressure": "psi=1"}},
	} {
		t.Run(c.machine+cpuText(c.cpus), func(t *testing.T) {
			checks := Machine{tree(t, c.machine), c.cpus}.Look()
			if got := states(checks); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			for name, want := range c.says {
				if got := text(checks, name); !strings.Contains(got, want) {
					t.Errorf("%s: %q does not say %q", name, got, want)
				}
			}
			for _, k := range checks {
				if k.Text == "" || (k.State == Warn || k.State == Unfit) && k.Advice == "" || k.State == OK && k.Advice != "" {
					t.Errorf("%+v", k)
				}
			}
		})
	}
}

func TestAMachineWithoutFilesIsUnknown(t *testing.T) {
	for _, k := range (Machine{Root: fstest.MapFS{}}).Look() {
		if k.State != Unknown && k.Name != "affinity" { // which is the configuration's
			t.Errorf("%+v", k)
		}
	}
}

func TestAnIsolatedPartitionOfCpusetsKeepsCPUsFree(t *testing.T) {
	files := tree(t, "amd-server")
	files["sys/devices/system/cpu/isolated"].Data = []byte("\n")
	files["sys/fs/cgroup/cpuset.cpus.isolated"] = &fstest.MapFile{Data: []byte("2-3\n")}
	if c := (Machine{files, []int{2, 3}}).isolation(); c.State != OK {
		t.Errorf("%+v", c)
	}
}

func TestThisMachineIsReadWhole(t *testing.T) {
	checks := Here(nil).Look()
	if len(checks) != 12 || text(checks, "load") == "" || (Here(nil)).load().State == Unknown {
		t.Errorf("%+v", checks)
	}
}

func TestListsOfCPUsAreReadAsTheKernelWritesThem(t *testing.T) {
	for in, want := range map[string]string{"": "CPUs ", "0": "CPU 0", "0-3,8,10-11\n": "CPUs 0-3,8,10-11", "5,4": "CPUs 4-5"} {
		got, ok := cpuList(in)
		if !ok || cpuText(got) != want {
			t.Errorf("%q: %v, %v", in, got, ok)
		}
	}
	for _, in := range []string{"(null)", "3-1", "-1", "1-", "0-99999999999", "0-99999999", "a"} {
		if got, ok := cpuList(in); ok {
			t.Errorf("%q was taken for %v", in, got)
		}
	}
}

func TestTheReportGetsEachSentenceOnceWithItsAdvice(t *testing.T) {
	unfit, warn := Judge([]Check{{"a", Warn, "it is warm", "open a window"}, {"a", Warn, "it is warm", "open a window"}, {"b", Unfit, "it burns", ""},
		{"c", OK, "fine", ""}, {"d", Unknown, "dark", "light"}})
	if !slices.Equal(unfit, []string{"it burns"}) || !slices.Equal(warn, []string{"it is warm; to mend it: open a window"}) {
		t.Errorf("unfit %q, warn %q", unfit, warn)
	}
}

func FuzzAMachineOfAnyBytesIsJudged(f *testing.F) {
	f.Add([]byte("0-3\n"))
	f.Add([]byte("cpu  1 2 3 4 5 6 7 8\ncpu0 1 2 3 4 5 6 7 8\n"))
	f.Add([]byte("some avg10=1.00 avg60=0 avg300=0 total=5\n"))
	f.Add([]byte("SwapTotal: 5 kB\nSwapFree: 1 kB\npswpin 7\n"))
	a, err := os.ReadFile(filepath.Join("testdata", "arm-board.txtar"))
	if err != nil {
		f.Fatal(err)
	}
	names := txtar.Parse(a).Files
	if a, err = os.ReadFile(filepath.Join("testdata", "recorded-intel-laptop.txtar")); err != nil {
		f.Fatal(err)
	}
	names = append(names, txtar.Parse(a).Files...)
	f.Fuzz(func(t *testing.T, data []byte) {
		files := fstest.MapFS{}
		for _, n := range names {
			files[n.Name] = &fstest.MapFile{Data: data}
		}
		w := NewWatch(Machine{files, []int{3}})
		w.Measure()
		for _, c := range append(w.End(), Machine{Root: files}.Look()...) {
			if c.Text == "" || c.State == "" {
				t.Errorf("%+v", c)
			}
		}
	})
}
