package report_test

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report"
)

// readNode reads a file of compare.js. The product's own reader is elsewhere and
// has its own tests; this one knows just these files.
func readNode(t *testing.T, path string) *report.Data {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.TrimLeadingSpace = true
	r.LazyQuotes = true
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	c := report.NewCollector()
	for _, row := range rows[1:] {
		value, err := strconv.ParseFloat(row[3], 64)
		if err != nil {
			t.Fatal(err)
		}
		seconds, err := strconv.ParseFloat(row[4], 64)
		if err != nil {
			t.Fatal(err)
		}
		c.Add(job.SideName(row[0]), job.Sample{Benchmark: row[1], Config: row[2], Unit: "ops/s", Better: job.Higher, Value: value, Time: seconds}, -1)
	}
	return c.Data()
}

func analyse(t *testing.T, d *report.Data, o report.Options) *report.Report {
	t.Helper()
	r, err := report.Analyse(d, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func textOf(t *testing.T, r *report.Report) string {
	t.Helper()
	var b strings.Builder
	if err := r.Text(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// comparable rows: trimmed, single-spaced, sorted, since the published tables
// were sorted by another locale and one of them has names with a space in front.
func tableLines(s string) []string {
	var out []string
	for _, line := range strings.Split(s, "\n") {
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			out = append(out, line)
		}
	}
	sort.Strings(out)
	return out
}

func TestTextReproducesEveryPublishedTableOfNode(t *testing.T) {
	total := 0
	for _, name := range []string{"confidence", "http-2-runs", "jenkins-150", "one-run"} {
		t.Run(name, func(t *testing.T) {
			want, err := os.ReadFile(filepath.Join("testdata", "node", name+".expected.txt"))
			if err != nil {
				t.Fatal(err)
			}
			got, note, _ := strings.Cut(textOf(t, analyse(t, readNode(t, filepath.Join("testdata", "node", name+".csv")), report.Options{})), "\n\n")
			if diff := cmp.Diff(tableLines(string(want)), tableLines(got)); diff != "" {
				t.Errorf("published table (-) and ours (+) differ:\n%s", diff)
			}
			rows := len(tableLines(got)) - 1
			if !strings.Contains(note, "there are "+strconv.Itoa(rows)+" comparisons") {
				t.Errorf("note does not count %d rows:\n%s", rows, note)
			}
			if name != "one-run" {
				total += rows
			}
		})
	}
	if total != 141 {
		t.Errorf("%d published rows were compared, want 141", total)
	}
}

func TestTheTextOfAnAdaptiveComparisonIsAdjustedForItsLooks(t *testing.T) {
	c := report.NewCollector()
	for i := range 10 { // a shift of about 2.6 standard errors after 8 pairs: one star for Welch, none for the first look
		noise := float64(i*7%10) - 4.5
		for side, value := range map[job.SideName]float64{job.Old: 1000 + 10*noise, job.New: 1037 + 10*float64(i*3%10) - 45} {
			c.Add(side, job.Sample{Benchmark: "a", Unit: "ops/s", Better: job.Higher, Value: value}, i)
		}
	}
	d := c.Data()
	fixed := textOf(t, analyse(t, d, report.Options{}))
	looked := analyse(t, d, report.Options{Looks: []int{8, 15, 100}})
	adaptive := textOf(t, looked)
	if !strings.Contains(fixed, "* ") || strings.Contains(fixed, "looks") {
		t.Fatalf("the fixed table has no star:\n%s", fixed)
	}
	line := strings.Split(adaptive, "\n")[1]
	want := "±" + strconv.FormatFloat(100*looked.Rows[0].Stat.Accuracy[0], 'f', 2, 64) + "%"
	if strings.Contains(line, "*") || !strings.Contains(line, want) {
		t.Errorf("want no star and %s:\n%s", want, adaptive)
	}
	if !strings.Contains(adaptive, "expect at most the following") || !strings.Contains(adaptive, "paired and adjusted for the looks") {
		t.Errorf("the note does not tell:\n%s", adaptive)
	}
}
