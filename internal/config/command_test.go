package config

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestACommandIsSplitBeforeItsPlaceholdersAreFilledIn(t *testing.T) {
	tests := []struct {
		name, command string
		values        Values
		want          []string
	}{
		{"plain words", "go test  -bench=.", Values{}, []string{"go", "test", "-bench=."}},
		{"a case with spaces stays one argument", "node {case}", Values{Case: "a b.js"}, []string{"node", "a b.js"}},
		{"each value is an argument", "node {case} {set}", Values{Case: "x.js", Set: []string{"n=1", "dur=0.5"}},
			[]string{"node", "x.js", "n=1", "dur=0.5"}},
		{"no value leaves no argument", "node {case} {set}", Values{Case: "x.js"}, []string{"node", "x.js"}},
		{"a word with {set} is repeated", "bench --set={set} end", Values{Set: []string{"a=1", "b=2"}},
			[]string{"bench", "--set=a=1", "--set=b=2", "end"}},
		{"the file of results", "jmh -rff {out} {case}", Values{Case: "X", Out: "/out/r.json"}, []string{"jmh", "-rff", "/out/r.json", "X"}},
		{"a placeholder inside a word", "bench --file=tree/{case}.txt", Values{Case: "x"}, []string{"bench", "--file=tree/x.txt"}},
		{"a value is not read for placeholders", "bench {case} {set}", Values{Case: "{out}", Set: []string{"a={case}"}, Out: "/secret"},
			[]string{"bench", "{out}", "a={case}"}},
		{"an empty value stays an argument", "bench {case} x", Values{}, []string{"bench", "", "x"}},
		{"quotes keep what a shell would act on", `sh -c 'a | b > c; d && "e"'`, Values{}, []string{"sh", "-c", `a | b > c; d && "e"`}},
		{"a backslash inside quotes", `grep "a\\b" 'c\d'`, Values{}, []string{"grep", `a\b`, `c\d`}},
		{"dollars are text", "go test -run=^$ $HOME", Values{}, []string{"go", "test", "-run=^$", "$HOME"}},
		{"a program's own braces", "awk '{ print $1 }' {case}", Values{Case: "f"}, []string{"awk", "{ print $1 }", "f"}},
		{"lines are words", "node\n  {case}\n", Values{Case: "f"}, []string{"node", "f"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Argv(tt.command, tt.values)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("want - got +\n%s", diff)
			}
		})
	}
}

func TestAValueNeverReachesAShell(t *testing.T) {
	hostile := []string{"; rm -rf /", "$(touch /tmp/x)", "`id`", "a && b", "| tee x", "'", `"`, `\`, "a\nb", "-rf", "{out}", "*", "~"}
	for _, h := range hostile {
		argv, err := Argv(`printf '%s\0' {case} {set}`, Values{Case: h, Set: []string{"k=" + h}})
		if err != nil {
			t.Fatalf("%q: %v", h, err)
		}
		out, err := exec.CommandContext(t.Context(), argv[0], argv[1:]...).Output()
		if err != nil {
			t.Fatalf("run %q: %v", argv, err)
		}
		if want := h + "\x00k=" + h + "\x00"; string(out) != want {
			t.Errorf("the program got %q, want %q", out, want)
		}
	}
}

func TestACommandThatMeansSomethingElseToAShellIsRefused(t *testing.T) {
	tests := []struct{ command, want string }{
		{`out\node x`, "backslash outside quotes"},
		{`a 'b' c\`, "backslash outside quotes"},
		{"a | b", "no shell"}, {"a || b", "no shell"}, {"a && b", "no shell"}, {"a & b", "no shell"},
		{"a; b", "no shell"}, {"a ; b", "no shell"}, {"a > b", "no shell"}, {"a 2>&1", "no shell"}, {"a <b", "no shell"},
		{"N=1 a", "env N=1"}, {`N="a b" c`, "env N="},
		{"'a", "single quote is not closed"}, {`a "b`, "double quote is not closed"},
		{"", "got nothing"}, {"''", "got nothing"}, {" \t\n", "got nothing"},
		{"{set} a", "program itself"},
		{"a {cases}", `did you mean "{case}"`}, {"a {output}", "unknown placeholder"},
		{"a\x00b", "NUL"}, {"a\rb", "carriage"},
	}
	for _, tt := range tests {
		_, err := SplitCommand(tt.command)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: want an error with %q, got %v", tt.command, tt.want, err)
		}
	}
}

func TestAValueWithANULIsRefused(t *testing.T) {
	if argv, err := Argv("a {case}", Values{Case: "x\x00y"}); err == nil {
		t.Errorf("got %q", argv)
	}
}

func FuzzArgv(f *testing.F) {
	f.Add("node {case} {set} 'x y'", "a b", "k=v")
	f.Add(`"a\"b" {out}{case}`, "{set}", "k={case}")
	f.Add(`a\b`, "", "")
	f.Fuzz(func(t *testing.T, command, value, set string) {
		words, err := SplitCommand(command)
		if err != nil {
			return
		}
		argv, err := Argv(command, Values{Case: value, Set: []string{set}, Out: value})
		if err != nil {
			return
		}
		// One value of {set} leaves the number of words as it is, whatever it holds.
		if len(argv) != len(words) {
			t.Fatalf("%q became %d arguments of %d words: %q", command, len(argv), len(words), argv)
		}
		for i, w := range words {
			if !strings.ContainsAny(w, "{") && argv[i] != w {
				t.Fatalf("the word %q became %q", w, argv[i])
			}
		}
	})
}
