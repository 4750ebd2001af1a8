package config

import (
	"strings"
	"testing"
)

func TestPatternsOfCasesAndHarnessFiles(t *testing.T) {
	tests := []struct {
		pattern, path string
		want          bool
	}{
		{"benchmark/process/*.js", "benchmark/process/hrtime.js", true},
		{"benchmark/process/*.js", "benchmark/process/deep/hrtime.js", false},
		{"benchmark/**", "benchmark/common.js", true},
		{"benchmark/**", "benchmark/a/b/c.js", true},
		{"benchmark/**", "benchmark", true},
		{"benchmark/**", "benchmarks/a.js", false},
		{"**/*.js", "a.js", true},
		{"**/*.js", "a/b/c.js", true},
		{"a/**/z", "a/z", true},
		{"a/**/z", "a/b/c/z", true},
		{"a/**/z", "a/b/c", false},
		{"a/**/b/**/c", "a/x/b/y/c", true},
		{"a/[b-d].js", "a/c.js", true},
		{"a/[^b-d].js", "a/c.js", false},
		{"a/?.js", "a/x.js", true},
		{"a/?.js", "a/xy.js", false},
		{"a/[*].js", "a/*.js", true},
		{"a.js", "a.js", true},
		{"a.js", "b/a.js", false},
		{"[", "[", false},
		{"../x", "../x", false},
	}
	for _, tt := range tests {
		if got := Match(tt.pattern, tt.path); got != tt.want {
			t.Errorf("%q on %q: want %v, got %v", tt.pattern, tt.path, tt.want, got)
		}
	}
}

func FuzzMatch(f *testing.F) {
	f.Add("a/**/[b-d]*.js", "a/x/c.js")
	f.Add(strings.Repeat("**/", 60)+"x", strings.Repeat("a/", 500)+"y")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		ok := Match(pattern, name)
		if ok && CheckGlob(pattern) != nil {
			t.Fatalf("the invalid pattern %q matches %q", pattern, name)
		}
		// A pattern without special characters is a path, and matches itself alone.
		if !IsGlob(pattern) && ok != (pattern == name && CheckGlob(pattern) == nil) {
			t.Fatalf("%q on %q: got %v", pattern, name, ok)
		}
	})
}

func TestSizesAreReadWithTheirUnits(t *testing.T) {
	for text, want := range map[string]int64{"8GiB": 8 << 30, "512MiB": 512 << 20, "1 TiB": 1 << 40, "3KiB": 3072, "17B": 17, "0B": 0} {
		got, err := ParseSize(text)
		if err != nil || got != want {
			t.Errorf("%q: want %d, got %d, %v", text, want, got, err)
		}
	}
	for _, text := range []string{"", "8", "8GB", "-1GiB", "1.5GiB", "GiB", "9999999999999TiB", "8 gib", "0x1GiB"} {
		if got, err := ParseSize(text); err == nil {
			t.Errorf("%q: want an error, got %d", text, got)
		}
	}
	for n, want := range map[int64]string{8 << 30: "8GiB", 1536 << 20: "1536MiB", 17: "17B", 0: "0B"} {
		if got := FormatSize(n); got != want {
			t.Errorf("%d: want %s, got %s", n, want, got)
		}
	}
}
