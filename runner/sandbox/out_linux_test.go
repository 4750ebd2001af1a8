package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestAResultFileIsReadFromTheOutputDirectory(t *testing.T) {
	bothKinds(t, func(t *testing.T, kind Kind) {
		s := newSandbox(t, Config{Kind: kind})
		tree := newTree(t, s)
		out, err := s.NewOut(newDir(t))
		if err != nil {
			t.Fatal(err)
		}
		o := run(t, s, Command{Argv: shell(`mkdir sub && echo '{"n": 1}' > "$1/result.json" && echo x > sub/y`), Dir: OutDir, Out: out, Tree: tree})
		if o.Exit == 0 {
			t.Errorf("$1 is not set: expected the write to / to fail")
		}
		o = run(t, s, Command{Argv: append(shell(`echo '{"n": 1}' > "$1/result.json" && echo y > sub/y`), "sh", s.Out(out)), Dir: OutDir, Out: out, Tree: tree})
		if !o.OK() {
			t.Fatalf("exit %d: %s", o.Exit, o.LogTail)
		}
		for name, want := range map[string]string{"result.json": "{\"n\": 1}\n", "sub/y": "y\n"} {
			if b, err := out.Read(name, 100); err != nil || string(b) != want {
				t.Errorf("%s: %q, %v", name, b, err)
			}
		}
		if err := out.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(out.dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the directory after Close: %v", err)
		}
	})
}

// plant is what a hostile payload may leave where a result file is expected.
const plant = `cd /out
	mkfifo fifo; mkdir dir; ln -s /etc/passwd link; ln -s "$1" key; ln -s ../../../../../../etc/hostname up; ln -s fifo to-fifo; ln -s good to-good
	ln -s / root; ln -s self self; mkdir -p a; ln -s / a/out
	perl -MSocket -e 'socket(S, PF_UNIX, SOCK_STREAM, 0); bind(S, pack_sockaddr_un("socket"))'
	head -c 200 /dev/zero > big; perl -e 'open F, ">sparse"; truncate F, 1 << 40'; echo good > good; echo open > noperm; chmod 000 noperm
	mkdir -p deep/deeper; touch deep/deeper/x; chmod 000 deep/deeper deep`

func TestWhatIsPlantedInTheOutputDirectoryIsHarmless(t *testing.T) {
	s := newSandbox(t, Config{})
	dir := newDir(t)
	key := filepath.Join(dir, "key")
	if err := os.WriteFile(key, []byte("key of the runner"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := s.NewOut(dir)
	if err != nil {
		t.Fatal(err)
	}
	if o := run(t, s, Command{Argv: append(shell(plant), "sh", key), Out: out}); !o.OK() {
		t.Fatalf("exit %d: %s", o.Exit, o.LogTail)
	}
	for name, want := range map[string]error{
		"fifo": ErrNotRegular, "dir": ErrNotRegular, "link": ErrNotRegular, "key": ErrNotRegular, "up": ErrNotRegular, "to-fifo": ErrNotRegular,
		"to-good": ErrNotRegular, "self": ErrNotRegular, "socket": ErrNotRegular, ".": ErrNotRegular, "big": ErrTooLarge, "sparse": ErrTooLarge,
		"missing": fs.ErrNotExist, "root/etc/passwd": nil, "a/out/etc/passwd": nil, "../key": nil, "/etc/passwd": nil, "": nil,
	} {
		b, err := out.Read(name, 100)
		if err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("%q: read %q, error %v, expected %v", name, b, err, want)
		}
	}
	if b, err := out.Read("good", 5); err != nil || string(b) != "good\n" {
		t.Errorf("a good file of exactly the size allowed: %q, %v", b, err)
	}
	if _, err := out.Read("good", 4); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a file one byte too large: %v", err)
	}
	if err := out.Close(); err != nil {
		t.Error(err)
	}
}

func TestATreeIsHandedOverWithoutFollowingLinks(t *testing.T) {
	s := newSandbox(t, Config{})
	dir := newDir(t)
	outside := filepath.Join(dir, "outside")
	tree := filepath.Join(dir, "tree")
	for _, d := range []string{outside, tree, filepath.Join(tree, "sub")} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{filepath.Join(outside, "secret"), filepath.Join(tree, "sub", "main.go")} {
		if err := os.WriteFile(f, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"dir": outside, "file": filepath.Join(outside, "secret"), "gone": "nowhere"} {
		if err := os.Symlink(to, filepath.Join(tree, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Own(t.Context(), tree); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".", "sub", "sub/main.go", "dir", "file", "gone"} {
		if got := owner(t, filepath.Join(tree, name)); got != s.Facts().UID {
			t.Errorf("%s belongs to uid %d, expected %d", name, got, s.Facts().UID)
		}
	}
	for _, name := range []string{outside, filepath.Join(outside, "secret")} {
		if got := owner(t, name); got != os.Geteuid() {
			t.Errorf("%s, outside of the tree, belongs to uid %d now", name, got)
		}
	}
	if o := run(t, s, Command{Argv: shell("cat sub/main.go && echo y > sub/main.go && ! cat file"), Tree: tree, Writable: true}); !o.OK() {
		t.Errorf("exit %d: %s", o.Exit, o.LogTail)
	}
}
