package pages

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/internal/queue"
	"github.com/prbench/prbench/report"
)

// renewal is how often the page of a job that has not ended is asked for again.
const renewal = 10 * time.Second

// finished tells whether a job's execution is over.
func finished(j job.Job) bool { return j.State == job.Publishing || j.State.Ended() }

// serve answers for the page, or for a file beside it, to who may see it.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, j job.Job, file string) {
	switch {
	case file == "":
		s.page(w, r, j)
	case file == "samples.csv":
		s.samples(w, r, j)
	case file == "record.json" || file == "record-samples.jsonl":
		s.record(w, r, j, file)
	case renderers[file].write != nil && finished(j):
		s.download(w, r, j, file)
	default:
		notFound(w)
	}
}

// page writes the page of a job as it stands.
func (s *Server) page(w http.ResponseWriter, r *http.Request, j job.Job) {
	key, err := s.key(r.Context(), j, "page")
	var body []byte
	if err == nil {
		body, err = s.rendered(r.Context(), key, func(ctx context.Context, to io.Writer) error {
			switch {
			case finished(j):
				return s.finishedPage(ctx, to, j)
			case j.State == job.Running:
				return s.runningPage(ctx, to, j)
			default:
				return s.waitingPage(to, j)
			}
		})
	}
	if err != nil {
		s.fault(w, j, "write the page", err)
		return
	}
	if !finished(j) {
		w.Header().Set("Refresh", fmt.Sprint(int(renewal/time.Second)))
		w.Header().Set("Cache-Control", "private, no-store")
	}
	send(w, "text/html; charset=utf-8", body)
}

// key names what is rendered of a job, so that another text has another key: the
// report of an attempt shows the attempts before it, and their ledger.
func (s *Server) key(ctx context.Context, j job.Job, what string) (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%s %s %d %s %v\n", j.ID, what, j.Revision, s.place(j), s.hasRecord(ctx, j))
	if finished(j) || j.Attempt > 1 {
		all, err := s.Store.List(ctx, j.Repository.ID, j.PR)
		if err != nil {
			return "", fmt.Errorf("read the pull request's jobs: %w", err)
		}
		for _, k := range all {
			if k.Head.SHA == j.Head.SHA && finished(k) {
				fmt.Fprintf(h, "%s %d\n", k.ID, k.Revision)
			}
		}
	}
	return string(h.Sum(nil)), nil
}

// rendered gives a text from the cache, or has it written. Its reader may leave:
// others wait for it too.
func (s *Server) rendered(ctx context.Context, key string, write func(context.Context, io.Writer) error) ([]byte, error) {
	return s.cache.get(ctx, key, func() ([]byte, error) {
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer stop()
		var b bytes.Buffer
		if err := write(ctx, &b); err != nil {
			return nil, err
		}
		return b.Bytes(), nil
	})
}

func (s *Server) place(j job.Job) string {
	if j.State != job.Queued {
		return ""
	}
	var limits queue.Limits
	if s.Limits != nil {
		limits = s.Limits(j.Spec.Pool)
	}
	return s.line.place(j, limits)
}

func (s *Server) waitingPage(w io.Writer, j job.Job) error {
	lead := []string{"It waits for a free runner of the pool " + report.Visible(j.Spec.Pool) + "."}
	if place := s.place(j); place != "" {
		lead = append(lead, place)
	}
	return report.UnderwayPage(w, report.Underway{About: report.AboutOf(&j), Title: "Waiting for a runner", Lead: lead, At: s.Now()}, s.links(j, nil))
}

func (s *Server) runningPage(ctx context.Context, w io.Writer, j job.Job) error {
	interim, looks, err := s.Reports.Interim(ctx, j)
	if err != nil {
		return err
	}
	u := report.Underway{About: report.AboutOf(&j), Title: report.ProgressTitle(j.Progress), Done: j.Progress.Done, Total: j.Progress.Total,
		Interim: interim, Looks: looks, At: s.Now()}
	if j.RunnerName != "" {
		u.Lead = append(u.Lead, "It runs on "+report.Visible(j.RunnerName)+".")
	}
	if place := report.ProgressPlace(j.Progress, report.Visible); place != "" {
		u.Lead = append(u.Lead, "It is at "+place+".")
	}
	if j.Try > 1 {
		u.Lead = append(u.Lead, fmt.Sprintf("This is try %d; the machine lost the one before.", j.Try))
	}
	switch {
	case j.Spec.Runs != job.Adaptive:
		u.Lead = append(u.Lead, fmt.Sprintf("It is judged when all of its %d runs a side are done: a look before would show stars that are not there.", int(j.Spec.Runs)))
	case len(looks) == 0:
		u.Lead = append(u.Lead, "No benchmark has completed its first look yet.")
	}
	return report.UnderwayPage(w, u, s.links(j, []string{"samples.csv"}))
}

