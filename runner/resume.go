package runner

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/runner/fitness"
)

// A job that this runner had to leave while it measured, because it was stopped
// or killed, leaves its two built trees and its records in its folder. When the
// runner gets the job's next try, it goes on there: the pairs that were measured
// count, on the same machine and of the same builds, and nobody looked at them
// before the runner left. They are delivered again, as the next try's.
//
// Another runner that gets the job begins anew: another machine, other builds. So
// does this one after a reboot, which may have cost the trees what was not yet on
// the disk, and another version of this program, which may measure otherwise.

// The files that a job's folder holds for this beside its trees.
const (
	stateFile   = "state.json" // what the trees are; without it nothing is gone on with
	recordsFile = "records"    // of this try
	earlierFile = "earlier"    // of the tries before it
)

// keptFor is how long a folder waits for its job to come back.
const keptFor = 2 * time.Hour

// mostEarlier bounds the earlier records, in bytes; a job that left more begins
// anew.
const mostEarlier = 256 << 20

// state says what the trees of a job's folder are. All of it must be as it was.
type state struct {
	Job        job.ID
	Program    string // this one
	Boot       string // of the machine
	Base, Head string // SHAs
	Spec       job.Spec
	Attempt    int
	Sandbox    string
	Toolchain  string
	// What the rest of the job needs of what came before the measuring.
	Notes  []string
	Picked *job.Picked // in a backport
	Keep   bool        // the built base goes to the cache of builds in the end
}

// stateOf is what a folder must hold to be gone on with.
func (t *try) stateOf() state {
	f := t.Sandbox.Facts()
	return state{Job: t.job.ID, Program: program(), Boot: strings.TrimSpace(hostFile(hostRoot, "proc/sys/kernel/random/boot_id")),
		Base: t.job.Base.SHA, Head: t.job.Head.SHA, Spec: t.job.Spec, Attempt: t.job.Attempt,
		Sandbox: fmt.Sprint(sandboxWords(f), f.UID, f.Pinned), Toolchain: t.bases.toolchain()}
}

// saveState makes the job's folder one to go on with. Without it the job is as
// good, and a stop costs more.
func (t *try) saveState(e *execution) {
	s := t.stateOf()
	s.Notes, s.Picked, s.Keep = e.notes, e.picked, e.keep
	data, err := json.Marshal(s)
	if err == nil {
		err = os.WriteFile(filepath.Join(t.dir, stateFile), data, 0o600)
	}
	if err != nil {
		t.log.Warn("a stop of this runner will cost what it measures", "error", err)
	}
}

func readState(dir string) (state, error) {
	var s state
	data, err := os.ReadFile(filepath.Join(dir, stateFile))
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	return s, err
}

// takeUp makes the folder of an earlier try this try's own, and gives what was
// measured there and a watch that knows how the machine was then. It returns nil
// where there is none to go on with.
func (t *try) takeUp(e *execution) ([]job.Run, *fitness.Watch) {
	former, err := filepath.Glob(filepath.Join(t.jobs, string(t.job.ID)+"-*")) // an id has no pattern's characters
	if err != nil {
		return nil, nil
	}
	for _, dir := range former {
		runs, watch, err := t.takeUpFrom(dir, e)
		switch {
		case err != nil:
			t.log.Warn("what an earlier try has measured is left out", "why", err)
		case len(runs) > 0:
			return runs, watch
		}
		if err := removeTree(dir); err != nil {
			t.log.Error("the folder of an earlier try stays", "error", err)
		}
	}
	return nil, nil
}

var errOtherwise = errors.New("it is of other circumstances")

func (t *try) takeUpFrom(dir string, e *execution) ([]job.Run, *fitness.Watch, error) {
	s, err := readState(dir)
	if err != nil {
		return nil, nil, err
	}
	now := t.stateOf()
	now.Notes, now.Picked, now.Keep = s.Notes, s.Picked, s.Keep
	if now.Program == "" || !sameState(s, now) {
		return nil, nil, errOtherwise
	}
	watch, err := watchOn(dir, fitness.Here(e.box.Facts().Pinned))
	if err != nil {
		return nil, nil, fmt.Errorf("read what was seen of the machine: %w", err)
	}
	for _, side := range []job.SideName{job.Old, job.New} {
		if info, err := os.Stat(filepath.Join(dir, string(side))); err != nil || !info.IsDir() {
			return nil, nil, fmt.Errorf("%w: the tree of its %s side is not there", errOtherwise, side)
		}
	}
	runs, err := t.move(dir)
	if err == nil && len(runs) > 0 {
		e.notes, e.picked, e.keep = s.Notes, s.Picked, s.Keep
	}
	return runs, watch, err
}

