package main

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prbench/prbench/internal/config"
	"github.com/prbench/prbench/internal/forgetest"
)

// hookSecret signs the webhooks.
const hookSecret = "between-github-and-serve-alone-5c1d"

// cheap is a repository whose benchmark costs a shell. Its head is slower.
func cheap() (base, head map[string]string) {
	base = map[string]string{
		config.RepoPath: `version: 1
build: {run: sh build.sh}
suites:
  main: {format: go, command: sh bench.sh, default: true}
  silent: {format: go, command: echo I have nothing to say}
compare: {runs: 5, margin: 10%}
`,
		"build.sh": "true\n",
		"bench.sh": `noise=$(od -An -N1 -tu1 /dev/urandom)
echo "BenchmarkSum 1000 $((10000 + noise)) ns/op"
echo "BenchmarkScan 1000 $((30000 + noise)) ns/op"
`,
	}
	head = map[string]string{"bench.sh": strings.Replace(base["bench.sh"], "10000", "20000", 1)}
	return base, head
}

// world is a GitHub with acme/engine and an open pull request from a fork, and
// the folder in which the product's processes run.
type world struct {
	*forgetest.Server
	t     testing.TB
	dir   string
	app   *forgetest.App
	repo  *forgetest.Repo
	fork  *forgetest.Repo
	pull  *forgetest.Pull
	ahead atomic.Int64 // how far GitHub's clock is ahead of ours

	listen, state string   // addresses of serve
	flags         []string // of serve
}

type worldSpec struct {
	base, head map[string]string
	private    bool
	flags      []string // of serve
	// source, where set, is a repository in place of base, and change what the pull
	// request pushes in place of head.
	source string
	change func(*forgetest.Work) error
}

func newWorld(t testing.TB, s worldSpec) *world {
	t.Helper()
	base, head := cheap()
	for name, text := range s.base {
		base[name] = text
	}
	if s.head != nil {
		head = s.head
	}
	w := &world{t: t, dir: t.TempDir(), listen: freeAddress(t), state: freeAddress(t),
		flags: append([]string{"--pace", "-1ns", "--progress-every", "50ms"}, s.flags...)}
	passable(t, w.dir)
	var err error
	w.Server, err = forgetest.New(forgetest.Options{Now: func() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) }})
	w.ok(err)
	t.Cleanup(func() { w.ok(w.Server.Close()) })
	for _, login := range []string{"writer", "contributor", "stranger"} {
		_, err := w.AddUser(login)
		w.ok(err)
	}
	content, change := forgetest.RepoSpec{Private: s.private, Build: forgetest.WriteFiles("first", base)}, forgetest.WriteFiles("change", head)
	if s.source != "" {
		content, change = forgetest.RepoSpec{Private: s.private, Source: s.source}, s.change
	}
	w.repo, err = w.AddRepo("acme/engine", content)
	w.ok(err)
	w.ok(w.Grant(w.repo, "writer", "write"))
	w.app, err = w.AddApp(forgetest.AppSpec{Slug: "prbench"})
	w.ok(err)
	_, err = w.Install(w.app, "acme", w.repo)
	w.ok(err)
	w.SetWebhook(w.app, "http://"+w.listen+"/webhook", hookSecret)
	w.fork, err = w.Fork(w.repo, "contributor")
	w.ok(err)
	_, err = w.Push("contributor", w.fork, "change", change)
	w.ok(err)
	w.pull, err = w.OpenPull(forgetest.PullSpec{Base: w.repo, Head: w.fork, HeadRef: "change", Author: "contributor", Title: "Change"})
	w.ok(err)
	w.write("app.pem", string(w.app.PrivateKey))
	w.write("secret", hookSecret+"\n")
	w.write("serve.yaml", fmt.Sprintf("listen: %s\npublic_url: http://%[1]s\n"+
		"github: {url: %q, app_id: %d, private_key_file: app.pem, webhook_secret_file: secret}\n"+
		"state: {dir: state, listen: %q}\npools: {default: {repositories: [\"acme/*\"], limits: {queued_per_person: 0, queued_per_repository: 0}}}\n", w.listen, w.APIURL(), w.app.ID, w.state))
	return w
}

// passable lets the account that benchmarks run as pass through to their trees.
func passable(t testing.TB, dir string) {
	t.Helper()
	for ; dir != os.TempDir() && len(dir) > 1; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o711); err != nil {
			t.Fatal(err)
		}
	}
}

