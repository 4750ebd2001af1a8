package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// lines gives the first two cells of each line of the page's table.
func lines(page string) map[string]bool {
	found := map[string]bool{}
	for line := range strings.Lines(page) {
		if cells := strings.Split(line, " | "); len(cells) == 5 {
			found[cells[0]+" | "+cells[1]] = true
		}
	}
	return found
}

func TestThePageIsTheSameForTheSameSeed(t *testing.T) {
	write := func(workers string) string {
		file := filepath.Join(t.TempDir(), "page.md")
		// So few replicates reach no figure surely; that is said, and the page is written.
		err := run([]string{"-replicates", "4", "-workers", workers, "-out", file}, io.Discard, io.Discard)
		if err != nil && !strings.Contains(err.Error(), "figures are not reached") {
			t.Fatal(err)
		}
		page, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(page)
	}
	one, three := write("1"), write("3")
	if one != three {
		t.Errorf("one worker wrote\n%s\nthree wrote\n%s", one, three)
	}
	if !strings.Contains(one, "4 replicates, seed 1\n") {
		t.Errorf("the page does not tell its replicates and seed:\n%s", one)
	}
}

func TestAPartIsPrintedAndLeavesThePageAlone(t *testing.T) {
	t.Chdir(t.TempDir()) // where there is no docs/
	var out, progress bytes.Buffer
	if err := run([]string{"-replicates", "600", "-only", "^fixed old-new order"}, &out, &progress); err != nil {
		t.Fatal(err)
	}
	if n := len(lines(out.String())); n != 2 {
		t.Errorf("%d lines of table, want the heading and one claim:\n%s", n, &out)
	}
	if !strings.Contains(progress.String(), "claim 1 of 1, fixed old-new order") {
		t.Errorf("progress: %s", &progress)
	}
}

func TestWrongFlagsAreExplained(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"-replicates", "0"}, "want -replicates of 1 or more"},
		{[]string{"more"}, `no arguments, got 400000 and ["more"]`},
		{[]string{"-only", "("}, "missing closing )"},
		{[]string{"-only", "no such claim"}, `no claim matches -only "no such claim"`},
	} {
		if err := run(test.args, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: error %v, want %q", test.args, err, test.want)
		}
	}
}
