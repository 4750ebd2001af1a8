package report_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report"
)

// rscript runs one of our scripts in testdata.
func rscript(t *testing.T, script, input string) string {
	t.Helper()
	cmd := exec.Command("Rscript", "--vanilla", "testdata/"+script)
	cmd.Env = append(cmd.Environ(), "LC_ALL=C.UTF-8")
	cmd.Stdin = strings.NewReader(input)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("Rscript %s: %v\n%s", script, err, &stderr)
	}
	return string(out)
}

func TestTextHasTheNumbersOfRsTTestOnRandomSamples(t *testing.T) {
	rng := rand.New(rand.NewPCG(16888, 1))
	c := report.NewCollector()
	var in strings.Builder
	in.WriteString("benchmark,binary,value\n")
	for i := range 300 {
		name := fmt.Sprintf("b%03d", i)
		mean, cv, shift := 1e3+1e6*rng.Float64(), .001+.2*rng.Float64(), 1+.1*rng.NormFloat64()
		for _, side := range []job.SideName{job.Old, job.New} {
			m := mean
			if side == job.New {
				m *= shift
			}
			for range 2 + rng.IntN(30) {
				v := m * (1 + cv*rng.NormFloat64())
				c.Add(side, job.Sample{Benchmark: name, Unit: "ops/s", Value: v}, -1)
				fmt.Fprintf(&in, "%s,%s,%.17g\n", name, side, v)
			}
		}
	}
	var got []string
	for _, line := range strings.Split(textOf(t, analyse(t, c.Data(), report.Options{})), "\n")[1:301] {
		f := strings.Fields(strings.NewReplacer("±", "", "%", "").Replace(line))
		if len(f) == 5 {
			f = append([]string{f[0], "-"}, f[1:]...)
		}
		got = append(got, strings.Join(f, " "))
	}
	want := strings.Split(strings.TrimSpace(rscript(t, "welch.R", in.String())), "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("R (-) and the text table (+) differ:\n%s", diff)
	}
}

// frameInput writes a text table as the input of frame.R, to have R lay out the
// same cells.
func frameInput(names []string, rows [][]string) string {
	var b strings.Builder
	b.WriteString("confidence\timprovement\taccuracy (*)\t(**)\t(***)\n")
	for i, n := range names {
		n = strings.NewReplacer("\n", "<NL>", "\t", "<TAB>").Replace(n)
		b.WriteString(n + " c\t" + strings.Join(rows[i], "\t") + "\n")
	}
	return b.String()
}

// namedSamples gives each name samples of its own, the same for the same place.
func namedSamples(names []string) *report.Data {
	c := report.NewCollector()
	for i, n := range names {
		for j := range 6 {
			c.Add(job.Old, job.Sample{Benchmark: n, Config: "c", Value: float64(100 + i + j)}, -1)
			c.Add(job.New, job.Sample{Benchmark: n, Config: "c", Value: float64(90 + 9*i + j)}, -1)
		}
	}
	return c.Data()
}

// plainCells takes the cells out of a table with short names.
func plainCells(table string) [][]string {
	var out [][]string
	for _, line := range strings.Split(table, "\n")[1:] {
		f := strings.Fields(line)
		if len(f) == 0 {
			break
		}
		f = f[2:] // the name and its configuration
		if f[1] == "%" {
			f = append([]string{""}, f...)
		}
		out = append(out, append([]string{f[0], f[1] + " %"}, f[3:]...))
	}
	return out
}

func TestTextIsLaidOutAsRPrintsADataFrame(t *testing.T) {
	tables := []struct {
		what  string
		names []string // sorted
	}{
		{"plain", []string{"fs/a.js n=1", "fs/b.js n=22"}},
		{"wide and combined", []string{"e\u0301", "ö", "漢字 n=1", "😀 x"}},
		{"backslash and quotes", []string{`a\b "q"`, `it's`}},
		{"controls", []string{"a\x01b\x1b[31mred", "line\nend", "tab\tbed", "\x7f"}},
		{"exactly fitting", []string{"a", strings.Repeat("x", 147)}},
		{"one column wraps", []string{"a", strings.Repeat("x", 148)}},
		{"most columns wrap", []string{"a", strings.Repeat("y", 170)}},
		{"wider than the page", []string{"a", strings.Repeat("z", 230)}},
	}
	var in strings.Builder
	var got []string
	for _, table := range tables {
		text, _, _ := strings.Cut(textOf(t, analyse(t, namedSamples(table.names), report.Options{})), "\n\n")
		got = append(got, text)
		plain := []string{"n0", "n1", "n2", "n3"}[:len(table.names)]
		in.WriteString(frameInput(table.names, plainCells(textOf(t, analyse(t, namedSamples(plain), report.Options{})))))
		in.WriteString("====\n")
	}
	want := strings.Split(rscript(t, "frame.R", in.String()), "\n====\n")
	for i, table := range tables {
		t.Run(table.what, func(t *testing.T) {
			if diff := cmp.Diff(want[i], got[i]); diff != "" {
				t.Errorf("R (-) and the text table (+) differ:\n%s", diff)
			}
		})
	}
}
