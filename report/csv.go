package report

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/prbench/prbench/internal/hostile"
	"github.com/prbench/prbench/internal/job"
)

// nodeUnit is the unit of Node's own benchmarks.
const nodeUnit = "ops/s"

// CSV writes the samples in the five columns of Node's compare.js. The samples
// of a benchmark stand in the order of its pairs, old before new. Values that
// were no number are written as R reads them (NaN, Inf). A unit other than
// Node's ops/s stands at the end of the configuration, "[ns/op]".
func (d *Data) CSV(w io.Writer) error {
	b := bufio.NewWriter(w)
	b.WriteString("\"binary\",\"filename\",\"configuration\",\"rate\",\"time\"\n")
	for _, s := range d.Series {
		i, j := 0, 0
		for i < len(s.Old.Value) || j < len(s.New.Value) {
			if j >= len(s.New.Value) || i < len(s.Old.Value) && s.Old.place(i) <= s.New.place(j) {
				writeCSVRow(b, job.Old, s, i)
				i++
			} else {
				writeCSVRow(b, job.New, s, j)
				j++
			}
		}
	}
	if err := b.Flush(); err != nil {
		return fmt.Errorf("write the samples: %w", err)
	}
	return nil
}

// place is the pair of the i-th sample, or its number where pairs are unknown.
func (v *Values) place(i int) int {
	if v.Pair == nil {
		return i
	}
	return int(v.Pair[i])
}

func writeCSVRow(b *bufio.Writer, side job.SideName, s *Series, i int) {
	v := s.Side(side)
	b.WriteByte('"')
	b.WriteString(string(side))
	b.WriteString(`","`)
	writeQuoted(b, s.Benchmark)
	b.WriteString(`","`)
	writeQuoted(b, s.nodeConfig())
	b.WriteString(`",`)
	b.WriteString(csvNumber(v.Value[i]))
	b.WriteByte(',')
	b.WriteString(csvNumber(v.Time[i]))
	b.WriteByte('\n')
}

// writeQuoted doubles quotes. A line end inside a field is legal CSV, and yet no
// reader of compare.js's output expects one, so it becomes a space.
func writeQuoted(b *bufio.Writer, s string) {
	s = hostile.MaskTokens(s)
	s = strings.NewReplacer(`"`, `""`, "\r\n", " ", "\n", " ", "\r", " ", "\x00", " ").Replace(s)
	b.WriteString(s)
}

func csvNumber(x float64) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return rNumber(x)
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}