func (w *world) ok(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) write(name, text string) {
	w.t.Helper()
	w.ok(os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o600))
}

func (w *world) read(name string) string {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.dir, name))
	w.ok(err)
	return string(data)
}

// freeAddress is a loopback address that the system has given and taken back.
// It is needed twice, since a restarted serve must be where it was; on an address
// of its own, no outgoing connection of another test can take the port meanwhile.
func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", fmt.Sprintf("127.%d.%d.%d:0", 1+rand.N(250), rand.N(250), 1+rand.N(250)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// serve starts `bot serve`.
func (w *world) serve() *process {
	w.t.Helper()
	p := start(w.t, w.dir, append([]string{"serve", "--config", "serve.yaml"}, w.flags...)...)
	p.says(`"msg":"serving"`)
	return p
}

// runner enrols a runner, by a command beside the running serve, and starts it.
func (w *world) runner(name string) *process {
	w.t.Helper()
	w.enroll(name)
	return w.startRunner(name)
}

func (w *world) enroll(name string) {
	w.t.Helper()
	out, err := command(w.t, w.dir, "runner", "enroll", name, "--config", "serve.yaml").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Enrolled "+name) {
		w.t.Fatalf("enroll: %v\n%s", err, out)
	}
	text := fmt.Sprintf("serve: nats://%s\nkey_file: %s.nk\nwork: work-%s\n", w.state, name, name)
	if w.Server != nil { // else a GitHub that is not ours
		text += "forge: " + w.URL() + "\n"
	}
	text += "sandbox: {keep_free: 256MiB"
	if os.Geteuid() == 0 {
		text += fmt.Sprintf(", user: %q", localUser)
	}
	text += "}\n"
	w.write(name+".yaml", text)
}

func (w *world) startRunner(name string) *process {
	w.t.Helper()
	p := start(w.t, w.dir, "runner", "--config", name+".yaml", "--name", name, "--loopback-forge", "--beat", "200ms",
		"--host-lock", filepath.Join(w.dir, "host.lock"))
	p.says(`"msg":"runner ready"`)
	return p
}

func (w *world) label() {
	w.t.Helper()
	w.ok(w.AddLabel("writer", w.pull, "benchmark"))
}

// comment writes a comment, two seconds later on GitHub's clock: GitHub's
// times are whole seconds, and the head must be older.
func (w *world) comment(who, body string) int64 {
	w.t.Helper()
	w.ahead.Add(int64(2 * time.Second))
	id, err := w.Comment(who, w.pull, body)
	w.ok(err)
	return id
}

// wait waits for what people see.
func (w *world) wait(what string, done func(forgetest.Conversation) bool) forgetest.Conversation {
	w.t.Helper()
	var c forgetest.Conversation
	eventually(w.t, what, func() bool {
		c = w.Conversation(w.pull)
		return done(c)
	})
	return c
}

// finished tells whether nothing is left to do: every check run is complete
// and the trigger label is gone.
func finished(c forgetest.Conversation) bool {
	for _, run := range c.CheckRuns {
		if run.Status != "completed" {
			return false
		}
	}
	return len(c.CheckRuns) > 0 && len(c.Labels) == 0
}

// ours are the bot's comments.
func ours(c forgetest.Conversation) []forgetest.ShownComment {
	var out []forgetest.ShownComment
	for _, one := range c.Comments {
		if one.Author == "prbench[bot]" {
			out = append(out, one)
		}
	}
	return out
}

// oneReport waits for the end and fails unless there is exactly one report
// comment, of a measured comparison, and one complete check run.
func (w *world) oneReport() (comment string, run forgetest.ShownCheckRun) {
	w.t.Helper()
	c := w.wait("the report is there", func(c forgetest.Conversation) bool { return finished(c) && len(ours(c)) > 0 })
	all := ours(c)
	if len(all) != 1 || len(c.CheckRuns) != 1 {
		w.t.Fatalf("%d comments and %d check runs of ours, want one each: %+v\n%+v", len(all), len(c.CheckRuns), all, c.CheckRuns)
	}
	for _, word := range []string{"<!-- prbench report " + c.HeadSHA, "### 1 regression beyond 10 %", "`Sum`: ", "Scan"} {
		if !strings.Contains(all[0].Body, word) {
			w.t.Errorf("the report does not say %q:\n%s", word, all[0].Body)
		}
	}
	return all[0].Body, c.CheckRuns[0]
}
