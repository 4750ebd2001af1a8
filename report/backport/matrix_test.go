package backport_test

import (
	"bytes"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/internal/testgolden"
	"github.com/prbench/prbench/report"
	"github.com/prbench/prbench/report/backport"
)

func golden(t *testing.T, name, got string) {
	t.Helper()
	testgolden.Check(t, filepath.Join("testdata", name), got)
}

func TestAMatrixWithALineOfEveryKind(t *testing.T) {
	m := everyKind(t)
	golden(t, "every-kind.md", m.Markdown())
	var text, js, screen bytes.Buffer
	if err := m.Text(&text); err != nil {
		t.Fatal(err)
	}
	golden(t, "every-kind.txt", text.String())
	if err := m.JSON(&js); err != nil {
		t.Fatal(err)
	}
	golden(t, "every-kind.json", testgolden.RoundNumbers(js.String()))
	if err := report.Terminal(&screen, m.Markdown(), false); err != nil {
		t.Error(err)
	}
	for _, k := range backport.Kinds() {
		if !strings.Contains(js.String(), `"verdict": "`+string(k)+`"`) {
			t.Errorf("no line is %s", k)
		}
	}
}

func TestWhatAReleaseManagerQuotes(t *testing.T) {
	safe, _ := judged(t, lineJob("v8.x", sha("1"), nil), quiet.runs(30))
	if got, want := safe.Sentence(), "on v8.x no benchmark is slower by more than 2 % (95 %)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	m := backport.Matrix{Cells: []backport.Cell{safe}}
	if got := m.Headline(); got != "On v8.x no benchmark is slower by more than 2 % (95 %)" || m.Conclusion() != report.Success {
		t.Errorf("got %q, %s", got, m.Conclusion())
	}
	if !strings.Contains(m.Markdown(), safe.Sentence()) {
		t.Error("the comment cannot be quoted from")
	}
	// What a second attempt allows itself is said: 5 % and half of it.
	second, _ := judged(t, lineJob("v8.x", sha("1"), func(j *job.Job) { j.Attempt = 2 }), quiet.runs(30))
	if got, want := second.Sentence(), "on v8.x no benchmark is slower by more than 2 % (92.5 %)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAConflictWithALineThatHasTheCommitSaysSo(t *testing.T) {
	c := backport.CellOf(lineJob("v6.x", sha("6"), func(j *job.Job) {
		j.Outcome = &job.Outcome{Kind: job.NotPicked, Picked: &job.Picked{Kind: job.PickConflicts, Commit: sha("c2"), Files: []string{"lib/a.js"}, Held: true}}
	}), nil)
	want := "the change conflicts with v6.x: commit c2c2c2c is in its history already, and was changed or taken back since (lib/a.js)"
	m := backport.Matrix{Cells: []backport.Cell{c}}
	if c.Sentence() != want || !strings.Contains(m.Markdown(), "is in its history, changed since |") {
		t.Errorf("%s\n%s", c.Sentence(), m.Markdown())
	}
}

// What only the change printed so far does not say that the line has none.
func TestALineThatWasStoppedBeforeItsFirstLookIsCancelled(t *testing.T) {
	only := slices.DeleteFunc(quiet.runs(3), func(r job.Run) bool { return r.Side == job.Old })
	for _, runs := range [][]job.Run{only, quiet.runs(3)} {
		c, _ := judged(t, lineJob("v1.x", sha("1"), func(j *job.Job) { j.Outcome.Kind = job.Stopped }), runs)
		if c.Kind != backport.Cancelled || !strings.Contains(c.Sentence(), "on v1.x it was cancelled") {
			t.Errorf("%s: %s", c.Kind, c.Sentence())
		}
	}
}

func TestANameInTheTitleOfAFoldedReportIsNoReference(t *testing.T) {
	for line, want := range map[string]string{"v1.x": "The report of v1.x<", "fix-#1": "The report of <code>fix-#1</code><", "<b>@all": "The report of <code>&lt;b&gt;@all</code><"} {
		c, _ := judged(t, lineJob(line, sha("1"), nil), quiet.runs(30))
		m := backport.Matrix{Cells: []backport.Cell{c}}
		if !strings.Contains(m.Markdown(), want) {
			t.Errorf("%q is not in\n%s", want, m.Markdown())
		}
	}
}

