package forge

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/go-github/v60/github"
)

// Ref is a branch or a tag of a repository, and the commit it points at.
type Ref struct {
	Name string // full: refs/heads/main, refs/tags/v1.0
	SHA  string // of a commit: annotated tags are followed
}

// ErrNoSuchRef is wrapped by ResolveRef's error where neither a branch nor a
// tag has the name.
var ErrNoSuchRef = errors.New("no branch or tag of that name")

// ResolveRef looks a name up among the repository's own branches, then its
// tags. A commit id is no name: GitHub would find those of any fork under the
// repository's address. refs/heads/X and refs/tags/X name one kind; no other
// namespace is looked at.
func (c *Client) ResolveRef(ctx context.Context, r Repo, name string) (Ref, error) {
	if err := r.check(); err != nil {
		return Ref{}, err
	}
	candidates := []string{"refs/heads/" + name, "refs/tags/" + name}
	bare := name
	for _, space := range []string{"refs/heads/", "refs/tags/"} {
		if rest, ok := strings.CutPrefix(name, space); ok {
			candidates, bare = []string{name}, rest
		}
	}
	if err := CheckRefName(bare); err != nil {
		return Ref{}, err
	}
	for _, full := range candidates {
		ref, err := c.ref(ctx, r, full)
		if IsNotFound(err) {
			continue
		}
		return ref, err
	}
	return Ref{}, &Error{Op: fmt.Sprintf("resolve %q in %s", name, r), Class: Class{Kind: NotFound}, Message: ErrNoSuchRef.Error(), cause: ErrNoSuchRef}
}

func (c *Client) ref(ctx context.Context, r Repo, full string) (Ref, error) {
	op := fmt.Sprintf("read %s of %s", full, r)
	var sha, kind string
	err := c.read(ctx, op, func(ctx context.Context, gh *github.Client) error {
		got, _, err := gh.Git.GetRef(ctx, r.Owner, r.Name, full)
		if err == nil && got.GetRef() == full {
			sha, kind = got.GetObject().GetSHA(), got.GetObject().GetType()
		}
		return err
	})
	// Tags may point at tags; git itself follows any number.
	for depth := 0; err == nil && kind == "tag" && depth < 8; depth++ {
		err = c.read(ctx, op, func(ctx context.Context, gh *github.Client) error {
			got, _, err := gh.Git.GetTag(ctx, r.Owner, r.Name, sha)
			if err == nil {
				sha, kind = got.GetObject().GetSHA(), got.GetObject().GetType()
			}
			return err
		})
	}
	if err != nil {
		return Ref{}, err
	}
	if kind != "commit" || !IsSHA(sha) {
		return Ref{}, &Error{Op: op, Class: Class{Kind: NotFound}, Message: "points at no commit", cause: ErrNoSuchRef}
	}
	return Ref{Name: full, SHA: sha}, nil
}

// File is a file of a repository.
type File struct {
	Path string
	SHA  string // of the blob
	Data []byte
}

// maxFile bounds what FileAtDefaultBranch reads, in bytes. GitHub's contents
// endpoint gives files up to 1 MiB inline.
const maxFile = 1 << 20

// FileAtDefaultBranch reads a file at the tip of the default branch. A missing
// file is NotFound; a folder, a submodule, a link or a file over 1 MiB is
// Unprocessable.
func (c *Client) FileAtDefaultBranch(ctx context.Context, r Repo, path string) (File, error) {
	if err := r.check(); err != nil {
		return File{}, err
	}
	op := fmt.Sprintf("read %s of %s", path, r)
	out := File{Path: path}
	err := c.read(ctx, op, func(ctx context.Context, gh *github.Client) error {
		got, _, _, err := gh.Repositories.GetContents(ctx, r.Owner, r.Name, path, nil)
		if err != nil {
			return err
		}
		if got == nil || got.GetType() != "file" || got.GetTarget() != "" {
			return &Error{Class: Class{Kind: Unprocessable}, Message: "is not a regular file"}
		}
		if got.GetSize() > maxFile || got.GetEncoding() == "none" {
			return &Error{Class: Class{Kind: Unprocessable}, Message: fmt.Sprintf("is larger than %d bytes", maxFile)}
		}
		text, err := got.GetContent()
		out.SHA, out.Data = got.GetSHA(), []byte(text)
		return err
	})
	if err != nil {
		return File{}, err
	}
	return out, nil
}
