package forge_test

import (
	"testing"
)

func TestWhoPutALabelOnIsFoundOnALaterPageOfTheHistory(t *testing.T) {
	w := newWorld(t)
	w.ok(w.AddLabel("stranger", w.pull, "benchmark"))
	w.ok(w.RemoveLabel("dev-a", w.pull, "benchmark"))
	if got, ok, err := w.gh.LastLabelling(w.ctx, w.name, w.pull.Number, "benchmark"); ok || err != nil {
		t.Fatalf("a label that was taken off: %+v, %v, %v", got, ok, err)
	}
	for range 60 {
		w.ok(w.AddLabel("dev-a", w.pull, "other"))
		w.ok(w.RemoveLabel("dev-a", w.pull, "other"))
	}
	w.ok(w.AddLabel("dev-b", w.pull, "Benchmark"))
	got, ok, err := w.gh.LastLabelling(w.ctx, w.name, w.pull.Number, "benchmark")
	w.ok(err)
	if !ok || got.By.Login != "dev-b" || got.By.Type != "User" || got.At.IsZero() {
		t.Errorf("labelling %+v, %v", got, ok)
	}
	if n := len(w.RequestsTo("GET", "/repos/acme/engine/issues/*/events")); n != 3 {
		t.Errorf("%d requests, want one for the short history and two for the long one", n)
	}
}
