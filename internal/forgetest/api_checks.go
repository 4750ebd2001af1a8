package forgetest

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// The limits of a check run.
const (
	maxAnnotations = 50    // in one request
	maxCheckText   = 65535 // of summary and text, in characters
	maxActions     = 3
)

// checkInput is the body of both the creation and the update.
type checkInput struct {
	Name        *string    `json:"name"`
	HeadSHA     string     `json:"head_sha"`
	DetailsURL  *string    `json:"details_url"`
	ExternalID  *string    `json:"external_id"`
	Status      *string    `json:"status"`
	Conclusion  *string    `json:"conclusion"`
	StartedAt   *time.Time `json:"started_at"`
	CompletedAt *time.Time `json:"completed_at"`
	Output      *struct {
		Title       *string  `json:"title"`
		Summary     *string  `json:"summary"`
		Text        *string  `json:"text"`
		Annotations []object `json:"annotations"`
	} `json:"output"`
	Actions []object `json:"actions"`
}

var (
	checkStatuses    = []string{"queued", "in_progress", "completed"}
	checkConclusions = []string{"action_required", "cancelled", "failure", "neutral", "success", "skipped", "timed_out"}
)

// check says what GitHub would not take.
func (in *checkInput) check() error {
	wrong := func(format string, args ...any) error {
		return fail(http.StatusUnprocessableEntity, "Invalid request.\n\n"+fmt.Sprintf(format, args...))
	}
	if in.Status != nil && !slices.Contains(checkStatuses, *in.Status) {
		return wrong("%s is not a member of [\"queued\", \"in_progress\", \"completed\"].", *in.Status)
	}
	if in.Conclusion != nil && !slices.Contains(checkConclusions, *in.Conclusion) {
		return wrong("%s is not a possible conclusion.", *in.Conclusion)
	}
	if in.Status != nil && *in.Status == "completed" && in.Conclusion == nil {
		return wrong("\"conclusion\" wasn't supplied.")
	}
	if out := in.Output; out != nil {
		if out.Summary == nil || (out.Title == nil && in.HeadSHA != "") {
			return wrong("\"title\", \"summary\" weren't supplied.")
		}
		if len(out.Annotations) > maxAnnotations {
			return wrong("No more than %d items are allowed; %d were supplied.", maxAnnotations, len(out.Annotations))
		}
		for _, text := range []*string{out.Summary, out.Text} {
			if text != nil && utf8.RuneCountInString(*text) > maxCheckText {
				return wrong("Only %d characters are allowed; %d were supplied.", maxCheckText, utf8.RuneCountInString(*text))
			}
		}
		for _, a := range out.Annotations {
			for _, key := range []string{"path", "start_line", "end_line", "annotation_level", "message"} {
				if a[key] == nil {
					return wrong("\"%s\" wasn't supplied.", key)
				}
			}
		}
	}
	return checkActions(in.Actions, wrong)
}

func checkActions(actions []object, wrong func(string, ...any) error) error {
	if len(actions) > maxActions {
		return wrong("No more than %d items are allowed; %d were supplied.", maxActions, len(actions))
	}
	for _, a := range actions {
		for key, limit := range map[string]int{"label": 20, "description": 40, "identifier": 20} {
			text, _ := a[key].(string)
			if text == "" {
				return wrong("\"%s\" wasn't supplied.", key)
			}
			if utf8.RuneCountInString(text) > limit {
				return wrong("Only %d characters are allowed; %d were supplied.", limit, utf8.RuneCountInString(text))
			}
		}
	}
	return nil
}

// apply changes a check run; the caller holds mu.
func (in *checkInput) apply(c *checkRun, now time.Time) {
	set := func(to *string, from *string) {
		if from != nil {
			*to = *from
		}
	}
	set(&c.name, in.Name)
	set(&c.detailsURL, in.DetailsURL)
	set(&c.externalID, in.ExternalID)
	set(&c.status, in.Status)
	if in.StartedAt != nil {
		c.started = *in.StartedAt
	}
	if in.Conclusion != nil {
		c.conclusion, c.status, c.completed = *in.Conclusion, "completed", now
	}
	if in.CompletedAt != nil {
		c.completed = *in.CompletedAt
	}
	if c.status != "completed" {
		c.conclusion, c.completed = "", time.Time{}
	}
	if out := in.Output; out != nil {
		if out.Title != nil {
			c.title = out.Title
		}
		c.summary, c.text = out.Summary, out.Text
		c.annotations = append(c.annotations, out.Annotations...)
	}
	if in.Actions != nil {
		c.actions = in.Actions
	}
}

