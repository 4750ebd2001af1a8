package report_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/prbench/prbench/internal/benchfmt"
	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report"
)

// compareRows is what compare.js writes for benchmarks of 100 pairs each: every
// tenth changed by 5 %, one run varies by 2 %.
func compareRows(rows int) []byte {
	rng := rand.New(rand.NewPCG(5000, 200))
	b := []byte(`"binary","filename","configuration","rate","time"` + "\n")
	for k := range rows / 200 {
		for range 100 {
			for side, name := range []string{"old", "new"} {
				rate := 1e5 * float64(1+k%97) * (1 + .02*rng.NormFloat64())
				if side == 1 && k%10 == 0 {
					rate *= .95
				}
				b = fmt.Appendf(b, "\"%s\",\"buffers/buffer-%02d.js\",\"n=%d len=1024 type='fast-alloc'\",", name, k%100, k/100)
				b = strconv.AppendFloat(b, rate, 'f', -1, 64)
				b = fmt.Appendf(b, ",%.9f\n", 1e6/rate)
			}
		}
	}
	return b
}

// jsonReport goes the whole way of `bot report --format json`.
func jsonReport(b *testing.B, format job.Format, o report.Options, sides []job.SideName, files ...[]byte) *report.Report {
	c := report.NewCollector()
	for i, file := range files {
		rd := benchfmt.NewReader(bytes.NewReader(file), "samples", benchfmt.Options{Format: format, Side: sides[i]})
		for rd.Scan() {
			c.AddRecord(rd.Record())
		}
		if err := rd.Err(); err != nil {
			b.Fatal(err)
		}
		c.EndFile(rd.Properties(), rd.Problems())
	}
	r, err := report.Analyse(c.Data(), o)
	if err != nil {
		b.Fatal(err)
	}
	if err := r.JSON(io.Discard); err != nil {
		b.Fatal(err)
	}
	return r
}

func BenchmarkJSONReportOfCompareRows(b *testing.B) {
	for _, rows := range []int{1e4, 1e5, 1e6} {
		in := compareRows(rows)
		b.Run(fmt.Sprintf("rows=%d", rows), func(b *testing.B) {
			b.SetBytes(int64(len(in)))
			b.ReportAllocs()
			for b.Loop() {
				if r := jsonReport(b, job.FormatNodeCSV, report.Options{}, []job.SideName{""}, in); r.Summary.Compared != rows/200 {
					b.Fatalf("%d benchmarks, want %d", r.Summary.Compared, rows/200)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*rows), "ns/row")
		})
	}
}

// BenchmarkJSONReportOfGoLines is BenchmarkGoLines within this process.
func BenchmarkJSONReportOfGoLines(b *testing.B) {
	var files [][]byte
	for i, name := range []string{"old.txt", "new.txt"} {
		text, err := os.ReadFile(goLines(b, name, 100_000, uint64(i)))
		if err != nil {
			b.Fatal(err)
		}
		files = append(files, text)
	}
	b.ReportAllocs()
	for b.Loop() {
		jsonReport(b, job.FormatGo, report.Options{}, []job.SideName{job.Old, job.New}, files...)
	}
}
