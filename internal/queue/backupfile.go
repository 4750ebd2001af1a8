package queue

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// A backup is a tar file of the entries that BackupInfo names, in that order,
// then manifest.json (BackupInfo itself) and manifest.sha256, which is in the
// form that sha256sum -c reads. It is written in one form only, so that any
// changed, lost or added byte is an error.
const (
	backupFormat = 1
	manifestFile = "manifest.json"
	manifestSum  = "manifest.sha256"
	// maxManifest bounds what is read before anything is known to be right.
	maxManifest = 1 << 20
	tarBlock    = 512
)

// BackupInfo says what a backup holds.
type BackupInfo struct {
	Format  int            `json:"format"` // of the file: 1
	Created time.Time      `json:"created"`
	Server  string         `json:"server"` // version of the NATS server that made the snapshots
	Streams []BackupStream `json:"streams"`
}

// BackupStream is one stream or bucket in a backup.
type BackupStream struct {
	Name string `json:"name"` // in the store: HOOKS, SAMPLES, or KV_ and a bucket's name
	// State is the stream's when its snapshot began.
	State    jetstream.StreamState `json:"state"`
	Snapshot BackupFile            `json:"snapshot"`
	// Later are the records of a bucket that were written while its snapshot was
	// made, one JSON object a line.
	Later *BackupFile `json:"later,omitempty"`
}

// BackupFile is an entry of the tar file.
type BackupFile struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"` // of the content, hexadecimal
}

// files are the entries that the manifest tells of, in their order.
func (i BackupInfo) files() []BackupFile {
	var all []BackupFile
	for _, s := range i.Streams {
		all = append(all, s.Snapshot)
		if s.Later != nil {
			all = append(all, *s.Later)
		}
	}
	return all
}

// Bytes is the size of the content.
func (i BackupInfo) Bytes() (n int64) {
	for _, f := range i.files() {
		n += f.Bytes
	}
	return n
}

// tarHeader is the one form of an entry's header. GNU's form says any size in one block.
func tarHeader(name string, size int64, made time.Time) ([]byte, error) {
	var b bytes.Buffer
	err := tar.NewWriter(&b).WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600,
		ModTime: made.Truncate(time.Second), Format: tar.FormatGNU})
	if err == nil && b.Len() != tarBlock {
		err = fmt.Errorf("the header has %d bytes", b.Len())
	}
	return b.Bytes(), err
}

func padding(size int64) int64 { return (tarBlock - size%tarBlock) % tarBlock }

// backupWriter writes entries whose size is known only once they are written:
// the place of the header is left and filled afterwards.
type backupWriter struct {
	to   io.WriterAt
	at   int64
	made time.Time
}

func (b *backupWriter) add(name string, fill func(io.Writer) error) (BackupFile, error) {
	e := &entryWriter{to: b.to, at: b.at + tarBlock, sum: sha256.New()}
	start := e.at
	buffered := bufio.NewWriterSize(e, 256<<10)
	if err := errors.Join(fill(buffered), buffered.Flush()); err != nil {
		return BackupFile{}, err
	}
	size := e.at - start
	header, err := tarHeader(name, size, b.made)
	if err != nil {
		return BackupFile{}, err
	}
	if _, err := b.to.WriteAt(header, b.at); err != nil {
		return BackupFile{}, err
	}
	if _, err := b.to.WriteAt(make([]byte, padding(size)), e.at); err != nil {
		return BackupFile{}, err
	}
	b.at = e.at + padding(size)
	return BackupFile{Name: name, Bytes: size, SHA256: hex.EncodeToString(e.sum.Sum(nil))}, nil
}

// finish writes the manifest and the end of the file.
func (b *backupWriter) finish(i BackupInfo) error {
	text, err := json.MarshalIndent(i, "", "  ")
	if err != nil {
		return err
	}
	put := func(b []byte) func(io.Writer) error {
		return func(w io.Writer) error { _, err := w.Write(b); return err }
	}
	f, err := b.add(manifestFile, put(append(text, '\n')))
	if err != nil {
		return err
	}
	if _, err := b.add(manifestSum, put([]byte(sumLine(f.SHA256)))); err != nil {
		return err
	}
	_, err = b.to.WriteAt(make([]byte, 2*tarBlock), b.at)
	return err
}

func sumLine(sum string) string { return sum + "  " + manifestFile + "\n" }

type entryWriter struct {
	to  io.WriterAt
	at  int64
	sum hash.Hash
}

func (e *entryWriter) Write(p []byte) (int, error) {
	n, err := e.to.WriteAt(p, e.at)
	e.at += int64(n)
	e.sum.Write(p[:n])
	return n, err
}

// BackupReader is a backup that was found whole.
type BackupReader struct {
	BackupInfo
	from io.ReaderAt
	at   map[string]int64 // where each entry's content begins
}

// ErrNotWhole: a file is no backup, or not all of it, or was changed.
var ErrNotWhole = errors.New("the file is no whole backup")

