package backport_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prbench/prbench/report/backport"
)

// The documentation tells how to make the digest without this program.
func TestTheDigestIsThatOfTheDocumentedCommand(t *testing.T) {
	page, err := os.ReadFile("../../docs/records.md")
	if err != nil {
		t.Fatal(err)
	}
	command := regexp.MustCompile("(?m)^while .*$").Find(page)
	if command == nil {
		t.Fatal("docs/records.md has no command")
	}
	runs := quiet.runs(3)
	runs[0].Samples[0].Benchmark = `a\b "c" <d> é`
	var samples bytes.Buffer
	want, err := backport.WriteSamples(&samples, each(append(runs, runs[2])))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "samples.jsonl"), samples.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("bash", "-c", string(command))
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil || strings.Fields(string(out))[0] != want.Digest {
		t.Errorf("%v, %s, want %s", err, out, want.Digest)
	}
}
