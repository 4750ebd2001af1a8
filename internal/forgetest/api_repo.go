package forgetest

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
)

func (c *call) getRepo() (answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.repoJSON(c.repo)
	out["network_count"], out["subscribers_count"], out["temp_clone_token"] = 0, 0, nil
	if c.repo.parent != nil {
		out["parent"], out["source"] = c.repoJSON(c.repo.parent), c.repoJSON(c.repo.network())
	}
	if u := c.who.actor(); u != nil {
		out["permissions"] = permissionsJSON(c.repo.role(u))
	}
	return ok(out)
}

func permissionsJSON(role string) map[string]bool {
	rank := roleRank[role]
	return map[string]bool{
		"pull": rank >= 1, "triage": rank >= 2, "push": rank >= 3, "maintain": rank >= 4, "admin": rank >= 5,
	}
}

// getPermission folds triage into read and maintain into write, as GitHub's
// own permission field does.
func (c *call) getPermission() (answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.who.anonymous() {
		return answer{}, fail(http.StatusUnauthorized, "Requires authentication")
	}
	login := c.r.PathValue("login")
	u := c.users[strings.ToLower(login)]
	if u == nil {
		return answer{}, fail(http.StatusNotFound, login+" is not a user")
	}
	role := c.repo.role(u)
	folded := map[string]string{"triage": "read", "maintain": "write"}[role]
	if folded == "" {
		folded = role
	}
	user := c.userJSON(u).(object)
	user["permissions"], user["role_name"] = permissionsJSON(role), role
	return ok(object{"permission": folded, "role_name": role, "user": user})
}

// resolve finds the commit of a branch, a tag or an id; an id is looked for in
// the whole network of forks, which share their objects on GitHub.
func (c *call) resolve(r *Repo, rev string) (string, error) {
	missing := fail(http.StatusUnprocessableEntity, "No commit found for SHA: "+rev)
	if strings.HasPrefix(rev, "-") || strings.ContainsAny(rev, "\x00\n~^:@{") || strings.Contains(rev, "..") {
		return "", missing
	}
	for _, name := range []string{"refs/heads/" + rev, "refs/tags/" + rev, "refs/" + strings.TrimPrefix(rev, "refs/")} {
		if sha, err := r.commit(name); err == nil {
			return sha, nil
		}
	}
	if rev == "HEAD" || isHex(rev) {
		if sha, err := r.commit(rev); err == nil {
			return sha, nil
		}
	}
	if len(rev) == 40 && isHex(rev) && c.borrow(r, rev) {
		return rev, nil
	}
	return "", missing
}

func isHex(s string) bool {
	return len(s) >= 4 && strings.Trim(s, "0123456789abcdef") == ""
}

// borrow fetches a commit from another repository of the network.
func (c *call) borrow(r *Repo, sha string) bool {
	c.mu.Lock()
	var others []*Repo
	for _, one := range c.repos {
		if one != r && one.network() == r.network() && !one.deleted {
			others = append(others, one)
		}
	}
	c.mu.Unlock()
	for _, one := range others {
		if _, err := one.commit(sha); err != nil {
			continue
		}
		r.gitMu.Lock()
		_, err := r.git("fetch", "-q", "--no-tags", one.dir, sha)
		r.gitMu.Unlock()
		return err == nil
	}
	return false
}

func (c *call) listBranches() (answer, error) {
	all := c.repo.heads()
	from, to := c.window(len(all))
	out := []object{}
	for _, b := range all[from:to] {
		out = append(out, object{
			"name": b.name, "protected": false, "protection_url": c.apiOf("/branches/" + b.name + "/protection"),
			"protection": object{"enabled": false},
			"commit":     object{"sha": b.sha, "url": c.apiOf("/commits/" + b.sha)},
		})
	}
	return ok(out)
}

// apiOf is an address below the call's repository.
func (c *call) apiOf(tail string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.repoAPI(c.repo) + tail
}

