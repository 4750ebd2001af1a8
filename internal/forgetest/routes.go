package forgetest

import (
	"net/http"
	"strings"
)

// routes is the table of the REST interface. A path under /repos/{owner}/{repo}
// answers under /repositories/{id} too, where the redirect of a renamed
// repository leads. The routes of single comments have a name of their own here
// (see ownName), since /issues/comments/1 is also of the form /issues/{n}/{x}.
func (s *Server) routes() *http.ServeMux {
	mux := http.NewServeMux()
	top := func(pattern string, fn func(*call) (answer, error)) { mux.HandleFunc(pattern, s.route(fn)) }
	repo := func(pattern, level string, permissions []string, fn func(*call) (answer, error)) {
		method, path, _ := strings.Cut(pattern, " ")
		h := s.in(level, permissions, fn)
		mux.HandleFunc(method+" /repos/{owner}/{repo}"+path, h)
		mux.HandleFunc(method+" /repositories/{id}"+path, h)
	}
	var (
		metadata = []string{"metadata"}
		contents = []string{"contents"}
		pulls    = []string{"pull_requests", "contents"}
		issues   = []string{"issues", "pull_requests"}
		checks   = []string{"checks"}
		statuses = []string{"statuses"}
	)

	top("GET /{$}", (*call).getRoot)
	top("GET /meta", (*call).getMeta)
	top("GET /rate_limit", (*call).getRateLimit)
	top("GET /user", (*call).getUser)
	top("GET /users/{login}", (*call).getUserByLogin)

	top("GET /app", (*call).getApp)
	top("POST /app-manifests/{code}/conversions", (*call).convertManifest)
	top("GET /app/installations", (*call).listInstallations)
	top("GET /app/installations/{installation}", (*call).getInstallation)
	top("POST /app/installations/{installation}/access_tokens", (*call).createToken)
	top("GET /app/hook/config", (*call).getHookConfig)
	top("GET /app/hook/deliveries", (*call).listDeliveries)
	top("GET /app/hook/deliveries/{delivery}", (*call).getDelivery)
	top("POST /app/hook/deliveries/{delivery}/attempts", (*call).redeliver)
	top("DELETE /installation/token", (*call).revokeToken)
	top("DELETE /applications/{client}/token", (*call).revokeVisitor)
	top("GET /installation/repositories", (*call).listInstallationRepos)
	top("GET /repos/{owner}/{repo}/installation", (*call).getRepoInstallation)
	top("GET /repositories/{id}/installation", (*call).getRepoInstallation)

	repo("GET ", "read", metadata, (*call).getRepo)
	repo("GET /collaborators/{login}/permission", "read", metadata, (*call).getPermission)
	repo("GET /branches", "read", contents, (*call).listBranches)
	repo("GET /branches/{branch...}", "read", contents, (*call).getBranch)
	repo("GET /git/ref/{ref...}", "read", contents, (*call).getRef)
	repo("GET /git/matching-refs/{ref...}", "read", contents, (*call).matchRefs)
	repo("GET /git/tags/{sha}", "read", contents, (*call).getTag)
	repo("GET /git/commits/{sha}", "read", contents, (*call).getGitCommit)
	repo("GET /git/trees/{sha...}", "read", contents, (*call).getTree)
	repo("GET /commits", "read", contents, (*call).listCommits)
	repo("GET /commits/{rest...}", "read", []string{"contents", "checks", "statuses"}, (*call).commitsPath)
	repo("GET /compare/{basehead...}", "read", contents, (*call).compare)
	repo("GET /contents/{path...}", "read", contents, (*call).getContents)

	repo("GET /pulls", "read", pulls, (*call).listPulls)
	repo("GET /pulls/{number}", "read", pulls, (*call).getPull)
	repo("GET /pulls/{number}/commits", "read", pulls, (*call).listPullCommits)
	repo("GET /pulls/{number}/files", "read", pulls, (*call).listPullFiles)

	repo("GET /issues", "read", issues, (*call).listIssues)
	repo("GET /issues/{number}", "read", issues, (*call).getIssue)
	repo("GET /issues/{number}/events", "read", issues, (*call).listEvents)
	repo("GET /issues/{number}/labels", "read", issues, (*call).listLabels)
	repo("POST /issues/{number}/labels", "write", issues, (*call).postLabels)
	repo("PUT /issues/{number}/labels", "write", issues, (*call).putLabels)
	repo("DELETE /issues/{number}/labels/{name}", "write", issues, (*call).deleteLabel)
	repo("GET /issues/{number}/comments", "read", issues, (*call).listComments)
	repo("POST /issues/{number}/comments", "write", issues, (*call).postComment)
	repo("GET /issue-comments/{comment}", "read", issues, (*call).getComment)
	repo("PATCH /issue-comments/{comment}", "write", issues, (*call).patchComment)
	repo("DELETE /issue-comments/{comment}", "write", issues, (*call).removeComment)
	repo("GET /issue-comments/{comment}/reactions", "read", issues, (*call).listCommentReactions)
	repo("POST /issue-comments/{comment}/reactions", "write", issues, (*call).postCommentReaction)
	repo("DELETE /issue-comments/{comment}/reactions/{reaction}", "write", issues, (*call).deleteCommentReaction)
	repo("GET /issues/{number}/reactions", "read", issues, (*call).listPullReactions)
	repo("POST /issues/{number}/reactions", "write", issues, (*call).postPullReaction)
	repo("DELETE /issues/{number}/reactions/{reaction}", "write", issues, (*call).deletePullReaction)

	repo("POST /check-runs", "write", checks, (*call).postCheckRun)
	repo("GET /check-runs/{check}", "read", checks, (*call).getCheckRun)
	repo("PATCH /check-runs/{check}", "write", checks, (*call).patchCheckRun)
	repo("GET /check-runs/{check}/annotations", "read", checks, (*call).listAnnotations)
	repo("POST /statuses/{sha}", "write", statuses, (*call).postStatus)

	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { writeError(w, notFound()) })
	return mux
}

// ownName renames the path of a single comment for the table.
func ownName(path string) string {
	parts := strings.Split(path, "/")
	for _, at := range []int{3, 4} {
		// /repositories/ID/issues/comments/N and /repos/OWNER/REPO/issues/comments/N
		if len(parts) > at+2 && parts[at] == "issues" && parts[at+1] == "comments" &&
			(at == 3) == (parts[1] == "repositories") {
			return strings.Join(parts[:at], "/") + "/issue-comments/" + strings.Join(parts[at+2:], "/")
		}
	}
	return path
}
