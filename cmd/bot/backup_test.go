package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prbench/prbench/internal/forgetest"
)

func TestABackupBringsServeBackWithItsQueueAndItsRunners(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldSpec{})
	s := w.serve()
	w.enroll("box")
	w.label()
	w.wait("the job waits", func(c forgetest.Conversation) bool { return len(c.CheckRuns) == 1 && c.CheckRuns[0].Status == "queued" })
	out := w.bot("backup", "keep.tar")
	if !strings.Contains(out, "backed up KV_jobs: 1 messages") || !strings.Contains(out, "keep.tar holds all that serve keeps") {
		t.Errorf("backup says:\n%s", out)
	}
	if info, err := os.Stat(filepath.Join(w.dir, "keep.tar")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v; want mode 0600", info, err)
	}
	if out := w.refuses(exitFailed, "restore", "keep.tar"); !strings.Contains(out, "stop bot serve") {
		t.Errorf("restore beside serve says:\n%s", out)
	}
	s.kill()
	if out := w.refuses(exitFailed, "restore", "keep.tar"); !strings.Contains(out, "is not empty") || !strings.Contains(out, "--state-dir") {
		t.Errorf("restore into the store that there is says:\n%s", out)
	}
	w.ok(os.RemoveAll(filepath.Join(w.dir, "state")))
	if out := w.bot("restore", "keep.tar"); !strings.Contains(out, "restored KV_runners: 1 messages") || !strings.Contains(out, "Start bot serve.") {
		t.Errorf("restore says:\n%s", out)
	}
	w.serve()
	w.startRunner("box")
	w.oneReport()
}

func TestABackupTakesNoFilesPlaceUnasked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldSpec{})
	if out := w.refuses(exitUsage, "backup", "serve.yaml"); !strings.Contains(out, "serve.yaml is there already") {
		t.Errorf("backup says:\n%s", out)
	}
	for _, args := range [][]string{{"backup", "-"}, {"backup"}, {"restore", "a", "b"}} {
		w.refuses(exitUsage, args...)
	}
	w.bot("backup", "keep.tar")
	whole, err := os.ReadFile(filepath.Join(w.dir, "keep.tar"))
	w.ok(err)
	w.bot("backup", "keep.tar", "--replace")
	w.write("half.tar", string(whole[:len(whole)/2]))
	w.write("other.tar", strings.Replace(string(whole), "HOOKS", "hooks", 1))
	for _, bad := range []string{"half.tar", "other.tar", "app.pem"} {
		out := w.refuses(exitFailed, "restore", bad, "--state-dir", "new")
		if !strings.Contains(out, bad+": the file is no whole backup") {
			t.Errorf("restore of %s says:\n%s", bad, out)
		}
	}
	if _, err := os.Stat(filepath.Join(w.dir, "new")); !os.IsNotExist(err) {
		t.Errorf("a refused restore made the store: %v", err)
	}
	left, err := filepath.Glob(filepath.Join(w.dir, ".*"))
	w.ok(err)
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// bot runs a command in the world's folder, which must end well, and gives what it says.
func (w *world) bot(args ...string) string {
	w.t.Helper()
	return w.refuses(exitOK, args...)
}

// refuses runs a command that must end with the code, and gives what it says.
func (w *world) refuses(code int, args ...string) string {
	w.t.Helper()
	cmd := command(w.t, w.dir, args...)
	out, _ := cmd.CombinedOutput() // the code tells
	if got := cmd.ProcessState.ExitCode(); got != code {
		w.t.Fatalf("bot %s: exit %d, want %d\n%s", strings.Join(args, " "), got, code, out)
	}
	return string(out)
}
