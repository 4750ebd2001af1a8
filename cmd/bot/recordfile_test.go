package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report/backport"
)

func TestALinesFilesStayInTheFolderWhateverItsName(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	seen := map[string]string{}
	long := strings.Repeat("é", 120)
	for _, line := range []string{"v1.x", "../v1.x", "..", "/etc/passwd", "-x", "v1.x;rm -rf ~", "a/b", `a\b`, "a\x00b", "%2E", long, long + "1"} {
		f, err := newRecordFile(dir, line)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		r := backport.Record{Line: line}
		if err := f.close(); err != nil {
			t.Fatal(err)
		}
		if err := f.keep(&r); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if other, twice := seen[f.record]; twice || filepath.Dir(f.record) != dir {
			t.Errorf("%q is kept in %s, as %q is", line, f.record, other)
		}
		seen[f.record] = line
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != len(seen) {
		t.Errorf("%d files of %d records, %v", len(files), len(seen), err)
	}
}

func TestWhatAnEarlierRunKeptStaysUntilALaterOneDecides(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	measure := func(runs int) *recordFile {
		f, err := newRecordFile(dir, "v1.x")
		if err != nil {
			t.Fatal(err)
		}
		for i := range runs {
			if err := f.write(job.Run{Side: job.Old, Pair: i}); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.close(); err != nil {
			t.Fatal(err)
		}
		return f
	}
	holds := func(want string) {
		t.Helper()
		var got []string
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			text, err := os.ReadFile(filepath.Join(dir, f.Name()))
			if err != nil {
				t.Fatal(err)
			}
			n := strings.Count(string(text), `"pair":`)
			got = append(got, f.Name()+strings.Repeat("+", n))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("the folder has %q, want %q", got, want)
		}
	}
	keep := func(f *recordFile, samples *backport.Samples) {
		t.Helper()
		if err := f.keep(&backport.Record{Samples: samples}); err != nil {
			t.Fatal(err)
		}
	}
	keep(measure(2), &backport.Samples{})
	holds("v1.x.record.json v1.x.samples.jsonl++")
	if err := measure(0).discard(); err != nil {
		t.Fatal(err)
	}
	holds("v1.x.record.json v1.x.samples.jsonl++")
	if err := measure(1).discard(); err != nil {
		t.Fatal(err)
	}
	holds("v1.x.record.json v1.x.samples.jsonl++ v1.x.samples.jsonl.part+")
	keep(measure(3), &backport.Samples{})
	holds("v1.x.record.json v1.x.samples.jsonl+++")
	keep(measure(0), nil)
	holds("v1.x.record.json")
}
