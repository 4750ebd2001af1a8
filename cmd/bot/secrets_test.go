package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prbench/prbench/internal/forgetest"
)

// The head's benchmark shows all that it can see of credentials and fails, so
// that what it shows travels the whole way.
const nosy = `if [ -e head ]; then
echo "== processes"; for p in /proc/[0-9]*; do tr '\0' ' ' < $p/cmdline; tr '\0' ' ' < $p/environ; done 2>/dev/null
echo "== tree"; ls -ma . ..; cat .git/config 2>/dev/null
echo "== environment"; env
sleep 1
exit 3
fi
echo "BenchmarkSum 1000 10000 ns/op"
`

func TestNoSecretOfAWholeRunIsWhereItMustNotBe(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldSpec{private: true, base: map[string]string{"bench.sh": nosy}, head: map[string]string{"head": "x\n"}})
	serve := w.serve()
	runner := w.runner("box-1")
	watch := watchProcesses(t, serve.cmd.Process.Pid, runner.cmd.Process.Pid)
	w.label()
	w.wait("the sources are there", func(forgetest.Conversation) bool { return strings.Contains(runner.text(), `"phase":"measure"`) })
	secrets := w.secrets()
	w.findsNone(secrets, "while it runs")
	c := w.wait("the report is there", func(c forgetest.Conversation) bool { return finished(c) && len(ours(c)) == 1 })
	metrics := w.metrics()
	seen := watch()
	runner.stop()
	serve.stop()

	secrets = w.secrets()
	w.findsNone(secrets, "after the run")
	shown, err := json.Marshal(c)
	w.ok(err)
	for _, one := range secrets {
		for place, text := range map[string]string{"what GitHub shows": string(shown), "the metrics": metrics,
			"the arguments and environments of processes": strings.Join(seen, "\n")} {
			if strings.Contains(text, one.value) {
				t.Errorf("%s is in %s", one.name, place)
			}
		}
	}
	// These show that there was something to find.
	if body := ours(c)[0].Body; !strings.Contains(body, "== environment") || !strings.Contains(body, "PATH=") || !strings.Contains(body, "== tree") {
		t.Errorf("the benchmark's log is not in the report:\n%s", body)
	}
	all := strings.Join(seen, "\n")
	for _, word := range []string{"git", "bwrap", "bench.sh", "TMPDIR="} {
		if !strings.Contains(all, word) {
			t.Errorf("no process with %q was seen", word)
		}
	}
	if clones := w.RequestsTo("", "/acme/engine.git/**"); len(clones) == 0 || clones[len(clones)-1].Token == "" {
		t.Errorf("the private repository was fetched without a token: %+v", clones)
	}
	if n := w.LiveTokens(); n > 2 {
		t.Errorf("%d tokens could still be used, want serve's own two alone", n)
	}
}

type secretValue struct{ name, value string }

// secrets are all that were ever handed out, in every form that they travel in.
func (w *world) secrets() []secretValue {
	w.t.Helper()
	out := []secretValue{{"the webhook's secret", hookSecret}}
	for i, value := range w.Secrets() {
		if body, isKey := strings.CutPrefix(value, "-----BEGIN RSA PRIVATE KEY-----\n"); isKey {
			out = append(out, secretValue{"the App's key", body[:60]})
			continue
		}
		basic := base64.StdEncoding.EncodeToString([]byte("x-access-token:" + value))
		out = append(out, secretValue{"token " + strconv.Itoa(i), value}, secretValue{"token " + strconv.Itoa(i) + " in base64", basic[:len(basic)-4]})
	}
	seed, err := os.ReadFile(filepath.Join(w.dir, "box-1.nk"))
	w.ok(err)
	out = append(out, secretValue{"the runner's seed", strings.TrimSpace(string(seed))})
	if len(out) < 6 {
		w.t.Fatalf("want the webhook's secret, the App's key, a seed and tokens, got %d", len(out))
	}
	return out
}

// findsNone reads every file of the product's: the store, the logs, the
// runner's folder with its mirrors, the temporary files.
func (w *world) findsNone(secrets []secretValue, when string) {
	w.t.Helper()
	files, store, mirror := 0, false, false
	err := filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil // what comes and goes is read when it is there
		}
		name, err := filepath.Rel(w.dir, path)
		if err != nil {
			return err
		}
		if slices.Contains([]string{"app.pem", "secret", "box-1.nk"}, name) {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return nil // gone
		}
		files++
		store = store || strings.HasPrefix(name, "state/") && bytes.Contains(data, []byte(w.Head(w.pull)))
		mirror = mirror || strings.HasPrefix(name, "work-box-1/mirrors/") && strings.HasSuffix(name, "config")
		for _, one := range secrets {
			if bytes.Contains(data, []byte(one.value)) {
				w.t.Errorf("%s: %s is in %s", when, one.name, name)
			}
		}
		return nil
	})
	w.ok(err)
	if !store || !mirror {
		w.t.Errorf("%s: of %d files none is the store with the job (%v) or the mirror's configuration (%v)", when, files, store, mirror)
	}
}

func (w *world) metrics() string {
	w.t.Helper()
	resp, err := http.Get("http://" + w.listen + "/metrics")
	w.ok(err)
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	w.ok(err)
	if !strings.Contains(string(data), "prbench_jobs") {
		w.t.Errorf("metrics: %s", data)
	}
	return string(data)
}

// watchProcesses looks again and again at the processes and all that they
// started, until the function that it gives is called, which tells every
// argument list and environment that was seen.
func watchProcesses(t *testing.T, roots ...int) (end func() []string) {
	t.Helper()
	seen := map[string]bool{}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			sample(roots, seen)
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	end = sync.OnceValue(func() []string {
		close(stop)
		<-done
		return slices.Sorted(maps.Keys(seen))
	})
	t.Cleanup(func() { end() })
	return end
}

// sample adds what the roots and their descendants show.
func sample(roots []int, seen map[string]bool) {
	parents := map[int]int{}
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range all {
		pid, err := strconv.Atoi(filepath.Base(p))
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(filepath.Join(p, "stat"))
		if err != nil {
			continue // it is gone
		}
		// The name stands in parentheses and may hold anything; the parent is the
		// second field after it.
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) > 1 {
			parents[pid], _ = strconv.Atoi(fields[1])
		}
	}
	for pid := range parents {
		at := pid
		for at > 1 && !slices.Contains(roots, at) {
			at = parents[at]
		}
		if at <= 1 {
			continue
		}
		for _, file := range []string{"cmdline", "environ"} {
			text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), file))
			if err == nil && len(text) > 0 {
				seen[strings.ReplaceAll(string(text), "\x00", "\n")] = true
			}
		}
	}
}
