package benchfmt

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func tableRows(t testing.TB, in []byte) ([]TableRow, *TableReader) {
	t.Helper()
	r := NewTableReader(bytes.NewReader(in), "table")
	var rows []TableRow
	for r.Scan() {
		rows = append(rows, *r.Row())
	}
	return rows, r
}

func TestPrintedTablesOfAllLayoutsAreReadWhole(t *testing.T) {
	total := 0
	for file, want := range map[string]struct {
		rows, tables int
		accuracy     bool
	}{
		"accuracy-aligned":              {18, 4, true},
		"accuracy-collapsed":            {40, 13, true},
		"improvement-confidence-pvalue": {8, 2, false},
		"improvement-pvalue":            {53, 14, false},
	} {
		raw := mustRead(t, "testdata/tables/"+file+".txt")
		rows, r := tableRows(t, raw)
		if r.Err() != nil || r.Problems().Count != 0 {
			t.Fatal(file, r.Err(), r.Problems().Quoted())
		}
		total += len(rows)
		t.Log(file, len(rows), rows[len(rows)-1].Table+1)
		if len(rows) != want.rows || rows[len(rows)-1].Table+1 != want.tables {
			t.Errorf("%s: %d rows of %d tables", file, len(rows), rows[len(rows)-1].Table+1)
		}
		printed := strings.Join(strings.Fields(string(raw)), " ")
		for _, row := range rows {
			if got := printRow(row, want.accuracy); !strings.Contains(printed, got) && want.accuracy {
				t.Errorf("%s:%d: read as %q", file, row.Line, got)
			}
			if math.IsNaN(row.Improvement) || want.accuracy == math.IsNaN(row.Accuracy[2]) || want.accuracy != math.IsNaN(row.P) ||
				!strings.Contains(row.Name, ".js ") || strings.ContainsAny(row.Name, "%±") {
				t.Errorf("%s:%d: %+v", file, row.Line, row)
			}
		}
	}
	if total != 119 {
		t.Errorf("%d rows in all, want 119", total)
	}
}

// printRow writes a row as the collapsed layout does.
func printRow(r TableRow, accuracy bool) string {
	s := r.Name + " "
	if r.Stars != "" {
		s += r.Stars + " "
	}
	s += fmt.Sprintf("%.2f %%", 100*r.Improvement)
	for _, a := range r.Accuracy {
		s += fmt.Sprintf(" ±%.2f%%", 100*a)
	}
	return s
}

