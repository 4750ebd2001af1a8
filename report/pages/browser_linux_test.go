package pages

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/report"
)

// browserPatience is against hanging; the test takes seconds.
const browserPatience = 5 * time.Minute

// chromium is a real browser that writes down what it complains about and where
// it goes.
type chromium struct {
	t   *testing.T
	ctx context.Context

	mu        sync.Mutex
	complains []string
	requests  []string
}

// openChromium starts the browser, and sees to it that nothing of it is left,
// however the test ends.
func openChromium(t *testing.T) *chromium {
	t.Helper()
	home, err := os.MkdirTemp("", "prbench-web-") // short: the browser's socket is in it
	if err != nil {
		t.Fatal(err)
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath("chromium"), chromedp.Env("HOME="+home, "TMPDIR="+home),
		chromedp.UserDataDir(filepath.Join(home, "profile")), chromedp.Flag("disable-breakpad", true), chromedp.Flag("disable-crash-reporter", true),
		chromedp.WSURLReadTimeout(browserPatience))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // its own sandbox refuses to run as root
	}
	limited, cancel := context.WithTimeout(context.Background(), browserPatience)
	allocator, stop := chromedp.NewExecAllocator(limited, options...)
	ctx, end := chromedp.NewContext(allocator)
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Errorf("close the browser: %v", err)
		}
		end()
		stop()
		cancel()
		awaitNoProcess(t, home)
		if err := os.RemoveAll(home); err != nil {
			t.Error(err)
		}
	})
	c := &chromium{t: t, ctx: ctx}
	if err = chromedp.Listen(ctx, c.hear); err == nil {
		_, err = chromedp.Call(ctx, audits.Enable, cdp.Empty{})
	}
	if err == nil {
		_, err = chromedp.Call(ctx, log.Enable, cdp.Empty{})
	}
	if err == nil {
		_, err = chromedp.Call(ctx, network.Enable, network.EnableParams{})
	}
	if err != nil {
		t.Fatalf("start the browser: %v", err)
	}
	return c
}

// awaitNoProcess waits until no process has the folder in its command line or its
// environment.
func awaitNoProcess(t *testing.T, dir string) {
	t.Helper()
	for limit := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		left := ""
		for _, pattern := range []string{"/proc/[0-9]*/cmdline", "/proc/[0-9]*/environ"} {
			files, err := filepath.Glob(pattern)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				if text, err := os.ReadFile(f); err == nil && strings.Contains(string(text), dir) {
					left = f
				}
			}
		}
		if left == "" {
			return
		}
		if time.Now().After(limit) {
			t.Fatalf("the browser is still there: %s", left)
		}
	}
}

func (c *chromium) hear(event any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	complain := func(format string, args ...any) {
		c.complains = append(c.complains, fmt.Sprintf(format, args...))
	}
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		complain("console: %s", e.Type)
	case *runtime.EventExceptionThrown:
		complain("exception: %s", e.ExceptionDetails.Text)
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			complain("log: %s: %s", e.Entry.Source, e.Entry.Text)
		}
	case *audits.EventIssueAdded:
		complain("issue: %s", e.Issue.Code)
	case *cdppage.EventJavascriptDialogOpening:
		complain("dialog: %s", e.Message)
	case *network.EventRequestWillBeSent:
		c.requests = append(c.requests, e.Request.URL)
	}
}

func (c *chromium) run(steps ...chromedp.Action[chromedp.Void]) {
	c.t.Helper()
	if err := chromedp.Do(c.ctx, steps...); err != nil {
		c.t.Fatalf("in the browser: %v", err)
	}
}

// heard gives the complaints and the requests since it was last asked.
func (c *chromium) heard() (complains, requests []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	complains, requests, c.complains, c.requests = c.complains, c.requests, nil, nil
	return complains, requests
}

// look is what a script sees of the page that is open.
type look struct {
	Text       string
	Paper      string // the page's colour
	Pictures   int
	Shown      int // of the pictures, those that are drawn
	Forest     string
	Width      float64 // of the forest plot as it stands
	Scripts    int
	Strangers  int // elements that no page of ours has
	Scrollable bool
}

const lookScript = `(() => {
	const pictures = [...document.querySelectorAll('main img')], forest = document.querySelector('section[aria-labelledby=forest] img');
	return {
		Text: document.body.innerText,
		Paper: getComputedStyle(document.body).backgroundColor,
		Pictures: pictures.length,
		Shown: pictures.filter(p => p.complete && p.naturalWidth > 0).length,
		Forest: forest ? forest.currentSrc : '',
		Width: forest ? forest.getBoundingClientRect().width : 0,
		Scripts: document.scripts.length,
		Strangers: document.querySelectorAll('iframe, object, embed, form, input, svg, b, i, [onerror], [onload], [onclick]').length,
		Scrollable: document.documentElement.scrollWidth > document.documentElement.clientWidth + 1,
	}
})()`

