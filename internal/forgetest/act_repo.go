package forgetest

import (
	"fmt"
	"os"
	"strings"
)

// Archive makes a repository read-only, or writable again.
func (s *Server) Archive(login string, r *Repo, archived bool) error {
	return s.as(login, func(u *User) error {
		r.archived = archived
		action := "unarchived"
		if archived {
			action = "archived"
		}
		s.emit("repository", action, r, u, nil)
		return nil
	})
}

// Rename gives a repository a new name; the old one answers with a redirect,
// until another repository takes it.
func (s *Server) Rename(login string, r *Repo, name string) error {
	return s.as(login, func(u *User) error {
		if !nameShape.MatchString(name) {
			return fmt.Errorf("repository name %q: want letters, digits, dots, dashes and underscores", name)
		}
		key := strings.ToLower(r.Owner.Login + "/" + name)
		if other := s.repoNames[key]; other != nil && other != r && strings.EqualFold(other.fullName(), key) {
			return fmt.Errorf("repository name %q: is taken", name)
		}
		former := r.name
		r.name = name
		s.repoNames[key] = r
		s.emit("repository", "renamed", r, u, object{"changes": object{"repository": object{"name": object{"from": former}}}})
		return nil
	})
}

// DeleteRepo deletes a repository. Pull requests that came from it stay, with
// their refs/pull/N/head.
func (s *Server) DeleteRepo(login string, r *Repo) error {
	err := s.as(login, func(u *User) error {
		s.emit("repository", "deleted", r, u, nil)
		r.deleted = true
		for key, one := range s.repoNames {
			if one == r {
				delete(s.repoNames, key)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	r.gitMu.Lock()
	defer r.gitMu.Unlock()
	return os.RemoveAll(r.dir)
}
