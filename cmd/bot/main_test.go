package main

import (
	"bytes"
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/prbench/prbench/internal/testlog"
)

// asBot makes the tests' own binary be the product, so that a test can start
// real processes of it, and kill them.
const asBot = "PRBENCH_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asBot) == "1" {
		main()
	}
	// These tests wait for other processes more than they work.
	if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
		panic(err) // the flag is the testing package's own
	}
	os.Exit(m.Run())
}

// process is a running `bot`, the leader of a group of its own.
type process struct {
	t    testing.TB
	cmd  *exec.Cmd
	log  string // file of its standard error
	out  testlog.Buffer
	once sync.Once
	err  error
	done chan struct{}
}

// command is a `bot` that is not started yet. It sees nothing of the tests'
// environment.
func command(t testing.TB, dir string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	temp := filepath.Join(dir, "tmp")
	if err := os.MkdirAll(temp, 0o711); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Dir = dir
	cmd.Env = []string{asBot + "=1", "PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + temp, "LC_ALL=C"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// start starts a `bot` whose folder is dir. It is stopped with the test, and
// its log shown if the test failed.
func start(t testing.TB, dir string, args ...string) *process {
	t.Helper()
	f, err := os.CreateTemp(dir, args[0]+"-*.log")
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, cmd: command(t, dir, args...), log: f.Name(), done: make(chan struct{})}
	p.cmd.Stderr = f
	p.cmd.Stdout = &p.out
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil { // the process has its own
		t.Fatal(err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		p.stop()
		text := p.text()
		if t.Failed() {
			t.Logf("%s:\n%s", strings.Join(args, " "), lastBytes(text, 6000))
		}
		if strings.Contains(text, "DATA RACE") || strings.Contains(text, "panic:") {
			t.Errorf("%s: %s", strings.Join(args, " "), text)
		}
	})
	return p
}

// stop asks the process to end, as systemd does, and wants it to end well. One
// that was killed before has ended already.
func (p *process) stop() {
	p.t.Helper()
	p.once.Do(func() {
		_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself
		select {
		case <-p.done:
		case <-time.After(time.Minute): // against hanging
			p.t.Errorf("%v does not end", p.cmd.Args[1:])
			p.kill()
		}
		if p.err != nil {
			p.t.Errorf("%v: %v", p.cmd.Args[1:], p.err)
		}
	})
}

// interrupt is Ctrl-C. It gives the exit code.
func (p *process) interrupt() int {
	p.t.Helper()
	return p.end(syscall.SIGINT, func() {})
}

// end sends the signal and gives the exit code.
func (p *process) end(signal syscall.Signal, meanwhile func()) int {
	p.t.Helper()
	p.once.Do(func() {}) // it is not stopped in another way
	if err := p.cmd.Process.Signal(signal); err != nil {
		p.t.Fatal(err)
	}
	meanwhile()
	select {
	case <-p.done:
	case <-time.After(time.Minute): // against hanging
		p.t.Errorf("%v does not end", p.cmd.Args[1:])
		p.kill()
	}
	return p.cmd.ProcessState.ExitCode()
}

// kill is kill -9 of the process alone: what it started is left to itself.
func (p *process) kill() {
	p.once.Do(func() {})
	_ = p.cmd.Process.Kill() // it may have ended by itself
	<-p.done
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

func (p *process) text() string {
	data, err := os.ReadFile(p.log)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(data)
}

// says waits until the log has the words.
func (p *process) says(words string) {
	p.t.Helper()
	eventually(p.t, "the log says "+words, func() bool {
		if p.ended() {
			p.t.Fatalf("%v ended: %v\n%s", p.cmd.Args[1:], p.err, p.text())
		}
		return strings.Contains(p.text(), words)
	})
}

// eventually waits; the limit is against hanging, and no test depends on it.
func eventually(t testing.TB, what string, true func() bool) {
	t.Helper()
	for limit := time.Now().Add(5 * time.Minute); !true(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("never: %s", what)
		}
	}
}

// bot runs one command line in this process.
func bot(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	return botWith(t.Context(), "", args...)
}

func botWith(ctx context.Context, in string, args ...string) (code int, out, errs string) {
	var o, e bytes.Buffer
	code = run(ctx, args, stream{strings.NewReader(in), &o, &e})
	return code, o.String(), e.String()
}
