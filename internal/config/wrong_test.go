package config

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prbench/prbench/internal/testgolden"
)

func TestAWrongConfigIsToldWithFileLineAndKey(t *testing.T) {
	files, err := filepath.Glob("testdata/wrong/*.yml")
	if err != nil || len(files) < 20 {
		t.Fatalf("want the wrong configurations in testdata/wrong, got %d, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yml"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, err = ParseRepo(data, RepoPath)
			var problems Problems
			if !errors.As(err, &problems) || len(problems) == 0 {
				t.Fatalf("want Problems, got %v", err)
			}
			testgolden.Check(t, strings.TrimSuffix(file, ".yml")+".golden", err.Error()+"\n")
		})
	}
}

func TestAConfigOverItsSizeIsRefusedUnread(t *testing.T) {
	big := append([]byte("version: 1\n"), bytes.Repeat([]byte("# x\n"), MaxBytes/4)...)
	_, err := ParseRepo(big, "x.yml")
	if err == nil || !strings.Contains(err.Error(), "at most 65536") {
		t.Errorf("want a refusal that names the limit, got %v", err)
	}
}

func TestNestingThatTheParserTakesLongForIsRefusedFirst(t *testing.T) {
	for _, unit := range []string{"[", "{a: ", "- ", "? ", "[- ", "- ["} {
		deep := strings.Repeat(unit, MaxBytes/len(unit))
		_, err := ParseRepo([]byte(deep), "x.yml")
		if err == nil || !strings.Contains(err.Error(), "nested too deeply") {
			t.Errorf("%q repeated: want a refusal of its depth, got %.200v", unit, err)
		}
	}
}

func TestOneMistakeMadeAThousandTimesGivesAMessageOfBoundedLength(t *testing.T) {
	var b strings.Builder
	b.WriteString("version: 1\nrelease_lines:\n")
	for range 5000 {
		b.WriteString("- 1.10\n")
	}
	_, err := ParseRepo([]byte(b.String()), "x.yml")
	var problems Problems
	if !errors.As(err, &problems) || len(problems) > maxProblems+1 {
		t.Errorf("want at most %d problems, got %d", maxProblems, len(problems))
	}
}

func TestACRLFFileAndAByteOrderMarkReadLikeAnyOther(t *testing.T) {
	data, err := os.ReadFile("testdata/repo/node.yml")
	if err != nil {
		t.Fatal(err)
	}
	want, err := ParseRepo(data, "x.yml")
	if err != nil {
		t.Fatal(err)
	}
	windows := append([]byte("\ufeff"), bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n"))...)
	got, err := ParseRepo(windows, "x.yml")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want - got +\n%s", diff)
	}
}

func FuzzParseRepo(f *testing.F) {
	for _, pattern := range []string{"testdata/repo/*.yml", "testdata/wrong/*.yml"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := ParseRepo(data, "x.yml")
		if (r == nil) == (err == nil) {
			t.Fatalf("want a configuration or an error, got %v and %v", r, err)
		}
		if err != nil {
			var problems Problems
			if !errors.As(err, &problems) || len(problems) == 0 {
				t.Fatalf("want Problems, got %v", err)
			}
			return
		}
		if len(r.Defaults()) == 0 {
			t.Fatal("a configuration without a default suite was accepted")
		}
		if _, err := (JobFlags{}).Spec(r, nil); err != nil {
			t.Fatalf("an accepted configuration makes no job: %v", err)
		}
		for _, s := range r.Suites {
			if _, err := Argv(s.Command, Values{Case: "x", Out: "y"}); err != nil {
				t.Fatalf("an accepted command %q makes no argv: %v", s.Command, err)
			}
		}
	})
}
