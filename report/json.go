package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"sync"

	"github.com/prbench/prbench/internal/hostile"
	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report/stats"
)

// optional is a number of the JSON report; what does not exist is null.
type optional float64

// MarshalJSON writes null for NaN and ±Inf, and no negative zero.
func (x optional) MarshalJSON() ([]byte, error) {
	if x == 0 {
		return []byte("0"), nil
	}
	if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(x))
}

// UnmarshalJSON reads what MarshalJSON writes: null is NaN.
func (x *optional) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*x = optional(math.NaN())
		return nil
	}
	var v float64
	if err := json.Unmarshal(b, &v); err != nil {
		return fmt.Errorf("want a number or null, got %.40s", b)
	}
	*x = optional(v)
	return nil
}

// jsonReport is the report of schema 1. Fractions are fractions: 0.02 is 2 %.
type jsonReport struct {
	Schema     int             `json:"schema"`
	Design     jsonDesign      `json:"design"`
	Benchmarks []jsonBenchmark `json:"benchmarks"`
	Summary    jsonSummary     `json:"summary"`
	Warnings   []Warning       `json:"warnings"`
}

type jsonDesign struct {
	Margin   float64        `json:"margin"`
	Alpha    float64        `json:"alpha"`
	Analysis stats.Analysis `json:"analysis"`
	Runs     job.Runs       `json:"runs"`
	Looks    []int          `json:"looks"`
	Attempt  int            `json:"attempt"`
}

type jsonBenchmark struct {
	Name        string         `json:"name"`
	Unit        string         `json:"unit"`
	Better      job.Better     `json:"better"`
	Old         jsonSide       `json:"old"`
	New         jsonSide       `json:"new"`
	Change      optional       `json:"change"`
	Improvement optional       `json:"improvement"`
	P           optional       `json:"p"`
	DF          optional       `json:"df"`
	Stars       string         `json:"stars"`
	Accuracy    jsonAccuracy   `json:"accuracy"`
	CV          optional       `json:"cv"`
	Interval    [2]optional    `json:"interval"`
	Verdict     *stats.Verdict `json:"verdict"`
	Detectable  jsonDetectable `json:"detectable"`
	RunsNeeded  *int           `json:"runs_needed"`
	Accepted    *jsonAccepted  `json:"accepted,omitempty"`
	Warnings    []Warning      `json:"warnings"`
}

type jsonSide struct {
	N    int      `json:"n"`
	Mean optional `json:"mean"`
	SD   optional `json:"sd"`
	CV   optional `json:"cv"`
}

type jsonAccuracy struct {
	At95  optional `json:"95"`
	At99  optional `json:"99"`
	At999 optional `json:"99.9"`
}

type jsonDetectable struct {
	At50 optional `json:"50"`
	At80 optional `json:"80"`
	At90 optional `json:"90"`
}

type jsonSummary struct {
	Compared   int            `json:"compared"`
	ByVerdict  map[string]int `json:"by_verdict"`
	OnlyOld    []string       `json:"only_old"`
	OnlyNew    []string       `json:"only_new"`
	FalseStars jsonStars      `json:"expected_false_stars"`
}

type jsonStars struct {
	One   float64 `json:"*"`
	Two   float64 `json:"**"`
	Three float64 `json:"***"`
}

// noneVerdict is the key of by_verdict that counts rows without a verdict.
const noneVerdict = "none"

// JSON writes the report for machines, the same bytes for the same report.
func (r *Report) JSON(w io.Writer) error {
	frame, err := appendJSON(nil, r.json(), "")
	if err != nil {
		return err
	}
	rows, err := r.jsonRows()
	if err != nil {
		return err
	}
	// No text of the report can hold the line end that stands in this mark.
	const mark = "\n  \"benchmarks\": ["
	head, tail, _ := bytes.Cut(frame, []byte(mark))
	parts := append([][]byte{head, []byte(mark)}, rows...)
	for _, part := range append(parts, tail, []byte("\n")) {
		if _, err := w.Write(part); err != nil {
			return fmt.Errorf("write the JSON report: %w", err)
		}
	}
	return nil
}

