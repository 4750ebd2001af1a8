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

// The server's interface for snapshots of streams. The client library has no
// part of it, so that its messages are written here.
const (
	snapshotSubject = "$JS.API.STREAM.SNAPSHOT."
	restoreSubject  = "$JS.API.STREAM.RESTORE."

	snapshotChunk  = 128 << 10 // bytes of a message to us; the server's default
	snapshotWindow = 2 << 20   // bytes on the way that we have not acknowledged
	restoreChunk   = 512 << 10 // bytes of a message to the server

	// chunkPatience is how long one message of a snapshot may take. It bounds a
	// silence, not a transfer.
	chunkPatience = time.Minute
	// activationPatience is how long the server may take to make a stream of
	// what it was sent: it indexes all of it.
	activationPatience = 15 * time.Minute
)

type snapshotRequest struct {
	Deliver     string `json:"deliver_subject"`
	NoConsumers bool   `json:"no_consumers"`
	Chunk       int    `json:"chunk_size"`
	Window      int    `json:"window_size"`
}

type restoreRequest struct {
	Config jetstream.StreamConfig `json:"config"`
	State  jetstream.StreamState  `json:"state"`
}

// snapshotAnswer is what the server says to either request.
type snapshotAnswer struct {
	Error   *jetstream.APIError   `json:"error"`
	State   jetstream.StreamState `json:"state"`           // of a snapshot
	Deliver string                `json:"deliver_subject"` // of a restore
}

// snapshot writes the server's snapshot of a stream and gives the stream's state
// when it began. consumers says whether what they have acknowledged is part of it.
//
// The server writes to the stream meanwhile. A message that it removes before
// the snapshot has come to it is not in the snapshot, nor is any that is added:
// of a bucket, a record that changes at the wrong moment is missing altogether.
func (q *Queue) snapshot(ctx context.Context, stream string, consumers bool, w io.Writer, told func(n int)) (jetstream.StreamState, error) {
	inbox := q.nc.NewInbox()
	sub, err := q.nc.SubscribeSync(inbox)
	if err != nil {
		return jetstream.StreamState{}, fmt.Errorf("hear a snapshot: %w", err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	a, err := q.askSnapshot(ctx, snapshotSubject+stream,
		snapshotRequest{Deliver: inbox, NoConsumers: !consumers, Chunk: snapshotChunk, Window: snapshotWindow})
	if err != nil {
		return jetstream.StreamState{}, err
	}
	last := false
	for n := 1; ; n++ {
		m, err := nextChunk(ctx, sub)
		if err != nil {
			return jetstream.StreamState{}, err
		}
		if len(m.Data) == 0 {
			return a.State, endOfSnapshot(m)
		}
		// The last chunk wants no acknowledgement; the others are numbered in theirs.
		if last || m.Reply != "" && !strings.HasSuffix(m.Reply, fmt.Sprintf(".%d.%d", len(m.Data), n)) {
			return jetstream.StreamState{}, errors.New("a part of the snapshot was lost on its way")
		}
		if _, err := w.Write(m.Data); err != nil {
			return jetstream.StreamState{}, err
		}
		if last = m.Reply == ""; !last {
			if err := m.Respond(nil); err != nil {
				return jetstream.StreamState{}, fmt.Errorf("acknowledge a part of a snapshot: %w", err)
			}
		}
		told(len(m.Data))
	}
}

func nextChunk(ctx context.Context, sub *nats.Subscription) (*nats.Msg, error) {
	wait, cancel := context.WithTimeout(ctx, chunkPatience)
	defer cancel()
	m, err := sub.NextMsgWithContext(wait)
	if err != nil && ctx.Err() == nil && wait.Err() != nil {
		err = fmt.Errorf("nothing came for %v", chunkPatience)
	}
	return m, err
}

func endOfSnapshot(m *nats.Msg) error {
	switch status := m.Header.Get("Status"); status {
	case "", "204":
		return nil
	default:
		return fmt.Errorf("the server broke the snapshot off: %s %s", status, m.Header.Get("Description"))
	}
}

// restoreStream makes a stream of a snapshot. The stream must not be there. When
// it fails a part of the stream may be, and the server is done with it.
func (q *Queue) restoreStream(ctx context.Context, cfg jetstream.StreamConfig, state jetstream.StreamState, r io.Reader, told func(n int)) error {
	a, err := q.askSnapshot(ctx, restoreSubject+cfg.Name, restoreRequest{cfg, state})
	if err != nil {
		return err
	}
	if err = q.sendSnapshot(ctx, a.Deliver, r, told); err != nil {
		// The end of what it gets makes the server give up; else it would go on
		// with the stream after we have removed it.
		_, _ = q.ask(context.WithoutCancel(ctx), a.Deliver, nil, chunkPatience/4)
	}
	return err
}

func (q *Queue) sendSnapshot(ctx context.Context, to string, r io.Reader, told func(n int)) error {
	chunk := make([]byte, restoreChunk)
	for {
		n, err := io.ReadFull(r, chunk)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		wait := chunkPatience
		if n == 0 { // which says that it was all
			wait = activationPatience
		}
		if _, err := q.ask(ctx, to, chunk[:n], wait); err != nil {
			return err
		}
		if n == 0 {
			return nil
		}
		told(n)
	}
}

func (q *Queue) askSnapshot(ctx context.Context, subject string, request any) (snapshotAnswer, error) {
	b, err := json.Marshal(request)
	if err != nil {
		return snapshotAnswer{}, err
	}
	return q.ask(ctx, subject, b, chunkPatience)
}

// ask gives the answer to one message of the interface. An empty one is good.
func (q *Queue) ask(ctx context.Context, subject string, b []byte, patience time.Duration) (a snapshotAnswer, err error) {
	wait, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	m, err := q.nc.RequestWithContext(wait, subject, b)
	switch {
	case err != nil && ctx.Err() == nil && wait.Err() != nil:
		return a, fmt.Errorf("the server did not answer for %v", patience)
	case err != nil:
		return a, err
	case len(m.Data) == 0:
		return a, nil
	}
	if err := json.Unmarshal(m.Data, &a); err != nil {
		return a, fmt.Errorf("read the server's answer: %w", err)
	}
	if a.Error != nil {
		return a, storeError(a.Error)
	}
	return a, nil
}
