package runner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prbench/prbench/runner/sandbox"
)

func TestAFolderThatTheSandboxCannotReachIsNamed(t *testing.T) {
	closed := filepath.Join(t.TempDir(), "closed")
	inside := filepath.Join(closed, "inside")
	if err := os.MkdirAll(inside, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	stranger := sandbox.Facts{Kind: sandbox.Bubblewrap, UID: os.Geteuid() + 1}
	if err := reachable(inside, stranger); err == nil || !strings.Contains(err.Error(), "cannot pass through "+closed) {
		t.Errorf("got %v", err)
	}
	if err := reachable("/usr", stranger); err != nil {
		t.Errorf("everybody can reach /usr: %v", err)
	}
	for _, same := range []sandbox.Facts{{Kind: sandbox.Bubblewrap, UID: os.Geteuid()}, {Kind: sandbox.None}} {
		if err := reachable(inside, same); err != nil {
			t.Errorf("%+v: %v", same, err)
		}
	}
}
