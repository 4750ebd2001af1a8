package forgetest

import (
	"fmt"
	"strings"
)

// Transfer gives a repository to another owner, as the person. Installations of
// the former owner lose it, and are told so; one of the new owner that covers
// all its repositories has it, and is told of the transfer.
func (s *Server) Transfer(login string, r *Repo, owner string) error {
	return s.as(login, func(u *User) error {
		next, err := s.user(owner)
		if err != nil {
			return err
		}
		key := strings.ToLower(next.Login + "/" + r.name)
		if other := s.repoNames[key]; other != nil && other != r && strings.EqualFold(other.fullName(), key) {
			return fmt.Errorf("transfer to %s: the name %s is taken", owner, r.name)
		}
		former := r.Owner
		shown := object{"id": r.ID, "node_id": nodeID("R", r.ID), "name": r.name, "full_name": r.fullName(), "private": r.private}
		var had []*Installation
		for _, i := range s.sortedInstallations() {
			if i.covers(r) {
				had = append(had, i)
				delete(i.repos, r.ID)
			}
		}
		r.Owner = next
		s.repoNames[key] = r
		for _, i := range had {
			s.emitTo(i, "installation_repositories", "removed", nil, u, object{
				"installation": s.installationJSON(i), "repository_selection": "selected", "requester": nil,
				"repositories_added": []object{}, "repositories_removed": []object{shown},
			})
		}
		from := object{"user": s.userJSON(former)}
		if former.Type == "Organization" {
			from = object{"organization": s.orgJSON(former)}
		}
		s.emit("repository", "transferred", r, u, object{"changes": object{"owner": object{"from": from}}})
		return nil
	})
}
