package benchfmt

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/prbench/prbench/internal/job"
)

func TestTheFormatOfAFileIsTold(t *testing.T) {
	for file, want := range map[string]job.Format{
		"node/jenkins-150.csv":                               job.FormatNodeCSV,
		"node/confidence.csv":                                job.FormatNodeCSV,
		"node/header-then-stdout-lines.csv":                  job.FormatNodeCSV,
		"go/verbose-with-70000-byte-log-line.txt":            job.FormatGo,
		"go/utf16-from-powershell.txt":                       job.FormatGo,
		"go/go1.26-count3-two-packages.txt":                  job.FormatGo,
		"googlebench/bare-nan-and-inf.json":                  job.FormatGoogleBench,
		"googlebench/googlebenchmark1.7.1-repetitions3.json": job.FormatGoogleBench,
		"jmh/thrpt-and-avgt-old.json":                        job.FormatJMH,
		"hyperfine/slow-first-run-new.json":                  job.FormatHyperfine,
		"hyperfine/hyperfine1.15.0-parameter-scan.json":      job.FormatHyperfine,
		"pytest/pytest-benchmark3.2.2.json":                  job.FormatPytest,
		"criterion/criterion0.3.6-sample.json":               job.FormatCriterion,
		"criterion/criterion0.3.6-estimates.json":            job.FormatCriterion,
		"criterion/criterion0.3.6-bencher.txt":               job.FormatCriterion,
		"tables/accuracy-aligned.txt":                        FormatTable,
		"tables/accuracy-collapsed.txt":                      FormatTable,
		"tables/improvement-confidence-pvalue.txt":           FormatTable,
		"tables/improvement-pvalue.txt":                      FormatTable,
	} {
		raw := mustRead(t, "testdata/"+file)
		got, r, err := Detect(bytes.NewReader(raw), file)
		if err != nil || got != want {
			t.Errorf("%s: got %q, %v", file, got, err)
		}
		all, err := io.ReadAll(r)
		if err != nil || len(all) != len(raw) && !strings.Contains(file, "utf16") {
			t.Errorf("%s: %d bytes came of %d, %v", file, len(all), len(raw), err)
		}
	}
}

func TestTheFormatOfATextIsTold(t *testing.T) {
	for in, want := range map[string]job.Format{
		"process/a.js n=1: 1,204.5\n":                    job.FormatNode,
		"\nprocess/a.js\nprocess/a.js: 5\n":              job.FormatNode,
		"\ufeffname, value, unit\nx,1,ms\n":              job.FormatCSV,
		`"filename", "configuration", "rate", "time"`:    job.FormatNodeCSV,
		"testing: warming up\nBenchmarkA-8 10 5 ns/op\n": job.FormatGo,
		"test a ... bench: 5 ns/iter (+/- 1)\n":          job.FormatCriterion,
		`{"reason":"benchmark-complete","id":"x"}`:       job.FormatCriterion,
		`{"sampling_mode":"Flat","iters":[],"times":[]}`: job.FormatCriterion,
		"a.js n=1 *** 5.00 % ±1.00% ±2.00% ±3.00%\r\n":   FormatTable,
	} {
		if got, _, err := Detect(strings.NewReader(in), ""); err != nil || got != want {
			t.Errorf("%q: got %q, %v", in, got, err)
		}
	}
	_, _, err := Detect(strings.NewReader("hello\nworld\n"), "x.txt")
	const want = `x.txt:1: no line tells the format, name it: node, node-csv, go, googlebench, hyperfine, jmh, pytest, criterion, csv, table; it starts with "hello"`
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

func TestUTF16IsReadInBothOrdersWithAndWithoutAMark(t *testing.T) {
	const text = "BenchmarkÄ😀-2 10 5 ns/op\r\n"
	for _, big := range []bool{false, true} {
		for _, mark := range []bool{false, true} {
			in := toUTF16(text, big, mark)
			for _, r := range []io.Reader{bytes.NewReader(in), oneByte{bytes.NewReader(in)}} {
				got, err := io.ReadAll(decode(r))
				if err != nil || string(got) != text {
					t.Errorf("big endian %v, mark %v: got %q, %v", big, mark, got, err)
				}
			}
		}
	}
	for in, want := range map[string]string{
		"\xff\xfea":             "\uFFFD",  // half a unit
		"\xff\xfe\x00\xd8a\x00": "\uFFFDa", // a lone surrogate
		"\xff\xfe\x00\xd8":      "\uFFFD",
		"\xff\xfe":              "",
		"":                      "",
		"a":                     "a",
		"\xef\xbb\xbfa":         "a",
	} {
		got, err := io.ReadAll(decode(strings.NewReader(in)))
		if err != nil || string(got) != want {
			t.Errorf("%q: got %q, %v", in, got, err)
		}
	}
}

func toUTF16(s string, big, mark bool) []byte {
	var b []byte
	put := func(u uint16) {
		if big {
			b = append(b, byte(u>>8), byte(u))
		} else {
			b = append(b, byte(u), byte(u>>8))
		}
	}
	if mark {
		put(0xFEFF)
	}
	for _, u := range utf16.Encode([]rune(s)) {
		put(u)
	}
	return b
}
