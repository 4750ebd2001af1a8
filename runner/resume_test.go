package runner_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prbench/prbench/internal/job"
)

// long is a spec whose job takes some seconds.
func long() job.Spec {
	s := spec()
	s.Runs = 30
	return s
}

// inPairs fails unless the records are those of so many whole pairs, each once.
func (w *world) inPairs(j job.Job, pairs int) {
	w.t.Helper()
	seen := map[string]int{}
	for _, r := range w.runs(j) {
		seen[fmt.Sprint(r.Pair, " ", r.Side)]++
	}
	for pair := range pairs {
		for _, side := range []job.SideName{job.Old, job.New} {
			if n := seen[fmt.Sprint(pair, " ", side)]; n != 1 {
				w.t.Errorf("pair %d of the %s side is there %d times", pair, side, n)
			}
		}
	}
	if len(seen) != 2*pairs || j.Outcome.Runs != 2*pairs {
		w.t.Errorf("%d records, the outcome counts %d runs, want %d", len(seen), j.Outcome.Runs, 2*pairs)
	}
}

// interrupted starts a runner, and stops it while it measures a job.
func (w *world) interrupted(s job.Spec) job.Job {
	w.t.Helper()
	o := w.opts
	o.LookGrace = 1 // at once
	stop := w.start(o)
	id := w.create(s).ID
	w.wait(id, "measures", measuring)
	stop()
	return w.wait(id, "is queued again", func(j job.Job) bool { return j.State == job.Queued })
}

// folder is where the runner has left the job.
func (w *world) folder(j job.Job) string {
	return filepath.Join(w.opts.Work, "jobs", fmt.Sprintf("%s-%d", j.ID, j.Try))
}

func TestARunnerThatIsStoppedGivesItsJobBackAndGoesOnWithIt(t *testing.T) {
	w := newWorld(t, nil, nil)
	j := w.interrupted(long())
	if len(j.LostTries) != 1 || !strings.Contains(j.LostTries[0], "runner stopped") {
		t.Errorf("lost tries: %q", j.LostTries)
	}
	j.Runner = w.conn.Key()
	delivered := len(w.runs(j))
	if delivered < 3 || delivered >= 60 {
		t.Errorf("%d records of the first try were delivered", delivered)
	}
	stop := w.start(w.opts)
	j = w.wait(j.ID, "ends", ended)
	if j.Outcome.Kind != job.Measured || j.Try != 2 {
		t.Errorf("%+v", j.Outcome)
	}
	w.inPairs(j, 30)
	if n := strings.Join(j.Outcome.Notes, "\n"); !strings.Contains(n, fmt.Sprintf("the runner was stopped after %d of the runs", delivered-delivered%2)) {
		t.Errorf("notes: %s", n)
	}
	if n := strings.Count(w.log.String(), `phase="build head"`); n != 1 {
		t.Errorf("the head was built %d times", n)
	}
	// The base is found again by the next job.
	if j = w.wait(w.create(spec()).ID, "ends", ended); j.Outcome.Kind != job.Measured || !strings.Contains(w.log.String(), "the base was built before") {
		t.Errorf("the job after it: %+v", j.Outcome)
	}
	stop()
	w.nothingLeft()
}

func TestARunnerThatIsStoppedFinishesTheLookThatItMeasuresFor(t *testing.T) {
	w := newWorld(t, nil, nil)
	stop := w.start(w.opts)
	s := long()
	s.Runs = 10 // the only look
	id := w.create(s).ID
	w.wait(id, "measures", measuring)
	stop()
	j := w.wait(id, "ends", ended)
	if j.Outcome.Kind != job.Measured || j.Try != 1 || j.Outcome.Runs != 20 {
		t.Errorf("try %d: %+v", j.Try, j.Outcome)
	}
	w.nothingLeft()
}

func TestARunnerThatIsStoppedInABuildGivesItsJobBackAtOnce(t *testing.T) {
	w := newWorld(t, nil, nil)
	stop := w.start(w.opts)
	s := long()
	s.Build.Run = "sleep 3600"
	id := w.create(s).ID
	w.wait(id, "builds", func(j job.Job) bool { return j.Progress.Phase == job.PhaseBuildBase })
	stop()
	if j := w.wait(id, "is queued again", func(j job.Job) bool { return j.State == job.Queued }); !strings.Contains(j.LostTries[0], "runner stopped") {
		t.Errorf("lost tries: %q", j.LostTries)
	}
	w.nothingLeft()
}

