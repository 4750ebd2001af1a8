package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prbench/prbench/internal/testgolden"
)

func TestReportPrintsWhatCompareRPrints(t *testing.T) {
	for _, name := range []string{"jenkins-150", "confidence", "http-2-runs", "one-run"} {
		at := filepath.Join("..", "..", "report", "testdata", "node", name)
		want, err := os.ReadFile(at + ".expected.txt")
		if err != nil {
			t.Fatal(err)
		}
		code, out, errs := bot(t, "report", at+".csv")
		if code != exitOK {
			t.Errorf("%s: exit %d: %s", name, code, errs)
		}
		// We sort bytewise and always add the note; the rows are the same.
		table, note, _ := strings.Cut(out, "\n\n")
		if diff := cmp.Diff(rows(string(want)), rows(table)); diff != "" {
			t.Errorf("%s: compare.R's (-), ours (+):\n%s", name, diff)
		}
		if !strings.Contains(note, "false-positive") {
			t.Errorf("%s: the note is missing: %s", name, note)
		}
	}
}

// rows are a table's lines, sorted, without the width of their columns.
func rows(table string) []string {
	table, _, _ = strings.Cut(table, "\n\n")
	var out []string
	for line := range strings.Lines(table) {
		out = append(out, strings.Join(strings.Fields(line), " "))
	}
	slices.Sort(out)
	return out
}

func TestReportWritesEachFormat(t *testing.T) {
	const file = "testdata/report/three.csv"
	for _, format := range []string{"text", "csv"} {
		code, out, errs := bot(t, "report", "--format", format, file)
		if code != exitOK {
			t.Errorf("%s: exit %d: %s", format, code, errs)
		}
		testgolden.Check(t, filepath.Join("testdata", "report", "three."+format), out)
	}
	for format, words := range map[string][]string{
		"markdown": {"### 1 regression beyond 2 %", "`process/hrtime.js", "```text\n"},
		"html":     {"<!doctype html>", "1 regression beyond 2 %", "process/hrtime.js"},
	} {
		_, out, errs := bot(t, "report", "--format", format, file)
		for _, word := range words {
			if !strings.Contains(strings.ToLower(out), strings.ToLower(word)) {
				t.Errorf("%s does not say %q (%s):\n%.2000s", format, word, errs, out)
			}
		}
	}
}

func TestReportWritesJSONThatAProgramCanRead(t *testing.T) {
	_, out, errs := bot(t, "report", "--format", "json", "testdata/report/three.csv")
	var got struct {
		Schema int
		Design struct {
			Margin   float64
			Analysis string
		}
		Benchmarks []struct {
			Name, Unit, Better, Stars string
			Change, Improvement, P    *float64
			Verdict                   *string
			Old, New                  struct{ N int }
		}
		Summary struct{ Compared int }
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("%v (%s):\n%s", err, errs, out)
	}
	if got.Schema != 1 || got.Design.Margin != 0.02 || got.Design.Analysis != "welch" || got.Summary.Compared != 3 || len(got.Benchmarks) != 3 {
		t.Errorf("%+v", got)
	}
	for _, b := range got.Benchmarks {
		if strings.HasPrefix(b.Name, "process/hrtime.js") {
			if b.Verdict == nil || *b.Verdict != "regression" || b.Old.N != 8 || b.Stars != "***" || *b.Improvement > -0.25 || *b.Improvement < -0.4 {
				t.Errorf("%+v", b)
			}
			return
		}
	}
	t.Errorf("process/hrtime.js is missing:\n%s", out)
}

func TestReportReadsStandardInputAndOneFileASide(t *testing.T) {
	data, err := os.ReadFile("testdata/report/three.csv")
	if err != nil {
		t.Fatal(err)
	}
	_, fromFile, _ := bot(t, "report", "testdata/report/three.csv")
	code, out, errs := botWith(t.Context(), string(data), "report", "-")
	if code != exitOK || out != fromFile {
		t.Errorf("exit %d, %s\n%s", code, errs, out)
	}
	code, out, errs = bot(t, "report", "--independent", "testdata/report/old.txt", "testdata/report/new.txt")
	if code != exitOK || !strings.Contains(out, "Encode") || !strings.Contains(out, "***") {
		t.Errorf("exit %d, %s\n%s", code, errs, out)
	}
}

func TestReportWritesToAFile(t *testing.T) {
	to := filepath.Join(t.TempDir(), "report.txt")
	_, want, _ := bot(t, "report", "testdata/report/three.csv")
	code, out, errs := bot(t, "report", "--out", to, "testdata/report/three.csv")
	got, err := os.ReadFile(to)
	if code != exitOK || out != "" || err != nil || string(got) != want {
		t.Errorf("exit %d, %v, %s\n%s", code, err, errs, got)
	}
}

