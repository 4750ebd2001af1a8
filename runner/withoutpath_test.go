package runner

import (
	"reflect"
	"testing"

	"github.com/prbench/prbench/internal/job"
)

func TestWhatOthersReadDoesNotNameTheRunnersFolder(t *testing.T) {
	notes, picked, clash := []string{"a note of /srv/bench"}, job.Picked{Text: "in /srv/bench/jobs/7", Files: []string{"/srv/bench/a"}}, job.Clash{Case: "/srv/bench/jobs/7/old/a.js"}
	o := withoutPath(job.Outcome{Text: "mkdir /srv/bench/jobs/7: no room", Log: "tar: /srv/bench/x\n", Notes: notes, Picked: &picked, Clash: &clash}, "/srv/bench")
	want := job.Outcome{Text: "mkdir …/jobs/7: no room", Log: "tar: …/x\n", Notes: []string{"a note of …"},
		Picked: &job.Picked{Text: "in …/jobs/7", Files: []string{"…/a"}}, Clash: &job.Clash{Case: "…/jobs/7/old/a.js"}}
	if !reflect.DeepEqual(o, want) {
		t.Errorf("got  %+v, %+v, %+v\nwant %+v, %+v, %+v", o, o.Picked, o.Clash, want, want.Picked, want.Clash)
	}
	if notes[0] != "a note of /srv/bench" || picked.Files[0] != "/srv/bench/a" || clash.Case != "/srv/bench/jobs/7/old/a.js" {
		t.Errorf("the runner's own is changed: %q, %+v, %+v", notes, picked, clash)
	}
	r := runWithoutPath(job.Run{Case: "a.js", Log: "at /srv/bench/jobs/7/old/a.js:3", Quoted: []string{"/srv/bench: nan"}}, "/srv/bench")
	if want := (job.Run{Case: "a.js", Log: "at …/jobs/7/old/a.js:3", Quoted: []string{"…: nan"}}); !reflect.DeepEqual(r, want) {
		t.Errorf("got %+v, want %+v", r, want)
	}
}

func TestOnlyTheRunnersFolderItselfIsLeftOut(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "",
		"/work":                          "…",
		"/work/work/x":                   "…/work/x",
		"/src/workers/x":                 "/src/workers/x",
		"/src/work/x":                    "/src/work/x",
		"../work/x ./work":               "../work/x ./work",
		"/workers /work-2 /work.old/a":   "/workers /work-2 /work.old/a",
		"/worké":                         "/worké",
		"no room in /work. Or /work.":    "no room in …. Or ….",
		"‘/work’ ‘/work/a’\xff/work\xff": "‘…’ ‘…/a’\xff…\xff",
		"é/work":                         "é/work",
		"'/work', \"/work/a\":/work\n":   "'…', \"…/a\":…\n",
		"/work /workers /work/b":         "… /workers …/b",
	} {
		if got := shorten(text, "/work"); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