func TestAJobIsGoneOnWithOnlyWhereEverythingIsAsItWas(t *testing.T) {
	for name, change := range map[string]func(w *world, dir string){
		"after a reboot": func(w *world, dir string) {
			w.rewrite(filepath.Join(dir, "state.json"), func(s map[string]any) { s["Boot"] = "another" })
		},
		"after an upgrade of the tools": func(w *world, dir string) {
			w.rewrite(filepath.Join(dir, "state.json"), func(s map[string]any) { s["Toolchain"] = "another" })
		},
		"by another build of the runner": func(w *world, dir string) {
			w.rewrite(filepath.Join(dir, "state.json"), func(s map[string]any) {
				if name, _ := s["Program"].(string); len(name) != 64 {
					w.t.Errorf("the program is kept as %q", name)
				}
				s["Program"] = "another"
			})
		},
		"what the machine was like is not known": func(w *world, dir string) {
			if err := os.Remove(filepath.Join(dir, "host.json")); err != nil {
				w.t.Fatal(err)
			}
		},
		"what the machine was like is another program's": func(w *world, dir string) {
			w.rewrite(filepath.Join(dir, "host.json"), func(s map[string]any) { s["Settings"] = nil })
		},
		"records that cannot be read": func(w *world, dir string) {
			if err := os.WriteFile(filepath.Join(dir, "records"), []byte("{}\nnone\n{}\n"), 0o600); err != nil {
				w.t.Fatal(err)
			}
		},
		"what it was is not known": func(w *world, dir string) {
			if err := os.WriteFile(filepath.Join(dir, "state.json"), []byte("{"), 0o600); err != nil {
				w.t.Fatal(err)
			}
		},
		"a tree has gone to the cache of builds": func(w *world, dir string) {
			if err := os.Rename(filepath.Join(dir, "old"), filepath.Join(w.opts.Work, "elsewhere")); err != nil {
				w.t.Fatal(err)
			}
		},
		"long ago": func(w *world, dir string) {
			if err := os.Chtimes(filepath.Join(dir, "state.json"), time.Time{}, time.Now().Add(-3*time.Hour)); err != nil {
				w.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil, nil)
			j := w.interrupted(long())
			change(w, w.folder(j))
			stop := w.start(w.opts)
			j = w.wait(j.ID, "ends", ended)
			if j.Outcome.Kind != job.Measured || strings.Contains(strings.Join(j.Outcome.Notes, ""), "was stopped") {
				t.Errorf("%+v", j.Outcome)
			}
			w.inPairs(j, 30)
			stop()
			w.nothingLeft()
		})
	}
}

func TestAMachineThatWasUnfitBeforeAStopIsUnfitForTheWholeJob(t *testing.T) {
	w := newWorld(t, nil, nil)
	j := w.interrupted(long())
	const unfit = "other work took 60 % of the machine's CPU time while it measured"
	const setting = "the frequency governor was another"
	w.rewrite(filepath.Join(w.folder(j), "host.json"), func(s map[string]any) {
		found, _ := s["Found"].([]any)
		if !strings.Contains(fmt.Sprint(found), "benchmarks run on any CPU") {
			t.Errorf("the runner has kept of the machine %v", found)
		}
		s["Found"] = append(found, map[string]any{"Name": "other work", "State": "unfit", "Text": unfit, "Advice": "stop it"})
		s["Settings"].([]any)[0].(map[string]any)["Text"] = setting
	})
	w.start(w.opts)
	j = w.wait(j.ID, "ends", ended)
	all := strings.Join(j.Outcome.Host.Unfit, "\n")
	for _, want := range []string{"before the runner was stopped: " + unfit + "; to mend it: stop it", "this changed during the job: first " + setting + ", then "} {
		if !strings.Contains(all, want) {
			t.Errorf("%s with %d runs, unfit: %q, want also %q", j.Outcome.Kind, j.Outcome.Runs, j.Outcome.Host.Unfit, want)
		}
	}
	if n := strings.Count(strings.Join(j.Outcome.Host.Warn, "\n"), "benchmarks run on any CPU"); n != 1 {
		t.Errorf("what is as it was is said %d times: %q", n, j.Outcome.Host.Warn)
	}
	w.inPairs(j, 30)
}

// rewrite changes a file of JSON.
func (w *world) rewrite(path string, change func(map[string]any)) {
	w.t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		w.t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(data, &m); err != nil {
		w.t.Fatal(err)
	}
	change(m)
	if data, err = json.Marshal(m); err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// A runner that was killed in the middle of a write leaves half a line, and one
// that was killed again while it delivered leaves two files.
func TestWhatAKilledRunnerHasWrittenIsReadAsFarAsItGoes(t *testing.T) {
	w := newWorld(t, nil, nil)
	j := w.interrupted(long())
	records := filepath.Join(w.folder(j), "records")
	data, err := os.ReadFile(records)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(data), "\n")
	whole := (len(lines) - 1) / 2 * 2 // in pairs
	again := strings.Join(lines[:2], "") + lines[2][:len(lines[2])/2]
	for name, text := range map[string]string{"earlier": string(data), "records": again} {
		if err := os.WriteFile(filepath.Join(filepath.Dir(records), name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.start(w.opts)
	j = w.wait(j.ID, "ends", ended)
	if n := strings.Join(j.Outcome.Notes, "\n"); j.Outcome.Kind != job.Measured || !strings.Contains(n, fmt.Sprintf("was stopped after %d of", whole)) {
		t.Errorf("%+v", j.Outcome)
	}
	w.inPairs(j, 30)
}

func TestAnotherRunnerMeasuresTheJobAnew(t *testing.T) {
	w := newWorld(t, nil, nil)
	j := w.interrupted(long())
	_, conn := w.enroll("r2")
	o := w.opts
	o.Conn, o.Work, o.Name = conn, w.opts.Work+"2", "bench-2"
	stop := w.start(o)
	j = w.wait(j.ID, "ends", ended)
	if j.Outcome.Kind != job.Measured || j.Outcome.Host.Name != "bench-2" || strings.Contains(w.log.String(), "job goes on") {
		t.Errorf("%+v", j.Outcome)
	}
	w.inPairs(j, 30)
	stop()
	// The first one's folder goes when it makes place for another job's.
	first := w.interrupted(long())
	if left, err := os.ReadDir(filepath.Join(w.opts.Work, "jobs")); err != nil || len(left) != 1 || left[0].Name() != filepath.Base(w.folder(first)) {
		t.Errorf("left in the folder of jobs: %v, %v", left, err)
	}
}
