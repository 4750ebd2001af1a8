package source

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestParentsAreReadFromTheCommitItself(t *testing.T) {
	a, b, c := strings.Repeat("a", 40), strings.Repeat("b", 40), strings.Repeat("c", 40)
	commit := "tree " + c + "\nparent " + a + "\nparent " + b + "\nauthor x <x> 1 +0000\n\nparent " + c + "\n"
	got, err := parseBatch(fmt.Appendf(nil, "%s commit %d\n%s\n%s missing\n%s blob 2\nx\n\n", c, len(commit), commit, a, b))
	if want := map[string][]string{c: {a, b}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
}

func FuzzWhatGitPrintsOfCommits(f *testing.F) {
	a := strings.Repeat("a", 40)
	f.Add([]byte(a + " commit 53\ntree " + a + "\nparent \n\n"))
	f.Add([]byte(a + " missing\n"))
	f.Add([]byte(a + " commit -1\n"))
	f.Fuzz(func(t *testing.T, out []byte) {
		parents, err := parseBatch(out)
		if err != nil && parents != nil {
			t.Error("an error and a result")
		}
		for _, all := range parents {
			for _, sha := range all {
				if !shaPattern.MatchString(sha) {
					t.Errorf("a parent is called %q", sha)
				}
			}
		}
	})
}

func FuzzGitsWordsOfAConflict(f *testing.F) {
	f.Add("Auto-merging a\nCONFLICT (content): Merge conflict in a\n", "error: could not apply\nhint: do\n")
	f.Fuzz(func(t *testing.T, stdout, stderr string) {
		got := pickWords(&gitError{stdout: stdout, stderr: stderr})
		if !utf8.ValidString(got) || len(got) > 4*maxPickWords || strings.Contains(got, "\nhint:") {
			t.Errorf("%q", got)
		}
		if n := named(stdout); n != stdout && n != "unknown" {
			t.Errorf("%q is called %q", stdout, n)
		}
	})
}
