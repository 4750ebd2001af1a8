// Package testgolden holds texts against the files that keep them, for the tests
// of several packages. A test binary that uses it has the flag -update, which
// writes the files anew.
package testgolden

import (
	"flag"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Check fails the test, with the difference, unless the file holds got.
func Check(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-) differs from what is written now (+); see -update:\n%s", path, diff)
	}
}

var longNumber = regexp.MustCompile(`-?[0-9]+\.[0-9]{9,}(e-?[0-9]+)?`)

// RoundNumbers keeps ten digits of each number in a JSON text, since the last ones
// may differ between processors.
func RoundNumbers(js string) string {
	return longNumber.ReplaceAllStringFunc(js, func(n string) string {
		x, err := strconv.ParseFloat(n, 64)
		if err != nil {
			return n
		}
		return strconv.FormatFloat(x, 'g', 10, 64)
	})
}
