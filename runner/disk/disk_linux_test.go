package disk_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/prbench/prbench/runner/disk"
)

func TestADiskIsLowWhereLessIsLeftThanIsToBeKept(t *testing.T) {
	dir := t.TempDir()
	free, err := disk.Free(dir)
	if err != nil || free <= 0 {
		t.Fatalf("free: %d, %v", free, err)
	}
	if disk.Low(dir, 0) || !disk.Low(dir, 1<<62) {
		t.Errorf("with %d bytes left: low for 0 is %v, for 2^62 %v", free, disk.Low(dir, 0), disk.Low(dir, 1<<62))
	}
	if disk.Low(filepath.Join(dir, "missing"), 1<<62) {
		t.Error("a disk that cannot be looked at is low")
	}
}

func TestTheDiskOfAFolderIsSynced(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("a"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := disk.Sync(dir); err != nil {
		t.Error(err)
	}
	if err := disk.Sync(filepath.Join(dir, "missing")); err == nil {
		t.Error("a folder that is not there was synced")
	}
}
