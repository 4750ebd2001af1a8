package forgetest

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// The functions of this file give the JSON that GitHub gives for the things of
// model.go, with every field that its interface description requires. Their
// callers hold the server's mu.

type object = map[string]any

func nodeID(kind string, id int64) string {
	return kind + "_" + base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d", id))
}

// at is a time as GitHub writes it, or null.
func at(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format("2006-01-02T15:04:05Z")
}

// orNull is null for an empty string.
func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func (s *Server) userJSON(u *User) any {
	if u == nil {
		return nil
	}
	api := s.APIURL() + "/users/" + url.PathEscape(u.Login)
	kind := "U"
	switch u.Type {
	case "Organization":
		kind = "O"
	case "Bot":
		kind = "BOT"
	}
	html := s.base + "/" + u.Login
	if u.Type == "Bot" {
		html = s.base + "/apps/" + strings.TrimSuffix(u.Login, "[bot]")
	}
	return object{
		"login": u.Login, "id": u.ID, "node_id": nodeID(kind, u.ID), "type": u.Type, "site_admin": false,
		"avatar_url": fmt.Sprintf("%s/avatars/u/%d", s.base, u.ID), "gravatar_id": "", "url": api, "html_url": html,
		"followers_url": api + "/followers", "following_url": api + "/following{/other_user}", "gists_url": api + "/gists{/gist_id}",
		"starred_url": api + "/starred{/owner}{/repo}", "subscriptions_url": api + "/subscriptions", "organizations_url": api + "/orgs",
		"repos_url": api + "/repos", "events_url": api + "/events{/privacy}", "received_events_url": api + "/received_events",
	}
}

// orgJSON is the organization of a webhook, which is not a user's object.
func (s *Server) orgJSON(u *User) object {
	api := s.APIURL() + "/orgs/" + u.Login
	return object{
		"login": u.Login, "id": u.ID, "node_id": nodeID("O", u.ID), "url": api, "repos_url": api + "/repos", "events_url": api + "/events",
		"hooks_url": api + "/hooks", "issues_url": api + "/issues", "members_url": api + "/members{/member}",
		"public_members_url": api + "/public_members{/member}", "avatar_url": fmt.Sprintf("%s/avatars/u/%d", s.base, u.ID), "description": "",
	}
}

// repoURLs are the addresses that a repository's object carries.
var repoURLs = map[string]string{
	"archive_url": "/{archive_format}{/ref}", "assignees_url": "/assignees{/user}", "blobs_url": "/git/blobs{/sha}",
	"branches_url": "/branches{/branch}", "collaborators_url": "/collaborators{/collaborator}", "comments_url": "/comments{/number}",
	"commits_url": "/commits{/sha}", "compare_url": "/compare/{base}...{head}", "contents_url": "/contents/{+path}",
	"contributors_url": "/contributors", "deployments_url": "/deployments", "downloads_url": "/downloads", "events_url": "/events",
	"forks_url": "/forks", "git_commits_url": "/git/commits{/sha}", "git_refs_url": "/git/refs{/sha}", "git_tags_url": "/git/tags{/sha}",
	"hooks_url": "/hooks", "issue_comment_url": "/issues/comments{/number}", "issue_events_url": "/issues/events{/number}",
	"issues_url": "/issues{/number}", "keys_url": "/keys{/key_id}", "labels_url": "/labels{/name}", "languages_url": "/languages",
	"merges_url": "/merges", "milestones_url": "/milestones{/number}", "notifications_url": "/notifications{?since,all,participating}",
	"pulls_url": "/pulls{/number}", "releases_url": "/releases{/id}", "stargazers_url": "/stargazers", "statuses_url": "/statuses/{sha}",
	"subscribers_url": "/subscribers", "subscription_url": "/subscription", "tags_url": "/tags", "teams_url": "/teams", "trees_url": "/git/trees{/sha}",
}

func (s *Server) repoAPI(r *Repo) string { return s.APIURL() + "/repos/" + r.fullName() }

