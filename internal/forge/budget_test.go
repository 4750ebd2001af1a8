package forge_test

import (
	"testing"
	"time"
)

func TestWhatIsLeftOfTheLimitIsReadFromTheAnswers(t *testing.T) {
	w := newWorld(t)
	w.SetRateLimit(100)
	if got := w.forge.Budgets(); len(got) != 0 {
		t.Errorf("before any answer: %+v", got)
	}
	for range 3 {
		_, err := w.gh.Repository(w.ctx, w.name)
		w.ok(err)
	}
	got := w.forge.Budgets()
	if len(got) != 1 || got[0].Installation != w.inst.ID || got[0].Limit != 100 || got[0].Left < 90 || got[0].Left > 97 || !got[0].Reset.After(w.clock.Now()) {
		t.Errorf("after three requests of 100: %+v", got)
	}
	_, err := w.forge.Self(w.ctx)
	w.ok(err)
	if got = w.forge.Budgets(); len(got) != 2 || got[0].Installation != 0 {
		t.Errorf("with a request as the App: %+v", got)
	}
	w.ok(w.clock.Sleep(w.ctx, 2*time.Hour))
	if got := w.forge.Budgets(); len(got) != 0 {
		t.Errorf("after the hour: %+v", got)
	}
}
