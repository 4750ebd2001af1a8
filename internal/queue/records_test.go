package queue

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/prbench/prbench/internal/job"
)

func readAll(t *testing.T, q *Queue, id job.ID) string {
	t.Helper()
	r, err := q.RecordSamples(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestARecordIsKeptOnceWithItsSamples(t *testing.T) {
	t.Parallel()
	q := open(t)
	samples := strings.Repeat("a line of samples\n", 40_000)
	if err := q.PutRecord(t.Context(), "1.2.3", []byte(`{"record":1}`), strings.NewReader(samples)); err != nil {
		t.Fatal(err)
	}
	if err := q.PutRecord(t.Context(), "1.2.3", []byte(`{"record":2}`), strings.NewReader("others")); err != nil {
		t.Fatal(err)
	}
	got, err := q.Record(t.Context(), "1.2.3")
	if err != nil || string(got) != `{"record":1}` {
		t.Errorf("%s, %v", got, err)
	}
	if readAll(t, q, "1.2.3") != samples {
		t.Error("the samples are others")
	}
}

func TestARecordMayHaveNoSamples(t *testing.T) {
	t.Parallel()
	q := open(t)
	if err := q.PutRecord(t.Context(), "1.2.3", []byte("{}"), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := q.RecordSamples(t.Context(), "1.2.3"); !errors.Is(err, ErrNotFound) {
		t.Errorf("its samples: %v", err)
	}
	if _, err := q.Record(t.Context(), "1.2.4"); !errors.Is(err, ErrNotFound) {
		t.Errorf("the record of another job: %v", err)
	}
	if has, err := q.HasRecord(t.Context(), "1.2.4"); has || err != nil {
		t.Errorf("another job has one: %v, %v", has, err)
	}
}

// Samples that cannot be read to their end leave no record that lacks them.
func TestARecordWhoseSamplesFailIsNotKept(t *testing.T) {
	t.Parallel()
	q := open(t)
	broken := errors.New("the samples end here")
	err := q.PutRecord(t.Context(), "1.2.3", []byte("{}"), io.MultiReader(strings.NewReader("line\n"), &failing{broken}))
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if has, err := q.HasRecord(t.Context(), "1.2.3"); has || err != nil {
		t.Errorf("it is kept: %v, %v", has, err)
	}
	if err := q.PutRecord(t.Context(), "1.2.3", []byte("{}"), strings.NewReader("line\n")); err != nil {
		t.Fatal(err)
	}
	if readAll(t, q, "1.2.3") != "line\n" {
		t.Error("the samples are others")
	}
}

type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) { return 0, f.err }

func TestWhatIsTooLargeForARecordIsRefused(t *testing.T) {
	t.Parallel()
	q := open(t)
	if err := q.PutRecord(t.Context(), "1.2.3", make([]byte, MaxRecord+1), nil); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a record: %v", err)
	}
	if _, err := io.ReadAll(&bounded{bytes.NewReader(make([]byte, 101)), 100}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("samples: %v", err)
	}
	if err := q.PutRecord(t.Context(), "../1", []byte("{}"), nil); err == nil {
		t.Error("a record of no job")
	}
}

func TestAFullStoreOfRecordsSaysSo(t *testing.T) {
	t.Parallel()
	q := open(t, func(o *Options) { o.MaxBytes = 8 << 20 })
	noise := make([]byte, 3<<20)
	for i := range noise {
		noise[i] = byte(i * i >> 7 * 31)
	}
	if err := q.PutRecord(t.Context(), "1.2.3", []byte("{}"), bytes.NewReader(noise)); !errors.Is(err, ErrFull) {
		t.Errorf("got %v", err)
	}
}

// What a backport puts on a line's tip is not what its pull request compares with
// the same commit.
func TestABackportAndAnOrdinaryJobAreNoAttemptsAtTheSame(t *testing.T) {
	q := open(t)
	line := func(key string) int {
		w := wish(1, 1, key)
		w.Backport = &job.Backport{Group: "g", Line: "v1.x"}
		return create(t, q, w).Attempt
	}
	got := []int{create(t, q, wish(1, 1, "a")).Attempt, line("b"), create(t, q, wish(1, 1, "c")).Attempt, line("d")}
	if want := []int{1, 1, 2, 2}; !slices.Equal(got, want) {
		t.Errorf("attempts %v, want %v", got, want)
	}
}
