package backport

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report"
	"github.com/prbench/prbench/report/stats"
)

// matrixSchema is the version of the JSON matrix.
const matrixSchema = 1

// jsonMatrix is the matrix of schema 1. Fractions are fractions: 0.02 is 2 %;
// what does not exist is null.
type jsonMatrix struct {
	Schema      int               `json:"schema"`
	Repository  string            `json:"repository"`
	PullRequest *int              `json:"pull_request"`
	Head        string            `json:"head"`
	Change      job.Change        `json:"change"`
	Margin      float64           `json:"margin"`
	Headline    string            `json:"headline"`
	Conclusion  report.Conclusion `json:"conclusion"`
	Lines       []jsonCell        `json:"lines"`
	Main        *jsonMain         `json:"main"`
}

type jsonMain struct {
	Base       string          `json:"base"`
	Headline   string          `json:"headline"`
	Benchmarks []BenchmarkSaid `json:"benchmarks"`
}

type jsonCell struct {
	Line       string          `json:"line"`
	Tip        string          `json:"tip"`
	Verdict    Kind            `json:"verdict"`
	Words      string          `json:"words"`
	Ended      bool            `json:"ended"`
	Outdated   bool            `json:"outdated"`
	Picked     *job.Picked     `json:"picked"`
	RollUp     *RollUpSaid     `json:"roll_up"`
	Worst      *BenchmarkSaid  `json:"worst"`
	Settles    *string         `json:"settles"`
	Printed    *string         `json:"printed"` // the last lines, where nothing could be measured
	Benchmarks []BenchmarkSaid `json:"benchmarks"`
}

// RollUpSaid is the verdict over all benchmarks, in JSON.
type RollUpSaid struct {
	Verdict    stats.RollUpVerdict `json:"verdict"`
	Declared   int                 `json:"declared"`
	Held       int                 `json:"held"`
	Regressing int                 `json:"regressing"`
	Open       int                 `json:"open"`
	HostUnfit  bool                `json:"host_unfit"`
}

// BenchmarkSaid is the verdict on a benchmark, in JSON. Its numbers are fractions.
type BenchmarkSaid struct {
	Benchmark   string           `json:"benchmark"`
	Unit        string           `json:"unit"`
	Improvement report.Number    `json:"improvement"`
	Interval    [2]report.Number `json:"interval"`
	Verdict     *stats.Verdict   `json:"verdict"`
	// OnlyOn is the one side that has it.
	OnlyOn   *job.SideName `json:"only_on"`
	Accepted bool          `json:"accepted"`
}

// JSON writes the matrix for machines, the same bytes for the same matrix.
func (m *Matrix) JSON(w io.Writer) error {
	out := jsonMatrix{Schema: matrixSchema, Repository: report.Visible(m.Repository.FullName()), Head: m.Head.SHA, Change: m.Change, Margin: m.margin(),
		Headline: m.Headline(), Conclusion: m.Conclusion(), Lines: []jsonCell{}}
	if out.Change.Picks == nil {
		out.Change.Picks = []job.Pick{}
	}
	out.Change.Note = report.Visible(out.Change.Note)
	if m.Repository.Name == "" {
		out.Repository = ""
	}
	if m.PR > 0 {
		out.PullRequest = &m.PR
	}
	for _, c := range m.Cells {
		out.Lines = append(out.Lines, c.json())
	}
	if r := m.Main; r != nil {
		out.Main = &jsonMain{Base: r.About.Base.SHA, Headline: r.Headline(), Benchmarks: benchmarksOf(r)}
	}
	return writeJSON(w, out, "the matrix")
}

func (c Cell) json() jsonCell {
	out := jsonCell{Line: report.Visible(c.Line), Tip: c.Tip, Verdict: c.Kind, Words: c.Sentence(), Ended: c.Kind.Ended(), Outdated: c.Outdated,
		Picked: visiblePicked(c.Picked), Benchmarks: []BenchmarkSaid{}}
	if r := c.Report; r != nil {
		out.RollUp, out.Benchmarks = rollUpOf(r), benchmarksOf(r)
		if row := r.Worst(); row != nil {
			worst := benchmarkOf(row)
			out.Worst = &worst
		}
	}
	if how := c.Settles(); how != "" {
		out.Settles = &how
	}
	if log := c.log(); log != "" {
		out.Printed = &log
	}
	return out
}

// visiblePicked makes the foreign text of a pick safe to print.
func visiblePicked(p *job.Picked) *job.Picked {
	if p == nil {
		return nil
	}
	safe := *p
	safe.Files = nil
	for _, f := range p.Files {
		safe.Files = append(safe.Files, report.Visible(f))
	}
	safe.Text = report.Tail(p.Text, tailLines, tailBytes)
	return &safe
}

func rollUpOf(r *report.Report) *RollUpSaid {
	if r.RollUp == nil {
		return nil
	}
	u := r.RollUp
	return &RollUpSaid{u.Verdict, u.Declared, u.Held, u.Regressing, u.Open, u.HostUnfit}
}

// benchmarksOf are the benchmarks of a report in its order, worst first.
func benchmarksOf(r *report.Report) []BenchmarkSaid {
	out := []BenchmarkSaid{}
	for _, row := range r.Rows {
		if !row.Twin {
			out = append(out, benchmarkOf(row))
		}
	}
	return out
}

func benchmarkOf(row *report.Row) BenchmarkSaid {
	b := BenchmarkSaid{Benchmark: report.Visible(row.ID), Unit: report.Visible(row.Unit), Improvement: report.Number(row.Stat.Improvement),
		Interval: [2]report.Number{report.Number(row.Interval[0]), report.Number(row.Interval[1])},
		Accepted: row.Accepted != nil && !row.Accepted.Worse}
	if none := report.Number(math.NaN()); row.Stat.NoPercentage || row.OnlyOn != "" {
		b.Improvement, b.Interval = none, [2]report.Number{none, none}
	}
	if row.Verdict != stats.NoVerdict {
		b.Verdict = &row.Verdict
	}
	if row.OnlyOn != "" {
		b.OnlyOn = &row.OnlyOn
	}
	return b
}

// writeJSON writes v indented, with a line end.
func writeJSON(w io.Writer, v any, what string) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("encode %s: %w", what, err)
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("write %s: %w", what, err)
	}
	return nil
}
