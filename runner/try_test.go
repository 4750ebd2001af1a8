package runner

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/internal/queue"
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