func (s *Server) repoJSON(r *Repo) object {
	api, html := s.repoAPI(r), s.base+"/"+r.fullName()
	out := object{
		"id": r.ID, "node_id": nodeID("R", r.ID), "name": r.name, "full_name": r.fullName(), "private": r.private,
		"owner": s.userJSON(r.Owner), "html_url": html, "description": nil, "fork": r.parent != nil, "url": api,
		"created_at": at(r.created), "updated_at": at(r.created), "pushed_at": at(s.stamp()),
		"git_url": strings.Replace(html, "http:", "git:", 1) + ".git", "ssh_url": "git@" + strings.TrimPrefix(s.base, "http://") + ":" + r.fullName() + ".git",
		"clone_url": html + ".git", "svn_url": html, "homepage": nil, "mirror_url": nil, "size": 100, "stargazers_count": 0, "watchers_count": 0,
		"language": nil, "has_issues": true, "has_projects": false, "has_downloads": false, "has_wiki": false, "has_pages": false,
		"has_discussions": false, "forks_count": 0, "archived": r.archived, "disabled": false, "open_issues_count": s.openPulls(r),
		"license": nil, "allow_forking": true, "is_template": false, "web_commit_signoff_required": false, "topics": []string{},
		"visibility": "public", "forks": 0, "open_issues": s.openPulls(r), "watchers": 0, "default_branch": r.defaultBranch,
	}
	if r.private {
		out["visibility"] = "private"
	}
	for key, tail := range repoURLs {
		out[key] = api + tail
	}
	out["archive_url"] = api + "/{archive_format}{/ref}"
	return out
}

func (s *Server) openPulls(r *Repo) int {
	n := 0
	for _, p := range r.pulls {
		if p.open {
			n++
		}
	}
	return n
}

func (s *Server) labelJSON(r *Repo, l *label) object {
	return object{
		"id": l.id, "node_id": nodeID("LA", l.id), "url": s.repoAPI(r) + "/labels/" + url.PathEscape(l.name), "name": l.name,
		"description": "", "color": l.color, "default": false,
	}
}

func (s *Server) labelsJSON(p *Pull) []object {
	out := []object{}
	for _, l := range p.labels {
		out = append(out, s.labelJSON(p.Repo, l))
	}
	return out
}

// association is what GitHub shows beside a name; it grants nothing.
func association(r *Repo, u *User) string {
	switch {
	case u == r.Owner:
		return "OWNER"
	case roleRank[r.roles[u.ID]] >= roleRank["triage"]:
		return "COLLABORATOR"
	}
	return "NONE"
}

func state(p *Pull) string {
	if p.open {
		return "open"
	}
	return "closed"
}

// pullJSON is a pull request as in a listing and, beside the counts, in an
// event.
func (s *Server) pullJSON(p *Pull) object {
	api := fmt.Sprintf("%s/pulls/%d", s.repoAPI(p.Repo), p.Number)
	issue := fmt.Sprintf("%s/issues/%d", s.repoAPI(p.Repo), p.Number)
	html := fmt.Sprintf("%s/%s/pull/%d", s.base, p.Repo.fullName(), p.Number)
	statuses := s.repoAPI(p.Repo) + "/statuses/" + p.headSHA
	var merged any
	if p.merged {
		merged = at(p.closed)
	}
	link := func(href string) object { return object{"href": href} }
	return object{
		"url": api, "id": p.ID, "node_id": nodeID("PR", p.ID), "html_url": html, "diff_url": html + ".diff", "patch_url": html + ".patch",
		"issue_url": issue, "number": p.Number, "state": state(p), "locked": p.locked, "active_lock_reason": nil, "title": p.title,
		"user": s.userJSON(p.author), "body": orNull(p.body), "created_at": at(p.created), "updated_at": at(p.updated),
		"closed_at": at(p.closed), "merged_at": merged, "merge_commit_sha": orNull(p.mergeCommit), "assignee": nil, "assignees": []any{},
		"requested_reviewers": []any{}, "requested_teams": []any{}, "labels": s.labelsJSON(p), "milestone": nil, "draft": p.draft,
		"commits_url": api + "/commits", "review_comments_url": api + "/comments", "review_comment_url": s.repoAPI(p.Repo) + "/pulls/comments{/number}",
		"comments_url": issue + "/comments", "statuses_url": statuses, "head": s.headJSON(p), "base": s.baseJSON(p),
		"_links": object{
			"self": link(api), "html": link(html), "issue": link(issue), "comments": link(issue + "/comments"),
			"review_comments": link(api + "/comments"), "review_comment": link(s.repoAPI(p.Repo) + "/pulls/comments{/number}"),
			"commits": link(api + "/commits"), "statuses": link(statuses),
		},
		"author_association": association(p.Repo, p.author), "auto_merge": nil,
	}
}

