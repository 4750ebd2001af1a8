package runner

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/runner/fitness"
)

// pastFile holds, in a job's folder, what was seen of the machine so far.
const pastFile = "host.json"

// pastEvery is how often that is written while it measures: what a killed runner
// has seen last, for so long, is not known to the one that goes on.
const pastEvery = 10 * time.Second

// pastKeeper writes what a watch sees, between runs.
type pastKeeper struct {
	watch *fitness.Watch
	keep  func(fitness.Past) // nil: nobody goes on with this
	last  time.Time
}

// now writes what was seen so far.
func (k *pastKeeper) now() {
	if k.keep != nil {
		k.keep(k.watch.Past())
		k.last = time.Now()
	}
}

// ran is told of every run.
func (k *pastKeeper) ran(r job.Run) {
	k.watch.Ran(r)
	if time.Since(k.last) >= pastEvery {
		k.now()
	}
}

// savePast keeps what was seen of the machine beside the records. Without it
// nobody is to go on with them: they would look better than they are.
func (t *try) savePast(p fitness.Past) {
	path := filepath.Join(t.dir, pastFile)
	data, err := json.Marshal(p)
	if err == nil {
		err = errors.Join(os.WriteFile(path+".new", data, 0o600), os.Rename(path+".new", path))
	}
	if err != nil {
		t.log.Warn("a stop of this runner will cost what it measures", "error", errors.Join(err, removeIfThere(filepath.Join(t.dir, stateFile))))
	}
}

// watchOn gives a watch that knows what was seen before.
func watchOn(dir string, m fitness.Machine) (*fitness.Watch, error) {
	data, err := os.ReadFile(filepath.Join(dir, pastFile))
	if err != nil {
		return nil, err
	}
	var p fitness.Past
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, err
	}
	w := fitness.NewWatch(m)
	return w, w.Follow(p)
}
