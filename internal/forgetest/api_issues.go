package forgetest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"unicode/utf16"
)

// maxComment is the limit of a comment's text, in characters.
const maxComment = 65536

func (c *call) listLabels() (answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, err := c.pull()
	if err != nil {
		return answer{}, err
	}
	from, to := c.window(len(p.labels))
	return ok(c.labelsJSON(p)[from:to])
}

// labelNames reads {"labels": ["a"]}, {"labels": [{"name": "a"}]} or ["a"].
func (c *call) labelNames() ([]string, error) {
	var list json.RawMessage = c.body
	var wrapped struct {
		Labels json.RawMessage `json:"labels"`
	}
	if json.Unmarshal(c.body, &wrapped) == nil && wrapped.Labels != nil {
		list = wrapped.Labels
	}
	var names []string
	if json.Unmarshal(list, &names) == nil {
		return names, nil
	}
	var objects []struct {
		Name string `json:"name"`
	}
	if json.Unmarshal(list, &objects) != nil {
		return nil, fail(http.StatusUnprocessableEntity, "Invalid request.\n\nFor 'anyOf/0', labels is not an array.")
	}
	for _, o := range objects {
		names = append(names, o.Name)
	}
	return names, nil
}

// labelled changes a pull request's labels and answers with the new list.
func (c *call) labelled(change func(*Pull, []string)) (answer, error) {
	names, err := c.labelNames()
	if err != nil {
		return answer{}, err
	}
	for _, name := range names {
		if strings.TrimSpace(name) == "" || len(name) > 50 {
			return answer{}, invalid("Label", "name", "invalid")
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p, err := c.pull()
	if err != nil {
		return answer{}, err
	}
	change(p, names)
	return ok(c.labelsJSON(p))
}

func (c *call) postLabels() (answer, error) {
	return c.labelled(func(p *Pull, names []string) {
		for _, name := range names {
			c.addLabel(p, name, c.who.actor())
		}
	})
}

func (c *call) putLabels() (answer, error) {
	return c.labelled(func(p *Pull, names []string) {
		for _, l := range slices.Clone(p.labels) {
			if !slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, l.name) }) {
				c.removeLabel(p, l.name, c.who.actor())
			}
		}
		for _, name := range names {
			c.addLabel(p, name, c.who.actor())
		}
	})
}

func (c *call) deleteLabel() (answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, err := c.pull()
	if err != nil {
		return answer{}, err
	}
	if !c.removeLabel(p, c.r.PathValue("name"), c.who.actor()) {
		return answer{}, fail(http.StatusNotFound, "Label does not exist")
	}
	return ok(c.labelsJSON(p))
}

func (c *call) listComments() (answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, err := c.pull()
	if err != nil {
		return answer{}, err
	}
	all := liveComments(p)
	from, to := c.window(len(all))
	out := []object{}
	for _, one := range all[from:to] {
		out = append(out, c.commentJSON(one))
	}
	return ok(out)
}

// text reads a comment's body and checks it as GitHub does.
func (c *call) text() (string, error) {
	var in struct {
		Body *string `json:"body"`
	}
	if err := c.decode(&in); err != nil {
		return "", err
	}
	switch {
	case in.Body == nil:
		return "", fail(http.StatusUnprocessableEntity, "Invalid request.\n\n\"body\" wasn't supplied.")
	case strings.TrimSpace(*in.Body) == "":
		return "", invalidBecause("IssueComment", "body", "body cannot be blank")
	case len(utf16.Encode([]rune(*in.Body))) > maxComment:
		return "", invalidBecause("IssueComment", "body", "body is too long (maximum is 65536 characters)")
	}
	return *in.Body, nil
}

// unlocked refuses a change to a locked conversation by somebody who may not
// write to the repository; the caller holds mu.
func (c *call) unlocked(p *Pull, what string) error {
	if !p.locked {
		return nil
	}
	if t := c.who.token; t.user != nil && roleRank[c.repo.role(t.user)] >= roleRank["write"] {
		return nil
	}
	return fail(http.StatusForbidden, "Unable to create "+what+" because issue is locked.")
}

