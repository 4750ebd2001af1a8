package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// lines are a process's log, each line as what it says.
func (p *process) lines() (all []map[string]any) {
	p.t.Helper()
	for line := range strings.Lines(p.text()) {
		var said map[string]any
		if err := json.Unmarshal([]byte(line), &said); err != nil {
			p.t.Errorf("a line that is no JSON: %s", line)
			continue
		}
		all = append(all, said)
	}
	return all
}

func TestEachLogLineOfAJobNamesItsDeliveryItsIDAndItsTry(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldSpec{})
	serve := w.serve()
	runner := w.runner("box-1")
	w.label()
	w.oneReport()
	serve.says(`"msg":"published"`)
	runner.says(`"msg":"job ends"`)
	var guid string
	for _, d := range w.Deliveries() {
		if d.Action == "labeled" {
			guid = d.GUID
		}
	}
	told := map[string]bool{}
	for name, p := range map[string]*process{"serve": serve, "runner": runner} {
		for _, line := range p.lines() {
			_, delivery := line["delivery"].(string)
			_, id := line["job"].(string)
			_, try := line["try"].(float64)
			if id != try || id && !delivery {
				t.Errorf("%s: a line names not all of delivery, job and try: %v", name, line)
			}
			if line["delivery"] == guid {
				told[name+": "+line["msg"].(string)] = true
			}
		}
	}
	for _, want := range []string{"serve: delivery accepted", "serve: job accepted", "serve: handed out", "runner: job begins", "runner: job phase", "runner: job ends", "serve: published"} {
		if !told[want] {
			t.Errorf("the delivery's story lacks %q: %v", want, sorted(told))
		}
	}
}

func sorted(of map[string]bool) (keys []string) {
	for k := range of {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
