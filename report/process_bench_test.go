package report_test

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"
)

// build makes a program of this module's dependencies, outside the time that
// is measured.
func build(b *testing.B, pkg string) string {
	b.Helper()
	program := filepath.Join(b.TempDir(), filepath.Base(pkg))
	if out, err := exec.Command("go", "build", "-o", program, pkg).CombinedOutput(); err != nil {
		b.Fatalf("build %s: %v\n%s", pkg, err, out)
	}
	return program
}

var peakLine = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// runWhole runs a program to its end and gives its peak memory in bytes, which
// the kernel tells while it runs. What wait tells afterwards would have the
// peak of this process in it.
func runWhole(b *testing.B, program string, args ...string) (peak float64) {
	b.Helper()
	cmd := exec.Command(program, args...)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case err := <-ended:
			if err != nil {
				b.Fatalf("%s %q: %v", program, args, err)
			}
			return peak
		case <-time.After(2 * time.Millisecond):
			status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
			if m := peakLine.FindSubmatch(status); m != nil {
				kB, _ := strconv.ParseFloat(string(m[1]), 64)
				peak = max(peak, kB*1024)
			}
		}
	}
}

func measureWhole(b *testing.B, program string, args ...string) {
	var peak float64
	for b.Loop() {
		peak = max(peak, runWhole(b, program, args...))
	}
	b.ReportMetric(peak/1e6, "peak-MB")
}

// BenchmarkReportCommand is what a person waits for: the command on a file of
// samples, to a JSON report.
func BenchmarkReportCommand(b *testing.B) {
	bot := build(b, "github.com/prbench/prbench/cmd/bot")
	for _, rows := range []int{1e4, 1e5, 1e6} {
		file := filepath.Join(b.TempDir(), "samples.csv")
		if err := os.WriteFile(file, compareRows(rows), 0o600); err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("rows=%d", rows), func(b *testing.B) {
			measureWhole(b, bot, "report", "--format", "json", file)
		})
	}
}

// goLines writes the text of Go benchmarks, 500 of them in turns.
func goLines(b *testing.B, name string, lines int, seed uint64) string {
	b.Helper()
	rng := rand.New(rand.NewPCG(seed, 14313))
	file := filepath.Join(b.TempDir(), name)
	f, err := os.Create(file)
	if err != nil {
		b.Fatal(err)
	}
	w := bufio.NewWriter(f)
	fmt.Fprint(w, "goos: linux\ngoarch: amd64\npkg: example.test/engine/codec\n")
	for i := range lines {
		k := i % 500
		fmt.Fprintf(w, "BenchmarkDecode/size=%d-8         \t  %d\t      %.1f ns/op\t  %.2f MB/s\t     320 B/op\t       %d allocs/op\n",
			k, 1000+i%77, float64(1200+10*k)*(1+.02*rng.NormFloat64()), 200*(1+.02*rng.NormFloat64()), k%5)
	}
	fmt.Fprint(w, "PASS\n")
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	return file
}

// BenchmarkGoLines reads 200,000 lines, 100,000 a side, beside benchstat on the
// same lines.
func BenchmarkGoLines(b *testing.B) {
	old, new := goLines(b, "old.txt", 100_000, 1), goLines(b, "new.txt", 100_000, 2)
	bot := build(b, "github.com/prbench/prbench/cmd/bot")
	benchstat := build(b, "golang.org/x/perf/cmd/benchstat")
	b.Run("report", func(b *testing.B) { measureWhole(b, bot, "report", "--format", "json", old, new) })
	b.Run("benchstat", func(b *testing.B) { measureWhole(b, benchstat, old, new) })
}