func (c *call) postComment() (answer, error) {
	body, err := c.text()
	if err != nil {
		return answer{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p, err := c.pull()
	if err != nil {
		return answer{}, err
	}
	if err := c.unlocked(p, "comment"); err != nil {
		return answer{}, err
	}
	return created(c.commentJSON(c.addComment(p, c.who.actor(), c.who.via(), body)))
}

// comment is the comment of the path; the caller holds mu.
func (c *call) comment() (*comment, error) {
	id, err := c.number("comment")
	if err != nil {
		return nil, err
	}
	one := c.comments[id]
	if one == nil || one.deleted || one.pull.Repo != c.repo {
		return nil, notFound()
	}
	return one, nil
}

// ownComment is the comment of the path where the caller may change it: its
// author, or anybody who can write to the repository.
func (c *call) ownComment() (*comment, error) {
	one, err := c.comment()
	if err != nil {
		return nil, err
	}
	u := c.who.actor()
	if u != one.author && c.who.via() == nil && roleRank[c.repo.role(u)] < roleRank["write"] {
		return nil, fail(http.StatusForbidden, "Must have admin rights to Repository.")
	}
	return one, nil
}

func (c *call) getComment() (answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	one, err := c.comment()
	if err != nil {
		return answer{}, err
	}
	return ok(c.commentJSON(one))
}

func (c *call) patchComment() (answer, error) {
	body, err := c.text()
	if err != nil {
		return answer{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	one, err := c.ownComment()
	if err != nil {
		return answer{}, err
	}
	c.editComment(one, c.who.actor(), body)
	return ok(c.commentJSON(one))
}

func (c *call) removeComment() (answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	one, err := c.ownComment()
	if err != nil {
		return answer{}, err
	}
	c.deleteComment(one, c.who.actor())
	return noContent()
}

// react adds a reaction, or answers 200 with the one that is there.
func (c *call) react(list *[]*reaction) (answer, error) {
	var in struct {
		Content string `json:"content"`
	}
	if err := c.decode(&in); err != nil {
		return answer{}, err
	}
	if !slices.Contains(reactionKinds, in.Content) {
		return answer{}, invalid("Reaction", "content", "invalid")
	}
	u := c.who.actor()
	for _, x := range *list {
		if x.user == u && x.content == in.Content {
			return ok(c.reactionJSON(x))
		}
	}
	x := &reaction{id: c.id(), user: u, content: in.Content, created: c.stamp()}
	*list = append(*list, x)
	return created(c.reactionJSON(x))
}

func (c *call) listReactions(all []*reaction) (answer, error) {
	if want := c.r.URL.Query().Get("content"); want != "" {
		all = slices.DeleteFunc(slices.Clone(all), func(x *reaction) bool { return x.content != want })
	}
	from, to := c.window(len(all))
	out := []object{}
	for _, x := range all[from:to] {
		out = append(out, c.reactionJSON(x))
	}
	return ok(out)
}

func (c *call) unreact(list *[]*reaction) (answer, error) {
	id, err := c.number("reaction")
	if err != nil {
		return answer{}, err
	}
	i := slices.IndexFunc(*list, func(x *reaction) bool { return x.id == id })
	if i < 0 {
		return answer{}, notFound()
	}
	*list = slices.Delete(slices.Clone(*list), i, i+1)
	return noContent()
}

func (c *call) listCommentReactions() (answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	one, err := c.comment()
	if err != nil {
		return answer{}, err
	}
	return c.listReactions(one.reactions)
}

func (c *call) postCommentReaction() (answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	one, err := c.comment()
	if err != nil {
		return answer{}, err
	}
	if err := c.unlocked(one.pull, "reaction"); err != nil {
		return answer{}, err
	}
	return c.react(&one.reactions)
}

func (c *call) deleteCommentReaction() (answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	one, err := c.comment()
	if err != nil {
		return answer{}, err
	}
	return c.unreact(&one.reactions)
}

func (c *call) listPullReactions() (answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, err := c.pull()
	if err != nil {
		return answer{}, err
	}
	return c.listReactions(p.reactions)
}

func (c *call) postPullReaction() (answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, err := c.pull()
	if err != nil {
		return answer{}, err
	}
	if err := c.unlocked(p, "reaction"); err != nil {
		return answer{}, err
	}
	return c.react(&p.reactions)
}

func (c *call) deletePullReaction() (answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, err := c.pull()
	if err != nil {
		return answer{}, err
	}
	return c.unreact(&p.reactions)
}
