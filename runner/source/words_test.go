package source

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
)

func TestAMirrorIsBlamedForWhatGitSaysOfItAndForNothingElse(t *testing.T) {
	for said, want := range map[string]bool{
		"error: object file x is empty\nfatal: loose object x is corrupt": true,
		"fatal: unable to read tree (abc)":                                true,
		"error: inflate: data stream error (incorrect header check)":      true,
		"fatal: could not read Username for 'https://forge.test':" +
			" terminal prompts disabled": false,
		"fatal: could not read Password for 'https://a@forge.test': No such device or address": false,
		"fatal: Could not read from remote repository.\n\nPlease make sure":                    false,
		"remote: fatal: unable to read abc\nfatal: early EOF":                                  false,
		"remote: warning\nfatal: bad object abc":                                               true,
		"fatal: remote error: packfile is corrupt":                                             false,
		"error: unable to create symlink a: Permission denied":                                 false,
	} {
		dir := filepath.Join(t.TempDir(), "7.git")
		m := mirror{git: git{dir: dir, limits: Limits{}}}
		if err := m.open(t.Context()); err != nil {
			t.Fatal(err)
		}
		mark := filepath.Join(dir, "mark")
		if err := os.WriteFile(mark, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		times := 0
		err := m.mended(t.Context(), slog.New(slog.DiscardHandler), func() error {
			times++
			return fmt.Errorf("fetch: %w", &gitError{what: "fetch", dir: dir, stderr: said, err: errors.New("exit status 128"), far: true})
		})
		_, statErr := os.Stat(mark)
		if gone := os.IsNotExist(statErr); err == nil || gone != want || times == 2 != want {
			t.Errorf("%q: removed is %v, done %d times, %v", said, gone, times, err)
		}
	}
}

func TestWhatNoDiskTakesIsToldFromWhatThisOneDoesNot(t *testing.T) {
	p := &Pair{}
	for said, want := range map[string]bool{
		"error: unable to create symlink a: File name too long":        true,
		"error: unable to create symlink a: No such file or directory": true,
		"error: unable to create file a: File name too long":           true,
		"error: invalid path '.git/a'":                                 true,
		"error: unable to create file a: Permission denied":            false,
		"error: unable to create file a: No such file or directory":    false,
		"error: unable to create symlink a: Read-only file system":     false,
	} {
		err := p.hopeless(blame(whose{"new", "the head"}, &gitError{what: "read-tree", stderr: said, err: errors.New("exit status 128")}))
		var refused *Refused
		if got := errors.As(err, &refused) && refused.Kind == Malformed && refused.Side == "new"; got != want {
			t.Errorf("%q: refused is %v (%v)", said, got, err)
		}
	}
	late := blame(whose{"new", "the head"}, fmt.Errorf("git fetch: %w", &tookTooLong{longest: 1, fetch: true}))
	if err := p.hopeless(late); !errors.Is(err, ErrTook) {
		t.Errorf("a submodule's fetch that took too long: %v", err)
	}
}

func TestTheSameFailureOnAFreshMirrorIsTheRepositorysOwn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "7.git")
	renewed, failures := 0, 0
	p := &Pair{git: git{dir: dir}, log: slog.New(slog.DiscardHandler), renew: func(context.Context) error { renewed++; return nil }}
	fail := func(text func() string) error {
		_, err := mended(t.Context(), p, func() (int, error) {
			failures++
			return 0, blame(p.whose("new"), &gitError{what: "read-tree", dir: dir, stderr: text(), err: errors.New("exit status 128")})
		})
		return err
	}
	var refused *Refused
	if err := fail(func() string { return "fatal: bad object x" }); !errors.As(err, &refused) || refused.Kind != Malformed || refused.Side != "new" || renewed != 1 {
		t.Errorf("the same: renewed %d times, %v", renewed, err)
	}
	if err := fail(func() string { return fmt.Sprint("fatal: bad object ", failures) }); errors.As(err, &refused) || renewed != 2 {
		t.Errorf("another: renewed %d times, %v", renewed, err)
	}
}

func TestThePathOfASubmoduleCountsToThePathsInIt(t *testing.T) {
	long := ""
	for range 12 {
		long += "/" + string(make([]byte, 250))
	}
	tl := newTally(Limits{}, whose{the: "the head"})
	if err := tl.add(entry{mode: "100644", path: long[1:]}); err != nil {
		t.Errorf("by itself: %v", err)
	}
	tl.prefix = long[1:]
	var refused *Refused
	if err := tl.add(entry{mode: "100644", path: "a" + long[1:200]}); !errors.As(err, &refused) {
		t.Errorf("in a submodule: %v", err)
	}
}