func (s *Server) headJSON(p *Pull) object {
	out := object{"label": p.headOwner.Login + ":" + p.headRef, "ref": p.headRef, "sha": p.headSHA, "user": s.userJSON(p.headOwner), "repo": nil}
	if !p.headRepo.deleted {
		out["repo"] = s.repoJSON(p.headRepo)
	}
	return out
}

func (s *Server) baseJSON(p *Pull) object {
	return object{
		"label": p.Repo.Owner.Login + ":" + p.baseRef, "ref": p.baseRef, "sha": p.baseSHA,
		"user": s.userJSON(p.Repo.Owner), "repo": s.repoJSON(p.Repo),
	}
}

// diffStat is what only a single pull request's object has.
type diffStat struct{ commits, additions, deletions, files int }

func (s *Server) fullPullJSON(p *Pull, d diffStat) object {
	out := s.pullJSON(p)
	mergeable, mergeableState := any(nil), "unknown"
	if p.mergeable != nil && p.mergeableUnknown == 0 && p.open {
		mergeable, mergeableState = *p.mergeable, "clean"
		if !*p.mergeable {
			mergeableState = "dirty"
		}
	}
	for key, value := range (object{
		"merged": p.merged, "mergeable": mergeable, "rebaseable": mergeable, "mergeable_state": mergeableState, "merged_by": s.userJSON(p.mergedBy),
		"comments": len(liveComments(p)), "review_comments": 0, "maintainer_can_modify": false,
		"commits": d.commits, "additions": d.additions, "deletions": d.deletions, "changed_files": d.files,
	}) {
		out[key] = value
	}
	return out
}

func liveComments(p *Pull) []*comment {
	var out []*comment
	for _, c := range p.comments {
		if !c.deleted {
			out = append(out, c)
		}
	}
	return out
}

// issueJSON is the pull request as an issue.
func (s *Server) issueJSON(p *Pull) object {
	api := fmt.Sprintf("%s/issues/%d", s.repoAPI(p.Repo), p.Number)
	html := fmt.Sprintf("%s/%s/pull/%d", s.base, p.Repo.fullName(), p.Number)
	var merged any
	if p.merged {
		merged = at(p.closed)
	}
	return object{
		"url": api, "repository_url": s.repoAPI(p.Repo), "labels_url": api + "/labels{/name}", "comments_url": api + "/comments",
		"events_url": api + "/events", "html_url": html, "id": p.issueID, "node_id": nodeID("PR", p.ID), "number": p.Number,
		"title": p.title, "user": s.userJSON(p.author), "labels": s.labelsJSON(p), "state": state(p), "locked": p.locked,
		"assignee": nil, "assignees": []any{}, "milestone": nil, "comments": len(liveComments(p)), "created_at": at(p.created),
		"updated_at": at(p.updated), "closed_at": at(p.closed), "author_association": association(p.Repo, p.author),
		"active_lock_reason": nil, "draft": p.draft, "body": orNull(p.body), "performed_via_github_app": nil, "state_reason": nil,
		"pull_request": object{
			"url": fmt.Sprintf("%s/pulls/%d", s.repoAPI(p.Repo), p.Number), "html_url": html, "diff_url": html + ".diff",
			"patch_url": html + ".patch", "merged_at": merged,
		},
		"reactions": reactionsJSON(api, p.reactions), "timeline_url": api + "/timeline",
	}
}

func (s *Server) commentJSON(c *comment) object {
	r := c.pull.Repo
	api := fmt.Sprintf("%s/issues/comments/%d", s.repoAPI(r), c.id)
	var via any
	if c.app != nil {
		via = s.appJSON(c.app)
	}
	return object{
		"url": api, "html_url": fmt.Sprintf("%s/%s/pull/%d#issuecomment-%d", s.base, r.fullName(), c.pull.Number, c.id),
		"issue_url": fmt.Sprintf("%s/issues/%d", s.repoAPI(r), c.pull.Number), "id": c.id, "node_id": nodeID("IC", c.id),
		"user": s.userJSON(c.author), "created_at": at(c.created), "updated_at": at(c.updated),
		"author_association": association(r, c.author), "body": c.body, "reactions": reactionsJSON(api, c.reactions),
		"performed_via_github_app": via,
	}
}

// reactionKinds are the reactions that GitHub knows.
var reactionKinds = []string{"+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes"}

