package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/prbench/prbench/internal/job"
)

const schemaPath = "../../docs/benchmark.schema.json"

func readSchema(t *testing.T) map[string]any {
	t.Helper()
	data, err := os.ReadFile(schemaPath)
	if err != nil {
		t.Fatal(err)
	}
	var schema map[string]any
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	return schema
}

// under walks into an object by its keys.
func under(t *testing.T, v any, keys ...string) any {
	t.Helper()
	for _, k := range keys {
		m, ok := v.(map[string]any)
		if !ok || m[k] == nil {
			t.Fatalf("the schema has no %s", strings.Join(keys, "."))
		}
		v = m[k]
	}
	return v
}

func TestTheEditorsSchemaHasTheParsersKeys(t *testing.T) {
	schema, d := readSchema(t), &document{}
	tables := []struct {
		at   []string
		keys []key
	}{
		{nil, d.repoKeys(&Repo{})},
		{[]string{"properties", "trigger"}, d.triggerKeys(&Trigger{})},
		{[]string{"properties", "build"}, d.buildKeys(&job.Build{})},
		{[]string{"properties", "compare"}, d.compareKeys(&Compare{})},
		{[]string{"definitions", "suite"}, d.suiteKeys(&job.Suite{})},
	}
	for _, table := range tables {
		object := under(t, schema, table.at...)
		if closed := under(t, map[string]any{"x": object}, "x").(map[string]any)["additionalProperties"]; closed != false {
			t.Errorf("%v: the schema lets unknown keys through", table.at)
		}
		var inSchema, required, inParser []string
		for name := range under(t, object, "properties").(map[string]any) {
			inSchema = append(inSchema, name)
		}
		if list, ok := object.(map[string]any)["required"].([]any); ok {
			required = words(list)
		}
		var needed []string
		for _, k := range table.keys {
			inParser = append(inParser, k.name)
			if k.required {
				needed = append(needed, k.name)
			}
		}
		slices.Sort(inSchema)
		slices.Sort(inParser)
		if diff := cmp.Diff(inParser, inSchema); diff != "" {
			t.Errorf("%v: parser - schema +\n%s", table.at, diff)
		}
		slices.Sort(required)
		slices.Sort(needed)
		if diff := cmp.Diff(needed, required, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%v: required: parser - schema +\n%s", table.at, diff)
		}
	}
}

func words(list []any) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i], _ = v.(string)
	}
	return out
}

func TestTheEditorsSchemaHasTheParsersWords(t *testing.T) {
	schema := readSchema(t)
	var formats []string
	for _, f := range job.Formats() {
		formats = append(formats, string(f))
	}
	for _, tt := range []struct {
		want []string
		at   []string
	}{
		{formats, []string{"definitions", "suite", "properties", "format", "enum"}},
		{permissionNames(), []string{"properties", "trigger", "properties", "permission", "enum"}},
		{Subcommands(), []string{"properties", "suites", "propertyNames", "not", "enum"}},
	} {
		if diff := cmp.Diff(tt.want, words(under(t, schema, tt.at...).([]any))); diff != "" {
			t.Errorf("%v: parser - schema +\n%s", tt.at, diff)
		}
	}
}

func TestTheEditorsSchemaAcceptsWhatTheParserAccepts(t *testing.T) {
	schema := readSchema(t)
	files, err := filepath.Glob("testdata/repo/*.yml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no configurations: %v", err)
	}
	for _, file := range files {
		if wrong := validate(schema, schema, readAny(t, file), "$"); wrong != "" {
			t.Errorf("%s: %s", file, wrong)
		}
	}
}

func TestTheEditorsSchemaRefusesWhatTheParserRefuses(t *testing.T) {
	schema := readSchema(t)
	// What a schema of values cannot see: the file's form, and what keys mean together.
	unseen := []string{"alias", "bare-star", "command", "deep", "directive", "empty", "explicit-key", "latin1", "merge-and-tag",
		"no-default", "nul", "only-comment", "tab", "twice", "twice-quoted", "two-documents", "unclosed"}
	files, err := filepath.Glob("testdata/wrong/*.yml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no configurations: %v", err)
	}
	for _, file := range files {
		if slices.Contains(unseen, strings.TrimSuffix(filepath.Base(file), ".yml")) {
			continue
		}
		if validate(schema, schema, readAny(t, file), "$") == "" {
			t.Errorf("%s: the schema accepts it", file)
		}
	}
}