func (s *Server) finishedPage(ctx context.Context, w io.Writer, j job.Job) error {
	if j.Outcome == nil || j.Try == 0 {
		lead := []string{"This comparison was cancelled before it ran."}
		if j.Cancel != nil && j.Cancel.Reason != "" {
			lead = append(lead, "The reason: "+report.Visible(j.Cancel.Reason)+".")
		}
		return report.UnderwayPage(w, report.Underway{About: report.AboutOf(&j), Title: "Cancelled", Lead: lead}, s.links(j, nil))
	}
	r, err := s.Reports.Report(ctx, j)
	switch {
	case err != nil:
		return err
	case r == nil:
		return report.FailurePage(w, report.AboutOf(&j), *j.Outcome, s.links(j, s.files(ctx, j, []string{"report.html", "report.md"})))
	case r.Data.Processes == [2]int{} && j.Outcome.Runs > 0:
		lead := []string{fmt.Sprintf("Samples are kept for %.0f days, and those of this comparison are older. Its comment on the pull request has the report.", s.Retention.Hours()/24)}
		return report.UnderwayPage(w, report.Underway{About: report.AboutOf(&j), Title: "What was measured is not kept any more", Lead: lead}, s.links(j, s.files(ctx, j, nil)))
	}
	return r.Page(w, s.links(j, s.files(ctx, j, []string{"samples.csv", "report.json", "report.md", "report.txt", "report.html"})))
}

// hasRecord tells whether a backport's record is there. Where that is not to be
// learned the page does without its links.
func (s *Server) hasRecord(ctx context.Context, j job.Job) bool {
	if j.Backport == nil || s.Records == nil {
		return false
	}
	has, err := s.Records.HasRecord(ctx, j.ID)
	return err == nil && has
}

// files adds the files of a backport.
func (s *Server) files(ctx context.Context, j job.Job, names []string) []string {
	if s.hasRecord(ctx, j) {
		names = append(names, "record.json", "record-samples.jsonl")
	}
	return names
}

// links lead from a page to its pull request and to what is beside it. They are
// relative, so that they hold whatever stands before the server.
func (s *Server) links(j job.Job, files []string) []report.PageLink {
	var out []report.PageLink
	if root := j.Repository.HTMLURL; strings.HasPrefix(root, "https://") || strings.HasPrefix(root, "http://") {
		out = append(out, report.PageLink{Text: fmt.Sprintf("pull request #%d", j.PR), URL: fmt.Sprintf("%s/pull/%d", strings.TrimRight(root, "/"), j.PR)})
	}
	for _, name := range files {
		out = append(out, report.PageLink{Text: name, URL: address(j) + "/" + name})
	}
	return out
}

// words answers with a page that says something and shows nothing.
func (s *Server) words(w http.ResponseWriter, status int, title string, lead []string, links []report.PageLink) {
	var b bytes.Buffer
	if err := report.WordsPage(&b, title, lead, links); err != nil {
		http.Error(w, "The page cannot be written.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Cache-Control", "private, no-store")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // a reader that is gone is no error
}

// fault answers for what went wrong on our side.
func (s *Server) fault(w http.ResponseWriter, j job.Job, doing string, err error) {
	if !errors.Is(err, context.Canceled) {
		s.Log.Error("a page could not be served", "job", string(j.ID), "doing", doing, "err", err)
	}
	w.Header().Set("Retry-After", "30")
	s.words(w, http.StatusServiceUnavailable, "This page cannot be shown now", []string{"Try again in a minute. If it stays so, the operators have to look at their log."}, nil)
}
