package forgetest

import (
	"fmt"
	"time"
)

// issueEvent is an entry of a pull request's history.
type issueEvent struct {
	id    int64
	name  string // "labeled" or "unlabeled"
	label *label
	actor *User
	at    time.Time
}

func (s *Server) noteLabel(p *Pull, name string, l *label, u *User) {
	p.events = append(p.events, issueEvent{id: s.id(), name: name, label: l, actor: u, at: s.stamp()})
}

// listEvents gives a pull request's history, oldest first, as far as it is
// about labels.
func (c *call) listEvents() (answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, err := c.pull()
	if err != nil {
		return answer{}, err
	}
	from, to := c.window(len(p.events))
	out := []object{}
	for _, e := range p.events[from:to] {
		out = append(out, object{
			"id": e.id, "node_id": nodeID("LE", e.id), "url": fmt.Sprintf("%s/issues/events/%d", c.repoAPI(p.Repo), e.id),
			"actor": c.userJSON(e.actor), "event": e.name, "commit_id": nil, "commit_url": nil, "created_at": at(e.at),
			"label": object{"name": e.label.name, "color": e.label.color}, "performed_via_github_app": nil,
		})
	}
	return ok(out)
}
