package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// usageOf reads a child's rusage. A process that this one starts inherits, as its own maximum, what this one has resident (the kernel
// carries it over exec): a value up to floor says nothing about the payload.
func usageOf(ru *syscall.Rusage, floor int64) Usage {
	u := Usage{
		User: time.Duration(ru.Utime.Nano()), System: time.Duration(ru.Stime.Nano()), MaxRSS: ru.Maxrss << 10,
		MinorFaults: ru.Minflt, MajorFaults: ru.Majflt, VoluntarySwitches: ru.Nvcsw, InvoluntarySwitches: ru.Nivcsw,
	}
	if u.MaxRSS <= floor {
		u.MaxRSS = 0
	}
	return u
}

func (u Usage) plus(v Usage) Usage {
	u.User += v.User
	u.System += v.System
	u.MaxRSS = max(u.MaxRSS, v.MaxRSS)
	u.MinorFaults += v.MinorFaults
	u.MajorFaults += v.MajorFaults
	u.VoluntarySwitches += v.VoluntarySwitches
	u.InvoluntarySwitches += v.InvoluntarySwitches
	return u
}

func maxRSS(who int) int64 {
	var ru unix.Rusage
	if err := unix.Getrusage(who, &ru); err != nil {
		return 0
	}
	return ru.Maxrss << 10
}

// stat is what /proc/PID/stat tells of a process.
type stat struct {
	state         byte
	parent, group int
	session       int
}

func statOf(pid int) (stat, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return stat{}, err
	}
	// The name stands in parentheses and may hold anything, parentheses too.
	i := bytes.LastIndexByte(b, ')')
	var s stat
	if i < 0 {
		return s, fmt.Errorf("process %d: no name in its status", pid)
	}
	if _, err := fmt.Sscanf(string(b[i+1:]), " %c %d %d %d", &s.state, &s.parent, &s.group, &s.session); err != nil {
		return s, fmt.Errorf("process %d: %w", pid, err)
	}
	return s, nil
}

func parentOf(pid int) (int, error) {
	s, err := statOf(pid)
	return s.parent, err
}
