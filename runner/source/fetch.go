package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/runner/disk"
)

// Request says what a runner fetches.
type Request struct {
	// Dir is the runner's own folder of mirrors, readable by nobody else.
	Dir string
	// Repository is the repository's id on the forge, which names its mirror.
	Repository int64
	// CloneURL is the base repository's address, https and without credentials.
	CloneURL string
	// Host, where set, is the only host that CloneURL may name.
	Host string
	// AllowHTTP lets a forge on the loopback be spoken to without TLS.
	AllowHTTP bool
	// Token gives the credential for reading the repository; nil or an empty
	// secret means none, an empty user the forge's usual one. It is asked once a
	// fetch, and written nowhere.
	Token func(context.Context) (user, secret string, err error)

	Base, Head job.Side
	// Change, where set, is fetched in place of Head, for Pick to put it on Base,
	// the tip of a release line.
	Change *job.Change
	PR     int // for refs/pull/N/head, where the forge does not give the commit itself; 0: no such ref
	// History fetches everything that leads to the commits, and the tags.
	History bool
	// Limits bound what is fetched and, later, what is written of it.
	Limits Limits
	// Log is told of a mirror that is fetched anew; nil: nobody is.
	Log *slog.Logger
}

// Fetch brings both commits of the request into the repository's mirror. A
// commit that is gone gives a *Refused; other errors are faults.
func Fetch(ctx context.Context, r Request) (_ *Pair, err error) {
	f, err := r.forge()
	if err != nil {
		return nil, err
	}
	pinned := []string{r.Base.SHA}
	if r.Change == nil {
		pinned = append(pinned, r.Head.SHA)
	} else if err := checkPicks(r.Change.Picks); err != nil {
		return nil, err
	}
	for _, s := range pinned {
		if !shaPattern.MatchString(s) {
			return nil, refuse(BadRequest, "", "", "want a full commit id, got %q", s)
		}
	}
	name := strconv.FormatInt(r.Repository, 10)
	if r.History {
		name += ".full" // a shallow mirror and a whole one do not mix
	}
	if r.Log == nil {
		r.Log = slog.New(slog.DiscardHandler)
	}
	m := mirror{git: git{dir: filepath.Join(r.Dir, name+".git"), forge: f, limits: r.Limits, writes: r.Dir, fetched: &download{}}, history: r.History}
	if err := m.open(ctx); err != nil {
		return nil, err
	}
	if r.Token != nil {
		if m.git.user, m.git.token, err = r.Token(ctx); err != nil {
			return nil, fmt.Errorf("ask for the credential to read the repository: %w", err)
		}
		if m.git.user == "" {
			m.git.user = "x-access-token"
		}
		if strings.ContainsAny(m.git.user+m.git.token, "\r\n\x00") {
			return nil, errors.New("the credential to read the repository holds a line break")
		}
	}
	if disk.Low(r.Dir, r.Limits.KeepFree) {
		return nil, fmt.Errorf("fetch: %w", disk.ErrLow)
	}
	if err := m.mended(ctx, r.Log, func() error { return m.all(ctx, r) }); err != nil {
		return nil, err
	}
	p, err := newPair(ctx, m.git.offline(), r.Dir)
	if err != nil {
		return nil, err
	}
	p.log = r.Log
	p.renew = func(ctx context.Context) error {
		*m.git.fetched = download{} // in place: submodules and LFS files count to it too
		if err := m.open(ctx); err != nil {
			return err
		}
		return m.all(ctx, r)
	}
	p.Old = Commit{SHA: r.Base.SHA, Ref: r.Base.Ref, tree: r.Base.SHA}
	if r.Change == nil {
		p.New = Commit{SHA: r.Head.SHA, Ref: r.Head.Ref, tree: r.Head.SHA}
	} else {
		p.line = r.Base.Ref
	}
	p.modules = &forgeModules{forge: f, dir: r.Dir, base: r.CloneURL,
		limits: r.Limits, fetched: m.git.fetched, log: r.Log,
		lfs: &lfsClient{repository: r.CloneURL, dir: filepath.Join(r.Dir, strconv.FormatInt(r.Repository, 10)+lfsSuffix), user: m.git.user, token: m.git.token,
			limits: r.Limits, fetched: m.git.fetched, http: newHTTP()}}
	return p, nil
}

// all brings everything that the request names.
func (m mirror) all(ctx context.Context, r Request) error {
	if err := m.bring(ctx, r, job.Old); err != nil {
		return err
	}
	if r.Change != nil {
		return m.bringPicks(ctx, r)
	}
	return m.bring(ctx, r, job.New)
}

// offline is for what needs the network no more.
func (g git) offline() git {
	g.user, g.token, g.forge, g.fetched = "", "", forge{}, nil
	return g
}