func (c *call) getBranch() (answer, error) {
	name := c.r.PathValue("branch")
	sha, err := c.repo.commit("refs/heads/" + name)
	if err != nil {
		return answer{}, fail(http.StatusNotFound, "Branch not found")
	}
	commit, err := c.commitJSON(sha)
	if err != nil {
		return answer{}, err
	}
	self := c.apiOf("/branches/" + name)
	return ok(object{
		"name": name, "commit": commit, "_links": object{"html": self, "self": self}, "protected": false,
		"protection": object{"enabled": false}, "protection_url": self + "/protection",
	})
}

func (c *call) refJSON(full string) (object, error) {
	out, err := c.repo.git("for-each-ref", "--format=%(refname) %(objecttype) %(objectname)", full)
	for line := range strings.SplitSeq(out, "\n") {
		fields := strings.Fields(line)
		if err == nil && len(fields) == 3 && fields[0] == full {
			return c.refObject(fields[0], fields[1], fields[2]), nil
		}
	}
	return nil, notFound()
}

func (c *call) refObject(name, kind, sha string) object {
	return object{
		"ref": name, "node_id": nodeID("REF", c.repo.ID), "url": c.apiOf("/git/" + name),
		"object": object{"type": kind, "sha": sha, "url": c.apiOf("/git/" + kind + "s/" + sha)},
	}
}

func (c *call) getRef() (answer, error) {
	out, err := c.refJSON("refs/" + c.r.PathValue("ref"))
	if err != nil {
		return answer{}, err
	}
	return ok(out)
}

func (c *call) matchRefs() (answer, error) {
	prefix := "refs/" + c.r.PathValue("ref")
	all, err := c.repo.git("for-each-ref", "--format=%(refname) %(objecttype) %(objectname)")
	if err != nil {
		return answer{}, err
	}
	out := []object{}
	for line := range strings.SplitSeq(all, "\n") {
		if fields := strings.Fields(line); len(fields) == 3 && strings.HasPrefix(fields[0], prefix) {
			out = append(out, c.refObject(fields[0], fields[1], fields[2]))
		}
	}
	return ok(out)
}

func (c *call) getTag() (answer, error) {
	sha := c.r.PathValue("sha")
	if !isHex(sha) {
		return answer{}, notFound()
	}
	raw, err := c.repo.git("cat-file", "tag", sha)
	if err != nil {
		return answer{}, notFound()
	}
	head, message, _ := strings.Cut(raw, "\n\n")
	field := map[string]string{}
	for line := range strings.SplitSeq(head, "\n") {
		key, value, _ := strings.Cut(line, " ")
		field[key] = value
	}
	return ok(object{
		"node_id": nodeID("TA", c.repo.ID), "tag": field["tag"], "sha": sha, "url": c.apiOf("/git/tags/" + sha), "message": message,
		"tagger":       object{"date": at(c.stamp()), "email": "", "name": field["tagger"]},
		"object":       object{"type": field["type"], "sha": field["object"], "url": c.apiOf("/git/" + field["type"] + "s/" + field["object"])},
		"verification": unsigned(),
	})
}

func unsigned() object {
	return object{"verified": false, "reason": "unsigned", "signature": nil, "payload": nil, "verified_at": nil}
}

func (c *call) getTree() (answer, error) {
	rev := c.r.PathValue("sha")
	sha, err := c.resolve(c.repo, rev)
	if err != nil {
		if !isHex(rev) {
			return answer{}, notFound()
		}
		sha = rev
	}
	args := []string{"ls-tree", "-l", "-z"}
	if c.r.URL.Query().Get("recursive") != "" {
		args = append(args, "-r", "-t")
	}
	listing, err := c.repo.git(append(args, sha)...)
	if err != nil {
		return answer{}, notFound()
	}
	tree, err := c.repo.git("rev-parse", sha+"^{tree}")
	if err != nil {
		return answer{}, notFound()
	}
	out := []object{}
	for _, e := range parseTree(listing) {
		entry := object{"path": e.path, "mode": e.mode, "type": e.kind, "sha": e.sha, "url": c.apiOf("/git/" + e.kind + "s/" + e.sha)}
		if e.kind == "blob" {
			entry["size"] = e.size
		}
		out = append(out, entry)
	}
	return ok(object{"sha": tree, "url": c.apiOf("/git/trees/" + tree), "tree": out, "truncated": false})
}

type treeEntry struct {
	mode, kind, sha, path string
	size                  int
}

