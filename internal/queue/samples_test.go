package queue

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/prbench/prbench/internal/job"
)

// largeRun has n samples of about 100 bytes.
func largeRun(n int) job.Run {
	r := job.Run{Suite: "s", Case: "c", Side: job.New, Pair: 3, Position: 1, Wall: 1.5, Exit: 1,
		Log: strings.Repeat("line\n", 40<<10) + "the end", Quoted: []string{strings.Repeat("q", 9<<10), "b", "c", "d", "e"}}
	for i := range n {
		r.Samples = append(r.Samples, job.Sample{Benchmark: fmt.Sprintf("bench/%06d.js", i), Config: strings.Repeat("x", 60), Value: float64(i)})
	}
	return r
}

func TestARecordThatIsTooLargeIsSplitAndReadAsOne(t *testing.T) {
	t.Parallel()
	q := open(t)
	serve(t, q, &forge{})
	id := create(t, q, wish(1, 1, "k")).ID
	c := enroll(t, q, "box", "default")
	l := claim(t, c)
	small := job.Run{Suite: "s", Case: "c", Side: job.Old, Pair: 3, Log: "short"}
	large := largeRun(6000)
	for _, r := range []job.Run{large, small, large} {
		if err := c.Publish(t.Context(), id, l.Try, r); err != nil {
			t.Fatal(err)
		}
	}
	want := large
	want.Log, want.Quoted = tail(large.Log, shortLog), []string{large.Quoted[0][:shortQuote], "b", "c", "d"}
	got := readRuns(t, q, c.Key(), id, l.Try)
	if len(got) != 2 || !reflect.DeepEqual(got[0], want) || !reflect.DeepEqual(got[1], small) {
		t.Errorf("%d records are read, or they are not those that were published", len(got))
	}
	i, err := q.samples.Info(t.Context())
	if err != nil || i.State.Msgs < 3 {
		t.Errorf("the record of 0.9 MB was not split: %d messages, %v", i.State.Msgs, err)
	}
}

func TestSplitCutsTheLogFirstAndNeverASample(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ samples, parts int }{{0, 1}, {10, 1}, {3000, 1}, {6000, 2}, {9000, 3}} {
		r := largeRun(c.samples)
		r.Log = strings.Repeat(r.Log, 4)
		parts, err := split(r)
		if err != nil {
			t.Fatal(err)
		}
		if len(parts) != c.parts {
			t.Errorf("%d samples: %d parts, want %d", c.samples, len(parts), c.parts)
		}
		var p parts2
		for _, part := range parts {
			b, err := json.Marshal(part)
			if err != nil || len(b) > maxPart {
				t.Errorf("%d samples: a part of %d bytes, %v", c.samples, len(b), err)
			}
			p.add(part)
		}
		if len(p.whole.Samples) != c.samples || !strings.HasSuffix(p.whole.Log, "the end") || len(p.whole.Log) > shortLog || p.whole.Wall != r.Wall {
			t.Errorf("%d samples: put together %d, log %d", c.samples, len(p.whole.Samples), len(p.whole.Log))
		}
	}
	keep := job.Run{Suite: "s", Log: strings.Repeat("x", 100<<10)}
	if parts, err := split(keep); err != nil || len(parts) != 1 || parts[0].Log != keep.Log {
		t.Errorf("a record that fits is cut: %v", err)
	}
	huge := job.Run{Samples: []job.Sample{{Benchmark: strings.Repeat("x", maxPart)}}}
	if _, err := split(huge); err == nil {
		t.Error("a sample that fits no message is taken")
	}
	if _, err := split(job.Run{Wall: math.NaN()}); err == nil {
		t.Error("a record that is no JSON is taken")
	}
}

// parts2 puts a record together and remembers it.
type parts2 struct {
	parts
	whole job.Run
}

func (p *parts2) add(r job.Run) {
	if w, ok := p.parts.add(r); ok {
		p.whole = w
	}
}

func TestPartsArePutTogetherInAnyOrderAndOnlyWhenAllAreThere(t *testing.T) {
	all, err := split(largeRun(9000))
	if err != nil || len(all) < 3 {
		t.Fatalf("%d parts, %v", len(all), err)
	}
	shuffled := slices.Clone(all)
	slices.Reverse(shuffled)
	var p parts
	for i, r := range append(shuffled, shuffled...) {
		whole, ok := p.add(r)
		if ok != (i == len(all)-1) {
			t.Errorf("after %d of %d parts: complete %v", i+1, len(all), ok)
		}
		if ok && (len(whole.Samples) != 9000 || whole.Samples[8999].Value != 8999 || whole.Parts != 0) {
			t.Errorf("put together: %d samples", len(whole.Samples))
		}
	}
	p = parts{}
	for range 3 {
		if _, ok := p.add(all[1]); ok {
			t.Error("one part is the whole")
		}
	}
}

