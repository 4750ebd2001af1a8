package sandbox

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// markName is the variable by which processes of a run are found again, wherever they went. With isolation it is bubblewrap's own; the
// payload does not have it.
const markName = "PRBENCH_RUN"

// newMark marks the processes of one run, and of one owner.
func (s *Sandbox) newMark() []byte { return append(s.ownerMark(), rand.Text()...) }

// ownerMark does not tell who the owner is: what runs inside can read the environment of the namespace's first process.
func (s *Sandbox) ownerMark() []byte {
	return fmt.Appendf(nil, "%s=%x#", markName, sha256.Sum256([]byte(s.cfg.Owner)))
}

// EndLeftovers ends what an earlier process of the same Owner has left, if it was killed. Bubblewrap dies with its parent, but while it
// sets a sandbox up its child waits for a word that then never comes, and would wait for ever. It must not be called while another
// process runs payloads for the same Owner.
func (s *Sandbox) EndLeftovers() error {
	if s.cfg.Owner == "" {
		return nil
	}
	if err := killRun(0, s.ownerMark()); err != nil {
		return fmt.Errorf("sandbox: end what an earlier run has left: %w", err)
	}
	return nil
}

// killRun ends every process that is in the session of pid (0: whatever its session), or carries the mark, and waits until none is left.
func killRun(pid int, mark []byte) error {
	pause := time.Millisecond
	for end := time.Now().Add(killDelay); time.Now().Before(end); time.Sleep(pause) {
		left, err := findRun(pid, mark)
		if err != nil {
			return fmt.Errorf("look for processes of the payload: %w", err)
		}
		if len(left) == 0 {
			return nil
		}
		for _, p := range left {
			unix.Kill(p, unix.SIGKILL)
		}
		pause = min(2*pause, 50*time.Millisecond)
	}
	return fmt.Errorf("processes of the payload are still there %v after they were killed", killDelay)
}

func findRun(session int, mark []byte) ([]int, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var found []int
	self := os.Getpid()
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == self {
			continue
		}
		st, err := statOf(pid)
		if err != nil || st.state == 'Z' || st.state == 'X' {
			continue
		}
		if session > 0 && st.session == session || marked(name, mark) {
			found = append(found, pid)
		}
	}
	return found, nil
}

func marked(pid string, mark []byte) bool {
	vars, err := os.ReadFile("/proc/" + pid + "/environ")
	return err == nil && (bytes.HasPrefix(vars, mark) || bytes.Contains(vars, append([]byte{0}, mark...)))
}
