package source

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// pointer stands in a tree where a large file belongs.
type pointer struct {
	path string // in the side's directory
	at   string // on this machine
	oid  string // sha256 of the file, in hex
	size int64
}

// The form of a pointer file, from the git-lfs specification, v1: at most 1024
// bytes; version first, then the other keys in alphabetical order.
var pointerForm = regexp.MustCompile(`^version https://git-lfs\.github\.com/spec/v1\n(?:ext-[^\n]*\n)*oid sha256:([0-9a-f]{64})\nsize ([0-9]{1,18})\n?$`)

const (
	minPointer = 100
	maxPointer = 1024
)

// parsePointer reads a pointer file.
func parsePointer(data []byte) (oid string, size int64, ok bool) {
	m := pointerForm.FindSubmatch(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")))
	if m == nil {
		return "", 0, false
	}
	size, err := strconv.ParseInt(string(m[2]), 10, 64)
	return string(m[1]), size, err == nil
}

// pointers finds the pointer files that were written, and replaces them or
// refuses: a pointer must never be measured in place of its file.
func (w *writer) pointers(ctx context.Context, src moduleSource, entries []entry, dir, prefix string) error {
	var found []pointer
	for _, e := range entries {
		if e.mode != "100644" && e.mode != "100755" {
			continue
		}
		at, err := inside(dir, e.path)
		if err != nil {
			return fmt.Errorf("look for LFS pointers: %w", err)
		}
		info, err := os.Lstat(at)
		if err != nil {
			return fmt.Errorf("look for LFS pointers: %w", err)
		}
		if !info.Mode().IsRegular() || info.Size() < minPointer || info.Size() > maxPointer {
			continue
		}
		data, err := os.ReadFile(at)
		if err != nil {
			return fmt.Errorf("look for LFS pointers: %w", err)
		}
		if oid, size, ok := parsePointer(data); ok {
			found = append(found, pointer{path: path.Join(prefix, e.path), at: at, oid: oid, size: size})
		}
	}
	if len(found) == 0 {
		return nil
	}
	if !w.content.LFS {
		return refuse(LFS, w.of.side, found[0].path, "%s has a Git LFS pointer at %s in place of the file, and LFS is not granted (lfs: true in the configuration)%s",
			w.of.the, names([]string{found[0].path}), more(len(found)-1))
	}
	var size int64
	for _, p := range found {
		if err := w.tally.bytes(p.size); err != nil {
			return err
		}
		size += p.size
	}
	if err := w.pair.limits.fits(dir, 0, size); err != nil {
		return fmt.Errorf("put the LFS files of %s in place: %w", w.of.the, err)
	}
	files, err := src.objects(ctx, w.of, found)
	if err != nil {
		return err
	}
	for _, p := range found {
		if err := replaceFile(p.at, files[p.oid]); err != nil {
			return fmt.Errorf("put the LFS file %s in place: %w", p.path, err)
		}
	}
	return nil
}

func more(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf("; and %d more", n)
}

// replaceFile copies from over the file at, keeping its permissions.
func replaceFile(at, from string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(at, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// objects: a person's own git has fetched what it could through its filters.
func (l *localModules) objects(_ context.Context, of whose, want []pointer) (map[string]string, error) {
	return nil, refuse(LFS, of.side, want[0].path, "%s has a Git LFS pointer at %s in place of the file; run: git lfs install && git lfs fetch --all",
		of.the, names([]string{want[0].path}))
}

// lfsSuffix names the folder of a repository's objects, beside its mirror. Each
// repository has its own: a pointer gives nobody a file that the forge would not
// give for this repository.
const lfsSuffix = ".lfs"

// objects downloads into the repository's folder, where objects are kept by
// their hash.
func (f *forgeModules) objects(ctx context.Context, of whose, want []pointer) (map[string]string, error) {
	return f.lfs.download(ctx, of, want)
}

// lfsClient speaks the batch protocol of Git LFS with the forge. The address is
// the forge's own for the repository, never one that the tree names in
// .lfsconfig.
type lfsClient struct {
	repository string // clone URL
	dir        string
	user       string
	token      string // of the repository; empty for submodules
	limits     Limits
	fetched    *download
	http       *http.Client
}

// at gives the client for another repository, without the credential.
func (c *lfsClient) at(repository string) *lfsClient {
	return &lfsClient{repository: repository, dir: c.dir, limits: c.limits, fetched: c.fetched, http: c.http}
}

const (
	maxLFSBatch  = 100
	maxLFSAnswer = 8 << 20
	maxLFSObject = 8 << 30
)

// download gives the local file of each object, by its id.
func (c *lfsClient) download(ctx context.Context, of whose, want []pointer) (map[string]string, error) {
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of LFS objects: %w", err)
	}
	have := map[string]string{}
	var missing []pointer
	for _, p := range want {
		if _, seen := have[p.oid]; seen {
			continue
		}
		have[p.oid] = filepath.Join(c.dir, p.oid)
		if info, err := os.Stat(have[p.oid]); err != nil || info.Size() != p.size {
			missing = append(missing, p)
			continue
		}
		now := time.Now() // Prune removes first what was used longest ago
		if err := os.Chtimes(have[p.oid], now, now); err != nil {
			return nil, fmt.Errorf("use an LFS object: %w", err)
		}
	}
	var size int64
	for _, p := range missing {
		size += p.size // no side can sum up to more than an int64: it has been tallied
	}
	if size > c.limits.withDefaults().Fetch-c.fetched.got {
		return nil, c.limits.refuseFetch(of.side, "LFS part of "+of.the)
	}
	if err := c.limits.fits(c.dir, 0, size); err != nil {
		return nil, fmt.Errorf("fetch the LFS files of %s: %w", of.the, err)
	}
	c.fetched.got += size
	for len(missing) > 0 {
		n := min(len(missing), maxLFSBatch)
		if err := c.batch(ctx, of, missing[:n]); err != nil {
			return nil, err
		}
		missing = missing[n:]
	}
	return have, nil
}

type lfsObject struct {
	OID     string `json:"oid"`
	Size    int64  `json:"size"`
	Actions struct {
		Download struct {
			Href   string            `json:"href"`
			Header map[string]string `json:"header"`
		} `json:"download"`
	} `json:"actions,omitzero"`
	Error *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

func (c *lfsClient) batch(ctx context.Context, of whose, want []pointer) error {
	byOID := map[string]pointer{}
	objects := make([]lfsObject, 0, len(want))
	for _, p := range want {
		byOID[p.oid] = p
		objects = append(objects, lfsObject{OID: p.oid, Size: p.size})
	}
	body, err := json.Marshal(map[string]any{"operation": "download", "transfers": []string{"basic"}, "objects": objects})
	if err != nil {
		return fmt.Errorf("ask for LFS objects: %w", err)
	}
	address := strings.TrimSuffix(c.repository, ".git") + ".git/info/lfs/objects/batch"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("ask for LFS objects: %w", err)
	}
	req.Header.Set("Accept", "application/vnd.git-lfs+json")
	req.Header.Set("Content-Type", "application/vnd.git-lfs+json")
	if c.token != "" {
		req.SetBasicAuth(c.user, c.token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("ask for LFS objects: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests {
		return fmt.Errorf("ask for LFS objects: the forge answered %s", resp.Status)
	}
	if resp.StatusCode != http.StatusOK {
		return refuse(LFS, of.side, want[0].path, "the LFS file %s of %s: the forge answered %s",
			names([]string{want[0].path}), of.the, resp.Status)
	}
	var answer struct {
		Objects []lfsObject `json:"objects"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxLFSAnswer)).Decode(&answer); err != nil {
		return fmt.Errorf("read the forge's answer about LFS objects: %w", err)
	}
	for _, o := range answer.Objects {
		p, ok := byOID[o.OID]
		if !ok {
			continue
		}
		delete(byOID, o.OID)
		if err := c.fetch(ctx, of, p, o); err != nil {
			return err
		}
	}
	for _, p := range byOID {
		return refuse(LFS, of.side, p.path, "the LFS file %s of %s: the forge did not answer for it", names([]string{p.path}), of.the)
	}
	return nil
}

// fetch downloads one object. Where it lies is the forge's word; that it is the
// right one is proven by its hash.
func (c *lfsClient) fetch(ctx context.Context, of whose, p pointer, o lfsObject) (err error) {
	missing := func(why string) error {
		return refuse(LFS, of.side, p.path, "the LFS file %s of %s: %s", names([]string{p.path}), of.the, why)
	}
	if o.Error != nil {
		return missing(fmt.Sprintf("the forge answered %d", o.Error.Code))
	}
	from, err := url.Parse(o.Actions.Download.Href)
	own, _ := url.Parse(c.repository)
	if err != nil || from.Host == "" || (from.Scheme != "https" && (own == nil || from.Scheme != own.Scheme)) {
		return missing("the forge named no https address for it")
	}
	if p.size > maxLFSObject {
		return missing(fmt.Sprintf("it has %d bytes, more than %d", p.size, int64(maxLFSObject)))
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from.String(), nil)
	if err != nil {
		return fmt.Errorf("fetch an LFS object: %w", err)
	}
	for k, v := range o.Actions.Download.Header {
		req.Header.Set(k, v)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("fetch the LFS file %s from %s: %w", p.path, from.Host, withoutURL(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		if resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests {
			return fmt.Errorf("fetch the LFS file %s from %s: %s", p.path, from.Host, resp.Status)
		}
		return missing(from.Host + " answered " + resp.Status)
	}
	tmp, err := os.CreateTemp(c.dir, "part-")
	if err != nil {
		return fmt.Errorf("keep an LFS object: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(tmp.Name()))
		}
	}()
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(tmp, sum), io.LimitReader(resp.Body, p.size+1))
	if err = errors.Join(err, tmp.Close()); err != nil {
		return fmt.Errorf("fetch the LFS file %s: %w", p.path, withoutURL(err))
	}
	if n != p.size || hex.EncodeToString(sum.Sum(nil)) != p.oid {
		return missing("what arrived is another file")
	}
	if err = os.Rename(tmp.Name(), filepath.Join(c.dir, p.oid)); err != nil {
		return fmt.Errorf("keep an LFS object: %w", err)
	}
	return nil
}

// withoutURL takes the address out of an HTTP error: a signed address is as
// good as a password for a while.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// newHTTP makes the client for LFS, which never follows a redirect: basic
// credentials must not travel.
func newHTTP() *http.Client {
	return &http.Client{
		Timeout:       30 * time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true},
	}
}
