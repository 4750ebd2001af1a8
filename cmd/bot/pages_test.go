package main

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

var pageAddress = regexp.MustCompile(`\[The whole report[^]]*\]\((http://[^)]+/r/[0-9.]+-[0-9a-f]{32})\)`)

func TestTheCommentLeadsToThePageOfTheWholeReport(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldSpec{})
	w.serve()
	w.runner("box-1")
	w.label()
	comment, run := w.oneReport()
	link := pageAddress.FindStringSubmatch(comment)
	if link == nil || run.DetailsURL != link[1] {
		t.Fatalf("the comment leads nowhere, or the check run elsewhere (%s):\n%s", run.DetailsURL, comment)
	}
	me := newPerson(t)
	if status, page := me.open(link[1]); status != http.StatusOK || !strings.Contains(page, "1 regression beyond 10 %") || !strings.Contains(page, "<picture>") {
		t.Errorf("the page: %d\n%.2000s", status, page)
	}
	if status, csv := me.open(link[1] + "/samples.csv"); status != http.StatusOK || strings.Count(csv, "\n") != 1+2*5*2 {
		t.Errorf("the samples: %d\n%.2000s", status, csv)
	}
	if status, _ := me.open(link[1] + "0"); status != http.StatusNotFound {
		t.Errorf("another address: %d", status)
	}
	if status, text := me.open("http://" + w.listen + "/robots.txt"); status != http.StatusOK || !strings.Contains(text, "Disallow: /\n") {
		t.Errorf("robots.txt: %d %q", status, text)
	}
}

func TestAPrivateRepositorysPageAsksWhoComes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldSpec{private: true})
	w.SetCallbacks(w.app, "http://"+w.listen+"/r/callback")
	w.write("client-secret", w.app.ClientSecret()+"\n")
	w.write("serve.yaml", strings.Replace(w.read("serve.yaml"), "webhook_secret_file: secret", "webhook_secret_file: secret, client_id: "+w.app.ClientID()+", client_secret_file: client-secret", 1))
	w.serve()
	w.runner("box-1")
	w.label()
	comment, _ := w.oneReport()
	link := pageAddress.FindStringSubmatch(comment)
	if link == nil {
		t.Fatalf("the comment leads nowhere:\n%s", comment)
	}
	signsIn := func(login string) (int, string) {
		me := newPerson(t)
		if status, page := me.open(link[1]); status != http.StatusForbidden || strings.Contains(page, "BenchmarkSum") {
			t.Errorf("to somebody: %d\n%s", status, page)
		}
		w.ok(w.SignIn(login))
		_, form := me.open(link[1] + "/sign-in")
		me.press(w.URL(), form)
		return me.open(link[1])
	}
	if status, page := signsIn("writer"); status != http.StatusOK || !strings.Contains(page, "1 regression beyond 10 %") {
		t.Errorf("to a reader: %d\n%.2000s", status, page)
	}
	if status, page := signsIn("stranger"); status != http.StatusForbidden || strings.Contains(page, "regression") {
		t.Errorf("to a stranger: %d\n%.2000s", status, page)
	}
	if u, err := url.Parse(link[1]); err != nil || u.Host != w.listen {
		t.Errorf("the page is at %s", link[1])
	}
}

func TestWithoutASignInAPrivateRepositorysCommentHasNoLink(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldSpec{private: true})
	w.serve()
	w.runner("box-1")
	w.label()
	comment, run := w.oneReport()
	if strings.Contains(comment, "/r/") || strings.Contains(run.DetailsURL+run.Summary, "/r/") {
		t.Errorf("a link that nobody could open: %s\n%s", run.DetailsURL, comment)
	}
}
