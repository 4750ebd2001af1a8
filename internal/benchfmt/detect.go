package benchfmt

import (
	"bufio"
	"bytes"
	"io"
	"strings"

	"github.com/prbench/prbench/internal/job"
)

// sniff is how much of an input decides its format.
const sniff = 64 << 10

// Detect tells the format of an input by its first lines, for --input-format
// auto: one of job.Formats, or FormatTable. The reader that it gives holds the
// whole input, as UTF-8 without a byte order mark. Where no line tells the
// format, the error quotes the first one.
func Detect(r io.Reader, file string) (job.Format, io.Reader, error) {
	b := bufio.NewReaderSize(decode(r), sniff)
	head, err := b.Peek(sniff)
	if err != nil && err != io.EOF {
		return "", b, err
	}
	first, rest := true, head
	for len(rest) > 0 {
		var line []byte
		at := rest
		line, rest, _ = bytes.Cut(rest, []byte{'\n'})
		line = bytes.TrimRight(line, "\r")
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if f := formatOf(line, at, first); f != "" {
			return f, b, nil
		}
		first = false
	}
	begin, _, _ := bytes.Cut(bytes.TrimSpace(head), []byte{'\n'})
	return "", b, &SyntaxError{File: file, Line: 1, Msg: "no line tells the format, name it: " + formatList() +
		"; it starts with " + strings.TrimSpace("\""+quote(begin)+"\"")}
}

func formatList() string {
	var list []string
	for _, f := range append(job.Formats(), FormatTable) {
		list = append(list, string(f))
	}
	return strings.Join(list, ", ")
}

// formatOf tells the format by one line; at is the input from there on.
func formatOf(line, at []byte, first bool) job.Format {
	switch {
	case first && csvFormat(line) != "":
		return csvFormat(line)
	case startsJSON(at):
		return jsonFormat(at)
	case bytes.HasPrefix(line, []byte("goos: ")), bytes.HasPrefix(line, pkgWord), isGoResult(line):
		return job.FormatGo
	case bytes.HasPrefix(line, []byte("test ")) && bytes.Contains(line, []byte(" ... bench:")):
		return job.FormatCriterion
	}
	words := tableWords(line)
	if c := tableHeading(words); len(c) >= 2 {
		return FormatTable
	}
	if bytes.Contains(line, []byte("%")) {
		if _, ok := parseTableRow(words, nil); ok {
			return FormatTable
		}
	}
	if isNodeResult(line) {
		return job.FormatNode
	}
	return ""
}

// csvFormat tells whether a line is the header of a CSV file of samples.
func csvFormat(line []byte) job.Format {
	var name, rate, value bool
	for field := range bytes.SplitSeq(line, []byte{','}) {
		switch strings.ToLower(string(bytes.Trim(field, " \t\""))) {
		case "filename", "benchmark", "name":
			name = true
		case "rate":
			rate = true
		case "value":
			value = true
		}
	}
	switch {
	case name && rate:
		return job.FormatNodeCSV
	case name && value:
		return job.FormatCSV
	}
	return ""
}

// jsonFormat tells tools apart by the keys that only they write.
func jsonFormat(b []byte) job.Format {
	for _, f := range []struct {
		keys   []string
		format job.Format
	}{
		{[]string{`"primaryMetric"`}, job.FormatJMH},
		{[]string{`"jmhVersion"`}, job.FormatJMH},
		{[]string{`"machine_info"`}, job.FormatPytest},
		{[]string{`"benchmarks"`, `"stats"`}, job.FormatPytest},
		{[]string{`"results"`, `"command"`}, job.FormatHyperfine},
		{[]string{`"reason"`}, job.FormatCriterion},
		{[]string{`"iters"`, `"times"`}, job.FormatCriterion},
		{[]string{`"point_estimate"`}, job.FormatCriterion},
		{[]string{`"benchmarks"`}, job.FormatGoogleBench},
	} {
		all := true
		for _, k := range f.keys {
			all = all && bytes.Contains(b, []byte(k))
		}
		if all {
			return f.format
		}
	}
	return ""
}

// isGoResult tells whether a line has a name, a count, a value and a unit.
func isGoResult(line []byte) bool {
	rest, ok := bytes.CutPrefix(line, benchmarkWord)
	_, rest = goField(rest)
	count, rest := goField(rest)
	value, rest := goField(rest)
	_, number := parseNumber(value, 0)
	return ok && len(count) > 0 && allDigits(count) && number && len(rest) > 0
}

func isNodeResult(line []byte) bool {
	i := bytes.LastIndex(line, []byte(": "))
	if i <= 0 {
		return false
	}
	_, config := splitNodeName(line[:i])
	var n nodeSource
	_, ok := n.rate(bytes.TrimSpace(line[i+2:]))
	return ok && (isScript(firstWord(line)) || len(config) > 0)
}
