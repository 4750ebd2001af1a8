package forgetest

import (
	"slices"
	"strings"
)

func (c *call) listPulls() (answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.r.URL.Query()
	var list []*Pull
	for _, p := range c.repo.pulls {
		if !wanted(p, q.Get("state")) || (q.Get("base") != "" && q.Get("base") != p.baseRef) ||
			(q.Get("head") != "" && q.Get("head") != p.headOwner.Login+":"+p.headRef) {
			continue
		}
		list = append(list, p)
	}
	if q.Get("direction") != "asc" {
		slices.Reverse(list)
	}
	from, to := c.window(len(list))
	out := []object{}
	for _, p := range list[from:to] {
		out = append(out, c.pullJSON(p))
	}
	return ok(out)
}

// wanted reads the state parameter of a listing.
func wanted(p *Pull, state string) bool {
	switch state {
	case "all":
		return true
	case "closed":
		return !p.open
	}
	return p.open
}

func (c *call) getPull() (answer, error) {
	c.mu.Lock()
	p, err := c.pull()
	c.mu.Unlock()
	if err != nil {
		return answer{}, err
	}
	stat := c.stat(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.fullPullJSON(p, stat)
	if p.mergeableUnknown > 0 {
		p.mergeableUnknown--
	}
	return ok(out)
}

// span is the range of the pull request's own commits.
func (c *call) span(p *Pull) (common, head, span string) {
	c.mu.Lock()
	base, head := p.baseSHA, p.headSHA
	c.mu.Unlock()
	common, err := c.repo.git("merge-base", base, head)
	if err != nil {
		common = base
	}
	return common, head, base + ".." + head
}

// stat counts what the pull request changes; the counts are kept until one of
// its sides moves.
func (c *call) stat(p *Pull) diffStat {
	common, head, span := c.span(p)
	c.mu.Lock()
	known, fits := p.stat, p.statOf == span
	c.mu.Unlock()
	if fits {
		return known
	}
	var d diffStat
	d.commits, _ = c.count(span)
	files, _ := c.files(common, head)
	d.files = len(files)
	for _, f := range files {
		d.additions += f["additions"].(int)
		d.deletions += f["deletions"].(int)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p.stat, p.statOf = d, span
	return d
}

func (c *call) listPullCommits() (answer, error) {
	c.mu.Lock()
	p, err := c.pull()
	c.mu.Unlock()
	if err != nil {
		return answer{}, err
	}
	_, _, span := c.span(p)
	return c.commitPage("--reverse", span, maxPullCommits)
}

// maxPullCommits is how many commits of a pull request GitHub lists.
const maxPullCommits = 250

func (c *call) listPullFiles() (answer, error) {
	c.mu.Lock()
	p, err := c.pull()
	c.mu.Unlock()
	if err != nil {
		return answer{}, err
	}
	common, head, _ := c.span(p)
	files, err := c.files(common, head)
	if err != nil {
		return answer{}, err
	}
	from, to := c.window(len(files))
	return ok(files[from:to])
}

func (c *call) listIssues() (answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.r.URL.Query()
	var list []*Pull
	for _, p := range c.repo.pulls {
		fits := wanted(p, q.Get("state"))
		for name := range strings.SplitSeq(q.Get("labels"), ",") {
			fits = fits && (name == "" || p.hasLabel(name))
		}
		if fits {
			list = append(list, p)
		}
	}
	if q.Get("direction") != "asc" {
		slices.Reverse(list)
	}
	from, to := c.window(len(list))
	out := []object{}
	for _, p := range list[from:to] {
		out = append(out, c.issueJSON(p))
	}
	return ok(out)
}

func (c *call) getIssue() (answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, err := c.pull()
	if err != nil {
		return answer{}, err
	}
	out := c.issueJSON(p)
	out["closed_by"] = nil
	return ok(out)
}
