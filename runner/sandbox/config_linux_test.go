package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func owner(t *testing.T, name string) int {
	t.Helper()
	fi, err := os.Lstat(name)
	if err != nil {
		t.Fatal(err)
	}
	return int(fi.Sys().(*syscall.Stat_t).Uid)
}

func TestNothingIsExposedThatHandsOverTheMachine(t *testing.T) {
	dir := newDir(t)
	work := filepath.Join(dir, "work")
	if err := os.Mkdir(work, 0o755); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink("/etc", link); err != nil {
		t.Fatal(err)
	}
	toWork := filepath.Join(dir, "to-work")
	if err := os.Symlink(work, toWork); err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(dir, "runner.nk")
	if err := os.WriteFile(key, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{
		"/", "/etc", "/root", "/home", "/var", "/proc", "/proc/1", "/dev", "/run", "/tmp", "/etc/shadow", "/etc/../etc", "/etc/", "relative", "",
		dir, work, link, toWork, key, "/no/such/path",
	} {
		_, err := New(t.Context(), Config{Kind: None, Expose: []string{"/usr", p}, Private: []string{work, key}})
		if err == nil || !strings.Contains(err.Error(), "expose") {
			t.Errorf("expose %q: error %v", p, err)
		}
	}
	if err := checkExpose([]string{"/opt", "/usr/local", "/etc/alternatives"}, []string{work, key}); err != nil {
		t.Error(err)
	}
}

func TestBindsOverTheSandboxsOwnPlacesAreRefused(t *testing.T) {
	for _, b := range []Bind{
		{"/", "/opt/x"}, {"/etc", "/opt/x"}, {"/proc", "/opt/x"}, {"relative", "/opt/x"}, {"/opt/..", "/opt/x"}, {"", "/opt/x"},
		{"/opt", "/"}, {"/opt", "/src"}, {"/opt", "/src/sub"}, {"/opt", "/usr/bin"}, {"/opt", "/etc/passwd"}, {"/opt", "/proc"}, {"/opt", "/tmp"},
		{"/opt", "relative"}, {"/opt", "/opt/../etc"}, {"/opt", "/opt/"},
	} {
		if _, err := (Command{Argv: []string{"true"}, ReadOnly: []Bind{b}}).checked(); err == nil {
			t.Errorf("bind %v is accepted read-only", b)
		}
		if _, err := (Command{Argv: []string{"true"}, ReadWrite: []Bind{b}}).checked(); err == nil {
			t.Errorf("bind %v is accepted for writing", b)
		}
	}
}

func TestAWrongCommandIsAnErrorThatNamesTheField(t *testing.T) {
	s := newSandbox(t, Config{})
	tree := newDir(t)
	file := filepath.Join(tree, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	argv := []string{"true"}
	for field, c := range map[string]Command{
		"argv":                {},
		"NUL":                 {Argv: []string{"true", "a\x00b"}},
		"environment":         {Argv: argv, Env: []string{"no value"}},
		"NAME=value":          {Argv: argv, Env: []string{"A B=c"}},
		"tree":                {Argv: argv, Tree: "relative"},
		"no such file":        {Argv: argv, Tree: tree + "/none"},
		"not a directory":     {Argv: argv, Tree: file},
		"writable":            {Argv: argv, Writable: true},
		`directory "/etc"`:    {Argv: argv, Dir: "/etc"},
		`directory "/src"`:    {Argv: argv, Dir: "/src"},
		`directory "/src/.."`: {Argv: argv, Dir: "/src/..", Tree: tree},
		`directory "/out"`:    {Argv: argv, Dir: "/out"},
		"negative":            {Argv: argv, LineLimit: -1},
	} {
		if _, err := s.Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: error %v", field, err)
		}
	}
}

func TestADirectoryThatTheUserCannotReachIsAFaultOfTheSandbox(t *testing.T) {
	s := newSandbox(t, Config{})
	tree := newDir(t)
	o, err := s.Run(t.Context(), Command{Argv: []string{"true"}, ReadOnly: []Bind{{tree + "/none", "/opt/none"}}})
	if !errors.Is(err, errSetUp) || !strings.Contains(err.Error(), "/none") {
		t.Errorf("outcome %+v, error %v", o, err)
	}
}

func TestCPUListsAreReadAsTheKernelWritesThem(t *testing.T) {
	for list, want := range map[string][]int{"": nil, "0": {0}, "2-4": {2, 3, 4}, "5,1-2,2": {1, 2, 5}, " 1, 3": {1, 3}} {
		if got, err := parseCPUs(list); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v", list, got, err)
		}
	}
	for _, list := range []string{"a", "1-", "-1", "3-2", "1,,2", "0-99999999", "1;2"} {
		if got, err := parseCPUs(list); err == nil {
			t.Errorf("%q: read as %v", list, got)
		}
	}
	if _, err := New(t.Context(), Config{Kind: None, CPUs: "1000"}); err == nil || !strings.Contains(err.Error(), "CPU 1000") {
		t.Errorf("a CPU that is not there: %v", err)
	}
}

func TestPayloadsNeverRunAsRoot(t *testing.T) {
	for _, user := range []string{"root", "0:0", "0:1000", "1000:0", "-1:5", "1000:", ":1000", "x:y", "99999999999:1"} {
		if _, err := New(t.Context(), Config{Kind: Bubblewrap, User: user}); err == nil {
			t.Errorf("user %q is accepted", user)
		}
	}
	var setup *SetupError
	if _, err := New(t.Context(), Config{Kind: Bubblewrap, User: "no-such-user-here"}); !errors.As(err, &setup) || setup.Cause != CauseUser {
		t.Errorf("an unknown user: %v", err)
	}
	_, err := New(t.Context(), Config{Kind: Bubblewrap})
	if os.Geteuid() == 0 && (!errors.As(err, &setup) || setup.Cause != CauseUser || !strings.Contains(setup.Fix, "useradd")) {
		t.Errorf("root without a user for payloads: %v", err)
	}
	if os.Geteuid() != 0 && err != nil {
		t.Errorf("an ordinary user without one: %v", err)
	}
}

func TestAnAccountCanBeGivenByNumbers(t *testing.T) {
	spec := "54321:54322"
	if os.Geteuid() != 0 {
		if _, err := New(t.Context(), Config{Kind: Bubblewrap, User: spec}); err == nil || !strings.Contains(err.Error(), "only a root runner") {
			t.Errorf("another user's numbers: %v", err)
		}
		return
	}
	s := newSandbox(t, Config{User: spec})
	tree := newTree(t, s)
	run(t, s, Command{Argv: shell("touch made"), Tree: tree, Writable: true})
	if got := owner(t, filepath.Join(tree, "made")); got != 54321 {
		t.Errorf("a file made inside belongs to uid %d", got)
	}
}

func TestAnUnknownKindIsRefused(t *testing.T) {
	if _, err := New(t.Context(), Config{Kind: "docker"}); err == nil || !strings.Contains(err.Error(), `"docker"`) {
		t.Errorf("error %v", err)
	}
}