func TestRecordsThatMakeNoSenseAreRefused(t *testing.T) {
	q := open(t)
	serve(t, q, &forge{})
	id := create(t, q, wish(1, 1, "k")).ID
	c := enroll(t, q, "box", "default")
	l := claim(t, c)
	for _, r := range []job.Run{{Parts: -1}, {Parts: maxParts + 1}, {Part: 1}, {Part: 2, Parts: 2}, {Part: -1, Parts: 2},
		{Log: strings.Repeat("x", maxSample)}} {
		if _, err := c.insist(t.Context(), askSample, request{ID: id, Try: l.Try, Run: &r}); !errors.Is(err, ErrInvalid) {
			t.Errorf("part %d of %d: %v", r.Part, r.Parts, err)
		}
	}
	if _, err := c.insist(t.Context(), askSample, request{ID: id, Try: l.Try}); !errors.Is(err, ErrInvalid) {
		t.Errorf("no record: %v", err)
	}
	if rs := readRuns(t, q, c.Key(), id, l.Try); len(rs) != 0 {
		t.Errorf("%d records are kept", len(rs))
	}
}

func FuzzSplitLosesNoSample(f *testing.F) {
	f.Add(3, 1000, "log", "é")
	f.Add(300, 3000, strings.Repeat("x", 100), "\xff\x00")
	f.Fuzz(func(t *testing.T, n, size int, log, text string) {
		if n < 0 || n > 400 || size < 0 || size > 4000 {
			return
		}
		text = strings.ToValidUTF8(text, "?") // JSON writes no other
		r := job.Run{Suite: text, Log: strings.Repeat(log, min(1000, 1<<20/(len(log)+1)))}
		for i := range n {
			r.Samples = append(r.Samples, job.Sample{Benchmark: text + strings.Repeat("x", size), Value: float64(i)})
		}
		all, err := split(r)
		if err != nil {
			return
		}
		var p parts2
		for _, part := range all {
			b, err := json.Marshal(part)
			if err != nil || len(b) > maxPart {
				t.Fatalf("a part of %d bytes, %v", len(b), err)
			}
			p.add(part)
		}
		if !p.complete || len(p.whole.Samples) != n || p.whole.Suite != r.Suite {
			t.Fatalf("%d samples became %d", n, len(p.whole.Samples))
		}
		for i, s := range p.whole.Samples {
			if s.Value != float64(i) || s.Benchmark != r.Samples[i].Benchmark {
				t.Fatalf("sample %d is %v", i, s)
			}
		}
	})
}

func TestATryKeepsNoMoreThanItsQuota(t *testing.T) {
	q := open(t)
	who := enrolled(t, q, "box")
	id := create(t, q, wish(1, 1, "k")).ID
	if _, _, err := q.handOut(t.Context(), id, who); err != nil {
		t.Fatal(err)
	}
	d := newDesk(q, (&forge{}).desk())
	send := func(pair int, log string) string {
		t.Helper()
		a := d.sample(t.Context(), who, request{ID: id, Try: 1, Run: &job.Run{Suite: "s", Side: job.Old, Pair: pair, Log: log}})
		if a.Error == nil {
			return ""
		}
		if a.Error.Code != codeInvalid {
			t.Errorf("refused with %+v", a.Error)
		}
		return a.Error.Text
	}
	d.most = quota{records: 3, bytes: 10_000}
	if text := send(0, strings.Repeat("x", 10_000)); !strings.Contains(text, "10000 bytes") {
		t.Errorf("more bytes than are kept: %q", text)
	}
	for _, pair := range []int{1, 2, 2, 2, 3} { // what is sent again counts once
		if text := send(pair, ""); text != "" {
			t.Errorf("pair %d: %q", pair, text)
		}
	}
	if text := send(4, ""); !strings.Contains(text, "3 records") {
		t.Errorf("more records than are kept: %q", text)
	}
	if rs := readRuns(t, q, who.Key, id, 1); len(rs) != 3 {
		t.Errorf("%d records are kept", len(rs))
	}
	j, err := q.Update(t.Context(), id, func(j *job.Job) error { j.State = job.Publishing; return nil })
	if err != nil {
		t.Fatal(err)
	}
	d.recall(t.Context(), j)
	if len(d.kept) > 0 {
		t.Errorf("the count of a try that ended stays: %v", d.kept)
	}
}
