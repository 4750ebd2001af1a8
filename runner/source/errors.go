package source

import (
	"fmt"

	"github.com/prbench/prbench/internal/job"
)

// Kind sorts the reasons for which a checkout is impossible however often it is
// tried.
type Kind string

// The kinds of refusal.
const (
	// Gone: neither the commit nor the pull request's ref gives it.
	Gone Kind = "gone"
	// Submodule: a submodule lies outside the forge's host or cannot be had.
	Submodule Kind = "submodule"
	// LFS: the tree holds a pointer where a file belongs.
	LFS Kind = "lfs"
	// NoMergeBase: the two commits have no common ancestor that could be found.
	NoMergeBase Kind = "no-merge-base"
	// TooLarge: a tree, or what is fetched for it, is beyond this machine's limits.
	TooLarge Kind = "too-large"
	// Malformed: the forge gave what no git should have made.
	Malformed Kind = "malformed"
	// BadRequest: a ref, a URL or a path that is refused before git sees it.
	BadRequest Kind = "bad-request"
)

// Refused is the error of a checkout that another try would not mend. Every
// other error of this package is a fault of the infrastructure: the network,
// the disk, git itself. Its text may hold hostile names, never a credential.
type Refused struct {
	Kind Kind
	Side job.SideName // empty where both sides are meant
	Path string       // the path in the tree, where one is to blame
	Text string       // one plain sentence
}

func (r *Refused) Error() string { return r.Text }

func refuse(kind Kind, side job.SideName, path, format string, args ...any) *Refused {
	return &Refused{Kind: kind, Side: side, Path: path, Text: fmt.Sprintf(format, args...)}
}

// whose is a side with what people call it.
type whose struct {
	side job.SideName
	the  string // "the base", or the name of a release line
}

func (p *Pair) whose(side job.SideName) whose { return whose{side, side.The(p.line)} }
