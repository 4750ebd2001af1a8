package webhook

import (
	"log/slog"
	"testing"

	"github.com/prbench/prbench/internal/config"
	"github.com/prbench/prbench/internal/forgetest"
)

func TestARepositoryThatCannotBeReadHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		again  bool
	}{"for now": {502, true}, "for good": {404, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, goodConfig)
			broken, err := w.AddRepo("acme/a-broken-one", forgetest.RepoSpec{Build: forgetest.WriteFiles("first", map[string]string{"a": "b\n"})})
			w.ok(err)
			w.ok(w.SelectRepos("acme", w.inst, []*forgetest.Repo{broken}, nil))
			w.settle()
			w.SetDeliveryMode(forgetest.DeliveryMode{Lost: true})
			moved := w.push("untold\n")
			w.ok(w.Settle(t.Context()))
			w.Fail(forgetest.Fault{Path: "/repos/acme/a-broken-one/pulls", Times: -1, Status: c.status})
			a := &Acceptor{Hub: func(id int64) Hub { return w.forge.Installation(id) }, Store: w.store, Now: w.now,
				Pools: []config.Pool{{Name: "default", Repositories: []string{"acme/*"}}}, Log: slog.New(slog.NewTextHandler(t.Output(), nil))}
			if err := a.SeeInstallation(t.Context(), w.inst.ID); (err != nil) != c.again {
				t.Errorf("error %v, want one: %v", err, c.again)
			}
			if h, ok, err := w.store.Head(t.Context(), w.repo.ID, w.pull.Number); err != nil || !ok || h.SHA != moved {
				t.Errorf("head %+v, %v, %v, want %s", h, ok, err, moved)
			}
		})
	}
}
