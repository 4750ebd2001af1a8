package forge

import (
	"context"
	"fmt"
	"time"

	"github.com/google/go-github/v60/github"
)

// MaxAnnotations is how many annotations GitHub takes in one request.
const MaxAnnotations = 50

// CheckRun is a check run as it should be. Zero fields are left as they are by
// an update.
type CheckRun struct {
	Name       string
	HeadSHA    string // only for creation
	Status     string // "queued", "in_progress", "completed"
	Conclusion string // "success", "failure", "neutral", "cancelled", …; needs Status "completed"
	ExternalID string
	DetailsURL string
	StartedAt  time.Time // only for creation
	EndedAt    time.Time
	// Title and Summary go together: GitHub refuses one without the other.
	Title   string
	Summary string // Markdown, at most 65,535 characters; so is Text
	Text    string
	// Annotations are added to those that the check run has.
	Annotations []Annotation
	Actions     []Action // at most 3
}

// Annotation marks lines of a file at the check run's commit.
type Annotation struct {
	Path               string
	StartLine, EndLine int
	Level              string // "notice", "warning", "failure"
	Title, Message     string
}

// Action is a button on the check run. GitHub takes at most 20 characters of
// Label and Identifier and 40 of Description.
type Action struct{ Label, Description, Identifier string }

// CheckRunState is a check run as GitHub has it.
type CheckRunState struct {
	ID                        int64
	AppID                     int64
	Name, HeadSHA, ExternalID string
	Status, Conclusion        string
	Title, Summary, Text      string
	AnnotationsCount          int
	HTMLURL                   string
}

func checkRunState(r *github.CheckRun) CheckRunState {
	return CheckRunState{
		ID: r.GetID(), AppID: r.GetApp().GetID(), Name: r.GetName(), HeadSHA: r.GetHeadSHA(), ExternalID: r.GetExternalID(),
		Status: r.GetStatus(), Conclusion: r.GetConclusion(),
		Title: r.GetOutput().GetTitle(), Summary: r.GetOutput().GetSummary(), Text: r.GetOutput().GetText(),
		AnnotationsCount: r.GetOutput().GetAnnotationsCount(), HTMLURL: r.GetHTMLURL(),
	}
}

// CreateCheckRun creates a check run, with its annotations in as many requests
// as they need. When the error comes from a later request, the id is returned
// beside it. When the error's class is Unclear and the id 0, look with
// FindCheckRun before trying again.
func (c *Client) CreateCheckRun(ctx context.Context, r Repo, run CheckRun) (int64, error) {
	if err := r.check(); err != nil {
		return 0, err
	}
	if !IsSHA(run.HeadSHA) {
		return 0, refuse("check run for %q: want a full commit id", run.HeadSHA)
	}
	first, rest := splitAnnotations(run.Annotations)
	var id int64
	op := fmt.Sprintf("create check run %q of %s@%.12s", run.Name, r, run.HeadSHA)
	err := c.mutate(ctx, op, func(ctx context.Context, gh *github.Client) error {
		got, _, err := gh.Checks.CreateCheckRun(ctx, r.Owner, r.Name, github.CreateCheckRunOptions{
			Name: run.Name, HeadSHA: run.HeadSHA,
			DetailsURL: optional(run.DetailsURL), ExternalID: optional(run.ExternalID),
			Status: optional(run.Status), Conclusion: optional(run.Conclusion),
			StartedAt: optionalTime(run.StartedAt), CompletedAt: optionalTime(run.EndedAt),
			Output: output(run, first), Actions: actions(run.Actions),
		})
		id = got.GetID()
		return err
	})
	if err != nil {
		return 0, err
	}
	return id, c.addAnnotations(ctx, r, id, run, rest)
}

// UpdateCheckRun changes a check run. Annotations are added to those there, so
// that an update which is tried again after an Unclear error must first see how
// many arrived (CheckRunByID).
func (c *Client) UpdateCheckRun(ctx context.Context, r Repo, id int64, run CheckRun) error {
	if err := r.check(); err != nil {
		return err
	}
	first, rest := splitAnnotations(run.Annotations)
	if err := c.updateCheckRun(ctx, r, id, run, first); err != nil {
		return err
	}
	return c.addAnnotations(ctx, r, id, run, rest)
}

func (c *Client) updateCheckRun(ctx context.Context, r Repo, id int64, run CheckRun, marks []Annotation) error {
	op := fmt.Sprintf("update check run %d of %s", id, r)
	return c.mutate(ctx, op, func(ctx context.Context, gh *github.Client) error {
		_, _, err := gh.Checks.UpdateCheckRun(ctx, r.Owner, r.Name, id, github.UpdateCheckRunOptions{
			Name: run.Name, DetailsURL: optional(run.DetailsURL), ExternalID: optional(run.ExternalID),
			Status: optional(run.Status), Conclusion: optional(run.Conclusion), CompletedAt: optionalTime(run.EndedAt),
			Output: output(run, marks), Actions: actions(run.Actions),
		})
		return err
	})
}

