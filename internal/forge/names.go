package forge

import (
	"fmt"
	"regexp"
	"strings"
)

// Repo names a repository. Its parts come from payloads and comments, so that
// every request checks them before they become part of an address.
type Repo struct{ Owner, Name string }

// ParseRepo reads "owner/name".
func ParseRepo(full string) (Repo, error) {
	owner, name, _ := strings.Cut(full, "/")
	r := Repo{Owner: owner, Name: name}
	return r, r.check()
}

func (r Repo) String() string { return r.Owner + "/" + r.Name }

var (
	ownerShape = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$`)
	repoShape  = regexp.MustCompile(`^[A-Za-z0-9._-]{1,100}$`)
	loginShape = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,99}(\[bot\])?$`)
	shaShape   = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
)

func (r Repo) check() error {
	if !ownerShape.MatchString(r.Owner) || !repoShape.MatchString(r.Name) || r.Name == "." || r.Name == ".." {
		return refuse("repository %q: want owner/name", r.String())
	}
	return nil
}

// IsSHA reports whether s is a full commit id, in lower case.
func IsSHA(s string) bool { return shaShape.MatchString(s) }

// CheckRefName says what is wrong with a branch or tag name, by the rules of
// git check-ref-format.
func CheckRefName(name string) error {
	bad := func(why string) error { return refuse("ref %q: %s", name, why) }
	switch {
	case name == "" || len(name) > 250:
		return bad("want 1 to 250 bytes")
	case strings.HasPrefix(name, "/"), strings.HasSuffix(name, "/"), strings.Contains(name, "//"):
		return bad("has an empty part")
	case strings.HasPrefix(name, "-"):
		return bad("begins with a dash")
	case strings.Contains(name, ".."), strings.Contains(name, "@{"), name == "@", strings.HasSuffix(name, "."):
		return bad("has a sequence that git does not allow in a name")
	case strings.ContainsAny(name, " ~^:?*[\\"):
		return bad("has a character that git does not allow in a name")
	}
	for _, r := range name {
		if r < 0x20 || r == 0x7f || r == '\uFFFD' {
			return bad("has a control character or is not UTF-8")
		}
	}
	for part := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock") {
			return bad("has a part that begins with a dot or ends in .lock")
		}
	}
	return nil
}

// refuse is an error about the request itself, found before it was sent.
func refuse(format string, args ...any) error {
	return &Error{Class: Class{Kind: Refused}, Message: cleanMessage(fmt.Sprintf(format, args...))}
}
