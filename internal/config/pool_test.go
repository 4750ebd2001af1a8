package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAPoolAllowsWhatItNames(t *testing.T) {
	acme := Pool{Repositories: []string{"acme/*", "other/one"}}
	both := Pool{Repositories: []string{"acme/*"}, Installations: []int64{7}}
	tests := []struct {
		name         string
		pool         Pool
		repository   string
		installation int64
		want         bool
	}{
		{"a repository of the owner", acme, "acme/web", 1, true},
		{"case does not matter", acme, "Acme/Web", 1, true},
		{"the one of another owner", acme, "other/one", 2, true},
		{"another of another owner", acme, "other/two", 2, false},
		{"an owner that starts alike", acme, "acme2/web", 1, false},
		{"a name with a slash too many", acme, "acme/web/x", 1, false},
		{"no name", acme, "", 1, false},
		{"an installation", Pool{Installations: []int64{7}}, "any/thing", 7, true},
		{"another installation", Pool{Installations: []int64{7}}, "any/thing", 8, false},
		{"both fit", both, "acme/web", 7, true},
		{"only the repository fits", both, "acme/web", 8, false},
		{"only the installation fits", both, "other/one", 7, false},
		{"nothing named", Pool{}, "acme/web", 7, false},
	}
	for _, tt := range tests {
		if got := tt.pool.Allows(tt.repository, tt.installation); got != tt.want {
			t.Errorf("%s: want %v, got %v", tt.name, tt.want, got)
		}
	}
	s := &Serve{Pools: []Pool{{Name: "a", Repositories: []string{"acme/*"}}, {Name: "b", Installations: []int64{7}}}}
	if diff := cmp.Diff([]string{"a", "b"}, s.Allowed("acme/web", 7)); diff != "" {
		t.Error(diff)
	}
	if got := s.Allowed("x/y", 1); len(got) > 0 {
		t.Errorf("want no pool, got %v", got)
	}
}
