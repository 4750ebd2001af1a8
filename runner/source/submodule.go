package source

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// Bounds of a side's submodules.
const (
	maxModules     = 200
	maxModuleDepth = 8
)

// module is one submodule as a tree declares it.
type module struct {
	name, path, url, sha string
}

// moduleSource gives the repository that holds a submodule's commit.
type moduleSource interface {
	// repository gives the git of the submodule's repository and the source of the
	// submodules in it. What cannot be had gives a *Refused.
	repository(ctx context.Context, of whose, m module, shown string) (git, moduleSource, error)
	// objects downloads LFS objects, or says why it does not.
	objects(ctx context.Context, of whose, want []pointer) (map[string]string, error)
}

// submodules writes the submodules of a tree, each at that tree's own pointer.
func (w *writer) submodules(ctx context.Context, g git, src moduleSource, tree string, entries []entry, dir, prefix string, depth int) error {
	var declared map[string]module
	for _, e := range entries {
		if e.mode != "160000" {
			continue
		}
		if declared == nil {
			var err error
			if err := w.modulesFile(entries); err != nil {
				return err
			}
			if declared, err = readModules(ctx, g, tree); err != nil {
				return err
			}
		}
		shown := path.Join(prefix, e.path)
		m, ok := declared[e.path]
		if !ok {
			// git itself leaves such a folder empty in a clone.
			w.notes = append(w.notes, fmt.Sprintf("%s: %s is a submodule without an address, left empty", w.of.side.WordOn(w.pair.line), names([]string{shown})))
			continue
		}
		m.sha = e.object
		if w.modules++; w.modules > maxModules || depth >= maxModuleDepth {
			return refuse(Submodule, w.of.side, shown, "%s has more than %d submodules, or nests them deeper than %d",
				w.of.the, maxModules, maxModuleDepth)
		}
		at, err := inside(dir, e.path)
		if err != nil {
			return fmt.Errorf("write a submodule: %w", err)
		}
		sub, below, err := src.repository(ctx, w.of, m, shown)
		if err != nil {
			return err
		}
		if err := emptyDir(at); err != nil {
			return err
		}
		index := filepath.Join(w.pair.scratch, fmt.Sprintf("index-module-%d", w.modules))
		if err := w.tree(ctx, sub, below, m.sha, at, shown, index, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// maxModulesFile is far beyond what so many submodules need.
const maxModulesFile = 1 << 20

func (w *writer) modulesFile(entries []entry) error {
	for _, e := range entries {
		if e.path == ".gitmodules" && e.size > maxModulesFile {
			return refuse(Submodule, w.of.side, e.path, ".gitmodules of %s has more than %d bytes", w.of.the, maxModulesFile)
		}
	}
	return nil
}

// readModules reads the .gitmodules of a tree, by path. No include in it is
// followed, since it is read from a blob.
func readModules(ctx context.Context, g git, tree string) (map[string]module, error) {
	out, err := g.run(ctx, "config", "--null", "--blob", tree+":.gitmodules", "--get-regexp", `^submodule\..*\.(path|url)$`)
	if err != nil {
		var g *gitError
		if errors.As(err, &g) {
			return map[string]module{}, nil // there is none, or git cannot read it
		}
		return nil, fmt.Errorf("read .gitmodules: %w", err)
	}
	byName := map[string]module{}
	for rec := range bytes.SplitSeq(out, []byte{0}) {
		key, value, ok := strings.Cut(string(rec), "\n")
		if !ok {
			continue
		}
		key = strings.TrimPrefix(key, "submodule.")
		dot := strings.LastIndexByte(key, '.')
		m := byName[key[:dot]]
		m.name = key[:dot]
		if key[dot+1:] == "path" {
			m.path = value
		} else {
			m.url = value
		}
		byName[key[:dot]] = m
	}
	byPath := map[string]module{}
	for _, m := range byName {
		if m.path != "" && m.url != "" {
			byPath[m.path] = m
		}
	}
	return byPath, nil
}

// forgeModules fetches submodules from the forge's host. They are fetched
// without the credential, which is for one repository.
type forgeModules struct {
	forge forge
	dir   string // of mirrors
	base  string // the address of the repository that declares the submodules
	lfs   *lfsClient

	limits  Limits
	fetched *download
	log     *slog.Logger
}

// modulePrefix begins the name of a submodule's mirror.
const modulePrefix = "module-"

func (f *forgeModules) repository(ctx context.Context, of whose, m module, shown string) (git, moduleSource, error) {
	address, err := f.address(m.url)
	if err != nil {
		return git{}, nil, refuse(Submodule, of.side, shown, "the submodule %s of %s: %v", names([]string{shown}), of.the, err)
	}
	sum := sha256.Sum256([]byte(address))
	mir := mirror{git: git{dir: filepath.Join(f.dir, modulePrefix+hex.EncodeToString(sum[:12])+".git"), forge: f.forge,
		limits: f.limits, writes: f.dir, fetched: f.fetched}}
	if err := mir.open(ctx); err != nil {
		return git{}, nil, err
	}
	ref := "refs/prbench/" + m.sha
	if !mir.has(ctx, ref, m.sha) {
		err := mir.mended(ctx, f.log, func() error { return mir.fetch(ctx, address, "+"+m.sha+":"+ref) })
		switch {
		case isGone(err):
			return git{}, nil, refuse(Submodule, of.side, shown, "the submodule %s of %s: its repository does not give the commit %s",
				names([]string{shown}), of.the, m.sha)
		case said(err, "could not read Username", "Authentication failed", "not found", "error: 403", "error: 404"):
			return git{}, nil, refuse(Submodule, of.side, shown, "the submodule %s of %s: its repository %s is missing or not public",
				names([]string{shown}), of.the, address)
		case err != nil:
			return git{}, nil, mir.git.unfetched(of.side, fmt.Sprintf("submodule %s of %s", names([]string{shown}), of.the), err)
		}
	}
	below := *f
	below.base, below.lfs = address, f.lfs.at(address)
	return mir.git.offline(), &below, nil
}

var scpLike = regexp.MustCompile(`^(?:[A-Za-z0-9._-]+@)?([A-Za-z0-9.-]+):([^/].*|/[^/].*)$`)

// address gives where a submodule is fetched from: always the forge's own host
// over the forge's own scheme, however the address is written.
func (f *forgeModules) address(raw string) (string, error) {
	var host, rest string
	switch {
	case strings.HasPrefix(raw, "./") || strings.HasPrefix(raw, "../"):
		u, err := url.Parse(f.base)
		if err != nil {
			return "", fmt.Errorf("its address is relative to no URL")
		}
		host, rest = u.Host, path.Join(u.Path, raw)
	case strings.Contains(raw, "://"):
		u, err := url.Parse(raw)
		if err != nil {
			return "", fmt.Errorf("its address is no URL")
		}
		switch u.Scheme {
		case "https", "http":
			host = u.Host
		case "ssh", "git", "git+ssh":
			host = u.Hostname()
		default:
			return "", fmt.Errorf("want an https address, got %s://", u.Scheme)
		}
		rest = u.Path
	default:
		match := scpLike.FindStringSubmatch(raw)
		if match == nil {
			return "", fmt.Errorf("want an https address, got %q", raw)
		}
		host, rest = match[1], match[2]
	}
	if !strings.EqualFold(host, f.forge.host) {
		return "", fmt.Errorf("it lies on %q, and only %s is fetched from", host, f.forge.host)
	}
	u := url.URL{Scheme: f.forge.scheme, Host: f.forge.host, Path: path.Clean("/" + rest)}
	return u.String(), nil
}

// localModules finds submodules among those that a person's clone has.
type localModules struct {
	gitDirs []string // where modules/NAME may lie
}

func (l *localModules) repository(ctx context.Context, of whose, m module, shown string) (git, moduleSource, error) {
	if filepath.IsLocal(m.name) {
		for _, dir := range l.gitDirs {
			g := git{dir: filepath.Join(dir, "modules", m.name), own: true}
			if _, err := os.Stat(g.dir); err != nil {
				continue
			}
			if _, err := g.run(ctx, "cat-file", "-e", m.sha+"^{commit}"); err == nil {
				return g, &localModules{gitDirs: []string{g.dir}}, nil
			}
		}
	}
	return git{}, nil, refuse(Submodule, of.side, shown, "the submodule %s of %s: the commit %s is not in this clone; "+
		"check that side out and run: git submodule update --init --recursive", names([]string{shown}), of.the, m.sha)
}
