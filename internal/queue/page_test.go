package queue

import (
	"regexp"
	"testing"
)

func TestEachJobHasAnAddressThatNobodyGuesses(t *testing.T) {
	q := open(t)
	shape, seen := regexp.MustCompile(`^[0-9a-f]{32}$`), map[string]bool{}
	for pr := 1; pr <= 20; pr++ {
		given := wish(7, pr, "k")
		given.Page = "0123456789abcdef0123456789abcdef"
		j := create(t, q, given)
		if !shape.MatchString(j.Page) || seen[j.Page] || j.Page == given.Page {
			t.Fatalf("job %s has the page %q", j.ID, j.Page)
		}
		seen[j.Page] = true
		if kept := get(t, q, j.ID); kept.Page != j.Page {
			t.Errorf("the record has the page %q, want %q", kept.Page, j.Page)
		}
	}
}
