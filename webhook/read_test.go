package webhook

import (
	"os"
	"testing"
	"time"
)

var testTime = time.Date(2026, 2, 2, 8, 0, 0, 0, time.UTC)

func read(t *testing.T, file string) []byte {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
