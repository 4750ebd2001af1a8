package sandbox

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// asRunner makes the test binary a runner that runs the script in its value, with the tree after the first colon, until it is killed.
const asRunner = "SANDBOX_TEST_AS_RUNNER"

func TestMain(m *testing.M) {
	if job := os.Getenv(asRunner); job != "" {
		if err := beRunner(job); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// startsForEver in place of a tree makes a runner that starts one payload after the other for the owner of that name.
const startsForEver = "starts for ever: "

func beRunner(tree string) error {
	if owner, ok := strings.CutPrefix(tree, startsForEver); ok {
		return startForEver(owner)
	}
	s, err := New(context.Background(), Config{Kind: Bubblewrap, User: testUser(), Memory: 256 << 20, Pids: 64})
	if err != nil {
		return err
	}
	_, err = s.Run(context.Background(), Command{Argv: shell("setsid sh -c 'while :; do echo x >> heartbeat; sleep 0.01; done' & sleep 3600"), Tree: tree, Writable: true})
	return err
}

func startForEver(owner string) error {
	s, err := New(context.Background(), Config{Kind: Bubblewrap, User: testUser(), Owner: owner})
	if err != nil {
		return err
	}
	tree, err := os.Getwd()
	if err != nil {
		return err
	}
	fmt.Println("begins")
	for {
		if _, err := s.Run(context.Background(), Command{Argv: []string{"true"}, Tree: tree}); err != nil {
			return err
		}
	}
}

// Bubblewrap's child waits for a word of its parent while the sandbox is set up; a kill in that time leaves it.
func TestWhatAKilledRunnerLeavesInTheMiddleOfAStartIsEndedByTheNext(t *testing.T) {
	owner := t.TempDir()
	next := newSandbox(t, Config{Owner: owner})
	tree := newTree(t, next)
	for range 30 {
		runner := exec.Command(os.Args[0])
		runner.Dir = tree
		runner.Env = append(os.Environ(), asRunner+"="+startsForEver+owner)
		out, err := runner.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := runner.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(out, make([]byte, len("begins"))); err != nil {
			t.Errorf("the runner does not begin: %v", err)
		}
		time.Sleep(rand.N(10 * time.Millisecond)) // anywhere in a start
		if err := runner.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = runner.Wait() // it was killed
	}
	left, err := findRun(0, next.ownerMark())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("30 kills left %d processes", len(left))
	if err := next.EndLeftovers(); err != nil {
		t.Fatal(err)
	}
	if left, err = findRun(0, next.ownerMark()); err != nil || len(left) > 0 {
		t.Errorf("still there: %v, %v", left, err)
	}
}

func TestAPayloadDiesWithItsRunner(t *testing.T) {
	s := newSandbox(t, Config{})
	tree := newTree(t, s)
	runner := exec.Command(os.Args[0])
	runner.Env = append(os.Environ(), asRunner+"="+tree)
	var said strings.Builder
	runner.Stderr = &said
	if err := runner.Start(); err != nil {
		t.Fatal(err)
	}
	size := func() int64 {
		fi, err := os.Stat(filepath.Join(tree, "heartbeat"))
		if err != nil {
			return 0
		}
		return fi.Size()
	}
	for end := time.Now().Add(20 * time.Second); size() == 0 && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
	}
	began := size()
	if err := runner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	runner.Wait()
	if began == 0 {
		t.Fatalf("the payload never ran: %s", said.String())
	}
	// Its end is the kernel's doing and takes a moment, but it must come: the file stops growing.
	last, since := size(), time.Now()
	for end := time.Now().Add(20 * time.Second); time.Since(since) < 300*time.Millisecond; time.Sleep(10 * time.Millisecond) {
		if now := size(); now != last {
			last, since = now, time.Now()
		}
		if time.Now().After(end) {
			t.Fatal("the payload still runs, 20 s after its runner was killed")
		}
	}
	// A later runner clears away the control groups of the dead one.
	newSandbox(t, Config{Memory: 64 << 20, Pids: 64})
}

// core are the tests which must also hold where the runner is no root.
const core = "^(TestTheExitStatus|TestAPayload|TestACancelled|TestALeftOver|TestUsage|TestTmpIs|TestWhatIsPlanted|TestAResultFile|TestATreeIs|" +
	"TestAFileOver|TestAMemoryHog|TestAForkBomb|TestOutputOver|TestAnAccount|TestPayloadsNever|TestRunsDo|TestFacts)"

func TestTheSameHoldsForARunnerThatIsAnOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		return // all of this binary's tests are that already
	}
	dir := newDir(t)
	binary := filepath.Join(dir, "sandbox.test")
	copyFile(t, os.Args[0], binary)
	acct, err := parseAccount(testUser())
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(dir, "home")
	if err := os.Mkdir(home, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(home, acct.uid, acct.gid); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), binary, "-test.run", core, "-test.v", "-test.count=1")
	cmd.Dir = home
	cmd.Env = []string{"PATH=" + defaultPath(), "HOME=" + home, "TMPDIR=" + home}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(acct.uid), Gid: uint32(acct.gid)}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	if passed := strings.Count(string(out), "\n--- PASS: "); passed < 25 {
		t.Errorf("only %d tests ran:\n%s", passed, out)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	r, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	w, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(w, r); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}
