package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"sync"
)

// program names the running program by what is in it: builds that call
// themselves one version may measure in different ways. It is empty where that
// cannot be read, as on systems other than Linux.
var program = sync.OnceValue(func() string {
	// The program that runs, even where an upgrade has put another in its place.
	sum, err := contentOf("/proc/self/exe")
	if err != nil {
		return ""
	}
	return sum
})

func contentOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("name a program: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("name a program: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
