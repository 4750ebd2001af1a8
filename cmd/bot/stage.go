package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prbench/prbench/internal/config"
	"github.com/prbench/prbench/internal/forgetest"
	"github.com/prbench/prbench/internal/queue"
)

// The people of the demo.
const (
	demoMaintainer  = "maintainer"
	demoContributor = "contributor"
	demoStranger    = "stranger"
)

// demoFiles is the demo's repository: base is its main branch, head what the
// pull request changes. Go files end in .txt here, so that they are no part of
// this module.
//
//go:embed all:demodata
var demoFiles embed.FS

// stage is everything that the demo needs, running.
type stage struct {
	dir   string
	runs  int
	hub   *forgetest.Server
	repo  *forgetest.Repo
	pull  *forgetest.Pull // the one that is looked at
	serve *server

	parts []part
	mu    sync.Mutex
	errs  []error
}

// part is one process of the product.
type part struct {
	stop context.CancelFunc
	done chan struct{}
}

// setStage starts the stand-in, serve and a runner, for comparisons of so many
// runs a side (0: as the demo's repository says). The caller closes it.
func setStage(ctx context.Context, dir, kind string, runs int, log *slog.Logger) (_ *stage, err error) {
	st := &stage{dir: dir, runs: runs}
	defer func() {
		if err != nil {
			err = errors.Join(err, st.close())
		}
	}()
	if st.hub, err = forgetest.New(forgetest.Options{}); err != nil {
		return nil, fmt.Errorf("start GitHub's stand-in: %w", err)
	}
	app, err := st.openPull()
	if err != nil {
		return nil, fmt.Errorf("fill GitHub's stand-in: %w", err)
	}
	cfg, err := st.serveConfig(app)
	if err != nil {
		return nil, err
	}
	st.serve, err = openServer(ctx, cfg, pace{mutations: -1, progress: time.Second}, log)
	if err != nil {
		return nil, err
	}
	st.hub.SetWebhook(app, st.serve.address()+"/webhook", cfg.GitHub.WebhookSecret.Reveal())
	st.begin(ctx, st.serve.run)
	run, err := st.runnerConfig(ctx, kind)
	if err != nil {
		return nil, err
	}
	st.begin(ctx, func(ctx context.Context) error {
		return serveJobs(ctx, run, machine{name: "demo-runner", beat: time.Second, loopback: true, hostLock: filepath.Join(dir, "host.lock")}, log)
	})
	return st, nil
}

// begin runs one process of the product; when it fails, the stage is struck. It
// goes on when ctx ends: close ends the parts in their order.
func (st *stage) begin(ctx context.Context, work func(context.Context) error) {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	p := part{stop, make(chan struct{})}
	st.parts = append(st.parts, p)
	go func() {
		defer close(p.done)
		if err := work(ctx); err != nil {
			st.mu.Lock()
			st.errs = append(st.errs, err)
			st.mu.Unlock()
		}
	}()
}

func (st *stage) failed() error {
	st.mu.Lock()
	defer st.mu.Unlock()
	return errors.Join(st.errs...)
}

// close ends what began last first: a runner gives its job back to a serve that
// still answers.
func (st *stage) close() error {
	for _, p := range slices.Backward(st.parts) {
		p.stop()
		<-p.done
	}
	err := st.failed()
	if st.hub != nil {
		err = errors.Join(err, st.hub.Close())
	}
	return err
}

// openPull makes the repository, its people and the pull request, and installs the App.
func (st *stage) openPull() (*forgetest.App, error) {
	base, err := demoTree("base")
	if err != nil {
		return nil, err
	}
	if st.runs > 0 {
		base[config.RepoPath] = demoRuns.ReplaceAllString(base[config.RepoPath], fmt.Sprintf("runs: %d", st.runs))
	}
	head, err := demoTree("head")
	if err != nil {
		return nil, err
	}
	repo, err := st.hub.AddRepo("acme/textkit", forgetest.RepoSpec{Build: forgetest.WriteFiles("Sum, encode, scan and fetch texts", base)})
	if err != nil {
		return nil, err
	}
	st.repo = repo
	for _, who := range []string{demoMaintainer, demoContributor, demoStranger} {
		if _, err := st.hub.AddUser(who); err != nil {
			return nil, err
		}
	}
	if err := st.hub.Grant(repo, demoMaintainer, "write"); err != nil {
		return nil, err
	}
	app, err := st.hub.AddApp(forgetest.AppSpec{Slug: "prbench"})
	if err != nil {
		return nil, err
	}
	if _, err := st.hub.Install(app, "acme", repo); err != nil {
		return nil, err
	}
	fork, err := st.hub.Fork(repo, demoContributor)
	if err != nil {
		return nil, err
	}
	if _, err := st.hub.Push(demoContributor, fork, "faster-sum", forgetest.WriteFiles("Sum in three passes, and a better Encode", head)); err != nil {
		return nil, err
	}
	st.pull, err = st.hub.OpenPull(forgetest.PullSpec{Base: repo, Head: fork, HeadRef: "faster-sum", Author: demoContributor,
		Title: "Sum in three passes, and a better Encode"})
	return app, err
}

