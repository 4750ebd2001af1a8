package job

import "time"

// Sample is one value of one benchmark from one process run, of which it is
// the only one: several values that a process printed for the same benchmark
// have been combined before.
type Sample struct {
	// Benchmark and Config together with Unit identify the benchmark. In Node's
	// words they are the filename and the configuration.
	Benchmark string  `json:"benchmark"`
	Config    string  `json:"config,omitempty"`
	Unit      string  `json:"unit,omitempty"`
	Better    Better  `json:"better,omitempty"`
	Value     float64 `json:"value"`          // in Unit
	Time      float64 `json:"time,omitempty"` // seconds that the value stands for, 0 unknown
	// Invalid quotes what the tool printed where a number belongs (nan, inf); the
	// sample is then counted and named, and Value is 0.
	Invalid string `json:"invalid,omitempty"`
	// Count is how many printed values were combined into this one.
	Count int `json:"count,omitempty"`
}

// Name is the benchmark's name in tables: "filename configuration".
func (s Sample) Name() string {
	if s.Config == "" {
		return s.Benchmark
	}
	return s.Benchmark + " " + s.Config
}

// Run is the record of one finished benchmark process: one message of the
// SAMPLES stream. A process that crashed has a record too.
type Run struct {
	Suite string   `json:"suite"`
	Case  string   `json:"case,omitempty"`
	Side  SideName `json:"side"`
	// Pair numbers the pairs of a case from 0; Position is 0 for the side that
	// ran first in its pair, 1 for the other.
	Pair     int `json:"pair"`
	Position int `json:"position"`
	// Part and Parts number the messages of a record that had to be split.
	Part  int `json:"part,omitempty"`
	Parts int `json:"parts,omitempty"`

	Started  time.Time `json:"started"`
	Wall     float64   `json:"wall"` // seconds
	Exit     int       `json:"exit"`
	Signal   string    `json:"signal,omitempty"`
	TimedOut bool      `json:"timed_out,omitempty"`
	// Limit is the limit that the process hit ("memory", "pids", "output", …).
	Limit string `json:"limit,omitempty"`
	Usage Usage  `json:"usage,omitzero"`

	Samples []Sample `json:"samples,omitempty"`
	// Unreadable counts the lines that looked like results and were none;
	// Quoted holds the first of them, hostile text.
	Unreadable int      `json:"unreadable,omitempty"`
	Quoted     []string `json:"quoted,omitempty"`
	// Log is the tail of what the process printed, kept where it failed.
	Log string `json:"log,omitempty"`
}

// OK tells whether the process ended well.
func (r Run) OK() bool { return r.Exit == 0 && r.Signal == "" && !r.TimedOut && r.Limit == "" }

// Usage is what the kernel counted for a process run.
type Usage struct {
	User                float64 `json:"user,omitempty"`   // seconds
	System              float64 `json:"system,omitempty"` // seconds
	MaxRSS              int64   `json:"max_rss,omitempty"`
	MajorFaults         int64   `json:"major_faults,omitempty"`
	InvoluntarySwitches int64   `json:"involuntary_switches,omitempty"`
}
