package backport_test

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/internal/testgolden"
	"github.com/prbench/prbench/report"
	"github.com/prbench/prbench/report/backport"
	"github.com/prbench/prbench/report/stats"
)

func each(runs []job.Run) iter.Seq2[job.Run, error] {
	return func(yield func(job.Run, error) bool) {
		for _, r := range runs {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// recorded is the record of a line's job with its samples.
func recorded(t testing.TB, j job.Job, runs []job.Run, accepted ...job.Accepted) (*backport.Record, []byte) {
	t.Helper()
	var samples bytes.Buffer
	digest, err := backport.WriteSamples(&samples, each(runs))
	if err != nil {
		t.Fatal(err)
	}
	cell, o := judged(t, j, runs, accepted...)
	return again(t, backport.NewRecord(backport.Of{Job: j, Cell: cell, Options: o, Samples: digest, Version: "1.2.3"})), samples.Bytes()
}

// again writes a record and reads it.
func again(t testing.TB, r backport.Record) *backport.Record {
	t.Helper()
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	if !backport.IsRecord(b.Bytes()) {
		t.Error("it is not seen that this is a record")
	}
	got, err := backport.ReadRecord(&b, "record.json")
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestARecordIsReachedAgainFromItsSamples(t *testing.T) {
	crashed := quiet.runs(30)
	crashed[7].Exit, crashed[7].Samples, crashed[7].Log = 134, nil, "Aborted"
	adaptive := func(j *job.Job) { j.Spec.Runs = job.Adaptive }
	for name, c := range map[string]struct {
		end      func(*job.Job)
		runs     []job.Run
		accepted []job.Accepted
		want     backport.Kind
	}{
		"safe":         {nil, quiet.runs(30), nil, backport.Safe},
		"adaptive":     {adaptive, quiet.runs(27), nil, backport.Safe},
		"regresses":    {adaptive, slow.runs(15), nil, backport.Regresses},
		"accepted":     {nil, slow.runs(30), []job.Accepted{acceptedSlow}, backport.Accepted},
		"inconclusive": {nil, noisy.runs(30), nil, backport.Inconclusive},
		"lost runs":    {nil, crashed, nil, backport.Inconclusive},
		"unfit host":   {func(j *job.Job) { j.Outcome.Host.Unfit = []string{"turbo"} }, quiet.runs(30), nil, backport.Inconclusive},
	} {
		t.Run(name, func(t *testing.T) {
			r, samples := recorded(t, lineJob("v1.x", sha("1"), c.end), c.runs, c.accepted...)
			if r.Verdict != c.want {
				t.Fatalf("it is %s", r.Verdict)
			}
			different, err := r.Verify(bytes.NewReader(samples), "samples.jsonl")
			if err != nil || len(different) > 0 {
				t.Errorf("%v; what differs: %q", err, different)
			}
		})
	}
}

func TestALaterAttemptIsReachedAgain(t *testing.T) {
	first, _ := judged(t, lineJob("v1.x", sha("1"), nil), noisy.runs(10))
	j := lineJob("v1.x", sha("1"), func(j *job.Job) { j.Attempt = 2 })
	o := report.OptionsOf(&j)
	o.Earlier = []report.Attempt{first.Report.AsAttempt()}
	c := report.NewCollector()
	var d backport.Digester
	var samples bytes.Buffer
	for _, run := range quiet.runs(30) {
		c.AddRun(run)
		line, err := backport.RunLine(run)
		if err != nil {
			t.Fatal(err)
		}
		d.Add(line)
		samples.Write(append(line, '\n'))
	}
	rep, err := report.Analyse(c.Data(), o)
	if err != nil {
		t.Fatal(err)
	}
	r := again(t, backport.NewRecord(backport.Of{Job: j, Cell: backport.CellOf(j, rep), Options: o, Samples: d.Samples(), Version: "1"}))
	if different, err := r.Verify(&samples, "samples.jsonl"); err != nil || len(different) > 0 || !strings.Contains(r.Words, "(92.5 %)") {
		t.Errorf("%v; what differs: %q; %s", err, different, r.Words)
	}
}

func TestALineThatWasNotMeasuredHasARecordToo(t *testing.T) {
	j := lineJob("v6.x", sha("6"), func(j *job.Job) {
		j.Outcome = &job.Outcome{Kind: job.NotPicked, Picked: &job.Picked{Kind: job.PickConflicts, Commit: sha("c2"), Files: []string{"lib/a.js"}}}
	})
	r := again(t, backport.NewRecord(backport.Of{Job: j, Cell: backport.CellOf(j, nil), Options: report.OptionsOf(&j), Version: "1"}))
	if different, err := r.Verify(nil, ""); err != nil || len(different) > 0 || r.Verdict != backport.Conflicts || r.Samples != nil {
		t.Errorf("%v; what differs: %q; %+v", err, different, r)
	}
}

func TestWhatWasChangedInARecordOrItsSamplesIsNamed(t *testing.T) {
	r, samples := recorded(t, lineJob("v1.x", sha("1"), nil), slow.runs(30))
	verify := func(r backport.Record, samples []byte) string {
		t.Helper()
		different, err := r.Verify(bytes.NewReader(samples), "samples.jsonl")
		return fmt.Sprintf("%s %v", strings.Join(different, "\n"), err)
	}
	lines := bytes.SplitAfter(samples, []byte("\n"))
	if got := verify(*r, bytes.Join(lines[2:], nil)); !strings.Contains(got, "the samples are others") || !strings.Contains(got, "58 runs and 60 runs") {
		t.Error(got)
	}
	changed := *r
	changed.Verdict = backport.Safe
	rollUp := *r.RollUp
	rollUp.Verdict = stats.Safe
	changed.RollUp = &rollUp
	changed.Benchmarks = append([]backport.BenchmarkSaid{}, r.Benchmarks[1:]...)
	changed.Benchmarks[0].Improvement += .01
	got := verify(changed, samples)
	for _, words := range []string{"the verdict is regresses, the record says safe", "the roll-up is regresses with 2 held, 1 regressing and 0 open of 3, the record says safe with", "a.js n=1 is not in the record", "c.js n=1: it comes out as slower-within-margin"} {
		if !strings.Contains(got, words) {
			t.Errorf("it does not say %q:\n%s", words, got)
		}
	}
	wider := *r
	wider.Design.Margin = .1
	if got := verify(wider, samples); !strings.Contains(got, `the design of what was asked for is "margin 2 %`) {
		t.Error(got)
	}
	words := *r
	words.Words = "on v1.x all is well"
	if got := verify(words, samples); !strings.Contains(got, `"on v1.x all is well"`) {
		t.Error(got)
	}
	more := *r
	more.Samples = &backport.Samples{Runs: 400, Digest: r.Samples.Digest}
	if got := verify(more, samples); !strings.Contains(got, "the samples are 60 runs, the record says 400") {
		t.Error(got)
	}
	twice := *r
	twice.Benchmarks = append(slices.Clone(r.Benchmarks), r.Benchmarks[0])
	if got := verify(twice, samples); !strings.Contains(got, "a.js n=1 is in the record and not in its samples") {
		t.Error(got)
	}
	if _, err := r.Verify(nil, ""); err == nil {
		t.Error("verified without its samples")
	}
}

func TestTheDigestDoesNotDependOnTheOrder(t *testing.T) {
	runs := quiet.runs(20)
	digest := func(runs []job.Run) backport.Samples {
		s, err := backport.WriteSamples(&bytes.Buffer{}, each(runs))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	want := digest(runs)
	shuffled := append([]job.Run{}, runs...)
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(shuffled), func(i, k int) { shuffled[i], shuffled[k] = shuffled[k], shuffled[i] })
	if got := digest(shuffled); got != want {
		t.Errorf("another order: %+v, want %+v", got, want)
	}
	// A run that was delivered twice is one.
	if got := digest(append(shuffled, runs[3])); got.Digest != want.Digest || got.Runs != 40 {
		t.Errorf("a run twice: %+v, want %+v", got, want)
	}
	runs[3].Samples[0].Value++
	if got := digest(runs); got.Digest == want.Digest {
		t.Error("another value has the same digest")
	}
}

func TestSamplesThatAreNoneAreNamedByTheirLine(t *testing.T) {
	for text, want := range map[string]string{
		"{":                            "samples.jsonl:1: want the JSON of one run",
		`{"side":"old"}` + "\n" + `{}`: "samples.jsonl:2: side: want old or new",
		`{"side":"old","pair":-1}`:     "samples.jsonl:1: pair: want a number",
		`{"side":"old"} {}`:            "samples.jsonl:1: want one run a line",
		`{"side":"old","unknown":1}`:   `samples.jsonl:1: want the JSON of one run: json: unknown field "unknown"`,
	} {
		var err error
		for _, e := range backport.ReadSamples(strings.NewReader(text), "samples.jsonl", nil) {
			err = e
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestARecordThatIsNoneIsNamedByItsPlace(t *testing.T) {
	r, _ := recorded(t, lineJob("v1.x", sha("1"), nil), quiet.runs(30))
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	without := *r
	without.Picked = nil
	var unpicked bytes.Buffer
	if err := without.Write(&unpicked); err != nil {
		t.Fatal(err)
	}
	replace := func(old, now string) string {
		t.Helper()
		if !strings.Contains(b.String(), old) {
			t.Fatalf("the record has no %s", old)
		}
		return strings.Replace(b.String(), old, now, 1)
	}
	for text, want := range map[string]string{
		"{":                                      "record.json: line 1: want the JSON of a record",
		"[]":                                     "record.json: want the JSON of a record",
		`{"schema": 2}`:                          "record.json: schema: want 1, got 2",
		replace(`"prbench"`, `"surprise"`):       `record.json: json: unknown field "surprise"`,
		replace(sha("1"), "1111"):                `record.json: tip: want a commit's name of 40 or 64 hex digits, got "1111"`,
		replace(sha("c2"), "main"):               `record.json: change.picks[1].sha: want a commit's name`,
		replace(`"cores": 8`, `"cores": 9`):      "record.json: host.sha256: it is not that of the facts",
		replace(`"margin": 0.02`, `"margin": 1`): "record.json: spec: ",
		replace(`"margin": 0.02`, `"margin": "x"`):          "record.json: spec.margin: ",
		replace(`"digest": "`, `"digest": "x`):              "record.json: samples.digest: want 64 hex digits",
		replace(`"verdict": "safe"`, `"verdict": "fine"`):   `record.json: verdict: want how a line can end, got "fine"`,
		replace(`"kind": "applies"`, `"kind": "?"`):         "record.json: picked.kind: want one of",
		replace(`"kind": "applies"`, `"kind": "conflicts"`): `record.json: picked.kind: want one of [applies applies-in-part] with the verdict safe, got "conflicts"`,
		unpicked.String(): "record.json: picked: want one with the verdict safe, got null",
	} {
		_, err := backport.ReadRecord(strings.NewReader(text), "record.json")
		var place *backport.RecordError
		if err == nil || !strings.Contains(err.Error(), want) || !errors.As(err, &place) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestWhatARecordIsWorthLater(t *testing.T) {
	r, _ := recorded(t, lineJob("v1.x", sha("1"), nil), quiet.runs(30))
	picked := *r.Picked
	part := picked
	part.Skipped = []string{sha("f")}
	other, rewritten := picked, picked
	other.SHA, other.PatchID = sha("d"), sha("e")
	rewritten.SHA = sha("d")
	for _, c := range []struct {
		now   backport.Repeated
		holds bool
		want  string
	}{
		{backport.Repeated{Picked: picked, Tip: r.Tip}, true, "holds: v1.x is still at 1111111, and the change gives the same there"},
		{backport.Repeated{Picked: picked, Tip: sha("2"), Ahead: 3}, false, "the line v1.x has moved since by 3 commits, from 1111111 to 2222222; the record is right for 1111111"},
		{backport.Repeated{Picked: picked, Tip: sha("2"), Ahead: -1}, false, "the line v1.x has been rewritten since: 1111111 is no part of it any more, its tip is 2222222"},
		{backport.Repeated{Picked: picked}, false, "the line v1.x is gone since; the record is right for 1111111"},
		{backport.Repeated{Picked: other, Tip: r.Tip}, false, "does not reproduce: the change on 1111111 gives commit ddddddd with another difference, the record has 9191919"},
		{backport.Repeated{Picked: rewritten, Tip: r.Tip}, false, "does not reproduce: the same difference on 1111111 gives commit ddddddd, the record has 9191919"},
		{backport.Repeated{Picked: part, Tip: r.Tip}, false, "does not reproduce: of the change 1 commit is on 1111111 already, the record says 0, or others"},
		{backport.Repeated{Picked: job.Picked{Kind: job.PickThere}, Tip: r.Tip}, false, `does not reproduce: the record says "applies", the change on 1111111 gives "already-there"`},
	} {
		if got := r.Standing(c.now); got.Words != c.want || got.Holds() != c.holds {
			t.Errorf("got %+v, want %q", got, c.want)
		}
	}
}

func TestAConflictThatIsAnotherDoesNotReproduce(t *testing.T) {
	then := job.Picked{Kind: job.PickConflicts, Commit: sha("c2"), Files: []string{"lib/a.js", "b\x1b.js"}}
	j := lineJob("v6.x", sha("6"), func(j *job.Job) { j.Outcome = &job.Outcome{Kind: job.NotPicked, Picked: &then} })
	r := again(t, backport.NewRecord(backport.Of{Job: j, Cell: backport.CellOf(j, nil), Options: report.OptionsOf(&j), Version: "1"}))
	commit, files := then, then
	commit.Commit, files.Files = sha("c1"), []string{"lib/a.js", "c", "d", "e", "f"}
	for want, now := range map[string]job.Picked{
		"holds: v6.x is still at 6666666, and the change gives the same there":                                                             then,
		"does not reproduce: on 6666666 commit c1c1c1c does not go on, the record says c2c2c2c":                                            commit,
		`does not reproduce: on 6666666 commit c2c2c2c does not go on in lib/a.js, c, d and 2 more, the record says lib/a.js and b\x1b.js`: files,
	} {
		if got := r.Standing(backport.Repeated{Picked: now, Tip: r.Tip}); got.Words != want {
			t.Errorf("got %q, want %q", got.Words, want)
		}
	}
}

func TestARecordInWords(t *testing.T) {
	r, _ := recorded(t, lineJob("v3.x", sha("3"), nil), slow.runs(30), acceptedSlow)
	var text, js bytes.Buffer
	if err := r.Text(&text); err != nil {
		t.Fatal(err)
	}
	golden(t, "record.txt", text.String())
	golden(t, "record.md", r.Markdown())
	if err := r.Write(&js); err != nil {
		t.Fatal(err)
	}
	golden(t, "record.json", testgolden.RoundNumbers(js.String()))
}

func FuzzARecordThatIsReadIsReadAgain(f *testing.F) {
	r, _ := recorded(f, lineJob("v1.x", sha("1"), nil), quiet.runs(8), acceptedSlow)
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte(`{"schema":1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := backport.ReadRecord(bytes.NewReader(text), "record.json")
		if err != nil {
			return
		}
		var one, two bytes.Buffer
		if err := r.Write(&one); err != nil {
			t.Fatal(err)
		}
		second, err := backport.ReadRecord(bytes.NewReader(one.Bytes()), "record.json")
		if err != nil {
			t.Fatalf("%v\n%s", err, one.Bytes())
		}
		if err := second.Write(&two); err != nil || !bytes.Equal(one.Bytes(), two.Bytes()) {
			t.Errorf("%v: written again it differs:\n%s\n%s", err, one.Bytes(), two.Bytes())
		}
		if err := second.Text(&two); err != nil || len(r.Markdown()) > report.MaxMarkdown {
			t.Errorf("%v, %d bytes of Markdown", err, len(r.Markdown()))
		}
		_, _ = r.Verify(strings.NewReader("{}"), "samples.jsonl")
	})
}
