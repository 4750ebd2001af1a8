package source_test

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/runner/disk"
	"github.com/prbench/prbench/runner/source"
)

// nested commits a tree of ten folders that each are the same tree of ten, and so
// on: 10^levels entries of a few objects, in which fsck sees nothing wrong.
func (r repo) nested(inner string, levels int) string {
	r.t.Helper()
	tree := inner
	for range levels {
		tree = r.shell(`i=0; while [ $i -lt 10 ]; do printf '040000 tree %s\td%d\n' "$2" $i; i=$((i+1)); done | git -C "$1" mktree`, r.dir, tree)
	}
	return r.git("commit-tree", "-p", "HEAD", "-m", "nested", tree)
}

// link commits a symbolic link to a target of any bytes, in which fsck sees
// nothing wrong.
func (r repo) link(target string) string {
	r.t.Helper()
	file := filepath.Join(r.t.TempDir(), "target")
	if err := os.WriteFile(file, []byte(target), 0o600); err != nil {
		r.t.Fatal(err)
	}
	tree := r.shell(`printf '100644 blob %s\tz\n120000 blob %s\tlink\n' "$(git -C "$1" hash-object -w --stdin </dev/null)" "$(git -C "$1" hash-object -w "$2")" | git -C "$1" mktree`, r.dir, file)
	return r.git("commit-tree", "-p", "HEAD", "-m", "link", tree)
}

// hostileTrees are heads of which no machine can write the tree.
func hostileTrees(t *testing.T, r repo) map[string]string {
	t.Helper()
	file := r.shell(`git -C "$1" hash-object -w --stdin </dev/null`, r.dir)
	full := r.shell(`printf '100644 blob %s\tf\n' "$2" | git -C "$1" mktree`, r.dir, file)
	empty := r.shell(`git -C "$1" mktree </dev/null`, r.dir)
	one := func(path string) string {
		return r.shell(`printf 'commit refs/heads/one\ncommitter a <a@example.test> 1700000000 +0000\ndata 1\nx\nfrom refs/heads/main^0\nM 100644 inline %s\ndata 1\nx\n' "$2" |
			git -C "$1" fast-import --quiet --force && git -C "$1" rev-parse refs/heads/one`, r.dir, path)
	}
	return map[string]string{
		"more than 5000 files and folders":        r.nested(full, 9),
		"more than 5000 files and folders (none)": r.nested(empty, 30),
		"a path of more than":                     one(strings.Repeat("d/", 3000) + "f"),
		"a name of more than":                     one(strings.Repeat("n", 300)),
		"a target of 0 bytes":                     r.link(""),
		"a target of 5000 bytes":                  r.link(strings.Repeat("t", 5000)),
	}
}

func tooLarge(t *testing.T, err error, side job.SideName, text string) {
	t.Helper()
	refusedAs(t, err, source.TooLarge, side, text)
}

func malformed(t *testing.T, err error, side job.SideName, text string) {
	t.Helper()
	refusedAs(t, err, source.Malformed, side, text)
}

func refusedAs(t *testing.T, err error, kind source.Kind, side job.SideName, text string) {
	t.Helper()
	var refused *source.Refused
	if !errors.As(err, &refused) || refused.Kind != kind || refused.Side != side || !strings.Contains(refused.Text, text) {
		t.Errorf("want a refusal of %q as %s that says %q, got %v", side, kind, text, err)
	}
}

