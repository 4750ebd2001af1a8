package sandbox

// DiskLow tells whether less is left on the disk of a folder than KeepFree says,
// or nothing at all. Where that cannot be read it tells of no lack.
func (s *Sandbox) DiskLow(dir string) bool {
	free, err := freeBytes(dir)
	return err == nil && (free < s.cfg.KeepFree || free == 0)
}
