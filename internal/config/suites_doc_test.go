package config

import (
	"os"
	"regexp"
	"testing"
)

// The guide promises that each of its configurations can be used as it stands.
func TestEveryConfigurationOfTheSuitesGuideIsGood(t *testing.T) {
	guide, err := os.ReadFile("../../docs/suites.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(guide, -1)
	if len(blocks) < 7 {
		t.Fatalf("the guide has %d configurations, fewer than there are kinds of project", len(blocks))
	}
	for i, b := range blocks {
		if _, err := ParseRepo(b[1], RepoPath); err != nil {
			t.Errorf("configuration %d: %v\n%s", i+1, err, b[1])
		}
	}
}