func TestATreeThatNamesItselfAgainAndAgainIsRefusedByName(t *testing.T) {
	s := newServer(t, "")
	r := newRepo(t, filepath.Join(s.root, "up"))
	base := r.commit("base", map[string]string{"a.txt": "a"})
	for want, head := range hostileTrees(t, r) {
		want, _, _ := strings.Cut(want, " (")
		isLink := strings.Contains(want, "target")
		refusal := tooLarge
		if isLink {
			refusal, want = malformed, "the symbolic link link with "+want
		}
		want = "the tree of the head has " + want
		req := s.request(t, "up", base, head)
		req.Limits = source.Limits{Files: 5000}
		p := fetch(t, req)
		_, err := p.Plan(t.Context(), []string{"bench/**"}, "")
		refusal(t, err, job.New, want)
		plan, err := p.Plan(t.Context(), nil, "")
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(t.TempDir(), "new")
		_, err = p.Write(t.Context(), plan, job.New, dir, source.Content{})
		refusal(t, err, job.New, want)
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("something of it was written: %v, %v", left, err)
		}
		if _, err := p.Write(t.Context(), plan, job.Old, filepath.Join(t.TempDir(), "old"), source.Content{}); err != nil {
			t.Errorf("the base: %v", err)
		}

		req = s.request(t, "up", base, base)
		req.Limits, req.Change = source.Limits{Files: 5000}, &job.Change{Picks: []job.Pick{{SHA: head}}}
		p = fetch(t, req)
		_, err = p.Pick(t.Context(), *req.Change)
		if isLink { // a pick writes no file, but what it makes is written
			if err != nil {
				t.Errorf("pick a link: %v", err)
			}
			_, err = p.Plan(t.Context(), []string{"bench/**"}, "")
			refusal(t, err, job.New, "the symbolic link link with")
			continue
		}
		tooLarge(t, err, job.New, "has "+strings.TrimPrefix(want, "the tree of the head has "))
	}
}

func TestAFileThatIsNamedAThousandTimesCountsAThousandTimes(t *testing.T) {
	r := newRepo(t, t.TempDir())
	base := r.commit("base", map[string]string{"a.txt": "a", "big": strings.Repeat("0", 1<<20)})
	files := r.shell(`blob=$(git -C "$1" rev-parse HEAD:big); i=0
		while [ $i -lt 1000 ]; do printf '100644 blob %s\tf%d\n' $blob $i; i=$((i+1)); done | git -C "$1" mktree`, r.dir)
	head := r.git("commit-tree", "-p", "HEAD", "-m", "copies", files)
	p := local(t, source.LocalRequest{Repo: r.dir, Base: base, Head: head, Limits: source.Limits{Size: 999 << 20}})
	plan, err := p.Plan(t.Context(), nil, "")
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Write(t.Context(), plan, job.New, filepath.Join(t.TempDir(), "new"), source.Content{})
	tooLarge(t, err, job.New, "the tree of the head has files of more than 999MiB together")
}

func TestSubmodulesAndLFSFilesCountToTheirSide(t *testing.T) {
	s := newServer(t, "")
	dep := newRepo(t, filepath.Join(s.root, "dep"))
	many := map[string]string{}
	for i := range 60 {
		many[fmt.Sprintf("f%d", i)] = "x"
	}
	sub := dep.commit("1", many)
	r := newRepo(t, filepath.Join(s.root, "up"))
	base := r.commit("base", many)
	write := func(head string, l source.Limits) error {
		req := s.request(t, "up", base, head)
		req.Limits = l
		p := fetch(t, req)
		plan, err := p.Plan(t.Context(), nil, "")
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Write(t.Context(), plan, job.New, filepath.Join(t.TempDir(), "new"), source.Content{LFS: true})
		return err
	}
	tooLarge(t, write(withModule(r, "../dep", sub), source.Limits{Files: 100}), job.New, "the tree of the head has more than 100 files and folders")
	r.git("reset", "-q", "--hard", base)
	pointer := "version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.Repeat("ab", 32) + "\nsize 4000000000\n"
	lfs := r.commit("pointers", map[string]string{"a.bin": pointer, "b.bin": pointer})
	tooLarge(t, write(lfs, source.Limits{Size: 7 << 30}), job.New, "the tree of the head has files of more than 7GiB together")
	tooLarge(t, write(lfs, source.Limits{Fetch: 3 << 30}), job.New, "the repository sends more than 3GiB for this comparison")
}

// noise is what no compression makes smaller.
func noise(t *testing.T, bytes int) string {
	t.Helper()
	b := make([]byte, bytes/2)
	if _, err := rand.Read(b); err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(b)
}

