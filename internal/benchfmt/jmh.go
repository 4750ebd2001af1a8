package benchfmt

import (
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/prbench/prbench/internal/job"
)

// newJMH reads JMH's JSON (-rf json). With two forks or more a fork is a
// sample, the mean of its iterations, which all last the same time; with one
// fork its iterations are samples from within one process. The direction
// follows from the mode: throughput is better higher, times lower. A secondary
// metric (gc.alloc.rate.norm) is given when the suite's counts or unit name it.
func newJMH(r io.Reader, e *env) source {
	return &documentSource{env: e, r: r, values: jmhValues, want: "JMH's JSON"}
}

type jmhMetric struct {
	Unit string    `json:"scoreUnit"`
	Raw  []numbers `json:"rawData"`
	// Histogram is what mode sample has: for each fork, for each iteration,
	// pairs of a value and its count.
	Histogram [][][]numbers `json:"rawDataHistogram"`
}

type jmhResult struct {
	Benchmark string                     `json:"benchmark"`
	Mode      string                     `json:"mode"`
	Threads   int                        `json:"threads"`
	Params    map[string]json.RawMessage `json:"params"`
	// Each is how long an iteration lasts: "10 s".
	Each      string               `json:"measurementTime"`
	Primary   *jmhMetric           `json:"primaryMetric"`
	Secondary map[string]jmhMetric `json:"secondaryMetrics"`
}

func jmhValues(d *documentSource, raw json.RawMessage) error {
	return d.elements(raw, func(raw json.RawMessage) error {
		var r jmhResult
		if err := d.unmarshal(raw, &r); err != nil {
			return err
		}
		if r.Primary == nil {
			d.env.problems.add(d.line, []byte(r.Benchmark), "a benchmark without primaryMetric")
			return nil
		}
		better := job.Lower
		if r.Mode == "thrpt" {
			better = job.Higher
		}
		name := [2]string{r.Benchmark, r.config()}
		each := jmhSeconds(r.Each)
		d.jmhMetric(name, r.Primary.Unit, better, r.Primary, each)
		for _, key := range slices.Sorted(maps.Keys(r.Secondary)) {
			m := r.Secondary[key]
			if key = strings.TrimPrefix(key, "·"); d.env.wanted(key) {
				d.jmhMetric(name, key, "", &m, each)
			}
		}
		return nil
	})
}

// jmhSeconds reads JMH's way to write a time ("10 s", "500 ms"); 0 for another.
func jmhSeconds(s string) float64 {
	number, unit, _ := strings.Cut(s, " ")
	v, err := strconv.ParseFloat(number, 64)
	scale := map[string]float64{"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "min": 60}[unit]
	if err != nil || !(v > 0) || v*scale > 1e9 {
		return 0
	}
	return v * scale
}

// config gives the parameters, and what else tells two results of one
// benchmark apart: the modes sample and ss have the unit of avgt.
func (r *jmhResult) config() string {
	config := parameters(r.Params)
	if r.Mode != "thrpt" && r.Mode != "avgt" && r.Mode != "" {
		config += " mode=" + r.Mode
	}
	if r.Threads > 1 {
		config += " threads=" + strconv.Itoa(r.Threads)
	}
	return config
}

func (d *documentSource) jmhMetric(name [2]string, unit string, better job.Better, m *jmhMetric, seconds float64) {
	var forks [][]number
	for _, fork := range m.Raw {
		var iterations []number
		fork.each(func(_ int, v number) { iterations = append(iterations, v) })
		forks = append(forks, iterations)
	}
	for _, fork := range m.Histogram {
		var iterations []number
		for _, pairs := range fork {
			iterations = append(iterations, histogramMean(pairs))
		}
		forks = append(forks, iterations)
	}
	d.own = len(forks) > 1
	values := 0
	for _, fork := range forks {
		if d.own && len(fork) > 0 {
			fork = []number{meanOf(fork)}
		}
		for _, v := range fork {
			d.add(name, unit, better, v, seconds)
			values++
		}
	}
	if values == 0 {
		d.env.problems.add(d.line, []byte(name[0]), "a benchmark without rawData")
	}
}

// meanOf gives the mean; what is no number makes the mean none.
func meanOf(list []number) number {
	if len(list) == 1 {
		return list[0]
	}
	mean := 0.0
	for i, n := range list {
		v := n.parse(0)
		if v-v != 0 {
			return n
		}
		mean += (v - mean) / float64(i+1)
	}
	return number{string(appendNumber(nil, mean))}
}

// histogramMean gives the mean of pairs of value and count.
func histogramMean(pairs []numbers) number {
	sum, n := 0.0, 0.0
	for _, p := range pairs {
		var pair [2]float64
		p.each(func(i int, v number) {
			if i < 2 {
				pair[i] = v.parse(0)
			}
		})
		sum += pair[0] * pair[1]
		n += pair[1]
	}
	return number{string(appendNumber(nil, sum/n))}
}
