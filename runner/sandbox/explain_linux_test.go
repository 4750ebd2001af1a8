package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fakeBwrap is a bubblewrap that says message and fails, as it does on machines that forbid it something.
func fakeBwrap(t *testing.T, version, message string) string {
	t.Helper()
	file := filepath.Join(newDir(t), "bwrap")
	script := fmt.Sprintf("#!/bin/sh\n[ \"$1\" = --version ] && { echo 'bubblewrap %s'; exit 0; }\necho 'bwrap: %s' >&2\nexit 1\n", version, message)
	if err := os.WriteFile(file, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestAMachineWithoutBubblewrapIsToldWhatToInstall(t *testing.T) {
	var setup *SetupError
	_, err := New(t.Context(), Config{Kind: Bubblewrap, User: testUser(), Bwrap: "/no/such/bwrap"})
	if !errors.As(err, &setup) || setup.Cause != CauseMissing || !strings.Contains(err.Error(), "apt-get install bubblewrap") {
		t.Errorf("error %v", err)
	}
	_, err = New(t.Context(), Config{Kind: Bubblewrap, User: testUser(), Bwrap: fakeBwrap(t, "0.4.1", "Unknown option --disable-userns")})
	if !errors.As(err, &setup) || setup.Cause != CauseVersion || !strings.Contains(err.Error(), "0.8.0 or later") {
		t.Errorf("an old one: error %v", err)
	}
}

func TestWhatBubblewrapSaysIsExplained(t *testing.T) {
	for message, want := range map[string][]Cause{
		"Can'\"'\"'t mount proc on /newroot/proc: Operation not permitted":        {CauseProc},
		"No permissions to create a new namespace, likely because the kernel ...": {CauseNamespaces, CauseAppArmor, CauseContainer},
		"setting up uid map: Permission denied":                                   {CauseNamespaces, CauseAppArmor, CauseContainer},
		"loopback: Failed RTM_NEWADDR: Operation not permitted":                   {CauseNamespaces, CauseAppArmor, CauseContainer},
		"Creating new namespace failed: Operation not permitted":                  {CauseNamespaces, CauseAppArmor, CauseContainer},
		"something that nobody has seen yet":                                      {CauseOther},
	} {
		_, err := New(t.Context(), Config{Kind: Bubblewrap, User: testUser(), Bwrap: fakeBwrap(t, "0.8.0", message)})
		var setup *SetupError
		if !errors.As(err, &setup) {
			t.Errorf("%s: error %v", message, err)
			continue
		}
		found := false
		for _, c := range want {
			found = found || setup.Cause == c
		}
		if !found || !strings.Contains(setup.Detail, message[len(message)-10:]) || setup.Fix == "" && setup.Cause != CauseOther {
			t.Errorf("%s: %q: %v", message, setup.Cause, err)
		}
	}
}

func TestTheAppArmorProfileThatIsAdvisedIsTheOneThatIsShipped(t *testing.T) {
	file, err := os.ReadFile("../../deploy/apparmor/prbench-bwrap")
	if err != nil {
		t.Fatal(err)
	}
	var shipped strings.Builder
	for line := range strings.Lines(string(file)) {
		if !strings.HasPrefix(line, "#") {
			shipped.WriteString(line)
		}
	}
	if got := strings.TrimSpace(shipped.String()); got != strings.TrimSpace(appArmorProfile) {
		t.Errorf("shipped:\n%s\nadvised:\n%s", got, appArmorProfile)
	}
	for taken, want := range map[bool]int{false: 0, true: 2} {
		fix := appArmorFix(taken)
		if n := strings.Count(fix, "bwrap-userns-restrict"); n != want || !strings.Contains(fix, appArmorProfile) || !strings.Contains(fix, "apparmor_parser -r /etc/apparmor.d/prbench-bwrap`") {
			t.Errorf("where Ubuntu's profile is %v: it is named %d times, want %d:\n%s", taken, n, want, fix)
		}
	}
}
