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
