package runner

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAProgramIsNamedByWhatIsInIt(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{"one": "measures", "same": "measures", "two": "measures otherwise"})
	names := map[string]string{}
	for _, name := range []string{"one", "same", "two"} {
		sum, err := contentOf(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		names[name] = sum
	}
	if names["one"] != names["same"] || names["one"] == names["two"] {
		t.Errorf("%v", names)
	}
	self, err := contentOf(os.Args[0])
	if err != nil || program() != self {
		t.Errorf("the running program is %q, and its file %q, %v", program(), self, err)
	}
}