// demoRuns finds how many runs the demo's repository asks for.
var demoRuns = regexp.MustCompile(`runs: \w+`)

// demoTree reads one side of the demo's repository. The build is told where
// this machine's Go is.
func demoTree(side string) (map[string]string, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("ask where Go is: %w", err)
	}
	goCommand := filepath.Join(strings.TrimSpace(string(root)), "bin", "go")
	files := map[string]string{}
	top := "demodata/" + side
	err = fs.WalkDir(demoFiles, top, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := demoFiles.ReadFile(path)
		if err != nil {
			return err
		}
		name := strings.TrimSuffix(strings.TrimPrefix(path, top+"/"), ".txt")
		files[name] = strings.ReplaceAll(string(data), "GO_COMMAND", goCommand)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the demo's repository: %w", err)
	}
	return files, nil
}

// demoSecret signs the stand-in's webhooks.
const demoSecret = "a-secret-of-the-demo-alone"

// serveConfig writes serve.yaml and the App's key, and loads them as `bot serve` does.
func (st *stage) serveConfig(app *forgetest.App) (*config.Serve, error) {
	key := filepath.Join(st.dir, "app.pem")
	if err := os.WriteFile(key, app.PrivateKey, 0o600); err != nil {
		return nil, fmt.Errorf("write the App's key: %w", err)
	}
	text := fmt.Sprintf("listen: 127.0.0.1:0\npublic_url: http://127.0.0.1:0\n"+
		"github: {url: %q, app_id: %d, private_key_file: app.pem}\n"+
		"state: {dir: state, listen: \"127.0.0.1:0\"}\n"+
		"pools: {default: {repositories: [\"acme/*\"]}}\n", st.hub.APIURL(), app.ID)
	path := filepath.Join(st.dir, "serve.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return nil, fmt.Errorf("write serve's configuration: %w", err)
	}
	return config.LoadServe(path, func(name string) (string, bool) {
		if name == config.EnvWebhookSecret {
			return demoSecret, true
		}
		return "", false
	}, config.ServeFlags{})
}

// runnerConfig enrolls a runner, writes its key and runner.yaml, and loads them
// as `bot runner` does.
func (st *stage) runnerConfig(ctx context.Context, kind string) (*config.Runner, error) {
	seed, public, err := queue.NewKey()
	if err != nil {
		return nil, err
	}
	if err := st.serve.queue.Enroll(ctx, "demo-runner", config.DefaultPool, public); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(st.dir, "runner.nk"), []byte(seed+"\n"), 0o600); err != nil {
		return nil, fmt.Errorf("write the runner's key: %w", err)
	}
	text := fmt.Sprintf("serve: %s\nforge: %s\nkey_file: runner.nk\nwork: work\n", st.serve.queue.RunnerURL(), st.hub.URL())
	// The demo builds little, and must run where the disk is nearly full.
	text += "sandbox: {keep_free: 256MiB"
	if os.Geteuid() == 0 && kind == "bwrap" {
		text += fmt.Sprintf(", user: %q", localUser)
	}
	text += "}\n"
	path := filepath.Join(st.dir, "runner.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return nil, fmt.Errorf("write the runner's configuration: %w", err)
	}
	return config.LoadRunner(path, nil, config.RunnerFlags{Sandbox: kind})
}

// await asks for the conversation until it has what is looked for.
func (st *stage) await(ctx context.Context, look func(forgetest.Conversation) string) (string, error) {
	for {
		if found := look(st.hub.Conversation(st.pull)); found != "" {
			return found, nil
		}
		if err := st.failed(); err != nil {
			return "", err
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}
