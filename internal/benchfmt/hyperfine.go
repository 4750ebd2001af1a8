package benchfmt

import (
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/prbench/prbench/internal/job"
)

// newHyperfine reads hyperfine's --export-json. Every time is a process of its
// own, thus a sample; the runs of two files did not take turns. A run with an
// exit code other than 0 is an unusable sample. Parameters of a scan are the
// configuration.
func newHyperfine(r io.Reader, e *env) source {
	return &documentSource{env: e, r: r, values: hyperfineValues, want: "hyperfine's JSON"}
}

func hyperfineValues(d *documentSource, raw json.RawMessage) error {
	var doc struct {
		Results json.RawMessage `json:"results"`
	}
	if err := d.unmarshal(raw, &doc); err != nil {
		return err
	}
	d.own = true
	return d.elements(doc.Results, func(raw json.RawMessage) error {
		var r struct {
			Command    string                     `json:"command"`
			Times      numbers                    `json:"times"`
			ExitCodes  []*int                     `json:"exit_codes"`
			Parameters map[string]json.RawMessage `json:"parameters"`
		}
		if err := d.unmarshal(raw, &r); err != nil {
			return err
		}
		if r.Times.count() == 0 {
			d.env.problems.add(d.line, []byte(r.Command), "a command without times")
		}
		name := [2]string{r.Command, parameters(r.Parameters)}
		r.Times.each(func(i int, t number) {
			seconds := t.parse(0)
			if i < len(r.ExitCodes) && r.ExitCodes[i] == nil {
				t.text = "killed"
			} else if i < len(r.ExitCodes) && *r.ExitCodes[i] != 0 {
				t.text = "exit code " + strconv.Itoa(*r.ExitCodes[i])
			}
			d.add(name, "s", job.Lower, t, seconds)
		})
		return nil
	})
}

// parameters writes a JSON object of parameters as "a=1 b=x", sorted.
func parameters(m map[string]json.RawMessage) string {
	var list []string
	for k, v := range m {
		text := string(v)
		var s string
		if json.Unmarshal(v, &s) == nil {
			text = s
		}
		list = append(list, k+"="+text)
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}
