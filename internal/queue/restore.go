package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// restoringStream is there while a store is being restored, and after a restore
// that was killed: what is in such a store is not all.
const restoringStream = "RESTORING"

// ErrHalfRestored: the process that restored a backup into this store died. A
// new Restore clears what it left.
var ErrHalfRestored = errors.New("a restore into this store was cut off; restore again")

// NotEmptyError refuses to restore into a store that is used.
type NotEmptyError struct {
	Stream   string // the first that holds something
	Messages uint64
}

func (e *NotEmptyError) Error() string {
	return fmt.Sprintf("the store is not empty (%s holds %d messages): a backup is restored into an empty one", e.Stream, e.Messages)
}

// Restore fills an empty store with a backup. The limits of the streams are those
// of the options, not those of the backup. No serve may have the store open: an
// embedded one gives ErrInUse then. When Restore fails nothing of the backup is
// left; when its process is killed, Open gives ErrHalfRestored.
func Restore(ctx context.Context, o Options, b *BackupReader, told func(BackupStep)) error {
	o = o.withDefaults()
	o.Listen, o.Websocket, o.TLS = "", false, nil // nobody is to find a store that is not all there
	if err := refuseRoot(o.Dir); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	q, err := openWith(ctx, o, (*Queue).makeReady)
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	defer q.Close()
	if err = q.restore(ctx, b, told); err == nil {
		return nil
	}
	// Also where it was the context that ended.
	clearing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	if e := q.clear(clearing); e != nil {
		return fmt.Errorf("restore: %w; and what was restored could not be removed: %w", err, e)
	}
	return fmt.Errorf("restore: %w; the store is empty again", err)
}

// makeReady makes the store's streams, empty, and marks the store.
func (q *Queue) makeReady(ctx context.Context) error {
	half, err := q.halfRestored(ctx)
	if err != nil {
		return err
	}
	if half {
		if err := q.clear(ctx); err != nil {
			return fmt.Errorf("clear what a former restore left: %w", err)
		}
	}
	if err := q.makeStreams(ctx); err != nil {
		return err
	}
	for _, name := range backedUp {
		info, err := q.streamInfo(ctx, name)
		if err != nil {
			return fmt.Errorf("look at stream %s: %w", name, err)
		}
		if info.State.Msgs > 0 {
			return &NotEmptyError{name, info.State.Msgs}
		}
	}
	if err := q.nobodyServes(ctx); err != nil {
		return err
	}
	_, err = q.js.CreateStream(ctx, jetstream.StreamConfig{Name: restoringStream, Subjects: []string{restoringStream},
		Description: "a backup is being restored", Storage: jetstream.FileStorage, MaxBytes: 1 << 20, Replicas: q.replicas()})
	if err != nil {
		return fmt.Errorf("mark the store: %w", err)
	}
	return nil
}

// nobodyServes looks for a serve on an external server, by the events that it
// waits for. An embedded store has its lock.
func (q *Queue) nobodyServes(ctx context.Context) error {
	c, err := q.hooks.Consumer(ctx, eventConsumer)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for a serve: %w", err)
	}
	if c.CachedInfo().NumWaiting > 0 {
		return fmt.Errorf("look for a serve: one is at work: %w", ErrInUse)
	}
	return nil
}

func (q *Queue) halfRestored(ctx context.Context) (bool, error) {
	_, err := q.js.Stream(ctx, restoringStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("find stream %s: %w", restoringStream, err)
	}
	return true, nil
}

func (q *Queue) restore(ctx context.Context, b *BackupReader, told func(BackupStep)) error {
	for _, s := range b.Streams {
		if err := q.restoreOne(ctx, b, s, told); err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	if err := q.js.DeleteStream(ctx, restoringStream); err != nil {
		return fmt.Errorf("take the mark from the store: %w", err)
	}
	return nil
}

// restoreOne puts a stream of the backup in the place of the empty one, with the
// empty one's configuration.
func (q *Queue) restoreOne(ctx context.Context, b *BackupReader, s BackupStream, told func(BackupStep)) error {
	empty, err := q.streamInfo(ctx, s.Name)
	if err != nil {
		return err
	}
	if err := q.js.DeleteStream(ctx, s.Name); err != nil {
		return err
	}
	step := BackupStep{Stream: s.Name, Messages: s.State.Msgs}
	err = q.restoreStream(ctx, empty.Config, s.State, b.content(s.Snapshot), func(n int) {
		step.Bytes += int64(n)
		told(step)
	})
	if err != nil {
		return err
	}
	if s.Later != nil {
		if err := q.writeAgain(ctx, s.Name, b.content(*s.Later)); err != nil {
			return fmt.Errorf("what was written during the snapshot: %w", err)
		}
	}
	step.Done = true
	told(step)
	return nil
}

// writeAgain writes what writeLater has read.
func (q *Queue) writeAgain(ctx context.Context, name string, r io.Reader) error {
	prefix, bucket := bucketSubjects(name)
	for dec := json.NewDecoder(r); ; {
		var l laterRecord
		err := dec.Decode(&l)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !bucket || !strings.HasPrefix(l.Subject, prefix) {
			return fmt.Errorf("want a record of %s, got one of %q", name, l.Subject)
		}
		m := nats.NewMsg(l.Subject)
		m.Data = l.Data
		if l.Operation != "" {
			m.Header.Set(operationHeader, l.Operation)
		}
		if _, err := q.js.PublishMsg(ctx, m, jetstream.WithExpectStream(name)); err != nil {
			return storeError(err)
		}
	}
}

// clear removes the streams, the mark last.
func (q *Queue) clear(ctx context.Context) error {
	names := append([]string{}, backedUp...)
	for _, name := range append(names, restoringStream) {
		if err := q.js.DeleteStream(ctx, name); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
			return fmt.Errorf("remove stream %s: %w", name, err)
		}
	}
	return nil
}
