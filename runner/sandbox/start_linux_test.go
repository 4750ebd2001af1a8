package sandbox

import "testing"

// BenchmarkStart is the cost of an empty run.
func BenchmarkStart(b *testing.B) {
	for name, cfg := range map[string]Config{
		"bwrap":              {Kind: Bubblewrap},
		"bwrap-with-cgroups": {Kind: Bubblewrap, Memory: 1 << 30, Pids: 512},
		"none":               {Kind: None},
	} {
		b.Run(name, func(b *testing.B) {
			cfg.User = testUser()
			s, err := New(b.Context(), cfg)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if o, err := s.Run(b.Context(), Command{Argv: []string{"/bin/true"}}); err != nil || !o.OK() {
					b.Fatal(o.Exit, err)
				}
			}
		})
	}
}