// parseTree reads the output of git ls-tree -l -z.
func parseTree(listing string) []treeEntry {
	var out []treeEntry
	for entry := range strings.SplitSeq(listing, "\x00") {
		head, name, found := strings.Cut(entry, "\t")
		fields := strings.Fields(head)
		if !found || len(fields) != 4 {
			continue
		}
		size, _ := strconv.Atoi(fields[3])
		out = append(out, treeEntry{mode: fields[0], kind: fields[1], sha: fields[2], path: name, size: size})
	}
	return out
}

// getContents gives a file with its content, or a folder's listing.
func (c *call) getContents() (answer, error) {
	name := strings.Trim(c.r.PathValue("path"), "/")
	rev := c.r.URL.Query().Get("ref")
	if rev == "" {
		c.mu.Lock()
		rev = c.repo.defaultBranch
		c.mu.Unlock()
	}
	missing := &apiError{status: http.StatusNotFound, message: "Not Found", docs: docsRoot + "/repos/contents#get-repository-content"}
	sha, err := c.resolve(c.repo, rev)
	if err != nil {
		return answer{}, fail(http.StatusNotFound, "No commit found for the ref "+rev)
	}
	if name != path.Clean("/" + name)[1:] {
		return answer{}, missing
	}
	if name == "" {
		return c.listFolder(sha, "", rev)
	}
	listing, err := c.repo.git("ls-tree", "-l", "-z", "--full-tree", sha, "--", name)
	entries := parseTree(listing)
	if err != nil || len(entries) != 1 || entries[0].path != name {
		return answer{}, missing
	}
	e := entries[0]
	switch {
	case e.kind == "tree":
		return c.listFolder(sha, name+"/", rev)
	case e.kind == "commit":
		out := c.contentJSON(e, rev)
		out["submodule_git_url"] = nil
		return ok(out)
	}
	out := c.contentJSON(e, rev)
	data, err := runGit(c.r.Context(), c.repo.dir, "cat-file", "blob", e.sha)
	if err != nil {
		return answer{}, err
	}
	if e.mode == "120000" {
		out["target"] = data
		return ok(out)
	}
	out["encoding"], out["content"] = "base64", wrapped(base64.StdEncoding.EncodeToString([]byte(data)))
	if len(data) > 1<<20 {
		out["encoding"], out["content"] = "none", ""
	}
	return ok(out)
}

// wrapped breaks base64 into lines of 60, as GitHub does.
func wrapped(s string) string {
	var b strings.Builder
	for len(s) > 60 {
		b.WriteString(s[:60] + "\n")
		s = s[60:]
	}
	b.WriteString(s + "\n")
	return b.String()
}

func (c *call) listFolder(sha, prefix, rev string) (answer, error) {
	args := []string{"ls-tree", "-l", "-z", "--full-tree", sha}
	if prefix != "" {
		args = append(args, "--", prefix)
	}
	listing, err := c.repo.git(args...)
	if err != nil {
		return answer{}, notFound()
	}
	out := []object{}
	for _, e := range parseTree(listing) {
		out = append(out, c.contentJSON(e, rev))
	}
	return ok(out)
}

func (c *call) contentJSON(e treeEntry, rev string) object {
	kind := map[string]string{"tree": "dir", "blob": "file", "commit": "submodule"}[e.kind]
	if e.mode == "120000" {
		kind = "symlink"
	}
	self := c.apiOf("/contents/" + (&url.URL{Path: e.path}).EscapedPath() + "?ref=" + url.QueryEscape(rev))
	blob := c.apiOf("/git/" + e.kind + "s/" + e.sha)
	c.mu.Lock()
	html := fmt.Sprintf("%s/%s/blob/%s/%s", c.base, c.repo.fullName(), rev, e.path)
	c.mu.Unlock()
	out := object{
		"type": kind, "size": e.size, "name": path.Base(e.path), "path": e.path, "sha": e.sha, "url": self, "git_url": blob,
		"html_url": html, "download_url": nil, "_links": object{"self": self, "git": blob, "html": html},
	}
	if kind == "file" {
		out["download_url"] = html + "?raw=1"
	}
	return out
}
