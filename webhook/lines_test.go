package webhook

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prbench/prbench/internal/config"
)

func TestWordsStandForLines(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range maxLines + 1 {
		many = append(many, fmt.Sprintf("v%d.x", i))
	}
	lines := []string{"v1.x-staging", "v2.x-staging", "v2.x-release", "v2.x", "1.10"}
	for name, c := range map[string]struct {
		lines, words, want []string
		refusal            string
	}{
		"none for all":              {lines, nil, lines, ""},
		"a line":                    {lines, []string{"v2.x-release"}, []string{"v2.x-release"}, ""},
		"a line that is short too":  {lines, []string{"v2.x"}, []string{"v2.x"}, ""},
		"a short name":              {lines, []string{"v1.x"}, []string{"v1.x-staging"}, ""},
		"the same one twice":        {lines, []string{"v1.x", "v1.x-staging"}, []string{"v1.x-staging"}, ""},
		"another branch":            {lines, []string{"main"}, []string{"main"}, ""},
		"less than what is short":   {lines, []string{"v1"}, []string{"v1"}, ""},
		"a short name of two":       {lines[:3], []string{"v2.x"}, nil, "`v2.x` may be `v2.x-staging` or `v2.x-release`"},
		"no lines":                  {nil, nil, nil, "`.github/benchmark.yml` on the default branch has no key `release_lines`"},
		"more than twenty lines":    {many, nil, nil, "21 lines are too many: one command may ask for 20"},
		"some of more than twenty":  {many, []string{"v3.x"}, []string{"v3.x"}, ""},
		"no lines, and yet a named": {nil, []string{"v3.x"}, []string{"v3.x"}, ""},
	} {
		got, err := lineNames(&config.Repo{ReleaseLines: c.lines}, c.words)
		if !slices.Equal(got, c.want) || (err == nil) != (c.refusal == "") || err != nil && !strings.Contains(err.Error(), c.refusal) {
			t.Errorf("%s: %q, %v; want %q, %q", name, got, err, c.want, c.refusal)
		}
	}
}

func TestALabelNamesALineByThePattern(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ pattern, label, want string }{
		{"backport-requested-*", "backport-requested-v8.x", "v8.x"},
		{"backport-requested-*", "backport-requested-", ""},
		{"backport-requested-*", "x-backport-requested-v8.x", ""},
		{"land on * please", "land on v8.x please", "v8.x"},
		{"land on * please", "land on please", ""},
		{"land on * please", "land on v8.x", ""},
		{"*-backport", "v8.x-backport", "v8.x"},
		{"aba*aba", "aba", ""},
		{"", "v8.x", ""},
	} {
		if got := lineOfLabel(&config.Repo{BackportLabel: c.pattern}, c.label); got != c.want {
			t.Errorf("%q by %q names %q, want %q", c.label, c.pattern, got, c.want)
		}
	}
	if got := lineOfLabel(nil, "v8.x"); got != "" {
		t.Errorf("without a config it names %q", got)
	}
}