func TestTheExitCodeTellsWhatWentWrong(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	three := "testdata/report/three.csv"
	typo := put("serve.yaml", "listen: 127.0.0.1:0\npuplic_url: http://x\n")
	for name, c := range map[string]struct {
		args []string
		code int
		says string // on standard error
	}{
		"no command":                       {nil, exitOK, ""},
		"help":                             {[]string{"compare", "--help"}, exitOK, ""},
		"an unknown command":               {[]string{"benchmark"}, exitUsage, `"benchmark"`},
		"an unknown flag":                  {[]string{"report", "--fromat", "csv", three}, exitUsage, "--fromat"},
		"an unknown format":                {[]string{"report", "--format", "xml", three}, exitUsage, "markdown"},
		"a margin of nothing":              {[]string{"report", "--margin", "0%", three}, exitUsage, "margin"},
		"no file":                          {[]string{"report"}, exitUsage, "OLD NEW"},
		"a file that is missing":           {[]string{"report", filepath.Join(dir, "gone.csv")}, exitUsage, "gone.csv"},
		"a file without results":           {[]string{"report", "--input-format", "go", put("prose.txt", "hello\n")}, exitFailed, "prose.txt"},
		"sides that are unknown":           {[]string{"report", "testdata/report/old.txt"}, exitUsage, "OLD NEW"},
		"a regression":                     {[]string{"report", three}, exitOK, ""},
		"a regression, gated":              {[]string{"report", "--gate", three}, exitGate, ""},
		"a configuration that is missing":  {[]string{"serve", "--config", filepath.Join(dir, "no.yaml")}, exitUsage, "no.yaml"},
		"a configuration with a typo":      {[]string{"serve", "--config", typo}, exitUsage, typo + ":2"},
		"a runner without a configuration": {[]string{"runner", "--config", filepath.Join(dir, "no.yaml")}, exitUsage, "no.yaml"},
		"a comparison of nothing":          {[]string{"compare"}, exitUsage, "--base REF and --head REF"},
		"a comparison without a sandbox":   {[]string{"compare", "--sandbox", "jail", "--base", "a", "--head", "b", "--repo", dir}, exitUsage, ""},
		"enrolling nobody":                 {[]string{"runner", "enroll"}, exitUsage, "one name"},
		"a demo in a sandbox of its own":   {[]string{"demo", "--sandbox", "jail"}, exitUsage, "bwrap or none"},
	} {
		code, out, errs := bot(t, c.args...)
		if code != c.code || !strings.Contains(errs, c.says) {
			t.Errorf("%s: exit %d, want %d; said %q, want %q", name, code, c.code, errs, c.says)
		}
		if (code == exitUsage || code == exitFailed) && (out != "" || !strings.HasPrefix(errs, "bot: ")) {
			t.Errorf("%s: standard output %q, standard error %q", name, out, errs)
		}
	}
}

func TestARunnersKeyIsForItsOwnerAloneAndNeverOverwritten(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "serve.yaml")
	if err := os.WriteFile(path, []byte("state: {dir: state}\npools: {default: {repositories: [\"acme/*\"]}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(dir, "box.nk")
	code, out, errs := bot(t, "runner", "enroll", "box", "--config", path, "--key-file", key)
	if code != exitOK || !strings.Contains(out, "Enrolled box for the pool default") {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
	info, err := os.Stat(key)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key file: %v, %v", info, err)
	}
	seed, err := os.ReadFile(key)
	if err != nil || strings.Contains(out+errs, strings.TrimSpace(string(seed))) {
		t.Errorf("the key is shown (%v)", err)
	}
	if code, _, errs := bot(t, "runner", "enroll", "box2", "--config", path, "--key-file", key); code != exitFailed {
		t.Errorf("exit %d: %s", code, errs)
	}
	if again, err := os.ReadFile(key); err != nil || string(again) != string(seed) {
		t.Errorf("the key was overwritten (%v)", err)
	}
	if code, _, errs := bot(t, "runner", "enroll", "box3", "--pool", "nowhere", "--config", path); code != exitUsage || !strings.Contains(errs, `"nowhere"`) {
		t.Errorf("exit %d: %s", code, errs)
	}
	if code, out, errs := bot(t, "runner", "revoke", "box", "--config", path); code != exitOK || !strings.Contains(out, "Revoked box") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	if code, _, errs := bot(t, "runner", "revoke", "box", "--config", path); code != exitFailed {
		t.Errorf("revoking again: exit %d: %s", code, errs)
	}
}
