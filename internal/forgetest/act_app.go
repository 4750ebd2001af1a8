package forgetest

import (
	"fmt"
	"slices"
	"time"
)

// Suspend suspends an installation, or lets it go on.
func (s *Server) Suspend(login string, i *Installation, suspended bool) error {
	return s.as(login, func(u *User) error {
		action := "unsuspend"
		i.suspended = time.Time{}
		if suspended {
			action, i.suspended = "suspend", s.stamp()
		}
		s.emitInstallation(i, action, u)
		return nil
	})
}

// Uninstall takes the App off an account.
func (s *Server) Uninstall(login string, i *Installation) error {
	return s.as(login, func(u *User) error {
		s.emitInstallation(i, "deleted", u)
		i.deleted = true
		for _, t := range s.tokens {
			if t.inst == i {
				t.revoked = true
			}
		}
		return nil
	})
}

// SelectRepos adds repositories to an installation, and takes others away.
func (s *Server) SelectRepos(login string, i *Installation, add, remove []*Repo) error {
	return s.as(login, func(u *User) error {
		list := func(repos []*Repo) []object {
			out := []object{}
			for _, r := range repos {
				out = append(out, object{"id": r.ID, "node_id": nodeID("R", r.ID), "name": r.name, "full_name": r.fullName(), "private": r.private})
			}
			return out
		}
		i.all = false
		for _, r := range add {
			i.repos[r.ID] = true
		}
		for _, r := range remove {
			delete(i.repos, r.ID)
		}
		for action, repos := range map[string][]*Repo{"added": add, "removed": remove} {
			if len(repos) == 0 {
				continue
			}
			payload := object{
				"installation": s.installationJSON(i), "repository_selection": "selected", "requester": nil,
				"repositories_added": []object{}, "repositories_removed": []object{},
			}
			payload["repositories_"+action] = list(repos)
			s.emitTo(i, "installation_repositories", action, nil, u, payload)
		}
		return nil
	})
}

// Ping sends what GitHub sends to a new webhook.
func (s *Server) Ping(a *App) {
	s.mu.Lock()
	if a.hookURL != "" {
		d := &Delivery{ID: s.id(), GUID: newGUID(), App: a, Event: "ping", At: s.stamp()}
		d.Payload = encode(object{"zen": "Keep it logically awesome.", "hook_id": a.hookID, "hook": object{
			"type": "App", "id": a.hookID, "name": "web", "active": true, "events": a.events, "app_id": a.ID,
			"created_at": at(a.created), "updated_at": at(a.created),
			"config": object{"content_type": "json", "insecure_ssl": "0", "url": a.hookURL},
		}})
		s.deliveries = append(s.deliveries, d)
		s.hooks.add(d)
	}
	s.mu.Unlock()
	s.hooks.settle()
}

// emitInstallation queues an installation event; every App gets its own. The
// caller holds mu.
func (s *Server) emitInstallation(i *Installation, action string, u *User) {
	repos := []object{}
	for _, r := range s.sortedRepos() {
		if i.covers(r) {
			repos = append(repos, object{"id": r.ID, "node_id": nodeID("R", r.ID), "name": r.name, "full_name": r.fullName(), "private": r.private})
		}
	}
	s.emitTo(i, "installation", action, nil, u, object{"installation": s.installationJSON(i), "repositories": repos, "requester": nil})
}

func (s *Server) sortedRepos() []*Repo {
	var all []*Repo
	for _, r := range s.repos {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *Repo) int { return int(a.ID - b.ID) })
	return all
}

// RerequestCheckRun asks for a check run again, as its button does.
func (s *Server) RerequestCheckRun(login string, id int64) error {
	return s.checkRunEvent(login, id, "rerequested", nil)
}

// PressAction presses one of a check run's own buttons.
func (s *Server) PressAction(login string, id int64, identifier string) error {
	return s.checkRunEvent(login, id, "requested_action", object{"requested_action": object{"identifier": identifier}})
}

// checkRunEvent goes only to the App whose check run it is.
func (s *Server) checkRunEvent(login string, id int64, action string, extra object) error {
	return s.as(login, func(u *User) error {
		c := s.checkRuns[id]
		if c == nil {
			return fmt.Errorf("no check run %d", id)
		}
		payload := object{"check_run": s.checkRunJSON(c)}
		for key, value := range extra {
			payload[key] = value
		}
		for _, i := range s.sortedInstallations() {
			if i.App == c.app && i.covers(c.repo) && slices.Contains(i.App.events, "check_run") {
				s.emitTo(i, "check_run", action, c.repo, u, payload)
			}
		}
		return nil
	})
}