// TestTheEditorsSchemaAndTheParserAgreeOnValues puts one value after another
// into a configuration that is right otherwise.
func TestTheEditorsSchemaAndTheParserAgreeOnValues(t *testing.T) {
	schema := readSchema(t)
	for _, line := range []string{
		"version: 2", `version: "1"`, "pool: a-b_c", "pool: a.b", "pool: 1", "lfs: true", "lfs: yes", "history: full", "history: shallow",
		"keep_label: false", "backport_label: x-*", `backport_label: "*"`, `backport_label: "a*b*"`, `backport_label: " a*"`,
		"release_lines: [v8.x-staging, release/1.2]", "release_lines: [1.10]", `release_lines: ["1.10"]`, "release_lines: [a..b]",
		"release_lines: [-x]", "release_lines: [a.lock]", "release_lines: [a/.b]", "release_lines: [a, a]", "release_lines: x",
		"trigger: {label: x, permission: admin}", "trigger: {permission: read}", "trigger: {labels: x}", `trigger: {label: ""}`,
		"build: {run: make}", "build: {run: 1}", "build: {network: [a.example.org]}", "build: {network: [localhost]}",
		"build: {network: [10.0.0.1]}", `build: {network: ["a.example.org:443"]}`, "build: {timeout: 90s}", "build: {timeout: 90}",
		"compare: {runs: 30}", "compare: {runs: 0}", "compare: {runs: adaptive}", "compare: {runs: many}", "compare: {runs: 10001}",
		"compare: {margin: 2%}", "compare: {margin: 0.02}", "compare: {margin: 2}", "compare: {margin: 0}", "compare: {margin: -1%}",
		"compare: {looks: [8, 15]}", "compare: {looks: [1]}", "compare: {looks: []}", "compare: {looks: [a]}",
		"compare: {budget: 1h30m}", "compare: {budget: forever}", "compare: {gate: true}", "compare: {gate: 1}",
	} {
		text := line + "\nsuites: {go: {format: go, command: go test}}\n"
		if !strings.HasPrefix(line, "version") {
			text = "version: 1\n" + text
		}
		agree(t, schema, text)
	}
	for _, keys := range []string{
		"cases: [a], command: 'x {case}'", "cases: a/*.js, command: 'x {case}'", "cases: [../a], command: 'x {case}'",
		"cases: [/a], command: 'x {case}'", "cases: [-a], command: 'x {case}'", "cases: [a, a], command: 'x {case}'", "cases: [1], command: 'x {case}'",
		"cases: ['a/{b,c}'], command: 'x {case}'", "command: x, harness: [a/**]", "command: x, harness: a/**", "command: x, harness: [../a]",
		"command: x, harness: ['a/{b,c}']", "command: x, harness: [a/.git/b]", "command: x, harness: ['a/**b']",
		"command: x, output: out.json", "command: x, output: /out.json", "command: x, output: ../x", "command: x, output: '*.json'",
		"command: 'x {out}', output: '{out}'", "command: x, unit: ns/op", "command: x, unit: ''", "command: x, better: lower",
		"command: x, better: bigger", "command: x, counts: [B/op]", "command: x, counts: B/op", "command: x, analysis: paired",
		"command: x, analysis: t", "command: x, timeout: 1m", "command: x, timeout: 1", "command: x, default: true",
		"command: x, default: 1", "command: ''", "command: [x]", "comand: x",
	} {
		agree(t, schema, "version: 1\nsuites: {s: {format: csv, "+keys+"}}\n")
	}
}

func agree(t *testing.T, schema map[string]any, text string) {
	t.Helper()
	_, err := ParseRepo([]byte(text), "x.yml")
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	wrong := validate(schema, schema, v, "$")
	if (err == nil) != (wrong == "") {
		t.Errorf("%sparser: %v\nschema: %s", text, err, wrong)
	}
}

func readAny(t *testing.T, file string) any {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := yaml.Unmarshal(data, &v); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return v
}