func (c *call) postCheckRun() (answer, error) {
	var in checkInput
	if err := c.decode(&in); err != nil {
		return answer{}, err
	}
	if in.Name == nil || *in.Name == "" || in.HeadSHA == "" {
		return answer{}, fail(http.StatusUnprocessableEntity, "Invalid request.\n\n\"name\", \"head_sha\" weren't supplied.")
	}
	if err := in.check(); err != nil {
		return answer{}, err
	}
	sha, err := c.resolve(c.repo, in.HeadSHA)
	if err != nil || sha != in.HeadSHA {
		return answer{}, fail(http.StatusUnprocessableEntity, "No commit found for SHA: "+in.HeadSHA)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	run := &checkRun{
		id: c.id(), suite: c.suite(sha), repo: c.repo, app: c.who.via(), sha: sha, status: "queued",
		detailsURL: c.base, started: c.stamp(),
	}
	in.apply(run, c.stamp())
	c.repo.checkRuns = append(c.repo.checkRuns, run)
	c.checkRuns[run.id] = run
	c.emitCheckRun(run, "created")
	if run.status == "completed" {
		c.emitCheckRun(run, "completed")
	}
	return created(c.checkRunJSON(run))
}

// suite is the id of the App's check suite of a commit; the caller holds mu.
func (c *call) suite(sha string) int64 {
	for _, run := range c.repo.checkRuns {
		if run.sha == sha && run.app == c.who.via() {
			return run.suite
		}
	}
	return c.id()
}

func (c *call) emitCheckRun(run *checkRun, action string) {
	c.emit("check_run", action, run.repo, run.app.bot, object{"check_run": c.checkRunJSON(run)})
}

// checkRun is the check run of the path; the caller holds mu.
func (c *call) checkRun() (*checkRun, error) {
	id, err := c.number("check")
	if err != nil {
		return nil, err
	}
	run := c.checkRuns[id]
	if run == nil || run.repo != c.repo {
		return nil, notFound()
	}
	return run, nil
}

func (c *call) getCheckRun() (answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	run, err := c.checkRun()
	if err != nil {
		return answer{}, err
	}
	return ok(c.checkRunJSON(run))
}

func (c *call) patchCheckRun() (answer, error) {
	var in checkInput
	if err := c.decode(&in); err != nil {
		return answer{}, err
	}
	if err := in.check(); err != nil {
		return answer{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	run, err := c.checkRun()
	if err != nil {
		return answer{}, err
	}
	if run.app != c.who.via() {
		return answer{}, fail(http.StatusForbidden, "Invalid app_id `"+strconv.FormatInt(c.who.via().ID, 10)+"` - check run can only be modified by the GitHub App that created it.")
	}
	before := run.status
	in.apply(run, c.stamp())
	run.updates++
	if before != "completed" && run.status == "completed" {
		c.emitCheckRun(run, "completed")
	}
	return ok(c.checkRunJSON(run))
}

func (c *call) listAnnotations() (answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	run, err := c.checkRun()
	if err != nil {
		return answer{}, err
	}
	from, to := c.window(len(run.annotations))
	out := []object{}
	for _, a := range run.annotations[from:to] {
		full := object{"start_column": nil, "end_column": nil, "title": nil, "raw_details": nil}
		for key, value := range a {
			full[key] = value
		}
		full["blob_href"] = fmt.Sprintf("%s/blob/%s/%s", c.base, run.sha, a["path"])
		out = append(out, full)
	}
	return ok(out)
}

// listCheckRuns gives the newest check run of each App and name, unless all
// are asked for.
func (c *call) listCheckRuns(sha string) (answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.r.URL.Query()
	var list []*checkRun
	seen := map[string]bool{}
	for _, run := range slices.Backward(c.repo.checkRuns) {
		key := fmt.Sprint(run.app.ID, run.name)
		switch {
		case run.sha != sha, q.Get("check_name") != "" && q.Get("check_name") != run.name,
			q.Get("status") != "" && q.Get("status") != run.status,
			q.Get("app_id") != "" && q.Get("app_id") != fmt.Sprint(run.app.ID),
			q.Get("filter") != "all" && seen[key]:
			continue
		}
		seen[key] = true
		list = append(list, run)
	}
	from, to := c.window(len(list))
	out := []object{}
	for _, run := range list[from:to] {
		out = append(out, c.checkRunJSON(run))
	}
	return ok(object{"total_count": len(list), "check_runs": out})
}

var statusStates = []string{"error", "failure", "pending", "success"}

func (c *call) postStatus() (answer, error) {
	in := struct {
		State       string `json:"state"`
		TargetURL   string `json:"target_url"`
		Description string `json:"description"`
		Context     string `json:"context"`
	}{Context: "default"}
	if err := c.decode(&in); err != nil {
		return answer{}, err
	}
	if !slices.Contains(statusStates, in.State) {
		return answer{}, invalid("Status", "state", "inclusion")
	}
	if utf8.RuneCountInString(in.Description) > 140 {
		return answer{}, invalidBecause("Status", "description", "description is too long (maximum is 140 characters)")
	}
	sha, err := c.resolve(c.repo, c.r.PathValue("sha"))
	if err != nil {
		return answer{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	x := &status{
		id: c.id(), sha: sha, state: in.State, context: in.Context, description: in.Description, targetURL: in.TargetURL,
		creator: c.who.actor(), created: c.stamp(),
	}
	c.repo.statuses = append(c.repo.statuses, x)
	return created(c.statusJSON(c.repo, x))
}

// statusesOf are a commit's statuses, newest first; the caller holds mu.
func (r *Repo) statusesOf(sha string) []*status {
	var list []*status
	for _, x := range slices.Backward(r.statuses) {
		if x.sha == sha {
			list = append(list, x)
		}
	}
	return list
}

func (c *call) listStatuses(sha string) (answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := c.repo.statusesOf(sha)
	from, to := c.window(len(list))
	out := []object{}
	for _, x := range list[from:to] {
		out = append(out, c.statusJSON(c.repo, x))
	}
	return ok(out)
}

// combinedStatus is the worst of the newest status of each context.
func (c *call) combinedStatus(sha string) (answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	out, seen, combined := []object{}, map[string]bool{}, "success"
	for _, x := range c.repo.statusesOf(sha) {
		if seen[x.context] {
			continue
		}
		seen[x.context] = true
		out = append(out, c.statusJSON(c.repo, x))
		switch {
		case x.state == "failure" || x.state == "error":
			combined = "failure"
		case x.state == "pending" && combined == "success":
			combined = "pending"
		}
	}
	if len(out) == 0 {
		combined = "pending"
	}
	api := c.repoAPI(c.repo) + "/commits/" + sha
	return ok(object{
		"state": combined, "statuses": out, "sha": sha, "total_count": len(out), "repository": c.repoJSON(c.repo),
		"commit_url": api, "url": api + "/status",
	})
}
