package forgetest

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// commitFormat separates the fields of a commit by bytes that none of them
// has.
const commitFormat = "--format=%H%x1f%T%x1f%P%x1f%an%x1f%ae%x1f%aI%x1f%cn%x1f%ce%x1f%cI%x1f%B%x1e"

// commits reads commits in the order that git log gives them.
func (c *call) commits(args ...string) ([]object, error) {
	out, err := c.repo.git(append([]string{"log", commitFormat}, args...)...)
	if err != nil {
		return nil, err
	}
	all := []object{}
	for record := range strings.SplitSeq(out, "\x1e") {
		if f := strings.SplitN(strings.TrimLeft(record, "\n"), "\x1f", 10); len(f) == 10 {
			all = append(all, c.commitObject(f))
		}
	}
	return all, nil
}

func (c *call) commitObject(f []string) object {
	sha, tree := f[0], f[1]
	parents := []object{}
	for _, p := range strings.Fields(f[2]) {
		parents = append(parents, object{"sha": p, "url": c.apiOf("/commits/" + p), "html_url": c.html("/commit/" + p)})
	}
	return object{
		"url": c.apiOf("/commits/" + sha), "sha": sha, "node_id": nodeID("C", c.repo.ID) + sha[:12], "html_url": c.html("/commit/" + sha),
		"comments_url": c.apiOf("/commits/" + sha + "/comments"),
		"commit": object{
			"url":       c.apiOf("/git/commits/" + sha),
			"author":    object{"name": f[3], "email": f[4], "date": f[5]},
			"committer": object{"name": f[6], "email": f[7], "date": f[8]},
			"message":   strings.TrimRight(f[9], "\n"), "comment_count": 0,
			"tree":         object{"sha": tree, "url": c.apiOf("/git/trees/" + tree)},
			"verification": unsigned(),
		},
		"author": c.accountNamed(f[3]), "committer": c.accountNamed(f[6]), "parents": parents,
	}
}

func (c *call) html(tail string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.base + "/" + c.repo.fullName() + tail
}

// accountNamed is the account whose login a commit's author has, or null.
func (c *call) accountNamed(name string) any {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.userJSON(c.users[strings.ToLower(name)])
}

// commitJSON is one commit with its files.
func (c *call) commitJSON(sha string) (object, error) {
	all, err := c.commits("-1", sha)
	if err != nil || len(all) != 1 {
		return nil, notFound()
	}
	out := all[0]
	files, err := c.files(sha+"^", sha)
	if err != nil {
		// A first commit has no parent to compare with.
		if files, err = c.files(emptyTree, sha); err != nil {
			return nil, err
		}
	}
	stats := object{"additions": 0, "deletions": 0, "total": 0}
	for _, f := range files {
		stats["additions"] = stats["additions"].(int) + f["additions"].(int)
		stats["deletions"] = stats["deletions"].(int) + f["deletions"].(int)
	}
	stats["total"] = stats["additions"].(int) + stats["deletions"].(int)
	out["stats"], out["files"] = stats, files
	return out, nil
}

// emptyTree is the id that git gives to a tree without entries.
const emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

// maxFiles is how many files GitHub lists for a comparison.
const maxFiles = 300

// files lists what differs between two trees.
func (c *call) files(from, to string) ([]object, error) {
	names, err := c.repo.git("diff-tree", "-r", "-z", "--no-renames", "--name-status", from, to)
	if err != nil {
		return nil, err
	}
	counts, err := c.repo.git("diff-tree", "-r", "-z", "--no-renames", "--numstat", from, to)
	if err != nil {
		return nil, err
	}
	type count struct{ added, deleted int }
	byName := map[string]count{}
	for line := range strings.SplitSeq(counts, "\x00") {
		if f := strings.SplitN(line, "\t", 3); len(f) == 3 {
			added, _ := strconv.Atoi(f[0]) // "-" for a binary file
			deleted, _ := strconv.Atoi(f[1])
			byName[f[2]] = count{added, deleted}
		}
	}
	out := []object{}
	fields := strings.Split(names, "\x00")
	for i := 0; i+1 < len(fields) && len(out) < maxFiles; i += 2 {
		name, n := fields[i+1], byName[fields[i+1]]
		status := map[string]string{"A": "added", "D": "removed", "M": "modified", "T": "changed"}[fields[i]]
		sha, _ := c.repo.git("rev-parse", "--verify", "--quiet", to+":"+name)
		out = append(out, object{
			"sha": orNull(sha), "filename": name, "status": status, "additions": n.added, "deletions": n.deleted, "changes": n.added + n.deleted,
			"blob_url": c.html("/blob/" + to + "/" + name), "raw_url": c.html("/raw/" + to + "/" + name),
			"contents_url": c.apiOf("/contents/" + name + "?ref=" + to),
		})
	}
	return out, nil
}

func (c *call) listCommits() (answer, error) {
	rev := c.r.URL.Query().Get("sha")
	if rev == "" {
		rev = "HEAD"
	}
	sha, err := c.resolve(c.repo, rev)
	if err != nil {
		return answer{}, notFound()
	}
	return c.commitPage("", sha, 0)
}