// ReadBackup reads all of a backup and checks it, byte by byte. What is not as
// it was written gives ErrNotWhole.
func ReadBackup(ctx context.Context, from io.ReaderAt, size int64) (*BackupReader, error) {
	b := &BackupReader{from: from, at: map[string]int64{}}
	s := &backupScan{ctx: ctx, in: bufio.NewReaderSize(io.NewSectionReader(from, 0, size), 256<<10)}
	var found []BackupFile
	var manifest []byte
	for manifest == nil {
		if len(found) > 2*len(backedUp) {
			return nil, s.fault("too many entries")
		}
		name, length, err := s.header()
		if err != nil {
			return nil, err
		}
		b.at[name] = s.at
		keep := name == manifestFile
		f, content, err := s.content(name, length, keep)
		if err != nil {
			return nil, err
		}
		found = append(found, f)
		if keep {
			manifest = content
		}
	}
	sum := found[len(found)-1].SHA256
	if err := s.end(sumLine(sum)); err != nil {
		return nil, err
	}
	if err := b.understand(manifest, found[:len(found)-1]); err != nil {
		return nil, err
	}
	return b, nil
}

// understand checks that the manifest tells of what was found, and of no other
// streams than this build knows.
func (b *BackupReader) understand(manifest []byte, found []BackupFile) error {
	if err := json.Unmarshal(manifest, &b.BackupInfo); err != nil {
		return fmt.Errorf("%w: read its manifest: %w", ErrNotWhole, err)
	}
	if b.Format != backupFormat {
		return fmt.Errorf("read the backup: it is of format %d, this build reads format %d", b.Format, backupFormat)
	}
	if !slices.Equal(b.files(), found) {
		return fmt.Errorf("%w: its manifest tells of other entries or checksums than it has", ErrNotWhole)
	}
	known, had := backedUp, map[string]bool{}
	for _, s := range b.Streams {
		i := slices.Index(known, s.Name)
		if i < 0 {
			return fmt.Errorf("read the backup: want the streams %v in this order, got %q", backedUp, s.Name)
		}
		known, had[s.Name] = known[i+1:], true
	}
	if !had[hooksStream] || !had["KV_jobs"] {
		return errors.New("read the backup: it has no events or no jobs")
	}
	return nil
}

func (b *BackupReader) content(f BackupFile) io.Reader {
	return io.NewSectionReader(b.from, b.at[f.Name], f.Bytes)
}

// backupScan reads a backup from its beginning to its end.
type backupScan struct {
	ctx context.Context
	in  *bufio.Reader
	at  int64
}

func (s *backupScan) fault(format string, args ...any) error {
	return fmt.Errorf("%w: at byte %d: %s", ErrNotWhole, s.at, fmt.Sprintf(format, args...))
}

func (s *backupScan) read(b []byte) error {
	n, err := io.ReadFull(s.in, b)
	s.at += int64(n)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return s.fault("it ends here")
	}
	return err
}

func (s *backupScan) header() (name string, size int64, err error) {
	block := make([]byte, tarBlock)
	if err := s.read(block); err != nil {
		return "", 0, err
	}
	h, err := tar.NewReader(bytes.NewReader(block)).Next()
	if err != nil {
		return "", 0, s.fault("want the header of an entry")
	}
	if again, err := tarHeader(h.Name, h.Size, h.ModTime); err != nil || !bytes.Equal(again, block) {
		return "", 0, s.fault("the header of an entry is not as it was written")
	}
	return h.Name, h.Size, nil
}

func (s *backupScan) content(name string, size int64, keep bool) (BackupFile, []byte, error) {
	var kept bytes.Buffer
	sum := sha256.New()
	w := io.Writer(sum)
	if keep {
		if size > maxManifest {
			return BackupFile{}, nil, s.fault("the manifest is too long")
		}
		w = io.MultiWriter(sum, &kept)
	}
	n, err := io.CopyN(w, ctxReader{s.ctx, s.in}, size)
	s.at += n
	if errors.Is(err, io.EOF) {
		return BackupFile{}, nil, s.fault("it ends here, within %q", name)
	}
	if err != nil {
		return BackupFile{}, nil, err
	}
	if err := s.zeros(padding(size)); err != nil {
		return BackupFile{}, nil, err
	}
	return BackupFile{Name: name, Bytes: size, SHA256: hex.EncodeToString(sum.Sum(nil))}, kept.Bytes(), nil
}

func (s *backupScan) zeros(n int64) error {
	b := make([]byte, n)
	if err := s.read(b); err != nil {
		return err
	}
	if bytes.Count(b, []byte{0}) != len(b) {
		return s.fault("want zeros before it")
	}
	return nil
}

// end reads what follows the manifest: its checksum, and the end of the file.
func (s *backupScan) end(want string) error {
	name, size, err := s.header()
	if err != nil {
		return err
	}
	if name != manifestSum || size != int64(len(want)) {
		return s.fault("want the entry %s of %d bytes", manifestSum, len(want))
	}
	line := make([]byte, size)
	if err := s.read(line); err != nil {
		return err
	}
	if string(line) != want {
		return s.fault("the manifest is not as it was written")
	}
	if err := s.zeros(padding(size) + 2*tarBlock); err != nil {
		return err
	}
	if _, err := s.in.ReadByte(); !errors.Is(err, io.EOF) {
		return s.fault("want the end of the file")
	}
	return nil
}

// ctxReader ends a long reading with the context.
type ctxReader struct {
	ctx context.Context
	r   io.Reader
}

func (r ctxReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}
