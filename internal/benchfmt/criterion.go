package benchfmt

import (
	"bytes"
	"encoding/json"
	"io"
	"path"
	"strings"

	"github.com/prbench/prbench/internal/job"
)

// newCriterion reads what Criterion.rs gives, in any of its forms:
//
//   - the lines of cargo criterion --message-format=json,
//   - the lines of cargo bench -- --output-format bencher, which are libtest's,
//   - one sample.json or estimates.json of target/criterion/<benchmark>/new.
//
// The last two files hold no name: it is Options.Name, else it is read off the
// path. Where the single measurements are there, each is a value of one
// process; else the mean is the one value.
func newCriterion(r io.Reader, e *env) source {
	return &documentSource{env: e, r: r, values: criterionValues, text: bencherLine, want: "Criterion's JSON or its bencher lines"}
}

type criterionDoc struct {
	// cargo criterion's messages
	Reason   string  `json:"reason"`
	ID       string  `json:"id"`
	Counts   numbers `json:"iteration_count"`
	Measured numbers `json:"measured_values"`
	Unit     string  `json:"unit"`
	// sample.json
	Iters numbers `json:"iters"`
	Times numbers `json:"times"`
	// estimates.json, and messages
	Mean *struct {
		Point    *number `json:"point_estimate"`
		Estimate *number `json:"estimate"`
		Unit     string  `json:"unit"`
	} `json:"mean"`
}

func criterionValues(d *documentSource, raw json.RawMessage) error {
	var c criterionDoc
	if err := d.unmarshal(raw, &c); err != nil {
		return err
	}
	if c.Reason != "" && c.Reason != "benchmark-complete" {
		return nil // "group-complete" sums up
	}
	name := [2]string{c.ID}
	if c.Reason == "" {
		name[0] = criterionName(d.env)
	}
	counts, values := c.Counts, c.Measured
	if c.Reason == "" {
		counts, values = c.Iters, c.Times
	}
	unit := c.Unit
	if unit == "" {
		unit = "ns"
	}
	switch {
	case values.count() > 0 && values.count() == counts.count():
		iterations := make([]number, 0, counts.count())
		counts.each(func(_ int, n number) { iterations = append(iterations, n) })
		values.each(func(i int, v number) {
			seconds := 0.0
			if unit == "ns" {
				seconds = v.parse(-9)
			}
			d.add(name, unit, "", v.over(iterations[i]), seconds)
		})
	case c.Mean != nil && c.Mean.Point != nil:
		d.add(name, unit, "", *c.Mean.Point, 0)
	case c.Mean != nil && c.Mean.Estimate != nil:
		if c.Mean.Unit != "" {
			unit = c.Mean.Unit
		}
		d.add(name, unit, "", *c.Mean.Estimate, 0)
	default:
		d.env.problems.add(d.line, raw, "neither measurements nor a mean")
	}
	return nil
}

// criterionName reads the benchmark off a path such as
// target/criterion/codec/parse/10/new/sample.json: "codec/parse/10".
func criterionName(e *env) string {
	if e.opt.Name != "" {
		return e.opt.Name
	}
	dir := path.Dir(strings.ReplaceAll(e.file, `\`, "/"))
	switch path.Base(dir) {
	case "new", "base", "change":
		dir = path.Dir(dir)
		if _, id, ok := strings.Cut("/"+dir, "/criterion/"); ok && id != "" {
			return id
		}
	}
	return "benchmark"
}

// bencherLine reads "test codec/parse ... bench:       1,234 ns/iter (+/- 56)".
func bencherLine(d *documentSource, line []byte, at int) {
	rest, ok := bytes.CutPrefix(line, []byte("test "))
	if !ok {
		return
	}
	name, rest, ok := bytes.Cut(rest, []byte(" ... bench:"))
	if !ok {
		return
	}
	printed, rest := goField(bytes.TrimSpace(rest))
	unit, _ := goField(rest)
	base, per, _ := strings.Cut(string(unit), "/")
	v := number{strings.ReplaceAll(string(printed), ",", "")}
	if _, ok := parseNumber([]byte(v.text), 0); !ok || per != "iter" {
		d.env.problems.add(at, line, "no time in ns/iter behind bench:")
		return
	}
	d.line = at
	d.document = max(d.document, 1)
	d.add([2]string{string(bytes.TrimSpace(name))}, base, job.Lower, v, 0)
}
