package sandbox

import "github.com/prbench/prbench/runner/disk"

// DiskLow tells whether less is left on the disk of a folder than KeepFree says,
// or nothing at all. Where that cannot be read it tells of no lack.
func (s *Sandbox) DiskLow(dir string) bool { return disk.Low(dir, s.cfg.KeepFree) }
