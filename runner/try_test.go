package runner

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/internal/queue"
	"github.com/prbench/prbench/runner/source"
)

func TestAJobWhoseIDLeadsOutOfTheWorkFolderTouchesNothing(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{"x-1/kept": "text", "work/jobs/lock": ""})
	s := &service{Options: Options{Logger: slog.New(slog.DiscardHandler)}, jobs: filepath.Join(dir, "work", "jobs")}
	s.do(t.Context(), queue.Lease{Job: job.Job{ID: "../../x"}, Try: 1})
	if _, err := os.Stat(filepath.Join(dir, "x-1", "kept")); err != nil {
		t.Error(err)
	}
}

func TestAFetchThatTookTooLongIsLeftToTheNextTry(t *testing.T) {
	tr := &try{service: &service{Options: Options{FetchPauses: []time.Duration{1}}}, log: slog.New(slog.DiscardHandler), work: t.Context()}
	if !tr.fetchAgain(errors.New("connection reset"), 0) {
		t.Error("a broken connection is not tried again")
	}
	if tr.fetchAgain(fmt.Errorf("fetch the base commit: %w", source.ErrTook), 0) {
		t.Error("a fetch that took too long is tried again")
	}
}