func reactionsJSON(api string, all []*reaction) object {
	out := object{"url": api + "/reactions", "total_count": len(all)}
	for _, kind := range reactionKinds {
		n := 0
		for _, one := range all {
			if one.content == kind {
				n++
			}
		}
		out[kind] = n
	}
	return out
}

func (s *Server) reactionJSON(x *reaction) object {
	return object{"id": x.id, "node_id": nodeID("REA", x.id), "user": s.userJSON(x.user), "content": x.content, "created_at": at(x.created)}
}

func (s *Server) appJSON(a *App) object {
	installed := 0
	for _, i := range s.installations {
		if i.App == a && !i.deleted {
			installed++
		}
	}
	return object{
		"id": a.ID, "slug": a.Slug, "node_id": nodeID("A", a.ID), "client_id": a.ClientID(), "owner": s.userJSON(a.owner),
		"name": a.name, "description": nil, "external_url": a.site, "html_url": s.base + "/apps/" + a.Slug,
		"created_at": at(a.created), "updated_at": at(a.created), "permissions": a.permissions, "events": a.events,
		"installations_count": installed,
	}
}

func (s *Server) installationJSON(i *Installation) object {
	selection := "selected"
	if i.all {
		selection = "all"
	}
	api := fmt.Sprintf("%s/app/installations/%d", s.APIURL(), i.ID)
	return object{
		"id": i.ID, "account": s.userJSON(i.Account), "repository_selection": selection, "access_tokens_url": api + "/access_tokens",
		"repositories_url": s.APIURL() + "/installation/repositories", "html_url": fmt.Sprintf("%s/settings/installations/%d", s.base, i.ID),
		"app_id": i.App.ID, "app_slug": i.App.Slug, "target_id": i.Account.ID, "target_type": i.Account.Type,
		"permissions": i.App.permissions, "events": i.App.events, "created_at": at(i.created), "updated_at": at(i.created),
		"single_file_name": nil, "has_multiple_single_files": false, "single_file_paths": []string{},
		"suspended_at": at(i.suspended), "suspended_by": nil, "contact_email": nil,
	}
}

func (s *Server) statusJSON(r *Repo, x *status) object {
	return object{
		"url": s.repoAPI(r) + "/statuses/" + x.sha, "avatar_url": nil, "id": x.id, "node_id": nodeID("SC", x.id), "state": x.state,
		"description": orNull(x.description), "target_url": orNull(x.targetURL), "context": x.context,
		"created_at": at(x.created), "updated_at": at(x.created), "creator": s.userJSON(x.creator),
	}
}

func (s *Server) checkRunJSON(c *checkRun) object {
	api := fmt.Sprintf("%s/check-runs/%d", s.repoAPI(c.repo), c.id)
	text := func(p *string) any {
		if p == nil {
			return nil
		}
		return *p
	}
	pulls := []object{}
	for _, p := range c.repo.pulls {
		if p.open && p.headSHA == c.sha && p.headRepo == p.Repo {
			pulls = append(pulls, s.minimalPullJSON(p))
		}
	}
	return object{
		"id": c.id, "head_sha": c.sha, "node_id": nodeID("CR", c.id), "external_id": c.externalID, "url": api,
		"html_url": fmt.Sprintf("%s/%s/runs/%d", s.base, c.repo.fullName(), c.id), "details_url": c.detailsURL,
		"status": c.status, "conclusion": orNull(c.conclusion), "started_at": at(c.started), "completed_at": at(c.completed),
		"output": object{
			"title": text(c.title), "summary": text(c.summary), "text": text(c.text),
			"annotations_count": len(c.annotations), "annotations_url": api + "/annotations",
		},
		"name": c.name, "check_suite": object{"id": c.suite}, "app": s.appJSON(c.app), "pull_requests": pulls,
	}
}

// minimalPullJSON is what a check run says of its pull requests. Those from a
// fork are left out of the list by GitHub too.
func (s *Server) minimalPullJSON(p *Pull) object {
	side := func(r *Repo, ref, sha string) object {
		return object{"ref": ref, "sha": sha, "repo": object{"id": r.ID, "url": s.repoAPI(r), "name": r.name}}
	}
	return object{
		"url": fmt.Sprintf("%s/pulls/%d", s.repoAPI(p.Repo), p.Number), "id": p.ID, "number": p.Number,
		"head": side(p.headRepo, p.headRef, p.headSHA), "base": side(p.Repo, p.baseRef, p.baseSHA),
	}
}
