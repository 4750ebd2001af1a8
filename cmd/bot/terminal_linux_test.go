package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/internal/testlog"
	"github.com/prbench/prbench/report/stats"
	"github.com/prbench/prbench/runner/measure"
)

// terminal is a pseudo-terminal of 100 columns: what is written to it, and the
// end that programs write to.
func terminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	ioctl := func(f *os.File, request uintptr, arg unsafe.Pointer) {
		t.Helper()
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), request, uintptr(arg)); errno != 0 {
			t.Fatalf("ioctl %#x: %v", request, errno)
		}
	}
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	var lock, number int32
	ioctl(master, syscall.TIOCSPTLCK, unsafe.Pointer(&lock))
	ioctl(master, syscall.TIOCGPTN, unsafe.Pointer(&number))
	size := [4]uint16{30, 100, 0, 0}
	ioctl(master, syscall.TIOCSWINSZ, unsafe.Pointer(&size))
	if slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	return master, slave
}

// shown is what a person sees of the bytes written to a terminal: cursor-up and
// clear-below take lines away again.
func shown(written string) []string {
	var lines []string
	for _, part := range regexp.MustCompile(`(?:\x1b\[\d*[AJ])+|[^\x1b]+|\x1b`).FindAllString(written, -1) {
		if up := regexp.MustCompile(`^\x1b\[(\d*)A`).FindStringSubmatch(part); up != nil {
			n := 1
			if up[1] != "" {
				fmt.Sscan(up[1], &n)
			}
			lines = lines[:max(0, len(lines)-n)]
			continue
		}
		for line := range strings.SplitSeq(strings.TrimSuffix(strings.ReplaceAll(part, "\r", ""), "\n"), "\n") {
			lines = append(lines, line)
		}
	}
	return lines
}

func TestOnATerminalLooksStandAboveTheBar(t *testing.T) {
	master, slave := terminal(t)
	var written testlog.Buffer
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(&written, master) // ends with EIO when the last end is closed
	}()
	bar := newProgress(slave)
	bar.say("comparing a with b")
	bar.show(job.Progress{Phase: job.PhaseBuildHead, PhaseLeft: job.Duration(5 * time.Hour), At: time.Now().Add(-2 * time.Hour)})
	for limit := time.Now().Add(time.Minute); !strings.Contains(written.String(), "Build head: 120 min so far, about 180 min left of it"); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("no time of a build: %q", lastBytes(written.String(), 500))
		}
	}
	for i := 1; i <= 4; i++ {
		for done := range 30 {
			bar.show(job.Progress{Phase: job.PhaseMeasure, Done: (i-1)*30 + done, Total: 120, AtMost: true, Left: job.Duration(time.Minute),
				Look: i, Looks: 4, Case: "process: a.js", CaseNumber: 2, Cases: 3})
			time.Sleep(5 * time.Millisecond)
		}
		bar.looked(measure.Look{Number: i, Planned: 4, Pairs: 10 * i, Benchmarks: []measure.Judged{{Name: "a.js", Outcome: stats.Outcome{CV: 0.03}}}}, 0.02)
	}
	bar.end()
	if err := slave.Close(); err != nil {
		t.Fatal(err)
	}
	<-read
	if err := master.Close(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(written.String(), "of at most 120 runs ") || !strings.Contains(written.String(), "look 3 of 4, about 1 min left at most; process: a.js, case 2 of 3") {
		t.Errorf("no bar was drawn: %q", written.String())
	}
	if !strings.Contains(written.String(), "build head: took 120 min") {
		t.Errorf("a build's time is lost: %q", written.String())
	}
	var looks []string
	for _, line := range shown(written.String()) {
		if strings.Contains(line, "look ") || strings.Contains(line, "open: ") {
			looks = append(looks, line)
		}
	}
	want := "comparing a with b"
	for i := 1; i <= 4; i++ {
		want += fmt.Sprintf("\nlook %d of 4 (%d pairs): 0 resolved, 0 futile, 1 open\n  open: a.js (cv 3 %%)", i, 10*i)
	}
	if got := "comparing a with b\n" + strings.Join(looks, "\n"); got != want {
		t.Errorf("shown:\n%s\nwritten: %q", got, written.String())
	}
}
