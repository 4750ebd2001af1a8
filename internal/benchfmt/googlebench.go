package benchfmt

import (
	"encoding/json"
	"io"
	"strings"

	"github.com/prbench/prbench/internal/job"
)

// newGoogleBench reads Google Benchmark's JSON (--benchmark_format=json or
// --benchmark_out). The value is real_time, in ns. Aggregates (_mean, _median,
// _stddev, _cv, big O) are no samples. The other measures of an entry, which
// are cpu_time, bytes_per_second, items_per_second and its counters, are given
// when the suite's counts or unit name them. An entry that reports an error is
// an unusable sample.
func newGoogleBench(r io.Reader, e *env) source {
	return &documentSource{env: e, r: r, values: googleBenchValues, want: "Google Benchmark's JSON"}
}

type googleEntry struct {
	Name       string  `json:"name"`
	RunType    string  `json:"run_type"` // since 1.4.2
	Aggregate  string  `json:"aggregate_name"`
	Iterations float64 `json:"iterations"`
	RealTime   *number `json:"real_time"`
	Unit       string  `json:"time_unit"`
	Failed     bool    `json:"error_occurred"`
	Error      string  `json:"error_message"`
	Skipped    bool    `json:"skipped"`
	SkipText   string  `json:"skip_message"`
}

func googleBenchValues(d *documentSource, raw json.RawMessage) error {
	var doc struct {
		Benchmarks json.RawMessage `json:"benchmarks"`
	}
	if err := d.unmarshal(raw, &doc); err != nil {
		return err
	}
	names := map[string]bool{}
	err := d.elements(doc.Benchmarks, func(raw json.RawMessage) error {
		var g googleEntry
		err := d.unmarshal(raw, &g)
		if g.RunType == "" {
			names[g.Name] = true
		}
		return err
	})
	if err != nil {
		return err
	}
	all, aggregates := 0, 0
	err = d.elements(doc.Benchmarks, func(raw json.RawMessage) error {
		var g googleEntry
		if err := d.unmarshal(raw, &g); err != nil {
			return err
		}
		all++
		if g.aggregate(names) {
			aggregates++
			return nil
		}
		return googleBenchEntry(d, &g, raw)
	})
	if err == nil && aggregates > 0 && aggregates == all {
		return d.env.fail(d.line, "only aggregates, which are no samples: run without --benchmark_report_aggregates_only")
	}
	return err
}

// aggregate tells whether the entry sums up others. Old versions tell it by the
// end of the name only, which is believed where the entries that belong to it
// are there.
func (g *googleEntry) aggregate(names map[string]bool) bool {
	if g.RunType != "" || g.Aggregate != "" {
		return g.RunType == "aggregate" || g.Aggregate != ""
	}
	for _, end := range []string{"_mean", "_median", "_stddev", "_cv", "_BigO", "_RMS"} {
		base, ok := strings.CutSuffix(g.Name, end)
		if ok && (names[base] || names[base+"_mean"] && names[base+"_stddev"]) {
			return true
		}
	}
	return false
}

func googleBenchEntry(d *documentSource, g *googleEntry, raw json.RawMessage) error {
	name := [2]string{g.Name}
	if g.Unit == "" {
		g.Unit = "ns"
	}
	if g.Failed || g.Skipped {
		d.add(name, g.Unit, job.Lower, number{"error: " + g.Error + g.SkipText}, 0)
		return nil
	}
	if g.RealTime == nil {
		d.env.problems.add(d.line, []byte(g.Name), "a benchmark without real_time")
		return nil
	}
	_, toNs := normalise(g.Unit)
	seconds := g.RealTime.parse(toNs-9) * g.Iterations
	d.add(name, g.Unit, job.Lower, *g.RealTime, seconds)
	if d.env.opt.Unit == "" && len(d.env.opt.Counts) == 0 {
		return nil
	}
	var all map[string]json.RawMessage
	if err := d.unmarshal(raw, &all); err != nil {
		return err
	}
	for _, measure := range append([]string{d.env.opt.Unit}, d.env.opt.Counts...) {
		var n number
		value, ok := all[measure]
		if !ok || measure == "real_time" || n.UnmarshalJSON(value) != nil {
			continue
		}
		switch measure {
		case "cpu_time":
			d.add(name, measure, job.Lower, number{string(appendNumber(nil, n.parse(toNs)))}, seconds)
		case "bytes_per_second":
			d.add(name, "B/s", job.Higher, n, seconds)
		case "items_per_second":
			d.add(name, "items/s", job.Higher, n, seconds)
		default:
			d.add(name, measure, "", n, seconds)
		}
	}
	return nil
}
