package queue

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/prbench/prbench/internal/job"
)

// small gives a backup of one job.
func small(t testing.TB) (file string, content []byte) {
	t.Helper()
	q := open(t)
	create(t, q, wish(1, 1, "k"))
	file = backup(t, q, nil)
	q.Close()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return file, content
}

func check(b []byte) error {
	_, err := ReadBackup(context.Background(), bytes.NewReader(b), int64(len(b)))
	return err
}

func TestABackupOfWhichAByteIsOtherIsRefused(t *testing.T) {
	t.Parallel()
	_, content := small(t)
	if err := check(content); err != nil {
		t.Fatalf("as it was written: %v", err)
	}
	for i := 0; i < len(content); i += 11 {
		b := bytes.Clone(content)
		b[i] ^= 0x20
		if err := check(b); !errors.Is(err, ErrNotWhole) {
			t.Errorf("byte %d of %d changed: %v", i, len(b), err)
		}
	}
}

func TestABackupThatIsShorterOrLongerIsRefused(t *testing.T) {
	t.Parallel()
	_, content := small(t)
	for n := 0; n < len(content); n += 101 {
		if err := check(content[:n]); !errors.Is(err, ErrNotWhole) {
			t.Errorf("the first %d of %d bytes: %v", n, len(content), err)
		}
	}
	for name, b := range map[string][]byte{
		"without its last byte":  content[:len(content)-1],
		"without its last block": content[:len(content)-tarBlock],
		"with a byte more":       append(bytes.Clone(content), 0),
		"twice":                  append(bytes.Clone(content), content...),
	} {
		if err := check(b); !errors.Is(err, ErrNotWhole) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestABackupOfAnotherFormatOrOfOtherStreamsIsRefused(t *testing.T) {
	for want, i := range map[string]BackupInfo{
		"read the backup: it is of format 2, this build reads format 1": {Format: 2},
		"read the backup: it has no events or no jobs":                  {Format: 1},
		"the file is no whole backup: its manifest tells of other entries or checksums than it has": {
			Format: 1, Streams: []BackupStream{{Name: "HOOKS", Later: &BackupFile{Name: "HOOKS.later"}}}},
	} {
		if err := check(written(t, i, "content")); err == nil || err.Error() != want {
			t.Errorf("%+v: %v, want %s", i, err, want)
		}
	}
}

func TestAllThatTheStoreKeepsButTheLeasesIsInABackup(t *testing.T) {
	q := open(t)
	var want []string
	for name := range q.js.StreamNames(t.Context()).Name() {
		if name != "KV_leases" {
			want = append(want, name)
		}
	}
	slices.Sort(want)
	if d := cmp.Diff(want, slices.Sorted(slices.Values(backedUp))); d != "" {
		t.Errorf("streams of the store (-) and of a backup (+):\n%s", d)
	}
}

func TestABackupOfABuildThatKnewFewerStreamsIsRestored(t *testing.T) {
	t.Parallel()
	_, content := small(t)
	b := readFile(t, content)
	b.Streams = b.Streams[:3]
	dir := t.TempDir()
	if err := Restore(t.Context(), Options{Dir: dir, Logger: logger(t)}, b, func(BackupStep) {}); err != nil {
		t.Fatal(err)
	}
	q := open(t, func(o *Options) { o.Dir = dir })
	get(t, q, "1.1.1")
	if rs, err := q.Runners(t.Context()); err != nil || len(rs) != 0 {
		t.Errorf("runners: %v, %v", rs, err)
	}
}

func TestAStoreThatHoldsJobsIsNotRestoredInto(t *testing.T) {
	t.Parallel()
	file, _ := small(t)
	dir := t.TempDir()
	q := open(t, func(o *Options) { o.Dir = dir })
	if err := restore(t, Options{Dir: dir}, file); !errors.Is(err, ErrInUse) {
		t.Errorf("while it is open: %v, want ErrInUse", err)
	}
	create(t, q, wish(5, 5, "its own"))
	q.Close()
	var full *NotEmptyError
	if err := restore(t, Options{Dir: dir}, file); !errors.As(err, &full) || full.Stream != "KV_jobs" || full.Messages != 1 {
		t.Errorf("with a job in it: %v, want NotEmptyError", err)
	}
	q = open(t, func(o *Options) { o.Dir = dir })
	if js, err := q.ByState(t.Context()); err != nil || len(js) != 1 || js[0].ID != "5.5.1" {
		t.Errorf("afterwards it has %+v, %v", js, err)
	}
}

func TestAStoreThatServeHasMadeAndNobodyUsedIsRestoredInto(t *testing.T) {
	t.Parallel()
	file, _ := small(t)
	dir := t.TempDir()
	open(t, func(o *Options) { o.Dir = dir }).Close()
	if err := restore(t, Options{Dir: dir}, file); err != nil {
		t.Fatal(err)
	}
	get(t, open(t, func(o *Options) { o.Dir = dir }), "1.1.1")
}

func TestAnExternalServerAtWhichAServeWorksIsNotRestoredInto(t *testing.T) {
	t.Parallel()
	file, _ := small(t)
	url, credentials := external(t)
	q := openURL(t, url, credentials)
	consume(t, q, func(context.Context, job.Event) error { return nil })
	eventually(t, "serve waits for events", func() bool { return errors.Is(q.nobodyServes(t.Context()), ErrInUse) })
	if err := restore(t, Options{NATS: url, Credentials: credentials}, file); !errors.Is(err, ErrInUse) {
		t.Errorf("restore beside a serve: %v, want ErrInUse", err)
	}
	if _, _, err := q.Create(t.Context(), wish(1, 1, "k")); err != nil {
		t.Errorf("serve goes on: %v", err)
	}
}

// readFile opens a backup for a Restore that the test sees into.
func readFile(t testing.TB, content []byte) *BackupReader {
	t.Helper()
	b, err := ReadBackup(t.Context(), bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestARestoreThatIsInterruptedLeavesAnEmptyStore(t *testing.T) {
	t.Parallel()
	file, content := small(t)
	dir := t.TempDir()
	ctx, interrupt := context.WithCancel(t.Context())
	err := Restore(ctx, Options{Dir: dir, Logger: logger(t)}, readFile(t, content), func(s BackupStep) {
		if s.Stream == samplesStream {
			interrupt()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("interrupted: %v", err)
	}
	q := open(t, func(o *Options) { o.Dir = dir })
	if js, err := q.ByState(t.Context()); err != nil || len(js) != 0 {
		t.Errorf("%d jobs are left, %v", len(js), err)
	}
	q.Close()
	if err := restore(t, Options{Dir: dir}, file); err != nil {
		t.Errorf("again: %v", err)
	}
}

func TestAStoreWhoseRestoreWasKilledIsNotServedButRestoredAgain(t *testing.T) {
	t.Parallel()
	file, content := small(t)
	dir := t.TempDir()
	// All of a Restore but its end.
	q, err := openWith(t.Context(), Options{Dir: dir, Logger: logger(t)}.withDefaults(), (*Queue).makeReady)
	if err != nil {
		t.Fatal(err)
	}
	b := readFile(t, content)
	for _, s := range b.Streams[:3] {
		if err := q.restoreOne(t.Context(), b, s, func(BackupStep) {}); err != nil {
			t.Fatal(err)
		}
	}
	q.Close()
	if q, err := Open(t.Context(), Options{Dir: dir}); !errors.Is(err, ErrHalfRestored) {
		if err == nil {
			q.Close()
		}
		t.Fatalf("it opens: %v, want ErrHalfRestored", err)
	}
	if err := restore(t, Options{Dir: dir}, file); err != nil {
		t.Fatal(err)
	}
	q = open(t, func(o *Options) { o.Dir = dir })
	get(t, q, "1.1.1")
	if _, err := q.js.Stream(t.Context(), restoringStream); !errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Errorf("the mark is left: %v", err)
	}
}

// written gives the file of a backup whose streams have this content.
func written(t testing.TB, i BackupInfo, content string) []byte {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := &backupWriter{to: f}
	for n := range i.Streams {
		i.Streams[n].Snapshot, err = w.add(i.Streams[n].Name+".snapshot", func(w io.Writer) error {
			_, err := io.WriteString(w, content)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.finish(i); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func FuzzOnlyAWholeBackupIsRead(f *testing.F) {
	whole := written(f, BackupInfo{Format: backupFormat, Streams: []BackupStream{{Name: hooksStream}, {Name: "KV_jobs"}}}, "content")
	if err := check(whole); err != nil {
		f.Fatal(err)
	}
	f.Add(uint(0), byte(1), uint(0), []byte{})
	f.Add(uint(124), byte(0x80), uint(0), []byte{}) // a size
	f.Add(uint(0), byte(0), uint(tarBlock), []byte("\x00"))
	f.Add(uint(0), byte(0), uint(len(whole)), []byte("x"))
	f.Fuzz(func(t *testing.T, at uint, change byte, cut uint, more []byte) {
		b := bytes.Clone(whole)
		b[at%uint(len(b))] ^= change
		b = append(b[:uint(len(b))-min(cut, uint(len(b)))], more...)
		if err := check(b); (err == nil) != bytes.Equal(b, whole) {
			t.Errorf("a changed file: %v", err)
		}
		if err := check(more); err == nil && !bytes.Equal(more, whole) {
			t.Error("some bytes are a backup")
		}
	})
}

func TestRootLeavesNoFilesInAnotherAccountsStore(t *testing.T) {
	t.Parallel()
	file, _ := small(t)
	dir, key := t.TempDir(), t.TempDir()
	open(t, func(o *Options) { o.Dir = key }).Close()
	root := os.Geteuid() == 0
	if root {
		if err := errors.Join(os.Chown(dir, 65534, 65534), os.Chown(filepath.Join(key, keyFile), 65534, 65534)); err != nil {
			t.Fatal(err)
		}
	}
	// Whoever is not root has only stores of its own here.
	if err := restore(t, Options{Dir: dir}, file); (err != nil) != root {
		t.Errorf("restore into a folder of another account's: %v", err)
	}
	q, err := Open(t.Context(), Options{Dir: key})
	if (err != nil) != root {
		t.Errorf("open a store of another account's: %v", err)
	}
	if err == nil {
		q.Close()
	}
}
