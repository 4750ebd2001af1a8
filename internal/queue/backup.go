package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// backedUp are the streams of a backup in the order in which they are taken,
// which is what makes a backup of a working store consistent:
//
//   - HOOKS first, with what its consumer has acknowledged: the jobs of every
//     acknowledged event are in the later snapshot of the jobs, and an event that
//     is acknowledged in between comes again and finds its job there;
//   - SAMPLES after the jobs: whatever a record says was measured has its samples;
//   - the records of backports after the jobs: a job that is published has its.
//
// The leases are left out. They say who leads now.
var backedUp = []string{hooksStream, "KV_heads", "KV_jobs", samplesStream, "KV_runners", "KV_calibration", "KV_accepts", recordsStream}

// BackupStep tells how far a backup or its restoring is.
type BackupStep struct {
	Stream   string
	Messages uint64 // of the stream, as it began
	Bytes    int64  // of its snapshot, until now
	Done     bool   // with this stream
}

// Backup writes all that the store keeps but the leases, while others may work
// on it. No secret of a forge is in it; runners' public keys, the samples and
// what the jobs say are. The caller makes the file, and removes it on an error.
func (q *Queue) Backup(ctx context.Context, to io.WriterAt, told func(BackupStep)) (BackupInfo, error) {
	i := BackupInfo{Format: backupFormat, Created: time.Now().UTC().Truncate(time.Second), Server: q.nc.ConnectedServerVersion()}
	w := &backupWriter{to: to, made: i.Created}
	for _, name := range backedUp {
		s, err := q.backupStream(ctx, w, name, told)
		if err != nil {
			return BackupInfo{}, fmt.Errorf("back up %s: %w", name, err)
		}
		i.Streams = append(i.Streams, s)
	}
	if err := w.finish(i); err != nil {
		return BackupInfo{}, fmt.Errorf("back up: %w", err)
	}
	return i, nil
}

func (q *Queue) backupStream(ctx context.Context, w *backupWriter, name string, told func(BackupStep)) (s BackupStream, err error) {
	s.Name = name
	info, err := q.streamInfo(ctx, name)
	if err != nil {
		return s, err
	}
	step := BackupStep{Stream: name, Messages: info.State.Msgs}
	s.Snapshot, err = w.add(name+".snapshot", func(out io.Writer) error {
		s.State, err = q.snapshot(ctx, name, name == hooksStream, out, func(n int) {
			step.Bytes += int64(n)
			told(step)
		})
		return err
	})
	if err != nil {
		return s, err
	}
	if _, ok := bucketSubjects(name); ok {
		later, err := w.add(name+".later", func(out io.Writer) error {
			return q.writeLater(ctx, name, s.State.LastSeq, out)
		})
		if err != nil {
			return s, err
		}
		s.Later = &later
	}
	step.Done = true
	told(step)
	return s, nil
}

func (q *Queue) streamInfo(ctx context.Context, name string) (*jetstream.StreamInfo, error) {
	s, err := q.js.Stream(ctx, name)
	if err != nil {
		return nil, err
	}
	return s.CachedInfo(), nil
}

// bucketSubjects gives the subjects of a bucket's stream; ok is false for other streams.
func bucketSubjects(stream string) (prefix string, ok bool) {
	if len(stream) > 3 && stream[:3] == "KV_" {
		return "$KV." + stream[3:] + ".", true
	}
	return "", false
}

// laterRecord is a record of a bucket that its snapshot may lack.
type laterRecord struct {
	Subject   string `json:"subject"`
	Operation string `json:"operation,omitempty"` // DEL or PURGE: its record is gone
	Data      []byte `json:"data,omitempty"`
}

// operationHeader marks a message of a bucket that takes a record away.
const operationHeader = "KV-Operation"

// writeLater writes the records of a bucket's stream after a sequence, up to one
// moment that is later than the call. A record that changes is first written anew
// and then taken away in its former place, so that snapshot and later records
// together have each record.
func (q *Queue) writeLater(ctx context.Context, name string, after uint64, w io.Writer) error {
	s, err := q.js.Stream(ctx, name)
	if err != nil {
		return err
	}
	prefix, _ := bucketSubjects(name)
	last := s.CachedInfo().State.LastSeq
	enc := json.NewEncoder(w)
	behind := 0
	for seq := after + 1; seq <= last; {
		m, err := s.GetMsg(ctx, seq, jetstream.WithGetMsgSubject(prefix+">"))
		if errors.Is(err, jetstream.ErrMsgNotFound) && behind < mostBehind {
			// Of a bucket nothing goes without something newer: it is a replica
			// that answers, and has not heard of it yet.
			behind++
			if err := pause(ctx, 100*time.Millisecond); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return fmt.Errorf("read what was written meanwhile, from %d to %d: %w", seq, last, err)
		}
		if err := enc.Encode(laterRecord{m.Subject, m.Header.Get(operationHeader), m.Data}); err != nil {
			return err
		}
		seq, behind = m.Sequence+1, 0
	}
	return nil
}

// mostBehind is how often a replica is asked again.
const mostBehind = 100
