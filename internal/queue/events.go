package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"runtime/debug"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/prbench/prbench/internal/job"
)

// PublishEvent keeps an event. When it returns no error the event is on disk.
// The delivery's GUID seen before, within the duplicate window and over
// restarts, keeps nothing and gives duplicate. ErrFull when there is no room.
func (q *Queue) PublishEvent(ctx context.Context, ev job.Event) (duplicate bool, err error) {
	if ev.Delivery == "" {
		return false, errors.New("publish event: it has no delivery id")
	}
	b, err := json.Marshal(ev)
	if err != nil {
		return false, fmt.Errorf("publish event %s: %w", ev.Delivery, err)
	}
	ack, err := q.js.Publish(ctx, hooksSubject, b, jetstream.WithMsgID(ev.Delivery),
		jetstream.WithExpectStream(hooksStream))
	if err != nil {
		return false, fmt.Errorf("publish event %s: %w", ev.Delivery, storeError(err))
	}
	return ack.Duplicate, nil
}

// Codes with which a server says that there is no room. JSStreamStoreFailed
// wraps what the store said, the limit of a discard-new stream among others.
const (
	codeStoreFailed           = 10077
	codeInsufficientResources = 10023
	codeMemoryExceeded        = 10028
	codeStorageExceeded       = 10047
	codeAccountExceeded       = 10002
)

func storeError(err error) error {
	var api *jetstream.APIError
	if !errors.As(err, &api) {
		return err
	}
	switch api.ErrorCode {
	case codeInsufficientResources, codeMemoryExceeded, codeStorageExceeded, codeAccountExceeded, codeStoreFailed:
		return fmt.Errorf("%w (%w)", ErrFull, err)
	}
	return err
}

// Events are handled in this many lanes. A pull request has its lane, so that
// its events are handled in the order in which they came, and a slow one holds
// up few others. The server hands out no more than maxEvents at a time, and a
// lane holds as many: an event is never left where nobody tells the server that
// it is still in work.
const (
	eventLanes = 8
	maxEvents  = 512
	ackWait    = 15 * time.Second
)

// eventBackoff is the pause before the second, third, … handing of an event.
// The last one stays.
var eventBackoff = []time.Duration{time.Second, 5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour}

// ConsumeEvents hands each event to handle until ctx is done, then returns nil
// once the handlers have returned. An event is done with when handle returns
// nil; else, or when the process dies, it comes again, later each time, at most
// Options.EventTries times. Several serves share the events. The context of a
// handler ends with ctx.
func (q *Queue) ConsumeEvents(ctx context.Context, handle func(context.Context, job.Event) error) error {
	c, err := q.hooks.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable:       eventConsumer,
		Description:   "turns events into jobs",
		DeliverPolicy: jetstream.DeliverAllPolicy,
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       ackWait,
		MaxAckPending: maxEvents,
	})
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("consume events: %w", err)
	}
	held := heldEvents{msgs: map[jetstream.Msg]bool{}}
	working, worked := context.WithCancel(context.Background())
	var lanes [eventLanes]chan jetstream.Msg
	var handlers, keeper sync.WaitGroup
	for i := range lanes {
		lanes[i] = make(chan jetstream.Msg, maxEvents)
		handlers.Go(func() {
			for m := range lanes[i] {
				q.handleEvent(ctx, m, handle)
				held.drop(m)
			}
		})
	}
	keeper.Go(func() { held.keep(working) })
	for ctx.Err() == nil {
		if err := q.pullEvents(ctx, c, &lanes, &held); err != nil && ctx.Err() == nil {
			q.log.Warn("events are not coming", "error", err)
			_ = pause(ctx, time.Second)
		}
	}
	for _, l := range lanes {
		close(l)
	}
	handlers.Wait()
	worked()
	keeper.Wait()
	return nil
}

func (q *Queue) pullEvents(ctx context.Context, c jetstream.Consumer, lanes *[eventLanes]chan jetstream.Msg, held *heldEvents) error {
	it, err := c.Messages(jetstream.PullMaxMessages(maxEvents))
	if err != nil {
		return fmt.Errorf("pull events: %w", err)
	}
	defer it.Stop()
	for {
		m, err := it.Next(jetstream.NextContext(ctx))
		if errors.Is(err, jetstream.ErrNoHeartbeat) {
			continue // the server is away; the iterator asks again
		}
		if err != nil {
			return fmt.Errorf("pull events: %w", err)
		}
		held.add(m)
		select {
		case lanes[laneOf(m.Data())] <- m:
		case <-ctx.Done():
			return nil
		}
	}
}

// heldEvents are those that wait in a lane or are being handled.
type heldEvents struct {
	mu   sync.Mutex
	msgs map[jetstream.Msg]bool
}

func (h *heldEvents) add(m jetstream.Msg) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.msgs[m] = true
}

func (h *heldEvents) drop(m jetstream.Msg) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.msgs, m)
}

// keep tells the server time and again that the held events are in work.
func (h *heldEvents) keep(ctx context.Context) {
	for pause(ctx, ackWait/3) == nil {
		h.mu.Lock()
		for m := range h.msgs {
			_ = m.InProgress() // one that fails comes again, which is allowed
		}
		h.mu.Unlock()
	}
}

func laneOf(event []byte) uint32 {
	var e struct {
		Repository struct{ ID int64 }
		PR         int
	}
	_ = json.Unmarshal(event, &e) // what cannot be read is told by its handler
	h := fnv.New32a()
	fmt.Fprintf(h, "%d.%d", e.Repository.ID, e.PR)
	return h.Sum32() % eventLanes
}

func (q *Queue) handleEvent(ctx context.Context, m jetstream.Msg, handle func(context.Context, job.Event) error) {
	if ctx.Err() != nil {
		_ = m.Nak() // another serve may have it at once
		return
	}
	meta, err := m.Metadata()
	if err != nil {
		q.log.Error("an event has no metadata", "error", err)
		return
	}
	tries := int(meta.NumDelivered)
	var ev job.Event
	if err := json.Unmarshal(m.Data(), &ev); err != nil {
		q.log.Error("an event cannot be read and is given up", "sequence", meta.Sequence.Stream, "error", err)
		_ = m.Term()
		return
	}
	log := q.log.With("delivery", ev.Delivery, "kind", ev.Kind, "try", tries)
	// One more than its tries: the event took the process down with it each time.
	if tries > q.opts.EventTries {
		log.Error("an event is given up: no handling of it has ended")
		_ = m.Term()
		return
	}
	switch err := callHandler(ctx, ev, handle); {
	case err == nil:
		if err := m.DoubleAck(ctx); err != nil {
			log.Warn("an event may come again: its acknowledgement failed", "error", err)
		}
	case ctx.Err() != nil:
		_ = m.Nak()
	case tries >= q.opts.EventTries:
		log.Error("an event is given up", "error", err)
		_ = m.Term()
	default:
		wait := eventBackoff[min(tries, len(eventBackoff))-1]
		log.Warn("an event could not be handled and will come again", "in", wait, "error", err)
		_ = m.NakWithDelay(wait)
	}
}

// callHandler turns a panic into an error, so that one bad event does not stop
// the others.
func callHandler(ctx context.Context, ev job.Event, handle func(context.Context, job.Event) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the handler panicked: %v\n%s", p, debug.Stack())
		}
	}()
	return handle(ctx, ev)
}
