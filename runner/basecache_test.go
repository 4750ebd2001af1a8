package runner

import (
	"os"
	"path/filepath"
	"testing"
)

func TestACachedBuildThatWasNotWholeBeforeAPowerCutIsNone(t *testing.T) {
	for name, cut := range map[string]func(at string) error{
		"its size is empty": func(at string) error { return os.Truncate(filepath.Join(at, cachedSize), 0) },
		"its size is gone":  func(at string) error { return os.Remove(filepath.Join(at, cachedSize)) },
	} {
		dir := t.TempDir()
		b := baseCache{dir: filepath.Join(dir, "bases"), limit: 1000}
		put(t, dir, map[string]string{"bases/.keep/x": "", "tree/a": "built", "cache/c": "cached"})
		k := cacheKey{Repository: 1}
		if err := b.put(k, filepath.Join(dir, "tree"), filepath.Join(dir, "cache")); err != nil {
			t.Fatal(err)
		}
		if b.latest(k) == "" {
			t.Errorf("%s: what was kept is not found", name)
		}
		at, err := b.entry(k)
		if err != nil {
			t.Fatal(err)
		}
		if err := cut(at); err != nil {
			t.Fatal(err)
		}
		if hit, err := b.take(k, filepath.Join(dir, "old"), filepath.Join(dir, "old-cache")); hit || err != nil {
			t.Errorf("%s: taken %v, %v", name, hit, err)
		}
		if from := b.latest(k); from != "" {
			t.Errorf("%s: a build begins with %s", name, from)
		}
		if err := b.shrink(1000); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(at); !os.IsNotExist(err) {
			t.Errorf("%s: the rest of it stays: %v", name, err)
		}
	}
}
