package runner

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/runner/disk"
	"github.com/prbench/prbench/runner/sandbox"
)

func TestADiskIsLowByTheErrorAndNotByWhatAProgramPrints(t *testing.T) {
	box, err := sandbox.New(t.Context(), sandbox.Config{Kind: sandbox.None, KeepFree: 1})
	if err != nil {
		t.Fatal(err)
	}
	fresh := func() *execution {
		return &execution{box: box, dir: filepath.Join(t.TempDir(), "x-1"), log: slog.New(slog.DiscardHandler)}
	}
	e := fresh()
	named := job.Outcome{Kind: job.Fault, Text: fmt.Sprintf("the case %q cannot be read", disk.ErrLow)}
	if o, low := e.diskLow(named); low || o.Text != named.Text {
		t.Errorf("a case of that name: low is %v, %q", low, o.Text)
	}
	if _, low := e.diskLow(e.sourceOutcome(errors.New("fetch: " + disk.ErrLow.Error()))); low {
		t.Error("a forge that says so: low")
	}
	for _, cause := range []error{disk.ErrLow, syscall.ENOSPC} {
		e := fresh()
		want := e.sourceOutcome(fmt.Errorf("fetch: %w", cause))
		if o, low := e.diskLow(want); !low || o.Text != want.Text {
			t.Errorf("%v: low is %v, %q", cause, low, o.Text)
		}
	}
}
