package source

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// readTree gives what a treeReader makes of a listing that comes in pieces.
func readTree(listing []byte, piece int) (got []entry, rest string, err error) {
	r := &treeReader{visit: func(e entry, size string) error {
		if size == "stop" {
			return context.Canceled
		}
		got = append(got, e)
		return nil
	}}
	for len(listing) > 0 && err == nil {
		n := min(piece, len(listing))
		_, err = r.Write(listing[:n])
		listing = listing[n:]
	}
	return got, string(r.rest), err
}

func TestATreesListingIsReadInPiecesOfAnyLength(t *testing.T) {
	listing := "100644 blob abc     12\ta b\x00040000 tree def       -\td\x00160000 commit fff\tm\n\x00"
	want := []entry{{mode: "100644", object: "abc", path: "a b"}, {mode: "040000", object: "def", path: "d"}, {mode: "160000", object: "fff", path: "m\n"}}
	for piece := 1; piece <= len(listing); piece++ {
		got, rest, err := readTree([]byte(listing), piece)
		if err != nil || rest != "" || len(got) != len(want) {
			t.Fatalf("in pieces of %d: %v, %q, %v", piece, got, rest, err)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("in pieces of %d: got %+v, want %+v", piece, got[i], want[i])
			}
		}
	}
	if _, _, err := readTree([]byte("100644 blob abc stop\ta\x00"), 7); !errors.Is(err, context.Canceled) {
		t.Errorf("the reader's word does not end it: %v", err)
	}
	if _, _, err := readTree([]byte("100644 blob abc 1\t"+strings.Repeat("a", 1<<20)), 4096); err == nil {
		t.Error("a record without an end is read for ever")
	}
}

func FuzzTreeReader(f *testing.F) {
	f.Add([]byte("100644 blob abc     12\ta b\x00040000 tree def       -\td\x00"), 5)
	f.Add([]byte("\x00\x00\t\x00"), 1)
	f.Add([]byte(strings.Repeat("a", 2*maxRecord)), 1000)
	f.Fuzz(func(t *testing.T, listing []byte, piece int) {
		if piece < 1 || piece > 1<<20 {
			piece = 1
		}
		got, rest, err := readTree(listing, piece)
		whole, wholeRest, wholeErr := readTree(listing, max(len(listing), 1))
		if (err == nil) != (wholeErr == nil) || err == nil && (len(rest) > maxRecord || len(got) != len(whole) || rest != wholeRest) {
			t.Errorf("in pieces of %d: %d entries, %v; at once %d, %v", piece, len(got), err, len(whole), wholeErr)
		}
	})
}
