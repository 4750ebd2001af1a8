package webhook

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// texts are the commands of a comment, as understood; a mistake is marked.
func texts(body string) []string {
	commands, lost := Commands(body)
	var out []string
	for _, c := range commands {
		text := c.Text
		if c.Err != nil {
			text = "mistake: " + text
		}
		out = append(out, text)
	}
	if lost {
		out = append(out, "lost")
	}
	return out
}

func TestCommandsAreReadWhereMarkdownSaysTheyAreText(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		want []string
	}{
		"alone":                           {"/benchmark", []string{"/benchmark"}},
		"with a suite":                    {"/benchmark http", []string{"/benchmark http"}},
		"with a trailing CRLF":            {"/benchmark buffers\r\n", []string{"/benchmark buffers"}},
		"after a greeting":                {"Hello,\n/benchmark http", []string{"/benchmark http"}},
		"two of them, then thanks":        {"/benchmark fs\n/benchmark http --runs 40\nthank you", []string{"/benchmark fs", "/benchmark http --runs 40"}},
		"in a heading":                    {"# /benchmark http", []string{"/benchmark http"}},
		"above a rule, a setext heading":  {"/benchmark http\n---\n", []string{"/benchmark http"}},
		"indented by three spaces":        {"   /benchmark http", []string{"/benchmark http"}},
		"emphasis is not Markdown in it":  {"/benchmark --filter 'a*b*c_d_'", []string{"/benchmark --filter a*b*c_d_"}},
		"an HTML comment behind it":       {"/benchmark http <!-- to be sure -->", []string{"/benchmark http"}},
		"in the middle of a line":         {"please /benchmark http", nil},
		"another word":                    {"/benchmarks http", nil},
		"escaped":                         {"\\/benchmark http", nil},
		"in a quote":                      {"> /benchmark http\n>> /benchmark fs\n\nAgree.", nil},
		"in a list":                       {"- /benchmark http\n- /benchmark fs", nil},
		"in a list's second line":         {"- try\n  /benchmark http", nil},
		"in a table":                      {"a | b\n--|--\n/benchmark http | x", nil},
		"in a code span":                  {"`/benchmark http`", nil},
		"in a code span of several lines": {"see `one\n/benchmark http\ntwo`", nil},
		"in a fence":                      {"```\n/benchmark http\n```", nil},
		"in a fence with tildes":          {"~~~\n/benchmark http\n~~~", nil},
		"in an open fence":                {"```\n/benchmark http", nil},
		"in indented code":                {"    /benchmark http", nil},
		"in an HTML comment":              {"<!--\n/benchmark http\n-->", nil},
		"in an inline HTML comment":       {"text <!-- a\n/benchmark http\n-->", nil},
		"in a details block":              {"<details>\n/benchmark http\n</details>", nil},
		"lost to a quote above":           {"> what about it?\n/benchmark http", []string{"lost"}},
		"lost to a list above":            {"1. one\n/benchmark http", []string{"lost"}},
		"an empty line below the quote":   {"> what about it?\n\n/benchmark http", []string{"/benchmark http"}},
		"phone dashes":                    {"/benchmark http —runs 40 –margin 3%", []string{"/benchmark http --runs 40 --margin 3%"}},
		"phone quotes":                    {"/benchmark --filter “a b”", []string{"/benchmark --filter a b"}},
		"a number that no flag takes":     {"/benchmark --runs many", []string{"mistake: /benchmark --runs many"}},
		"an unknown flag":                 {"/benchmark --rusn 3", []string{"mistake: /benchmark --rusn 3"}},
		"an open quote":                   {"/benchmark --filter 'a", []string{"mistake: /benchmark --filter 'a"}},
		"a bare backslash":                {`/benchmark --filter \d+`, []string{`mistake: /benchmark --filter \d+`}},
		"a backslash in quotes":           {`/benchmark --filter '\d+'`, []string{`/benchmark --filter \d+`}},
		"shell characters are text":       {"/benchmark 'a;b' --set x=$(id)", []string{"/benchmark a;b --set x=$(id)"}},
		"lines and flags":                 {"/benchmark backport v8.x  v9.x-staging —runs 40", []string{"/benchmark backport v8.x v9.x-staging --runs 40"}},
		"a base for a backport":           {"/benchmark backport v8.x --base main", []string{"mistake: /benchmark backport v8.x --base main"}},
		"a commit for a backport":         {"/benchmark backport --sha 0123456789", []string{"mistake: /benchmark backport --sha 0123456789"}},
		"a backport without its check":    {"/benchmark backport --gate=false", []string{"mistake: /benchmark backport --gate=false"}},
		"an accepted regression":          {"/benchmark accept a.js n=1 —reason “a hole” --until 2031-02-03", []string{`/benchmark accept a.js n=1 --reason "a hole" --until 2031-02-03`}},
		"accepted without a reason":       {"/benchmark accept a.js", []string{"mistake: /benchmark accept a.js"}},
		"accepted with an empty reason":   {"/benchmark accept a.js --reason ' '", []string{`mistake: /benchmark accept a.js --reason " "`}},
		"accepted with no benchmark":      {"/benchmark accept --reason x", []string{"mistake: /benchmark accept --reason x"}},
		"accepted until no day":           {"/benchmark accept b --reason x --until 3.2.2031", []string{"mistake: /benchmark accept b --reason x --until 3.2.2031"}},
		"accepted with a job's flag":      {"/benchmark accept b --reason x --runs 3", []string{"mistake: /benchmark accept b --reason x --runs 3"}},
		"words after help":                {"/benchmark help me", []string{"mistake: /benchmark help me"}},
	} {
		if got := texts(c.body); !cmp.Equal(got, c.want) {
			t.Errorf("%s: %q gives %q, want %q", name, c.body, got, c.want)
		}
	}
}

