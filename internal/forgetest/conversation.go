package forgetest

import (
	"slices"
	"time"
)

// Conversation is all that a person sees of a pull request, for tests.
type Conversation struct {
	Number    int
	Open      bool
	Locked    bool
	HeadSHA   string
	Labels    []string
	Reactions []string // "eyes by prbench[bot]"
	Comments  []ShownComment
	CheckRuns []ShownCheckRun // of all heads, oldest first
	Statuses  []ShownStatus   // of the present head, newest first
}

// ShownComment is a comment that is not deleted.
type ShownComment struct {
	ID        int64
	Author    string
	Body      string
	Edits     []string // former texts, oldest first
	Reactions []string // "eyes by prbench[bot]"
	Created   time.Time
	Updated   time.Time
}

// ShownCheckRun is a check run.
type ShownCheckRun struct {
	ID                   int64
	Name, HeadSHA        string
	ExternalID           string
	DetailsURL           string
	Status, Conclusion   string
	Title, Summary, Text string
	Annotations          int
	Actions              []string // identifiers
	Updates              int      // how often it was changed after its creation
}

// ShownStatus is a commit status.
type ShownStatus struct{ State, Context, Description, TargetURL string }

// Conversation gives the present state of a pull request.
func (s *Server) Conversation(p *Pull) Conversation {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := Conversation{Number: p.Number, Open: p.open, Locked: p.locked, HeadSHA: p.headSHA, Reactions: shownReactions(p.reactions)}
	for _, l := range p.labels {
		out.Labels = append(out.Labels, l.name)
	}
	for _, c := range liveComments(p) {
		out.Comments = append(out.Comments, ShownComment{
			ID: c.id, Author: c.author.Login, Body: c.body, Edits: slices.Clone(c.edits), Reactions: shownReactions(c.reactions),
			Created: c.created, Updated: c.updated,
		})
	}
	for _, run := range p.Repo.checkRuns {
		if s.ofPull(run.sha, p) {
			out.CheckRuns = append(out.CheckRuns, shownCheckRun(run))
		}
	}
	for _, x := range p.Repo.statusesOf(p.headSHA) {
		out.Statuses = append(out.Statuses, ShownStatus{x.state, x.context, x.description, x.targetURL})
	}
	return out
}

// ofPull reports whether a commit is, or was, a head of the pull request.
func (s *Server) ofPull(sha string, p *Pull) bool {
	return sha == p.headSHA || slices.Contains(p.formerHeads, sha)
}

func shownReactions(all []*reaction) []string {
	var out []string
	for _, x := range all {
		out = append(out, x.content+" by "+x.user.Login)
	}
	return out
}

func shownCheckRun(run *checkRun) ShownCheckRun {
	text := func(p *string) string {
		if p == nil {
			return ""
		}
		return *p
	}
	out := ShownCheckRun{
		ID: run.id, Name: run.name, HeadSHA: run.sha, ExternalID: run.externalID, DetailsURL: run.detailsURL,
		Status: run.status, Conclusion: run.conclusion, Title: text(run.title), Summary: text(run.summary), Text: text(run.text),
		Annotations: len(run.annotations), Updates: run.updates,
	}
	for _, a := range run.actions {
		id, _ := a["identifier"].(string)
		out.Actions = append(out.Actions, id)
	}
	return out
}

// Head is the pull request's present head commit.
func (s *Server) Head(p *Pull) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return p.headSHA
}

// PullURL is the address of the pull request's page.
func (s *Server) PullURL(p *Pull) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pullJSON(p)["html_url"].(string)
}

// CloneURL is the repository's address for git.
func (s *Server) CloneURL(r *Repo) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.base + "/" + r.fullName() + ".git"
}

// Commit resolves a branch, tag or id of a repository to a commit.
func (s *Server) Commit(r *Repo, rev string) (string, error) { return r.commit(rev) }

// FullName is the repository's present owner/name.
func (s *Server) FullName(r *Repo) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return r.fullName()
}
