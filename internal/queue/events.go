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
// up few others. No more than maxEvents are in hand at a time, and a lane holds as
// many: an event is never left where nobody tells the server that it is still in
// work. Those that wait for their next try are not in hand: maxWaiting of them,
// which is more than come in a day, hold up no other.
const (
	eventLanes = 8
	maxEvents  = 512
	maxWaiting = 100_000
	ackWait    = 15 * time.Second
)

// eventBackoff is the pause before the second, third, … handing of an event.
// The last one stays.
var eventBackoff = []time.Duration{time.Second, 5 * time.Second, 30 * time.Second, 2 * time.Minute, 5 * time.Minute, 15 * time.Minute}

// waitAfter is the pause after the n-th handing of an event, from 1.
func waitAfter(n int) time.Duration { return eventBackoff[min(n, len(eventBackoff))-1] }

// failuresIn is how often the pauses let an event of this age have failed.
func failuresIn(age time.Duration) (n int) {
	for age >= waitAfter(n+1) {
		n++
		age -= waitAfter(n)
	}
	return n
}

// ErrGiveUp in the error of an event's handler says that another try would fail
// alike: the event is given up at once.
var ErrGiveUp = errors.New("given up")

// ConsumeEvents hands each event to handle until ctx is done, then returns nil
// once the handlers have returned. An event is done with when handle returns
// nil; else, or when the process dies, it comes again, later each time, until it
// is Options.EventAge old. Several serves share the events. The context of a
// handler ends with ctx.
func (q *Queue) ConsumeEvents(ctx context.Context, handle func(context.Context, job.Event) error) error {
	c, err := q.hooks.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable:       eventConsumer,
		Description:   "turns events into jobs",
		DeliverPolicy: jetstream.DeliverAllPolicy,
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       ackWait,
		MaxAckPending: maxWaiting,
	})
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("consume events: %w", err)
	}
	held := heldEvents{msgs: map[jetstream.Msg]bool{}, freed: make(chan struct{}, 1)}
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
		if err := pullEvents(ctx, c, &lanes, &held); err != nil && ctx.Err() == nil {
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

// pullEvents asks once for as many events as there is room for.
func pullEvents(ctx context.Context, c jetstream.Consumer, lanes *[eventLanes]chan jetstream.Msg, held *heldEvents) error {
	room := held.room(ctx)
	if room == 0 {
		return nil // ctx is done
	}
	batch, err := c.Fetch(room, jetstream.FetchContext(ctx))
	if err != nil {
		return fmt.Errorf("pull events: %w", err)
	}
	for m := range batch.Messages() {
		held.add(m)
		lanes[laneOf(m.Data())] <- m // there is room
	}
	if err := batch.Error(); err != nil && !errors.Is(err, jetstream.ErrNoHeartbeat) {
		return fmt.Errorf("pull events: %w", err)
	}
	return nil // where the server is away, it is asked again
}

// heldEvents are those that wait in a lane or are being handled.
type heldEvents struct {
	mu    sync.Mutex
	msgs  map[jetstream.Msg]bool
	freed chan struct{} // rung when one is dropped
}

// room waits until more events may be taken, and says how many; 0 when ctx is done.
func (h *heldEvents) room(ctx context.Context) int {
	for ctx.Err() == nil {
		h.mu.Lock()
		free := maxEvents - len(h.msgs)
		h.mu.Unlock()
		if free > 0 {
			return free
		}
		select {
		case <-h.freed:
		case <-ctx.Done():
		}
	}
	return 0
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
	select {
	case h.freed <- struct{}{}:
	default:
	}
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
		q.endEvent(m, "", EventGivenUp)
		return
	}
	log := q.log.With("delivery", ev.Delivery, "event", ev.Kind, "handing", tries)
	age := q.now().Sub(meta.Timestamp)
	// More often than failures explain: the event took the process down with it.
	if tries > failuresIn(age)+q.opts.EventTries {
		log.Error("an event is given up: no handling of it has ended")
		q.endEvent(m, ev.Kind, EventGivenUp)
		return
	}
	switch err := callHandler(ctx, ev, handle); {
	case err == nil:
		q.observeEvent(ev.Kind, EventHandled)
		if err := m.DoubleAck(ctx); err != nil {
			log.Warn("an event may come again: its acknowledgement failed", "error", err)
		}
	case ctx.Err() != nil:
		_ = m.Nak()
	case errors.Is(err, ErrGiveUp):
		log.Warn("an event is given up", "error", err)
		q.endEvent(m, ev.Kind, EventGivenUp)
	default:
		wait := waitAfter(tries)
		// Told now, and not when the stream has forgotten the event.
		if age = q.now().Sub(meta.Timestamp); age+wait > min(q.opts.EventAge, q.opts.DuplicateWindow) {
			log.Error("an event is given up: it is too old for another try", "received", ev.Received, "error", err)
			q.endEvent(m, ev.Kind, EventGivenUp)
			return
		}
		log.Warn("an event could not be handled and will come again", "in", wait.String(), "error", err)
		q.observeEvent(ev.Kind, EventRetried)
		_ = m.NakWithDelay(wait)
	}
}

// What becomes of one handing of an event.
const (
	EventHandled = "handled"
	EventRetried = "retried"
	EventGivenUp = "given-up"
)

func (q *Queue) endEvent(m jetstream.Msg, kind, outcome string) {
	q.observeEvent(kind, outcome)
	_ = m.Term() // where it fails, the event comes and is given up again
}

func (q *Queue) observeEvent(kind, outcome string) {
	if q.opts.ObserveEvent != nil {
		q.opts.ObserveEvent(kind, outcome)
	}
}

// EventsLeft is how many events wait to be handled, those that failed and will
// come again included.
func (q *Queue) EventsLeft(ctx context.Context) (int, error) {
	c, err := q.hooks.Consumer(ctx, eventConsumer)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("count the events: %w", err)
	}
	info := c.CachedInfo()
	return int(info.NumPending) + info.NumAckPending, nil
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
