// Package prbench_test checks the shape of the whole module.
package prbench_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
)

const module = "github.com/prbench/prbench/"

// arrows says, for each folder, which of our own packages it may import. A
// name that ends in "/" allows everything below it. The longest matching
// folder decides.
var arrows = map[string][]string{
	"cmd/bot":             {"cmd/", "webhook", "runner", "runner/", "report", "report/", "internal/"},
	"webhook":             {"webhook/", "internal/", "report/stats"},
	"runner":              {"runner/", "internal/", "report/stats"},
	"report":              {"report/", "internal/"},
	"report/stats":        {"report/stats", "report/stats/"},
	"internal/job":        {},
	"internal/queue":      {"internal/job"},
	"internal/forge":      {},
	"internal/forgetest":  {},
	"internal/config":     {"internal/job"},
	"internal/benchfmt":   {"internal/job"},
	"internal/testlog":    {},
	"internal/testgolden": {},
	"internal/hostile":    {},
}

// A test may also reach for a stand-in: a real forge server instead of a mock.
var testArrows = map[string][]string{
	"internal/config":    {"internal/testgolden"},
	"internal/forge":     {"internal/forgetest"},
	"internal/forgetest": {"internal/forge"},
}

type listed struct {
	ImportPath   string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

func TestPackagesImportOnlyAlongTheArrows(t *testing.T) {
	seen := 0
	for _, p := range listPackages(t) {
		from, ok := strings.CutPrefix(p.ImportPath, module)
		if !ok {
			continue // the root itself holds only this test
		}
		seen++
		room := roomOf(from)
		if room == "" {
			t.Errorf("%s lies in no folder that the design names", from)
			continue
		}
		for _, imp := range p.Imports {
			checkArrow(t, from, room, imp, arrows[room])
		}
		for _, imp := range append(p.TestImports, p.XTestImports...) {
			checkArrow(t, from+" (test)", room, imp, append(testArrows[room], arrows[room]...))
		}
	}
	if seen < len(arrows) {
		t.Errorf("saw %d packages, fewer than the %d folders of the design", seen, len(arrows))
	}
}

func checkArrow(t *testing.T, from, room, imported string, allowed []string) {
	t.Helper()
	to, ok := strings.CutPrefix(imported, module)
	if !ok || to == room {
		return
	}
	for _, a := range allowed {
		if to == a || (strings.HasSuffix(a, "/") && strings.HasPrefix(to, a)) {
			return
		}
	}
	t.Errorf("%s imports %s; %s may import only %v", from, to, room, allowed)
}

func roomOf(pkg string) string {
	room := ""
	for r := range arrows {
		if (pkg == r || strings.HasPrefix(pkg, r+"/")) && len(r) > len(room) {
			room = r
		}
	}
	return room
}

func listPackages(t *testing.T) []listed {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports,TestImports,XTestImports", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("read go list: %v", err)
		}
		all = append(all, p)
	}
}
