package report_test

import (
	"strings"
	"testing"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report"
)

func TestABackportIsRepeatedWithItsOwnCommits(t *testing.T) {
	a, b, hostile := strings.Repeat("a", 40), strings.Repeat("b", 40), "main; rm -r ."
	for name, c := range map[string]struct {
		picks []job.Pick
		want  string
	}{
		"a commit":          {[]job.Pick{{SHA: a}}, "--commits " + a + " "},
		"a merge commit":    {[]job.Pick{{SHA: a, Mainline: 1}}, "--commits " + a + " "},
		"commits in order":  {[]job.Pick{{SHA: a}, {SHA: b}}, "--commits " + a + "^.." + b + " "},
		"a range as one":    {[]job.Pick{{SHA: b, Since: a}}, "--commits " + a + ".." + b + " "},
		"what is no commit": {[]job.Pick{{SHA: hostile}}, ""},
		"a hostile range":   {[]job.Pick{{SHA: a, Since: hostile}}, ""},
		"nothing":           {nil, ""},
	} {
		got := report.BackportRecipe(7, job.Change{Picks: c.picks}, []string{"v1.x"}, "--runs 30")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q in it", name, got, c.want)
		}
	}
}