// commitPage lists the commits of a range, newest first or with an option of
// git log's. No more than most are listed, where that is not 0.
func (c *call) commitPage(option, span string, most int) (answer, error) {
	total, err := c.count(span)
	if err != nil {
		return answer{}, err
	}
	listed := total
	if most > 0 {
		listed = min(total, most)
	}
	from, to := c.window(listed)
	args := []string{fmt.Sprintf("--skip=%d", from), fmt.Sprintf("--max-count=%d", to-from), span}
	if option != "" {
		// --reverse applies after --skip, so that the window is counted from
		// the other end.
		args = []string{option, fmt.Sprintf("--skip=%d", total-to), fmt.Sprintf("--max-count=%d", to-from), span}
	}
	all, err := c.commits(args...)
	if err != nil {
		return answer{}, err
	}
	return ok(all)
}

func (c *call) count(span string) (int, error) {
	out, err := c.repo.git("rev-list", "--count", span)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(out)
}

// commitsPath serves /commits/REF and what lies below it: REF may hold
// slashes, which a pattern cannot express.
func (c *call) commitsPath() (answer, error) {
	rest := c.r.PathValue("rest")
	for tail, fn := range map[string]func(string) (answer, error){
		"/check-runs": c.listCheckRuns, "/statuses": c.listStatuses, "/status": c.combinedStatus,
	} {
		if rev, is := strings.CutSuffix(rest, tail); is {
			sha, err := c.resolve(c.repo, rev)
			if err != nil {
				return answer{}, err
			}
			return fn(sha)
		}
	}
	sha, err := c.resolve(c.repo, rest)
	if err != nil {
		return answer{}, err
	}
	out, err := c.commitJSON(sha)
	if err != nil {
		return answer{}, err
	}
	return ok(out)
}

func (c *call) getGitCommit() (answer, error) {
	sha, err := c.resolve(c.repo, c.r.PathValue("sha"))
	if err != nil {
		return answer{}, notFound()
	}
	all, err := c.commits("-1", sha)
	if err != nil || len(all) != 1 {
		return answer{}, notFound()
	}
	out := all[0]["commit"].(object)
	delete(out, "comment_count")
	out["sha"], out["node_id"], out["html_url"], out["parents"] = sha, all[0]["node_id"], all[0]["html_url"], all[0]["parents"]
	return ok(out)
}

// compare answers base...head; either side may be owner:ref of a fork.
func (c *call) compare() (answer, error) {
	base, head, found := strings.Cut(c.r.PathValue("basehead"), "...")
	if !found {
		return answer{}, notFound()
	}
	var shas [2]string
	for i, side := range []string{base, head} {
		sha, err := c.side(side)
		if err != nil {
			return answer{}, err
		}
		shas[i] = sha
	}
	common, err := c.repo.git("merge-base", shas[0], shas[1])
	if err != nil {
		return answer{}, fail(http.StatusNotFound, fmt.Sprintf("No common ancestor between %s and %s.", base, head))
	}
	ahead, err := c.count(shas[0] + ".." + shas[1])
	if err != nil {
		return answer{}, err
	}
	behind, err := c.count(shas[1] + ".." + shas[0])
	if err != nil {
		return answer{}, err
	}
	status := "diverged"
	switch {
	case ahead == 0 && behind == 0:
		status = "identical"
	case behind == 0:
		status = "ahead"
	case ahead == 0:
		status = "behind"
	}
	files, err := c.files(common, shas[1])
	if err != nil {
		return answer{}, err
	}
	page, err := c.commitPage("--reverse", shas[0]+".."+shas[1], 0)
	if err != nil {
		return answer{}, err
	}
	ends, err := c.commits("--no-walk=unsorted", shas[0], common)
	if err != nil {
		return answer{}, err
	}
	spec := base + "..." + head
	return ok(object{
		"url": c.apiOf("/compare/" + spec), "html_url": c.html("/compare/" + spec), "permalink_url": c.html("/compare/" + spec),
		"diff_url": c.html("/compare/" + spec + ".diff"), "patch_url": c.html("/compare/" + spec + ".patch"),
		"base_commit": ends[0], "merge_base_commit": ends[len(ends)-1], "status": status, "ahead_by": ahead, "behind_by": behind,
		"total_commits": ahead, "commits": page.value, "files": files,
	})
}

// side resolves one side of a comparison in the call's repository.
func (c *call) side(name string) (string, error) {
	owner, rev, found := strings.Cut(name, ":")
	if !found {
		sha, err := c.resolve(c.repo, name)
		if err != nil {
			return "", notFound()
		}
		return sha, nil
	}
	c.mu.Lock()
	var from *Repo
	for _, r := range c.repos {
		if strings.EqualFold(r.Owner.Login, owner) && r.network() == c.repo.network() && !r.deleted {
			from = r
		}
	}
	c.mu.Unlock()
	if from == nil {
		return "", notFound()
	}
	sha, err := c.resolve(from, rev)
	if err != nil {
		return "", notFound()
	}
	if _, err := c.repo.commit(sha); err != nil && !c.borrow(c.repo, sha) {
		return "", notFound()
	}
	return sha, nil
}