func (c *Client) addAnnotations(ctx context.Context, r Repo, id int64, run CheckRun, rest []Annotation) error {
	for len(rest) > 0 {
		var chunk []Annotation
		chunk, rest = splitAnnotations(rest)
		if err := c.updateCheckRun(ctx, r, id, run, chunk); err != nil {
			return err
		}
	}
	return nil
}

func splitAnnotations(all []Annotation) (first, rest []Annotation) {
	n := min(len(all), MaxAnnotations)
	return all[:n], all[n:]
}

// CheckRunByID reads one check run.
func (c *Client) CheckRunByID(ctx context.Context, r Repo, id int64) (CheckRunState, error) {
	var out CheckRunState
	if err := r.check(); err != nil {
		return out, err
	}
	err := c.read(ctx, fmt.Sprintf("read check run %d of %s", id, r), func(ctx context.Context, gh *github.Client) error {
		got, _, err := gh.Checks.GetCheckRun(ctx, r.Owner, r.Name, id)
		if err == nil {
			out = checkRunState(got)
		}
		return err
	})
	return out, err
}

// CheckRuns reads all our own check runs of a commit, the newest of each name
// and the older ones.
func (c *Client) CheckRuns(ctx context.Context, r Repo, sha string) ([]CheckRunState, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	if !IsSHA(sha) {
		return nil, refuse("check runs of %q: want a full commit id", sha)
	}
	opts := github.ListCheckRunsOptions{Filter: github.String("all")}
	if c.forge.IsApp() {
		opts.AppID = github.Int64(c.forge.appID)
	}
	var out []CheckRunState
	op := fmt.Sprintf("list check runs of %s@%.12s", r, sha)
	err := pages(ctx, c, op, func(ctx context.Context, gh *github.Client, page github.ListOptions) (*github.Response, error) {
		opts.ListOptions = page
		got, resp, err := gh.Checks.ListCheckRunsForRef(ctx, r.Owner, r.Name, sha, &opts)
		if err == nil {
			for _, one := range got.CheckRuns {
				out = append(out, checkRunState(one))
			}
		}
		return resp, err
	})
	return out, err
}

// FindCheckRun looks for our own check run of a commit by its external id.
func (c *Client) FindCheckRun(ctx context.Context, r Repo, sha, externalID string) (found CheckRunState, ok bool, err error) {
	all, err := c.CheckRuns(ctx, r, sha)
	if err != nil {
		return CheckRunState{}, false, err
	}
	for _, one := range all {
		if one.ExternalID == externalID {
			return one, true, nil
		}
	}
	return CheckRunState{}, false, nil
}

// Status is a commit status: what a plain token can set where check runs are
// for Apps only.
type Status struct {
	State       string // "pending", "success", "failure", "error"
	Context     string
	Description string // GitHub takes at most 140 characters
	TargetURL   string
}

// SetStatus sets a commit's status; the newest of a context counts.
func (c *Client) SetStatus(ctx context.Context, r Repo, sha string, s Status) error {
	if err := r.check(); err != nil {
		return err
	}
	if !IsSHA(sha) {
		return refuse("status of %q: want a full commit id", sha)
	}
	return c.mutate(ctx, fmt.Sprintf("set status %q of %s@%.12s", s.Context, r, sha), func(ctx context.Context, gh *github.Client) error {
		_, _, err := gh.Repositories.CreateStatus(ctx, r.Owner, r.Name, sha, &github.RepoStatus{
			State: &s.State, Context: optional(s.Context), Description: optional(s.Description), TargetURL: optional(s.TargetURL),
		})
		return err
	})
}

func output(run CheckRun, marks []Annotation) *github.CheckRunOutput {
	if run.Title == "" && run.Summary == "" && run.Text == "" && len(marks) == 0 {
		return nil
	}
	out := &github.CheckRunOutput{Title: &run.Title, Summary: &run.Summary, Text: optional(run.Text)}
	for _, m := range marks {
		out.Annotations = append(out.Annotations, &github.CheckRunAnnotation{
			Path: github.String(m.Path), StartLine: github.Int(m.StartLine), EndLine: github.Int(m.EndLine),
			AnnotationLevel: github.String(m.Level), Title: optional(m.Title), Message: github.String(m.Message),
		})
	}
	return out
}

func actions(all []Action) []*github.CheckRunAction {
	var out []*github.CheckRunAction
	for _, a := range all {
		out = append(out, &github.CheckRunAction{Label: a.Label, Description: a.Description, Identifier: a.Identifier})
	}
	return out
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func optionalTime(t time.Time) *github.Timestamp {
	if t.IsZero() {
		return nil
	}
	return &github.Timestamp{Time: t}
}
