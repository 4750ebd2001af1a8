package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/prbench/prbench/report/stats/simulate"
)

const committed = "../../../../docs/validation.md"

func TestThePublishedPageIsAboutTheClaimsThatTheCodeMakes(t *testing.T) {
	page, err := os.ReadFile(committed)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(page, introduction) {
		t.Error("the page has another introduction: make simulate")
	}
	published := lines(string(page))
	claimed := 0
	for _, c := range simulate.Claims() {
		for _, m := range c.Check(simulate.Options{Replicates: 1, Seed: 1}, 0) {
			claimed++
			if line := "| " + m.Claim + ": " + m.What + " | " + m.Target; !published[line] {
				t.Errorf("the page has no line %q: make simulate", line)
			}
		}
		if c.Note != "" && !strings.Contains(string(page), c.Note) {
			t.Errorf("the page lacks the note on %s: make simulate", c.Name)
		}
	}
	if heading := 1; len(published) != claimed+heading {
		t.Errorf("the page has %d lines, the code makes %d claims: make simulate", len(published)-heading, claimed)
	}
}