// hostileNames are benchmarks that would like to be markup.
var hostileNames = []string{`<img src=x onerror=alert(1)>`, `</script><script>alert(2)</script>`, `"><iframe src=https://evil.test>`,
	`</code></main><style>*{display:none}</style>`, `<svg onload=alert(3)>`}

func TestABrowserShowsThePagesAndComplainsOfNothing(t *testing.T) {
	w := newWorld(t, worldSpec{private: true, signIn: true})
	w.ok(w.SignIn("reader"))
	j := w.ask(func(j *job.Job) { private(j); j.Spec.Runs, j.Spec.Looks = job.Adaptive, []int{8, 15} })
	l := w.claim()
	w.pairs(l, 0, 9, hostileNames...)
	w.beat(l, job.Progress{Phase: job.PhaseMeasure, Done: 18, Total: 30, Case: hostileNames[0]})
	c := openChromium(t)
	c.complainsWhenItShould()

	// The whole sign-in, as a person does it.
	c.run(chromedp.Navigate(w.pages.URL(j)), chromedp.Click(chromedp.CSS("a[href$='/sign-in']")),
		chromedp.Click(chromedp.CSS("#yes")), chromedp.WaitVisible(chromedp.CSS("progress")))
	c.heard() // GitHub's stand-in is no concern of ours
	c.checkScheme(w, j, "light", "Interim.", "Look 1 of 2")
	w.pairs(l, 9, 15, hostileNames...)
	w.end(l, job.Outcome{Kind: job.Measured, Runs: 30, Pairs: 15, Host: job.Host{Name: "box"}})
	light := c.checkScheme(w, j, "light", "regressions beyond 2 %", "A dot is what was measured")
	dark := c.checkScheme(w, j, "dark", "regressions beyond 2 %")
	if light.Paper == dark.Paper || light.Forest == dark.Forest || light.Pictures != dark.Pictures || light.Pictures < 3 {
		t.Errorf("light and dark do not differ as they should: %s and %s, %d and %d pictures", light.Paper, dark.Paper, light.Pictures, dark.Pictures)
	}
}

// checkScheme opens the page for light or dark screens and looks at it.
func (c *chromium) checkScheme(w *world, j job.Job, scheme string, words ...string) look {
	t := c.t
	t.Helper()
	_, err := chromedp.Call(c.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	w.ok(err)
	c.run(chromedp.Navigate(w.pages.URL(j)), chromedp.WaitVisible(chromedp.CSS("h1")))
	got, err := chromedp.Run(c.ctx, chromedp.Evaluate[look](lookScript))
	w.ok(err)
	complains, requests := c.heard()
	if len(complains) > 0 {
		t.Errorf("%s: the browser complains: %q", scheme, complains)
	}
	if len(requests) == 0 {
		t.Errorf("%s: no request was seen, so that none can be said to stay", scheme)
	}
	for _, r := range requests {
		if !strings.HasPrefix(r, w.site.URL+"/r/") && !strings.HasPrefix(r, "data:") {
			t.Errorf("%s: a request leaves the page's origin: %.100s", scheme, r)
		}
	}
	if got.Scripts != 0 || got.Strangers != 0 || got.Scrollable {
		t.Errorf("%s: %d scripts, %d strange elements, wider than the window: %v", scheme, got.Scripts, got.Strangers, got.Scrollable)
	}
	if got.Pictures == 0 || got.Shown != got.Pictures || got.Width < 200 || !strings.HasPrefix(got.Forest, "data:image/svg+xml") {
		t.Errorf("%s: %d of %d pictures are drawn, the forest plot is %.0f wide: %.60s", scheme, got.Shown, got.Pictures, got.Width, got.Forest)
	}
	for _, s := range append(words, hostileNames...) {
		if !strings.Contains(got.Text, s) {
			t.Errorf("%s: nobody reads %q in:\n%.2000s", scheme, s, got.Text)
		}
	}
	return got
}

// complainsWhenItShould opens a page that does what ours must not, under the same
// policy: what this browser does not notice proves nothing.
func (c *chromium) complainsWhenItShould() {
	c.t.Helper()
	bad := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Security-Policy", report.ContentPolicy)
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(`<!DOCTYPE html><title>x</title><h1 style="color:red">x</h1><script>document.title = "ran"</script><img src="http://127.0.0.1:1/x">`))
	}))
	defer bad.Close()
	c.run(chromedp.Navigate(bad.URL), chromedp.WaitVisible(chromedp.CSS("h1")))
	title, err := chromedp.Run(c.ctx, chromedp.Title())
	if err != nil {
		c.t.Fatal(err)
	}
	complains, _ := c.heard()
	said := strings.Join(complains, "\n")
	for _, word := range []string{"script", "style", "img-src"} {
		if !strings.Contains(said, word) {
			c.t.Errorf("the browser does not complain of a forbidden %s: %q", word, complains)
		}
	}
	if title != "x" {
		c.t.Errorf("a forbidden script ran: the title is %q", title)
	}
}
