package forge

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/go-github/v60/github"
)

// Role is what a person may do in a repository, as GitHub's base roles.
type Role string

// GitHub's base roles, from none to all.
const (
	RoleNone     Role = "none"
	RoleRead     Role = "read"
	RoleTriage   Role = "triage"
	RoleWrite    Role = "write"
	RoleMaintain Role = "maintain"
	RoleAdmin    Role = "admin"
)

var roleOrder = map[Role]int{RoleNone: 0, RoleRead: 1, RoleTriage: 2, RoleWrite: 3, RoleMaintain: 4, RoleAdmin: 5}

// AtLeast reports whether the role includes want. An unknown role on either
// side includes nothing.
func (r Role) AtLeast(want Role) bool {
	have, known := roleOrder[r]
	need, asked := roleOrder[want]
	return known && asked && have >= need
}

// ParseRole reads one of the base roles.
func ParseRole(s string) (Role, error) {
	if _, ok := roleOrder[Role(s)]; !ok {
		return RoleNone, fmt.Errorf("role %q: want none, read, triage, write, maintain or admin", s)
	}
	return Role(s), nil
}

// Permission asks what a person may do in the repository. It may be less than
// the truth, never more: an account or an answer that is not understood is
// RoleNone. The answer's own permission field is not read: it calls triage
// "read" and maintain "write".
func (c *Client) Permission(ctx context.Context, r Repo, login string) (Role, error) {
	if err := r.check(); err != nil {
		return RoleNone, err
	}
	if !loginShape.MatchString(login) {
		return RoleNone, refuse("login %q: not a name that GitHub gives", login)
	}
	role := RoleNone
	err := c.read(ctx, fmt.Sprintf("read the permission of %s in %s", login, r), func(ctx context.Context, gh *github.Client) error {
		got, _, err := gh.Repositories.GetPermissionLevel(ctx, r.Owner, r.Name, login)
		// A renamed account answers under its new name; the old one may since
		// belong to somebody else.
		if err == nil && strings.EqualFold(got.GetUser().GetLogin(), login) {
			role = roleOf(got.GetUser())
		}
		return err
	})
	if err != nil {
		if Classify(err).Kind == NotFound {
			return RoleNone, nil
		}
		return RoleNone, err
	}
	return role, nil
}

// roleOf takes the lower of the named role and the highest permission that is
// set, where both are there. A custom role has a name of its own, and only
// its permissions count.
func roleOf(u *github.User) Role {
	granted := RoleNone
	for _, p := range []struct {
		key  string
		role Role
	}{{"admin", RoleAdmin}, {"maintain", RoleMaintain}, {"push", RoleWrite}, {"triage", RoleTriage}, {"pull", RoleRead}} {
		if u.GetPermissions()[p.key] {
			granted = p.role
			break
		}
	}
	named, err := ParseRole(u.GetRoleName())
	switch {
	case err != nil:
		return granted
	case len(u.GetPermissions()) == 0:
		return named
	case roleOrder[named] < roleOrder[granted]:
		return named
	}
	return granted
}
