package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/prbench/prbench/internal/config"
	"github.com/prbench/prbench/internal/forgetest"
)

// opened is a serve of this process that takes no webhooks yet.
func (w *world) opened() *server {
	w.t.Helper()
	cfg, err := config.LoadServe(filepath.Join(w.dir, "serve.yaml"), os.LookupEnv, config.ServeFlags{})
	w.ok(err)
	s, err := openServer(w.t.Context(), cfg, pace{mutations: -1}, slog.New(slog.NewTextHandler(w.t.Output(), nil)))
	w.ok(err)
	w.t.Cleanup(s.close)
	return s
}

func TestAStartReadsEachInstallationOnceAndOneThatFailsHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldSpec{})
	for _, owner := range []string{"bolt", "cogs"} {
		_, err := w.AddRepo(owner+"/engine", forgetest.RepoSpec{Build: forgetest.WriteFiles("first", map[string]string{"a": "b"})})
		w.ok(err)
	}
	second, err := w.Install(w.app, "bolt")
	w.ok(err)
	asleep, err := w.Install(w.app, "cogs")
	w.ok(err)
	w.ok(w.Suspend("writer", asleep, true))
	s := w.opened()
	const repositories = "/installation/repositories"
	w.Fail(forgetest.Fault{Method: "GET", Path: repositories, Status: 502, Times: 2}) // both questions of the first
	seen := map[int64]bool{}
	if err := s.seeOnce(t.Context(), seen); err == nil {
		t.Error("an installation that failed is no error")
	}
	if !seen[second.ID] || len(seen) != 2 {
		t.Errorf("read whole: %v", seen)
	}
	asked := len(w.RequestsTo("GET", repositories))
	w.ok(s.seeOnce(t.Context(), seen))
	if n := len(w.RequestsTo("GET", repositories)) - asked; n != 2 {
		t.Errorf("%d questions the second time, want the 2 of the installation that failed", n)
	}
	if h, ok, err := s.queue.Head(t.Context(), w.repo.ID, w.pull.Number); err != nil || !ok || h.SHA != w.Head(w.pull) {
		t.Errorf("the head of the pull request: %+v, %v, %v", h, ok, err)
	}
	if len(seen) != 2 {
		t.Errorf("the suspended installation was read: %v", seen)
	}
}
