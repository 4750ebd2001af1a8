package job

import "time"

// Clash is a process that found its port taken though it had a network of its
// own. That is a fault, since what is left of an earlier process explains it once;
// it does not explain that it happens in each try.
type Clash struct {
	Case string   `json:"case"` // as people call it; hostile text
	Side SideName `json:"side"`
	// Tries is in how many tries on end it was this case on this side. Serve counts.
	Tries int `json:"tries,omitempty"`
}

// EachTry tells whether all tries of a job ended so.
func (c *Clash) EachTry() bool { return c != nil && c.Tries >= MaxTries }

// After counts a clash on, after the one that ended the try before.
func (c *Clash) After(before *Clash) *Clash {
	if c == nil {
		return nil
	}
	now := Clash{Case: c.Case, Side: c.Side, Tries: 1}
	if before != nil && before.Case == c.Case && before.Side == c.Side {
		now.Tries += before.Tries
	}
	return &now
}

// Host describes the machine that measured.
type Host struct {
	Name    string `json:"name,omitempty"`
	CPU     string `json:"cpu,omitempty"`
	Cores   int    `json:"cores,omitempty"`
	Kernel  string `json:"kernel,omitempty"`
	OS      string `json:"os,omitempty"`
	Sandbox string `json:"sandbox,omitempty"` // how the runs were isolated, in words
	// Setup is in words what people set of the machine and what decides how it
	// measures: its kernel, the benchmarks' CPUs, how their clocks are governed.
	// What was seen under another one does not hold.
	Setup string `json:"setup,omitempty"`
	// Unfit lists what makes this machine unfit for a verdict of safety.
	Unfit []string `json:"unfit,omitempty"`
	Warn  []string `json:"warn,omitempty"`
	// Calibration is what this machine saw when it was last measured against
	// itself; nil: it never was.
	Calibration *Calibration `json:"calibration,omitempty"`
}

// Calibration sums up an A/A comparison: what a machine sees of one build
// measured against itself. CV, changes and correlation are medians over the
// benchmarks, as fractions.
type Calibration struct {
	At time.Time `json:"at"`
	// Suite names those that were measured, hostile text, and Repository whose they
	// are; 0: nobody knows. They may be private: see For.
	Suite      string `json:"suite"`
	Repository int64  `json:"repository,omitempty"`
	// Elsewhere says that they are another repository's than the job's.
	Elsewhere  bool    `json:"elsewhere,omitempty"`
	Benchmarks int     `json:"benchmarks"`
	Pairs      int     `json:"pairs"` // of runs, of each benchmark at most
	CV         float64 `json:"cv"`    // of one run
	// Detectable80 is the change that such a comparison shows with 80 % power,
	// Worst80 that of its noisiest benchmark.
	Detectable80 float64 `json:"detectable_80"`
	Worst80      float64 `json:"worst_80"`
	// Correlation is that of the two runs of a pair.
	Correlation float64 `json:"correlation,omitempty"`
	// Stars is how many benchmarks had one though nothing differs, and
	// ExpectedStars how many chance gives; 0: not told. TooManyStars says that
	// chance does not explain them.
	Stars         int     `json:"stars,omitempty"`
	ExpectedStars float64 `json:"expected_stars,omitempty"`
	TooManyStars  bool    `json:"too_many_stars,omitempty"`
	Drifting      int     `json:"drifting,omitempty"` // benchmarks
	// Unfit lists what made the machine unfit then: the figures say nothing of it.
	Unfit []string `json:"unfit,omitempty"`
	// Setup is the machine's as it was; see Host.Setup.
	Setup string `json:"setup,omitempty"`
}

// For is what may be told in a job of the repository: the suites of another one
// are not named.
func (c *Calibration) For(repository int64) *Calibration {
	if c == nil || c.Repository == repository && repository != 0 {
		return c
	}
	told := *c
	told.Suite, told.Repository, told.Elsewhere = "", 0, true
	return &told
}