// sameState compares by what is written: an empty list is read back as none.
func sameState(a, b state) bool {
	var x, y any
	one, err1 := json.Marshal(a)
	two, err2 := json.Marshal(b)
	if errors.Join(err1, err2, json.Unmarshal(one, &x), json.Unmarshal(two, &y)) != nil {
		return false
	}
	return reflect.DeepEqual(x, y)
}

// move takes over the folder of an earlier try, and gathers its records in one
// file, so that a runner that is killed here loses none.
func (t *try) move(dir string) ([]job.Run, error) {
	if dir != t.dir {
		if err := os.Rename(dir, t.dir); err != nil {
			return nil, fmt.Errorf("take over a folder: %w", err)
		}
	}
	earlier, err := readRecords(filepath.Join(t.dir, earlierFile))
	if err != nil {
		return nil, err
	}
	last, err := readRecords(filepath.Join(t.dir, recordsFile))
	if err != nil {
		return nil, err
	}
	all := joinPairs(earlier, last)
	if err := writeRecords(filepath.Join(t.dir, earlierFile), all); err != nil {
		return nil, err
	}
	return all, errors.Join(removeIfThere(filepath.Join(t.dir, recordsFile)), removeTree(filepath.Join(t.dir, runsDir)))
}

// joinPairs gives the runs of both, each pair from one of them: where both have
// runs of it, from the one that has more. A pair of which one run was measured
// before a stop is run again whole, and halves of two pairs are none.
func joinPairs(earlier, last []job.Run) []job.Run {
	type pair struct {
		suite, name string
		pair        int
	}
	of := func(r job.Run) pair { return pair{r.Suite, r.Case, r.Pair} }
	before, since := map[pair]int{}, map[pair]int{}
	for _, r := range earlier {
		before[of(r)]++
	}
	for _, r := range last {
		since[of(r)]++
	}
	var all []job.Run
	for _, r := range earlier {
		if before[of(r)] >= since[of(r)] {
			all = append(all, r)
		}
	}
	for _, r := range last {
		if before[of(r)] < since[of(r)] {
			all = append(all, r)
		}
	}
	return all
}

func removeIfThere(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// readRecords reads a spool. The last line may be cut short: the runner was
// killed while it wrote.
func readRecords(path string) ([]job.Run, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read earlier records: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() > mostEarlier {
		return nil, fmt.Errorf("read earlier records: want at most %d bytes, %w", mostEarlier, err)
	}
	var runs []job.Run
	for in := bufio.NewReader(f); ; {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return runs, nil
		}
		var r job.Run
		if err == nil {
			err = json.Unmarshal(line, &r)
		}
		if err != nil {
			return nil, fmt.Errorf("read earlier records: %w", err)
		}
		runs = append(runs, r)
	}
}

func writeRecords(path string, runs []job.Run) error {
	var b bytes.Buffer
	for _, r := range runs {
		line, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("keep earlier records: %w", err)
		}
		b.Write(append(line, '\n'))
	}
	if err := errors.Join(os.WriteFile(path+".new", b.Bytes(), 0o600), os.Rename(path+".new", path)); err != nil {
		return fmt.Errorf("keep earlier records: %w", err)
	}
	return nil
}

// forget removes the folders of jobs that are not to be gone on with: all but
// the one that was left last, and that one too when it is old.
func (s *service) forget(now time.Time) error {
	left, err := os.ReadDir(s.jobs)
	if err != nil {
		return fmt.Errorf("look for left jobs: %w", err)
	}
	newest, at := "", now.Add(-keptFor)
	for _, e := range left {
		info, err := os.Stat(filepath.Join(s.jobs, e.Name(), stateFile))
		if _, stateErr := readState(filepath.Join(s.jobs, e.Name())); err == nil && stateErr == nil && info.ModTime().After(at) && !info.ModTime().After(now) {
			newest, at = e.Name(), info.ModTime()
		}
	}
	for _, e := range left {
		if e.Name() == newest {
			continue
		}
		if err := removeTree(filepath.Join(s.jobs, e.Name())); err != nil {
			return fmt.Errorf("remove a left job: %w", err)
		}
	}
	return nil
}
