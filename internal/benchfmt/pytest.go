package benchfmt

import (
	"encoding/json"
	"io"

	"github.com/prbench/prbench/internal/job"
)

// newPytest reads pytest-benchmark's JSON (--benchmark-json). With
// --benchmark-save-data every round is a value of one process; without, the
// mean of the rounds is the one value.
func newPytest(r io.Reader, e *env) source {
	return &documentSource{env: e, r: r, values: pytestValues, want: "pytest-benchmark's JSON"}
}

func pytestValues(d *documentSource, raw json.RawMessage) error {
	var doc struct {
		Benchmarks json.RawMessage `json:"benchmarks"`
	}
	if err := d.unmarshal(raw, &doc); err != nil {
		return err
	}
	return d.elements(doc.Benchmarks, func(raw json.RawMessage) error {
		var b struct {
			Name     string `json:"name"`
			Fullname string `json:"fullname"`
			Stats    struct {
				Data       numbers `json:"data"`
				Mean       *number `json:"mean"`
				Rounds     float64 `json:"rounds"`
				Iterations float64 `json:"iterations"`
			} `json:"stats"`
		}
		if err := d.unmarshal(raw, &b); err != nil {
			return err
		}
		name := [2]string{b.Fullname}
		if b.Fullname == "" {
			name[0] = b.Name
		}
		switch s := &b.Stats; {
		case s.Data.count() > 0:
			s.Data.each(func(_ int, v number) {
				d.add(name, "s", job.Lower, v, v.parse(0)*s.Iterations)
			})
		case s.Mean != nil:
			d.add(name, "s", job.Lower, *s.Mean, s.Mean.parse(0)*s.Iterations*s.Rounds)
		default:
			d.env.problems.add(d.line, []byte(name[0]), "a benchmark without stats.data and stats.mean")
		}
		return nil
	})
}