func TestRowsOfPrintedTables(t *testing.T) {
	nan := math.NaN()
	none := [3]float64{nan, nan, nan}
	const heading = " confidence improvement accuracy (*) (**) (***)\n"
	for _, c := range []struct {
		name, in string
		want     []TableRow
		problems int
	}{
		{"negative zero", "a.js n=1   -0.00 %  ±1.92% ±2.53% ±3.25%\n",
			[]TableRow{{Name: "a.js n=1", Improvement: math.Copysign(0, -1), Accuracy: [3]float64{.0192, .0253, .0325}, P: nan, Line: 1}}, 0},
		{"NA", heading + "a.js n=1   NA  Inf %  NA NA NA\na.js n=2 NA NaN % NA NA NA\n",
			[]TableRow{{Name: "a.js n=1", Improvement: math.Inf(1), Accuracy: none, P: nan, Stars: "NA", Line: 2},
				{Name: "a.js n=2", Improvement: nan, Accuracy: none, P: nan, Stars: "NA", Line: 3}}, 0},
		{"no percent sign", heading + "a.js n=1 ** 1.5 ±1% ±2% ±3%\n",
			[]TableRow{{Name: "a.js n=1", Improvement: .015, Accuracy: [3]float64{.01, .02, .03}, P: nan, Stars: "**", Line: 2}}, 0},
		{"glued percent sign, plus or minus in other spellings, a quotation", "> a.js n=1 * 1.5% +/-1% Â±2% ± 3%\n",
			[]TableRow{{Name: "a.js n=1", Improvement: .015, Accuracy: [3]float64{.01, .02, .03}, P: nan, Stars: "*", Line: 1}}, 0},
		{"Latin-1", "a.js n=1 * 1.5 % \xb11% \xb12% \xb13%\n",
			[]TableRow{{Name: "a.js n=1", Improvement: .015, Accuracy: [3]float64{.01, .02, .03}, P: nan, Stars: "*", Line: 1}}, 0},
		{"p-values", "a.js n=1 15.62 % *** 1.440552e-08\na.js n=2 -1 % 0.4171216\na.js n=3 5 % *** < 2e-16\na.js n=4 5 % *** <2e-16\na.js n=5 Inf % NA NA\n",
			[]TableRow{{Name: "a.js n=1", Improvement: .1562, Accuracy: none, P: 1.440552e-08, Stars: "***", Line: 1},
				{Name: "a.js n=2", Improvement: -.01, Accuracy: none, P: .4171216, Line: 2},
				{Name: "a.js n=3", Improvement: .05, Accuracy: none, P: 2e-16, Stars: "***", Line: 3},
				{Name: "a.js n=4", Improvement: .05, Accuracy: none, P: 2e-16, Stars: "***", Line: 4},
				{Name: "a.js n=5", Improvement: math.Inf(1), Accuracy: none, P: nan, Stars: "NA", Line: 5}}, 0},
		{"stars in a name", heading + "a.js glob=\"* *\" n=1   1 % ±1% ±2% ±3%\n",
			[]TableRow{{Name: `a.js glob="* *" n=1`, Improvement: .01, Accuracy: [3]float64{.01, .02, .03}, P: nan, Line: 2}}, 0},
		{"blocks of a table that was too wide", " confidence improvement\na.js n=1 *** 1 %\na.js n=2 2 %\n accuracy (*) (**)\na.js n=1 ±1% ±2%\na.js n=2 ±4% ±5%\n (***)\na.js n=1 ±3%\na.js n=2 ±6%\n",
			[]TableRow{{Name: "a.js n=1", Improvement: .01, Accuracy: [3]float64{.01, .02, .03}, P: nan, Stars: "***", Line: 2},
				{Name: "a.js n=2", Improvement: .02, Accuracy: [3]float64{.04, .05, .06}, P: nan, Line: 3}}, 0},
		{"the note is no row", heading + "a.js n=1 1 % ±1% ±2% ±3%\n\nBe aware that when doing many comparisons the risk of a false-positive\n" +
			"result increases. In this case, there are 1 comparisons, you can thus\nexpect the following amount of false-positive results:\n" +
			"  0.05 false positives, when considering a   5% risk acceptance (*, **, ***),\n",
			[]TableRow{{Name: "a.js n=1", Improvement: .01, Accuracy: [3]float64{.01, .02, .03}, P: nan, Line: 2}}, 0},
		{"a broken row", heading + "a.js n=1 1 % ±1% ±x% ±3%\na.js n=2 1 % ±1% ±2% ±3%\n",
			[]TableRow{{Name: "a.js n=2", Improvement: .01, Accuracy: [3]float64{.01, .02, .03}, P: nan, Line: 3}}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			rows, r := tableRows(t, []byte(c.in))
			if r.Err() != nil || r.Problems().Count != c.problems {
				t.Errorf("%v, problems %v", r.Err(), r.Problems().Quoted())
			}
			if d := cmp.Diff(c.want, rows, cmpopts.EquateNaNs()); d != "" {
				t.Error(d)
			}
			for i := range min(len(rows), len(c.want)) {
				if math.Signbit(rows[i].Improvement) != math.Signbit(c.want[i].Improvement) {
					t.Errorf("row %d: the sign is lost", i)
				}
			}
		})
	}
}

func TestAnInputWithoutATableIsAnError(t *testing.T) {
	rows, r := tableRows(t, []byte("hello\n"))
	if len(rows) != 0 || r.Err() == nil || r.Err().Error() != "table: expected a table as compare.R prints it, found no row" {
		t.Errorf("got %v", r.Err())
	}
}
