package webhook

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prbench/prbench/internal/config"
)

func TestCommandsBeyondTenAreNotRunAndAreToldOf(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	var lines []string
	for i := range maxCommands + 3 {
		lines = append(lines, fmt.Sprintf("/benchmark http --runs %d", 10+i))
	}
	w.comment("writer", strings.Join(lines, "\n"))
	if n := len(w.jobs()); n != maxCommands {
		t.Errorf("%d jobs, want %d", n, maxCommands)
	}
	if said := w.said("--runs 20` was not run", "3 more"); strings.Contains(said, "--runs 21") {
		t.Errorf("reply %s", said)
	}
}

func TestStatusIsRefusedWhereNoPoolIsAllowed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goodConfig)
	w.clerk.Pools = []config.Pool{{Name: "default", Repositories: []string{"acme/another"}}}
	w.comment("writer", "/benchmark status")
	w.refused("may not use any pool")
}