func TestTheConclusionOfAMatrix(t *testing.T) {
	safe, _ := judged(t, lineJob("v1.x", sha("1"), nil), quiet.runs(30))
	regresses, _ := judged(t, lineJob("v2.x", sha("2"), nil), slow.runs(30))
	accepted, _ := judged(t, lineJob("v3.x", sha("3"), nil), slow.runs(30), acceptedSlow)
	open, _ := judged(t, lineJob("v4.x", sha("4"), nil), noisy.runs(30))
	there := backport.Cell{Line: "v5.x", Kind: backport.Contained}
	outdated := regresses
	outdated.Outdated = true
	for _, c := range []struct {
		name  string
		cells []backport.Cell
		want  report.Conclusion
	}{
		{"nothing", nil, report.Neutral},
		{"safe and already in", []backport.Cell{safe, there}, report.Success},
		{"an earlier tip counts no more", []backport.Cell{safe, outdated}, report.Success},
		{"open", []backport.Cell{safe, open}, report.Neutral},
		{"accepted", []backport.Cell{safe, accepted}, report.Neutral},
		{"regresses", []backport.Cell{safe, accepted, open, regresses}, report.Failed},
		{"conflicts", []backport.Cell{safe, {Line: "v6.x", Kind: backport.Conflicts}}, report.Neutral},
	} {
		if got := (&backport.Matrix{Cells: c.cells}).Conclusion(); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestAnAcceptedRegressionNeverHidesAWorseOne(t *testing.T) {
	less := acceptedSlow
	less.Worst = -.03
	cell, _ := judged(t, lineJob("v1.x", sha("1"), nil), slow.runs(30), less)
	if cell.Kind != backport.Regresses || !strings.Contains(cell.Report.Markdown(), "worse than what was accepted by manager until 2024-12-31 (down to -3.00 %)") {
		t.Errorf("%s:\n%s", cell.Kind, cell.Report.Markdown())
	}
	// Another benchmark regresses too, which nobody accepted.
	both := speeds{"a.js": {.93, .005}, "b.js": {.9, .005}}
	if cell, _ := judged(t, lineJob("v1.x", sha("1"), nil), both.runs(30), acceptedSlow); cell.Kind != backport.Regresses {
		t.Errorf("it is %s", cell.Kind)
	}
}

// A hostile name ends no code, begins no cell and pings nobody.
func TestHostileTextStaysText(t *testing.T) {
	const evil = "`|@all\n### hi <script>"
	cell, _ := judged(t, lineJob(evil, sha("1"), nil), speeds{evil: {.9, .005}}.runs(30))
	m := backport.Matrix{Head: job.Side{SHA: sha("f")}, Change: job.Change{Note: evil}, Cells: []backport.Cell{cell,
		backport.CellOf(lineJob(evil, sha("2"), func(j *job.Job) {
			j.Outcome = &job.Outcome{Kind: job.NotPicked, Picked: &job.Picked{Kind: job.PickConflicts, Commit: "x", Files: []string{evil}}}
		}), nil)}}
	md := m.Markdown()
	for _, line := range strings.Split(md, "\n") {
		if strings.HasPrefix(line, "| ") && strings.Count(line, "|") != 6 {
			t.Errorf("a row with %d bars: %s", strings.Count(line, "|"), line)
		}
	}
	if strings.Contains(md, "<script>") && !strings.Contains(md, "`|@all") {
		t.Errorf("the comment:\n%s", md)
	}
	if strings.Contains(md, "\n### hi") {
		t.Error("a name begins a title")
	}
}

func TestAMatrixOfManyLinesAndBenchmarksFitsIntoAComment(t *testing.T) {
	many := speeds{}
	for i := range 400 {
		many["benchmark/of/a/long/name/"+strconv.Itoa(i)+".js"] = [2]float64{1, .01}
	}
	cell, _ := judged(t, lineJob("v1.x", sha("1"), nil), many.runs(6))
	m := backport.Matrix{Head: job.Side{SHA: sha("f")}, Change: change, PR: 12}
	for i := range 60 {
		c := cell
		c.Line = "release/" + strconv.Itoa(i) + ".x"
		m.Cells = append(m.Cells, c)
	}
	md := m.Markdown()
	if len(md) > report.MaxMarkdown || len(md) < 20_000 {
		t.Errorf("%d bytes", len(md))
	}
	if open, closed := strings.Count(md, "<details>"), strings.Count(md, "</details>"); open != closed || open < 2 {
		t.Errorf("%d parts begin and %d end", open, closed)
	}
}
