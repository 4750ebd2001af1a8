package source

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheGitThatIsFoundIsNewEnoughOrNamed(t *testing.T) {
	if path, version, err := Git(t.Context()); err != nil || path == "" || !strings.HasPrefix(version, "2.") {
		t.Errorf("this machine's: %s, %s, %v", path, version, err)
	}
	for says, want := range map[string]string{
		"git version 2.39.5":                 "",
		"git version 2.47.0.windows.1":       "",
		"git version 3.0.0":                  "",
		"git version 2.39.5 (Apple Git-154)": "",
		"git version 2.38.9":                 "install 2.39 or later",
		"git version 1.99.0":                 "install 2.39 or later",
		"hello":                              "want a version",
		"":                                   "want a version",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "git"), []byte("#!/bin/sh\necho '"+says+"'\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", dir)
		_, _, err := Git(t.Context())
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", says, err, want)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if _, _, err := Git(t.Context()); err == nil || !strings.Contains(err.Error(), "apt-get install git") {
		t.Errorf("no git: %v", err)
	}
}