// jsonRows encodes the benchmarks, thousands of them maybe, on all processors:
// what stands between the brackets of their array, in parts.
func (r *Report) jsonRows() ([][]byte, error) {
	workers := min(runtime.GOMAXPROCS(0), len(r.Rows))
	parts, errs := make([][]byte, workers), make([]error, workers)
	var wait sync.WaitGroup
	for k := range workers {
		wait.Go(func() {
			from, to := k*len(r.Rows)/workers, (k+1)*len(r.Rows)/workers
			for i, row := range r.Rows[from:to] {
				if from+i > 0 {
					parts[k] = append(parts[k], ',')
				}
				parts[k] = append(parts[k], "\n    "...)
				if parts[k], errs[k] = appendJSON(parts[k], row.json(), "    "); errs[k] != nil {
					return
				}
			}
		})
	}
	wait.Wait()
	if workers > 0 {
		parts = append(parts, []byte("\n  "))
	}
	return parts, errors.Join(errs...)
}

// appendJSON encodes v with the given indent before each line but the first.
func appendJSON(to []byte, v any, indent string) ([]byte, error) {
	b := bytes.NewBuffer(to)
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	e.SetIndent(indent, "  ")
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode the JSON report: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// json is the report without its benchmarks.
func (r *Report) json() jsonReport {
	out := jsonReport{
		Schema: jsonSchema,
		Design: jsonDesign{Margin: r.Design.Margin, Alpha: r.Design.Alpha, Analysis: r.Design.Analysis,
			Runs: r.Runs, Looks: append([]int{}, r.Design.Looks...), Attempt: r.Design.Attempt},
		Benchmarks: []jsonBenchmark{},
		Warnings:   append([]Warning{}, r.Warnings...),
		Summary: jsonSummary{
			Compared:   r.Summary.Compared,
			ByVerdict:  map[string]int{noneVerdict: r.Summary.ByVerdict[stats.NoVerdict]},
			OnlyOld:    safeNames(r.Summary.OnlyOld),
			OnlyNew:    safeNames(r.Summary.OnlyNew),
			FalseStars: jsonStars{r.Summary.FalseStars[0], r.Summary.FalseStars[1], r.Summary.FalseStars[2]},
		},
	}
	for _, v := range stats.Verdicts() {
		out.Summary.ByVerdict[string(v)] = r.Summary.ByVerdict[v]
	}
	return out
}

func (row *Row) json() jsonBenchmark {
	c := row.Stat
	b := jsonBenchmark{
		Name: hostile.MaskTokens(row.Name()), Unit: row.Unit, Better: row.Better,
		Old: sideJSON(c.Old), New: sideJSON(c.New),
		Change: optional(c.Change), Improvement: optional(c.Improvement), P: optional(c.P), DF: optional(c.DF),
		Stars:      c.Stars,
		Accuracy:   jsonAccuracy{optional(c.Accuracy[0]), optional(c.Accuracy[1]), optional(c.Accuracy[2])},
		CV:         optional(c.CV),
		Interval:   [2]optional{optional(row.Interval[0]), optional(row.Interval[1])},
		Detectable: jsonDetectable{optional(c.Detectable[0]), optional(c.Detectable[1]), optional(c.Detectable[2])},
		Warnings:   append([]Warning{}, row.Warnings...),
	}
	if c.NoPercentage {
		none := optional(math.NaN())
		b.Change, b.Improvement, b.CV = none, none, none
		b.Accuracy, b.Detectable = jsonAccuracy{none, none, none}, jsonDetectable{none, none, none}
		b.Interval = [2]optional{none, none}
	}
	if row.Verdict != stats.NoVerdict {
		b.Verdict = &row.Verdict
	}
	if c.RunsNeeded > 0 && !c.NoPercentage {
		b.RunsNeeded = &c.RunsNeeded
	}
	b.Accepted = row.Accepted.json()
	return b
}

func sideJSON(s Side) jsonSide {
	return jsonSide{N: s.N, Mean: optional(s.Mean), SD: optional(s.SD), CV: optional(s.CV)}
}

func safeNames(names []string) []string {
	out := []string{}
	for _, n := range names {
		out = append(out, hostile.MaskTokens(n))
	}
	return out
}