func TestAFetchThatBringsTooMuchIsEndedAndLeavesNothing(t *testing.T) {
	s := newServer(t, "")
	dep := newRepo(t, filepath.Join(s.root, "dep"))
	large := map[string]string{"noise": noise(t, 4<<20)}
	sub := dep.commit("1", large)
	r := newRepo(t, filepath.Join(s.root, "up"))
	base := r.commit("base", map[string]string{"a.txt": "a"})
	module := withModule(r, "../dep", sub)
	head := r.commit("head", large)
	req := s.request(t, "up", base, head)
	req.Limits.Fetch = 1 << 20
	for range 2 {
		_, err := source.Fetch(t.Context(), req)
		tooLarge(t, err, job.New, "the head commit "+head+" is too much: the repository sends more than 1MiB")
		if parts, err := filepath.Glob(filepath.Join(req.Dir, "*.git/objects/pack/tmp_*")); err != nil || len(parts) > 0 {
			t.Errorf("parts of packs stay: %q, %v", parts, err)
		}
	}
	req.Head.SHA = module
	p := fetch(t, req)
	plan, err := p.Plan(t.Context(), nil, "")
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Write(t.Context(), plan, job.New, filepath.Join(t.TempDir(), "new"), source.Content{})
	tooLarge(t, err, job.New, "the submodule deps/dep of the head is too much")
}

func TestNeitherAFetchNorACheckoutFillsTheDisk(t *testing.T) {
	s := newServer(t, "")
	r := newRepo(t, filepath.Join(s.root, "up"))
	base := r.commit("base", map[string]string{"a.txt": "a"})
	req := s.request(t, "up", base, base)
	req.Limits.KeepFree = 1 << 60
	if _, err := source.Fetch(t.Context(), req); !errors.Is(err, disk.ErrLow) {
		t.Errorf("fetch: %v", err)
	}
	p := local(t, source.LocalRequest{Repo: r.dir, Base: base, Head: base, Limits: req.Limits})
	plan, err := p.Plan(t.Context(), nil, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Write(t.Context(), plan, job.New, filepath.Join(t.TempDir(), "new"), source.Content{}); !errors.Is(err, disk.ErrLow) {
		t.Errorf("write: %v", err)
	}
}

func TestAGitThatTakesTooLongIsEndedAndSaysWhichLimitThatWas(t *testing.T) {
	over := make(chan struct{})
	s := newServer(t, "", func(s *server) {
		s.also = func(_ http.ResponseWriter, req *http.Request) bool {
			if !strings.HasPrefix(req.URL.Path, "/slow/") {
				return false
			}
			select {
			case <-over:
			case <-req.Context().Done():
			}
			return true
		}
	})
	defer close(over)
	r := newRepo(t, filepath.Join(s.root, "up"))
	base := r.commit("base", map[string]string{"a.txt": "a"})
	req := s.request(t, "slow", base, base)
	req.Limits.FetchTimeout = 100 * time.Millisecond
	var refused *source.Refused
	if _, err := source.Fetch(context.Background(), req); errors.As(err, &refused) || !errors.Is(err, source.ErrTook) || !strings.Contains(err.Error(), "git fetch: took longer than 100ms (checkout.fetch_timeout") {
		t.Errorf("fetch: %v", err)
	}
	head := r.nested(r.git("rev-parse", "HEAD^{tree}"), 12)
	p := local(t, source.LocalRequest{Repo: r.dir, Base: base, Head: head, Limits: source.Limits{Files: 1 << 40, Size: 1 << 60, Timeout: time.Second}})
	_, err := p.Plan(t.Context(), []string{"bench/**"}, "")
	tooLarge(t, err, job.New, "git ls-tree: took longer than 1s (checkout.timeout")
}

func TestAHeadThatNoGitShouldHaveMadeIsRefusedForGood(t *testing.T) {
	s := newServer(t, "")
	r := newRepo(t, filepath.Join(s.root, "up"))
	base := r.commit("base", map[string]string{"a.txt": "a"})
	tree, err := hex.DecodeString(r.git("rev-parse", "HEAD^{tree}"))
	if err != nil {
		t.Fatal(err)
	}
	raw := filepath.Join(t.TempDir(), "tree")
	if err := os.WriteFile(raw, append([]byte("40000 .git\x00"), tree...), 0o600); err != nil {
		t.Fatal(err)
	}
	head := r.git("commit-tree", "-p", base, "-m", "evil", r.git("hash-object", "--literally", "-w", "-t", "tree", raw))
	_, err = source.Fetch(t.Context(), s.request(t, "up", base, head))
	var refused *source.Refused
	if !errors.As(err, &refused) || refused.Kind != source.Malformed || refused.Side != job.New {
		t.Errorf("got %v", err)
	}
}