func TestACommandKeepsItsFlagsToItself(t *testing.T) {
	commands, _ := Commands("/benchmark fs\n/benchmark http --runs 40\nplease and thank you\n")
	if len(commands) != 2 {
		t.Fatalf("got %d commands, want 2", len(commands))
	}
	if fs := commands[0]; fs.Flags.Runs != nil || !cmp.Equal(fs.Suites, []string{"fs"}) {
		t.Errorf("the first command got %v of suites %v", fs.Flags.Runs, fs.Suites)
	}
	if http := commands[1]; http.Flags.Runs == nil || *http.Flags.Runs != 40 || !cmp.Equal(http.Suites, []string{"http"}) {
		t.Errorf("the second command got %v of suites %v", http.Flags.Runs, http.Suites)
	}
}

func TestABackportNamesTheFlagThatDoesNotGoWithIt(t *testing.T) {
	for _, flag := range []string{"--base main", "--sha 0123456789", "--gate=false"} {
		name, _, _ := strings.Cut(flag, " ")
		commands, _ := Commands("/benchmark backport v8.x " + flag)
		if err := commands[0].Err; err == nil || !strings.HasPrefix(err.Error(), name+" does not go with") {
			t.Errorf("%s: %v", flag, err)
		}
	}
	commands, _ := Commands("/benchmark backport" + strings.Repeat(" v", maxLines+1))
	if commands[0].Err == nil {
		t.Error("too many lines are taken")
	}
}

func TestAReasonHasAtMost500Characters(t *testing.T) {
	for n, fits := range map[int]bool{maxReason: true, maxReason + 1: false} {
		commands, _ := Commands("/benchmark accept b --reason '" + strings.Repeat("ä", n) + "'")
		if c := commands[0]; (c.Err == nil) != fits {
			t.Errorf("%d characters: %v", n, c.Err)
		}
	}
}

func TestTheFenceBelowACommandIsItsAdHocBenchmark(t *testing.T) {
	commands, _ := Commands("/benchmark process\n```js\nprocess.hrtime();\n```\n")
	if len(commands) != 1 || commands[0].Adhoc != "process.hrtime();\n" {
		t.Errorf("got %+v", commands)
	}
	commands, _ = Commands("/benchmark process\nwhile this is what I saw:\n\n```\nsome log\n```\n")
	if len(commands) != 1 || commands[0].Adhoc != "" {
		t.Errorf("a log further down became a benchmark: %+v", commands)
	}
}

func TestRealCommentsAreUnderstood(t *testing.T) {
	for file, want := range map[string][]string{
		"quoted-command.json":          nil,
		"trailing-crlf.json":           {"/benchmark buffers"},
		"two-commands-and-thanks.json": {"/benchmark fs", "/benchmark http --runs 40"},
	} {
		raw, err := os.ReadFile("testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		var p payload
		if err := json.Unmarshal(raw, &p); err != nil {
			t.Fatal(err)
		}
		if got := texts(p.Comment.Body); !cmp.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", file, got, want)
		}
	}
}

func FuzzCommands(f *testing.F) {
	for _, s := range []string{"/benchmark", "> q\n/benchmark", "`a\n/benchmark\nb`", "<!--\n/benchmark\n-->", "/benchmark --filter “x”",
		"/benchmark —runs 3\n```\nx\n```", "a | b\n-|-\n/benchmark | 1", "- x\n/benchmark", "/benchmark \\", "/benchmark http <b\n/benchmark>",
		"> a ** -1 % ±1%\n> ```\n> b\n> ```\n\n/benchmark explain --runs 3", "/benchmark explain\n\n> - x\n>   > y",
		"/benchmark backport v8.x -- --base", "/benchmark accept a b='c' --reason \"d e\" --until 2031-02-03"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		commands, _ := Commands(body)
		for _, c := range commands {
			if c.Err != nil {
				continue
			}
			// What is understood must be a line of its own in the comment.
			if !strings.Contains(body, Word) || len(c.Text) > 2*maxCommand {
				t.Errorf("%q gave the command %q", body, c.Text)
			}
			if n := len(c.Lines); n > maxLines || n > 0 && c.Verb != Backport {
				t.Errorf("%q: %s names %d lines", body, c.Verb, n)
			}
			if a := c.Acceptance; c.Verb == Accept && (a.Benchmark == "" || a.Reason == "" || len(a.Reason) > 4*maxReason) {
				t.Errorf("%q accepts %+v", body, a)
			}
			for _, s := range slices.Concat(c.Suites, c.Lines) {
				if strings.HasPrefix(s, "-") && s != "-" && !strings.Contains(body, " -- ") && !strings.Contains(body, "--\n") {
					t.Errorf("%q: the suite %q looks like a flag", body, s)
				}
			}
		}
		quoted := "> " + strings.ReplaceAll(strings.ReplaceAll(body, "\r", ""), "\n", "\n> ")
		if commands, _ := Commands(quoted); len(commands) > 0 {
			t.Errorf("a command ran from a quote: %q", quoted)
		}
	})
}