// forge checks the request's address.
func (r Request) forge() (forge, error) {
	f, err := parseForge(r.CloneURL, r.AllowHTTP)
	if err != nil {
		return forge{}, err
	}
	if r.Host != "" && !strings.EqualFold(r.Host, f.host) {
		return forge{}, refuse(BadRequest, "", "", "the repository lies on %s; this runner fetches from %s alone", f.host, r.Host)
	}
	return f, nil
}

func parseForge(address string, allowHTTP bool) (forge, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Opaque != "" {
		return forge{}, refuse(BadRequest, "", "", "want an https address of a repository, got one that is no URL")
	}
	if u.User != nil {
		return forge{}, refuse(BadRequest, "", "", "the address of a repository on %s holds a credential", u.Host)
	}
	if u.Scheme != "https" && (u.Scheme != "http" || !allowHTTP || !loopback(u.Hostname())) {
		return forge{}, refuse(BadRequest, "", "", "want an https address of a repository, got %s on %s", u.Scheme, u.Host)
	}
	return forge{scheme: u.Scheme, host: strings.ToLower(u.Host)}, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// mirror is a bare repository of ours.
type mirror struct {
	git     git
	history bool
}

// open makes the mirror where it is missing, and clears what a git that was
// killed has left: the host lock says that no other git is at work.
func (m mirror) open(ctx context.Context) error {
	if err := os.MkdirAll(filepath.Dir(m.git.dir), 0o700); err != nil {
		return fmt.Errorf("make the folder of mirrors: %w", err)
	}
	if head, err := os.ReadFile(filepath.Join(m.git.dir, "HEAD")); err != nil || !bytes.HasPrefix(head, []byte("ref: ")) {
		if err := os.RemoveAll(m.git.dir); err != nil {
			return fmt.Errorf("remove a broken mirror: %w", err)
		}
		// No template: it could bring hooks.
		if _, err := m.git.run(ctx, "init", "--quiet", "--bare", "--template="); err != nil {
			return fmt.Errorf("make a mirror: %w", err)
		}
		return nil
	}
	return errors.Join(clearLocks(m.git.dir), clearParts(m.git.packs()))
}

func clearLocks(dir string) error {
	return filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "objects":
			return filepath.SkipDir
		case !d.IsDir() && strings.HasSuffix(path, ".lock"):
			return os.Remove(path)
		}
		return nil
	})
}

// bring has the side's commit in the mirror, under a ref of ours: the ref is
// written last, so it says that everything which belongs to the commit is there.
func (m mirror) bring(ctx context.Context, r Request, side job.SideName) error {
	sha := r.Base.SHA
	if side == job.New {
		sha = r.Head.SHA
	}
	ref := "refs/prbench/" + sha
	if m.has(ctx, ref, sha) {
		return nil
	}
	err := m.fetch(ctx, r.CloneURL, "+"+sha+":"+ref)
	if err == nil {
		if !m.has(ctx, ref, sha) {
			return fmt.Errorf("fetch the %s: what arrived is another commit", r.called(side))
		}
		return nil
	}
	if !isGone(err) {
		return m.git.unfetched(side, r.called(side), err)
	}
	if side == job.New && r.PR > 0 {
		if err := m.fromPull(ctx, r, sha); err == nil {
			return nil
		} else if !isGone(err) {
			return m.git.unfetched(side, r.called(side), err)
		}
		return refuse(Gone, side, "", "the %s is gone: neither the commit itself nor refs/pull/%d/head gives it", r.called(side), r.PR)
	}
	return refuse(Gone, side, "", "the %s is gone: the repository does not give it", r.called(side))
}

// unfetched sorts the error of a fetch of something that is not gone.
func (g git) unfetched(side job.SideName, what string, err error) error {
	switch {
	case errors.Is(err, errFetchSize):
		return g.limits.refuseFetch(side, what)
	case said(err, "fsck error in packed object"):
		return refuse(Malformed, side, "", "the %s is refused: %v", what, err)
	}
	return fmt.Errorf("fetch the %s: %w", what, err)
}

// called is what a side's commit is called.
func (r Request) called(side job.SideName) string {
	switch {
	case side == job.New:
		return "head commit " + r.Head.SHA
	case r.Change != nil:
		return fmt.Sprintf("commit %s, the tip of %s when this was asked for,", r.Base.SHA, names([]string{r.Base.Ref}))
	}
	return "base commit " + r.Base.SHA
}

// pullDepth is how far below a pull request's newest commit the pinned one is
// looked for, where the pull request has moved on.
const pullDepth = 200

var errNotInPull = errors.New("the pull request's ref does not lead to the commit")

