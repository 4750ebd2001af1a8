package pages

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"regexp"
	"time"

	"github.com/prbench/prbench/internal/benchfmt"
	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/internal/queue"
	"github.com/prbench/prbench/report"
)

// renderer writes one form of a report. Of a job that failed there are those with
// a failed.
type renderer struct {
	kind   string
	write  func(*report.Report, io.Writer) error
	failed func(io.Writer, report.About, job.Outcome) error
}

var renderers = map[string]renderer{
	"report.json": {kind: "application/json", write: (*report.Report).JSON},
	"report.txt":  {kind: "text/plain; charset=utf-8", write: (*report.Report).Text},
	"report.md": {kind: "text/markdown; charset=utf-8",
		write: func(r *report.Report, w io.Writer) error {
			_, err := io.WriteString(w, r.Markdown()+"\n")
			return err
		},
		failed: func(w io.Writer, a report.About, o job.Outcome) error {
			_, err := io.WriteString(w, report.Failure(a, o)+"\n")
			return err
		}},
	"report.html": {kind: "text/html; charset=utf-8", write: (*report.Report).HTML,
		failed: func(w io.Writer, a report.About, o job.Outcome) error { return report.FailurePage(w, a, o, nil) }},
}

// errNoSuchForm: the job has no report of that form.
var errNoSuchForm = errors.New("no report of this form")

// download answers with a report as a file.
func (s *Server) download(w http.ResponseWriter, r *http.Request, j job.Job, file string) {
	form := renderers[file]
	key, err := s.key(r.Context(), j, file)
	var body []byte
	if err == nil {
		body, err = s.rendered(r.Context(), key, func(ctx context.Context, to io.Writer) error {
			if j.Outcome == nil || j.Try == 0 {
				return errNoSuchForm
			}
			whole, err := s.Reports.Report(ctx, j)
			switch {
			case err != nil:
				return err
			case whole != nil:
				return form.write(whole, to)
			case form.failed != nil:
				return form.failed(to, report.AboutOf(&j), *j.Outcome)
			}
			return errNoSuchForm
		})
	}
	switch {
	case errors.Is(err, errNoSuchForm):
		notFound(w)
	case err != nil:
		s.fault(w, j, "write "+file, err)
	default:
		attach(w.Header(), j, file)
		send(w, form.kind, body)
	}
}

// samples streams what a job's last try measured, one process after the other.
func (s *Server) samples(w http.ResponseWriter, r *http.Request, j job.Job) {
	if j.Try == 0 {
		notFound(w)
		return
	}
	s.stream(w, j, "samples.csv", "text/csv; charset=utf-8", func(to io.Writer) error {
		out := benchfmt.NewGuardedWriter(to) // a browser hands it to a spreadsheet program
		for run, err := range s.Store.Runs(r.Context(), j.Runner, j.ID, j.Try) {
			if err != nil {
				return err
			}
			if err := out.WriteRun(harmless(run)); err != nil {
				return err
			}
		}
		return out.Flush()
	})
}

// harmless masks what looks like a credential in the names that a benchmark chose.
func harmless(r job.Run) job.Run {
	r.Suite, r.Case = report.Mask(r.Suite), report.Mask(r.Case)
	for i := range r.Samples {
		one := &r.Samples[i]
		one.Benchmark, one.Config, one.Unit = report.Mask(one.Benchmark), report.Mask(one.Config), report.Mask(one.Unit)
	}
	return r
}

// record answers with the record of a backport, or with its samples.
func (s *Server) record(w http.ResponseWriter, r *http.Request, j job.Job, file string) {
	if s.Records == nil || j.Backport == nil {
		notFound(w)
		return
	}
	if file == "record.json" {
		body, err := s.Records.Record(r.Context(), j.ID)
		switch {
		case errors.Is(err, queue.ErrNotFound):
			notFound(w)
		case err != nil:
			s.fault(w, j, "read the record", err)
		default:
			attach(w.Header(), j, file)
			send(w, "application/json", body)
		}
		return
	}
	from, err := s.Records.RecordSamples(r.Context(), j.ID)
	switch {
	case errors.Is(err, queue.ErrNotFound):
		notFound(w)
		return
	case err != nil:
		s.fault(w, j, "read the record's samples", err)
		return
	}
	defer func() { _ = from.Close() }() // it was only read
	s.stream(w, j, file, "application/x-ndjson", func(to io.Writer) error {
		_, err := io.Copy(to, from)
		return err
	})
}

// stream answers with what write writes, as it comes. Where that ends in an error
// the connection is cut: half a file must not look like a whole one.
func (s *Server) stream(w http.ResponseWriter, j job.Job, file, kind string, write func(io.Writer) error) {
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		w.Header().Set("Retry-After", "10")
		s.words(w, http.StatusServiceUnavailable, "Too many downloads at once", []string{"Try again in a moment."}, nil)
		return
	}
	attach(w.Header(), j, file)
	w.Header().Set("Content-Type", kind)
	to := &patientWriter{to: w, control: http.NewResponseController(w)}
	err := write(to)
	switch {
	case err == nil:
		return
	case to.failed == nil:
		s.Log.Error("a download ended early", "job", string(j.ID), "file", file, "err", err)
	}
	panic(http.ErrAbortHandler)
}

// patientWriter gives its reader time anew with each piece, and no more.
type patientWriter struct {
	to      io.Writer
	control *http.ResponseController
	failed  error
}

// readerPatience is how long a reader may take for one piece.
const readerPatience = time.Minute

func (p *patientWriter) Write(b []byte) (int, error) {
	_ = p.control.SetWriteDeadline(time.Now().Add(readerPatience)) // a connection without deadlines has its own end
	n, err := p.to.Write(b)
	if err != nil {
		p.failed = err
	}
	return n, err
}

// send answers with a whole text.
func send(w http.ResponseWriter, kind string, body []byte) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(patience)) // as above
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	_, _ = w.Write(body) // a reader that is gone is no error
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// attach names the file that a browser is to keep.
func attach(h http.Header, j job.Job, file string) {
	kind, ext := file[:len(file)-len(path.Ext(file))], path.Ext(file)
	name := fmt.Sprintf("prbench-%s-%d-%d-%s%s", notInNames.ReplaceAllString(j.Repository.Name, "-"), j.PR, j.ID.Serial(), kind, ext)
	h.Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", name))
}
