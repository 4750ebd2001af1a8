package sandbox

import "context"

// Test tells whether this machine can still do what it could when the sandbox was
// made: by a trial run, as then.
func (s *Sandbox) Test(ctx context.Context) error {
	_, err := New(ctx, s.cfg)
	return err
}
