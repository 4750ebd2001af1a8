package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prbench/prbench/internal/config"
)

var awayFor = flag.Duration("away", 0, "how long serve is away in the test of that, beyond the runner's work; 10m and more shows it at full length")

// kept counts the records that a runner keeps on its disk for the job that it is
// at.
func (w *world) kept(name string) int {
	w.t.Helper()
	files, err := filepath.Glob(filepath.Join(w.dir, "work-"+name, "jobs", "*", "records"))
	w.ok(err)
	n := 0
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err == nil { // else the job has just ended
			n += strings.Count(string(data), "\n")
		}
	}
	return n
}

// Serve, and with it the store, is killed in mid-run and comes back, on its port,
// when all has been measured. A second machine stands idle all the while.
func TestARunnerMeasuresOnWhileServeIsAwayAndDeliversAfterwards(t *testing.T) {
	t.Parallel()
	w, serve, first := inMidRun(t)
	w.enroll("box-2")
	second := start(t, w.dir, "runner", "--config", "box-2.yaml", "--name", "box-2", "--loopback-forge", "--beat", "200ms",
		"--host-lock", filepath.Join(w.dir, "another-host.lock"))
	second.says(`"msg":"runner ready"`)
	serve.kill()
	eventually(t, "all is measured while serve is away", func() bool { return w.kept("box-1") == 10 })
	time.Sleep(*awayFor)
	w.serve()
	comment, _ := w.oneReport()
	if !strings.Contains(comment, "5 runs a side · on `box-1`") {
		t.Errorf("want all 5 runs of the first machine in the report:\n%s", comment)
	}
	if strings.Count(first.text(), `"msg":"job begins"`) != 1 || strings.Contains(second.text(), `"msg":"job begins"`) {
		t.Errorf("want one try, on the first machine:\n%s\n%s", first.text(), second.text())
	}
	if strings.Contains(first.text(), `"msg":"job ends","job"`) && !strings.Contains(first.text(), `"msg":"beat"`) {
		t.Errorf("the first machine has not noticed that serve was away:\n%s", first.text())
	}
}

// A reboot is the end of every process, with what was on the disk kept.
func TestAfterARebootTheJobIsDoneInItsNextTry(t *testing.T) {
	t.Parallel()
	w, serve, runner := inMidRun(t)
	serve.kill()
	runner.kill()
	w.nothingRunsBelow("work-box-1")
	// As the kernel tells it: what may not have reached the disk is not gone on with.
	w.rebooted("box-1")
	serve = w.serve()
	runner = w.startRunner("box-1")
	comment, _ := w.oneReport()
	if !strings.Contains(comment, "5 runs a side") {
		t.Errorf("want 5 runs in the report:\n%s", comment)
	}
	if log := serve.text(); !strings.Contains(log, `"try":2,"runner":"box-1"`) {
		t.Errorf("want a second try:\n%s", log)
	}
	if strings.Contains(runner.text(), `"msg":"job goes on"`) {
		t.Errorf("the second try trusts what was on the disk:\n%s", runner.text())
	}
	runner.stop()
	serve.stop()
	w.nothingStays()
}

// rebooted makes what a runner has kept be of another boot of the machine.
func (w *world) rebooted(name string) {
	w.t.Helper()
	files, err := filepath.Glob(filepath.Join(w.dir, "work-"+name, "jobs", "*", "state.json"))
	w.ok(err)
	if len(files) != 1 {
		w.t.Fatalf("the runner has left %v", files)
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	w.ok(err)
	data, err := os.ReadFile(files[0])
	w.ok(err)
	text := strings.Replace(string(data), strings.TrimSpace(string(boot)), "another-boot", 1)
	if text == string(data) {
		w.t.Fatalf("no boot stands in %s", data)
	}
	w.ok(os.WriteFile(files[0], []byte(text), 0o600))
}

func TestARunnerThatIsStoppedAndStartedAgainGoesOnWithItsJob(t *testing.T) {
	t.Parallel()
	base := slow("base")
	cheapest, _ := cheap()
	base[config.RepoPath] = strings.Replace(cheapest[config.RepoPath], "runs: 5", "runs: 12", 1)
	w := newWorld(t, worldSpec{base: base, head: slow("head")})
	serve := w.serve()
	first := w.runner("box-1")
	w.label()
	eventually(t, "two pairs are measured", func() bool { return w.kept("box-1") >= 4 })
	first.kill()
	second := w.startRunner("box-1")
	comment, _ := w.oneReport()
	if !strings.Contains(comment, "12 runs a side") || !strings.Contains(comment, "went on later with the same builds") {
		t.Errorf("want 12 runs in the report, and that it was interrupted:\n%s", comment)
	}
	if log := second.text(); !strings.Contains(log, `"msg":"job goes on"`) || strings.Contains(log, `"phase":"build head"`) {
		t.Errorf("want no second build:\n%s", log)
	}
	second.stop()
	serve.stop()
	w.nothingStays()
}
