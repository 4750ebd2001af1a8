package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/prbench/prbench/internal/forgetest"
	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report"
)

func newDemo(s stream) *cobra.Command {
	var keep, lines bool
	var kind string
	var runs int
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show the whole way on this machine: a label, a job, a report",
		Long: "Starts a GitHub stand-in with a small repository and an open pull request, serve with its state, and a\n" +
			"runner, all in one temporary folder, and puts the label on. It needs no credentials.",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if kind != "bwrap" && kind != "none" {
				return usageError("--sandbox: want bwrap or none, got %q", kind)
			}
			if cmd.Flags().Changed("runs") && (runs < job.MinRuns || runs > job.MaxRuns) {
				return usageError("--runs: want a whole number from %d to %d, got %d", job.MinRuns, job.MaxRuns, runs)
			}
			d := demoPlay{kind: kind, runs: runs, keep: keep, acts: []act{tellReport}}
			if lines {
				d.acts = append(d.acts, tellBackport)
			}
			return d.play(cmd.Context(), s.out)
		},
	}
	cmd.Flags().BoolVar(&lines, "backport", false, "go on with a second act: a merged change, and the release lines that it may go to")
	cmd.Flags().BoolVar(&keep, "keep", false, "leave it running, to look at in a browser, until Ctrl-C")
	cmd.Flags().StringVar(&kind, "sandbox", "bwrap", "bwrap, or none: the demo's benchmarks then run with your own rights")
	cmd.Flags().IntVar(&runs, "runs", 0, "runs a side, in place of the demo's adaptive ones; with few, its noisier answers may come out otherwise")
	return cmd
}

// demoPatience bounds the whole demo.
const demoPatience = 10 * time.Minute

// demoPlay is a demo as it was asked for.
type demoPlay struct {
	kind string // of sandbox
	runs int    // a side; 0: as the demo's repository says
	keep bool
	acts []act
}

// act is a part of the demo's story.
type act func(context.Context, *narrator, *stage) error

func (d demoPlay) play(ctx context.Context, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "prbench-demo-")
	if err != nil {
		return fmt.Errorf("make the demo's folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	// The account that benchmarks run as passes through to their trees.
	if err := os.Chmod(dir, 0o711); err != nil {
		return fmt.Errorf("make the demo's folder: %w", err)
	}
	logFile, err := os.Create(filepath.Join(dir, "log.json"))
	if err != nil {
		return fmt.Errorf("make the demo's log: %w", err)
	}
	defer func() { err = errors.Join(err, logFile.Close()) }()
	stage, err := setStage(ctx, dir, d.kind, d.runs, slog.New(slog.NewJSONHandler(logFile, nil)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stage.close()) }()

	n := &narrator{out: out, began: time.Now(), color: isColor(out), shown: map[string]shownRun{}}
	play, stop := context.WithTimeout(ctx, demoPatience)
	defer stop()
	for _, act := range d.acts {
		if err := act(play, n, stage); err != nil {
			if ctx.Err() != nil {
				return errors.New("stopped; nothing is left behind")
			}
			tail, _ := os.ReadFile(logFile.Name())
			return fmt.Errorf("%w\nthe end of the log:\n%s", err, lastBytes(string(tail), 4000))
		}
	}
	n.step("Done. `bot compare` and `bot backport` do the same in a repository of yours.")
	if !d.keep {
		return nil
	}
	n.step("It goes on running. The pull request: %s (Ctrl-C ends it)", stage.hub.PullURL(stage.pull))
	<-ctx.Done()
	return nil
}

func lastBytes(s string, n int) string {
	if len(s) > n {
		s = s[len(s)-n:]
		s = s[strings.IndexByte(s, '\n')+1:]
	}
	return s
}

// tellReport is the first act: a maintainer's label, the report, a stranger's comment.
func tellReport(ctx context.Context, n *narrator, st *stage) error {
	n.step("GitHub's stand-in is at %s, with the repository acme/textkit", st.hub.URL())
	n.step("A contributor has opened a pull request: %s", st.hub.PullURL(st.pull))
	n.step("serve takes webhooks at %s/webhook, a runner waits for jobs", st.serve.address())
	n.step("A maintainer puts the label \"benchmark\" on the pull request")
	if err := st.hub.AddLabel(demoMaintainer, st.pull, "benchmark"); err != nil {
		return err
	}
	body, err := st.await(ctx, func(c forgetest.Conversation) string {
		n.checkRun(c)
		return ourComment(c, "<!-- prbench re") // the report, or a reply that says why there is none
	})
	if err != nil {
		return fmt.Errorf("wait for the report: %w", err)
	}
	if !strings.Contains(body, "<!-- prbench report") {
		return fmt.Errorf("no job was made: %s", body)
	}
	n.step("The report is on the pull request. This is how it reads there:")
	if err := n.comment(body); err != nil {
		return err
	}
	n.step("A stranger, who has no write permission, writes: /benchmark")
	if _, err := st.hub.Comment(demoStranger, st.pull, "/benchmark"); err != nil {
		return err
	}
	body, err = st.await(ctx, func(c forgetest.Conversation) string { return ourComment(c, "<!-- prbench reply") })
	if err != nil {
		return fmt.Errorf("wait for the refusal: %w", err)
	}
	n.step("The answer, and no job:")
	return n.comment(body)
}

// ourComment is the body of our comment that has the marker.
func ourComment(c forgetest.Conversation, marker string) string {
	for _, comment := range c.Comments {
		if strings.Contains(comment.Body, marker) {
			return comment.Body
		}
	}
	return ""
}

// narrator prints the demo's steps with the time that has passed.
type narrator struct {
	out   io.Writer
	began time.Time
	color bool

	shown map[string]shownRun // each check run as said last
}

type shownRun struct {
	phase, title string
	said         time.Time
}

// sayEvery is the least time between two lines of the same phase.
const sayEvery = 5 * time.Second

// checkRun tells what the pull request's check run shows, when it is news.
func (n *narrator) checkRun(c forgetest.Conversation) {
	for _, run := range c.CheckRuns {
		phase, _, _ := strings.Cut(run.Title, ":")
		last := n.shown[run.Name]
		if run.Title == "" || run.Title == last.title || phase == last.phase && time.Since(last.said) < sayEvery {
			continue
		}
		n.shown[run.Name] = shownRun{phase, run.Title, time.Now()}
		n.step("The check run %s on %s is %s: %s", run.Name, run.HeadSHA[:10], strings.ReplaceAll(run.Status, "_", " "), run.Title)
	}
}

func (n *narrator) step(format string, args ...any) {
	_, _ = fmt.Fprintf(n.out, "%6.1f s  %s\n", time.Since(n.began).Seconds(), fmt.Sprintf(format, args...))
}

func (n *narrator) comment(markdown string) error {
	rule := strings.Repeat("─", 100)
	if _, err := fmt.Fprintf(n.out, "\n%s\n", rule); err != nil {
		return err
	}
	if err := report.Terminal(n.out, markdown, n.color); err != nil {
		return err
	}
	_, err := fmt.Fprintf(n.out, "%s\n\n", rule)
	return err
}

// isColor tells whether the output is a terminal that wants colour (no-color.org).
func isColor(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isTerminal(f) && os.Getenv("NO_COLOR") == ""
}
