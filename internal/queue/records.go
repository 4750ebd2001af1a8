package queue

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/prbench/prbench/internal/job"
)

// The records of backports are objects, kept for good: two a job, its record and
// its samples. A job's record is written once and never changes.
const (
	recordsBucket = "records"
	recordsStream = "OBJ_" + recordsBucket
)

// MaxRecord and MaxRecordSamples are the most bytes that are kept of a record and
// of its samples.
const (
	MaxRecord        = 16 << 20
	MaxRecordSamples = 256 << 20
)

// recordPatience bounds the reading of an object, whatever its reader waits for.
const recordPatience = 15 * time.Minute

// ErrTooLarge: what was to be kept is larger than what is kept of one.
var ErrTooLarge = errors.New("too large to be kept")

// recordsConfig is the stream behind the objects as the client library makes it,
// but without direct gets (see bucketStream), and compressed.
func (q *Queue) recordsConfig() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: recordsStream, Description: "records of backports, with their samples",
		Subjects: []string{"$O." + recordsBucket + ".C.>", "$O." + recordsBucket + ".M.>"},
		Storage:  jetstream.FileStorage, Replicas: q.replicas(), Discard: jetstream.DiscardNew, MaxBytes: q.opts.MaxBytes / 8,
		AllowRollup: true, Compression: jetstream.S2Compression,
	}
}

func recordName(id job.ID) string { return string(id) + "/record.json" }

func recordSamplesName(id job.ID) string { return string(id) + "/samples.jsonl" }

// PutRecord keeps the record of a job and its samples, nil for none. A record
// that is kept already stays as it is, so that doing it again after an unclear
// end is safe. It gives ErrFull where the store has no room for records, and
// ErrTooLarge beyond MaxRecord and MaxRecordSamples; nothing is kept then.
func (q *Queue) PutRecord(ctx context.Context, id job.ID, record []byte, samples io.Reader) error {
	if !id.Valid() || len(record) == 0 {
		return fmt.Errorf("keep the record of job %q: want a job's id and a record", id)
	}
	if len(record) > MaxRecord {
		return fmt.Errorf("keep the record of job %s: %w", id, ErrTooLarge)
	}
	has, err := q.HasRecord(ctx, id)
	if err != nil || has {
		return err
	}
	// The record comes last: where it is, its samples are whole.
	if samples != nil {
		if err := q.putObject(ctx, recordSamplesName(id), &bounded{samples, MaxRecordSamples}); err != nil {
			return fmt.Errorf("keep the samples of job %s: %w", id, err)
		}
	}
	if err := q.putObject(ctx, recordName(id), bytes.NewReader(record)); err != nil {
		return fmt.Errorf("keep the record of job %s: %w", id, err)
	}
	return nil
}

func (q *Queue) putObject(ctx context.Context, name string, r io.Reader) error {
	_, err := q.records.Put(ctx, jetstream.ObjectMeta{Name: name}, r)
	return storeError(err)
}

// bounded fails with ErrTooLarge where more is read than is left.
type bounded struct {
	r    io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, ErrTooLarge
	}
	return n, err
}

// HasRecord tells whether a job has a record.
func (q *Queue) HasRecord(ctx context.Context, id job.ID) (bool, error) {
	_, err := q.records.GetInfo(ctx, recordName(id))
	switch {
	case errors.Is(err, jetstream.ErrObjectNotFound):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("look for the record of job %s: %w", id, err)
	}
	return true, nil
}

// Record reads the record of a job; ErrNotFound where there is none.
func (q *Queue) Record(ctx context.Context, id job.ID) ([]byte, error) {
	r, err := q.object(ctx, recordName(id))
	if err != nil {
		return nil, fmt.Errorf("read the record of job %s: %w", id, err)
	}
	b, err := io.ReadAll(r)
	if err = errors.Join(err, r.Close()); err != nil {
		return nil, fmt.Errorf("read the record of job %s: %w", id, err)
	}
	return b, nil
}

// RecordSamples reads the samples of a job's record; ErrNotFound where none are
// kept. The caller closes it; what was damaged is an error of the last Read.
func (q *Queue) RecordSamples(ctx context.Context, id job.ID) (io.ReadCloser, error) {
	r, err := q.object(ctx, recordSamplesName(id))
	if err != nil {
		return nil, fmt.Errorf("read the samples of job %s: %w", id, err)
	}
	return r, nil
}

func (q *Queue) object(ctx context.Context, name string) (io.ReadCloser, error) {
	// The library gives an object ten seconds in all unless the context says more.
	ctx, cancel := context.WithTimeout(ctx, recordPatience)
	r, err := q.records.Get(ctx, name)
	if err != nil {
		cancel()
		if errors.Is(err, jetstream.ErrObjectNotFound) {
			err = ErrNotFound
		}
		return nil, err
	}
	return &object{r, cancel}, nil
}

// object is what is read of the store.
type object struct {
	jetstream.ObjectResult
	cancel context.CancelFunc
}

func (o *object) Close() error {
	defer o.cancel()
	return o.ObjectResult.Close()
}