// fromPull takes the commit from refs/pull/N/head, which outlives the fork.
func (m mirror) fromPull(ctx context.Context, r Request, sha string) error {
	pull := fmt.Sprintf("refs/prbench/pull/%d", r.PR)
	spec := fmt.Sprintf("+refs/pull/%d/head:%s", r.PR, pull)
	if err := m.fetch(ctx, r.CloneURL, spec); err != nil {
		return err
	}
	if !m.has(ctx, pull, sha) && !m.history {
		if err := m.fetchDepth(ctx, pullDepth, r.CloneURL, spec); err != nil {
			return err
		}
	}
	if _, err := m.git.run(ctx, "merge-base", "--is-ancestor", sha, pull); err != nil {
		return errNotInPull
	}
	_, err := m.git.run(ctx, "update-ref", "refs/prbench/"+sha, sha)
	return err
}

// has tells whether the ref names exactly this commit.
func (m mirror) has(ctx context.Context, ref, sha string) bool {
	got, err := m.git.line(ctx, "rev-parse", "--verify", "--quiet", ref+"^{commit}")
	return err == nil && got == sha
}

func (m mirror) fetch(ctx context.Context, address, refspec string) error {
	return m.fetchDepth(ctx, 1, address, refspec)
}

func (m mirror) fetchDepth(ctx context.Context, depth int, address string, refspecs ...string) error {
	args := []string{"fetch", "--quiet", "--no-write-fetch-head", "--no-auto-gc", "--recurse-submodules=no"}
	if m.history {
		args = append(append(args, "--no-tags", address), append(refspecs, "+refs/tags/*:refs/tags/*")...)
	} else {
		args = append(append(args, "--no-tags", "--depth="+strconv.Itoa(depth), address), refspecs...)
	}
	err := m.fetchOnce(ctx, args)
	if !said(err, "error: 301", "error: 302", "error: 303", "error: 307", "error: 308") {
		return err
	}
	moved, movedErr := m.moved(ctx, address)
	if movedErr != nil {
		return fmt.Errorf("%w (%w)", err, movedErr)
	}
	args[slices.Index(args, address)] = moved
	return m.fetchOnce(ctx, args)
}

// fetchOnce fetches, and leaves on the disk what a power cut leaves alone.
func (m mirror) fetchOnce(ctx context.Context, args []string) error {
	_, err := m.git.run(ctx, args...)
	if err == nil {
		return disk.Sync(m.git.dir)
	}
	err = errors.Join(err, clearParts(m.git.packs()))
	if errors.Is(err, errFetchSize) && m.git.fetched.done {
		// It was all here before it was seen to be too much: the next job is not to find it.
		err = errors.Join(err, os.RemoveAll(m.git.dir))
	}
	return err
}

// maxMoves bounds the redirects of a repository that was renamed.
const maxMoves = 3

// moved finds where a renamed repository lies now. git itself follows no
// redirect: it would follow one to another host.
func (m mirror) moved(ctx context.Context, address string) (string, error) {
	const rest = "/info/refs"
	client := newHTTP()
	for range maxMoves {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address+rest+"?service=git-upload-pack", nil)
		if err != nil {
			return "", fmt.Errorf("ask where the repository lies: %w", err)
		}
		if m.git.token != "" {
			req.SetBasicAuth(m.git.user, m.git.token)
		}
		resp, err := client.Do(req)
		if err != nil {
			return "", fmt.Errorf("ask where the repository lies: %w", withoutURL(err))
		}
		to, err := resp.Location()
		if closeErr := resp.Body.Close(); closeErr != nil {
			return "", fmt.Errorf("ask where the repository lies: %w", closeErr)
		}
		if errors.Is(err, http.ErrNoLocation) {
			return address, nil
		}
		if err != nil {
			return "", fmt.Errorf("the repository has moved to no address")
		}
		if to.Scheme != m.git.forge.scheme || !strings.EqualFold(to.Host, m.git.forge.host) || !strings.HasSuffix(to.Path, rest) {
			return "", fmt.Errorf("the repository has moved to %s, and only %s is fetched from", to.Host, m.git.forge.host)
		}
		address = (&url.URL{Scheme: to.Scheme, Host: to.Host, Path: strings.TrimSuffix(to.Path, rest)}).String()
	}
	return "", fmt.Errorf("the repository has moved more than %d times", maxMoves)
}

// isGone tells a commit or ref that the forge does not have from every other
// failure of a fetch. The words are git's own, in the C locale.
func isGone(err error) bool {
	return errors.Is(err, errNotInPull) ||
		said(err, "not our ref", "couldn't find remote ref", "no such remote ref", "unadvertised object",
			"Server does not allow request for")
}
