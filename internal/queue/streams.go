package queue

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Names in the store. They are shared by every serve on a server.
const (
	hooksStream   = "HOOKS"
	hooksSubject  = "HOOKS.event"
	samplesStream = "SAMPLES"
	eventConsumer = "serve"
)

// maxMessage is the largest message in bytes; NATS' own default, so that an
// external server needs no setting.
const maxMessage = 1 << 20

// sampleDuplicates is for how long the server recognises a sample record that
// is sent again; readers recognise one for ever.
const sampleDuplicates = time.Hour

// streamConfigs are HOOKS and SAMPLES.
func (q *Queue) streamConfigs() (hooks, samples jetstream.StreamConfig) {
	// A work-queue stream would forget the ids of what was acknowledged when the
	// server restarts; a limits stream keeps them as long as its messages.
	hooks = jetstream.StreamConfig{
		Name:        hooksStream,
		Description: "webhook events, reduced",
		Subjects:    []string{hooksSubject},
		Retention:   jetstream.LimitsPolicy,
		Storage:     jetstream.FileStorage,
		Discard:     jetstream.DiscardNew,
		MaxBytes:    q.opts.MaxBytes / 8,
		MaxAge:      q.opts.DuplicateWindow,
		Duplicates:  q.opts.DuplicateWindow,
		Replicas:    q.replicas(),
	}
	samples = jetstream.StreamConfig{
		Name:        samplesStream,
		Description: "one record a finished benchmark process",
		Subjects:    []string{samplesStream + ".>"},
		Retention:   jetstream.LimitsPolicy,
		Storage:     jetstream.FileStorage,
		Discard:     jetstream.DiscardOld,
		MaxBytes:    q.opts.MaxBytes / 2,
		MaxAge:      q.opts.Retention,
		Duplicates:  min(sampleDuplicates, q.opts.Retention),
		Replicas:    q.replicas(),
	}
	return hooks, samples
}

type bucket struct {
	kv      *jetstream.KeyValue
	name    string
	text    string
	storage jetstream.StorageType
}

func (q *Queue) buckets() []bucket {
	return []bucket{
		{&q.jobs, "jobs", "the record of each job", jetstream.FileStorage},
		{&q.heads, "heads", "when each head commit was first seen", jetstream.FileStorage},
		{&q.runners, "runners", "enrolled runners", jetstream.FileStorage},
		{&q.calibration, "calibration", "what each runner's machine sees", jetstream.FileStorage},
		{&q.accepts, "accepts", "the regressions that people have accepted", jetstream.FileStorage},
		// In memory: a leader does not outlive the server, so that a restart of
		// an embedded one need not wait for the dead leader's lease to end.
		{&q.leases, "leases", "who leads", jetstream.MemoryStorage},
	}
}

func (q *Queue) replicas() int {
	switch {
	case q.opts.Replicas > 0:
		return q.opts.Replicas
	case q.embed == nil && q.nc.ConnectedClusterName() != "":
		return 3
	default:
		return 1
	}
}

// makeStreams makes what is missing, and brings what is there to the options.
func (q *Queue) makeStreams(ctx context.Context) (err error) {
	half, err := q.halfRestored(ctx)
	if err != nil {
		return err
	}
	if half {
		return ErrHalfRestored
	}
	hooks, samples := q.streamConfigs()
	if q.hooks, err = q.js.CreateOrUpdateStream(ctx, hooks); err != nil {
		return fmt.Errorf("make stream %s: %w", hooksStream, err)
	}
	if q.samples, err = q.js.CreateOrUpdateStream(ctx, samples); err != nil {
		return fmt.Errorf("make stream %s: %w", samplesStream, err)
	}
	for _, b := range q.buckets() {
		if _, err := q.js.CreateOrUpdateStream(ctx, q.bucketStream(b)); err != nil {
			return fmt.Errorf("make bucket %s: %w", b.name, err)
		}
		if *b.kv, err = q.js.KeyValue(ctx, b.name); err != nil {
			return fmt.Errorf("bind bucket %s: %w", b.name, err)
		}
	}
	if _, err := q.js.CreateOrUpdateStream(ctx, q.recordsConfig()); err != nil {
		return fmt.Errorf("make stream %s: %w", recordsStream, err)
	}
	return q.bindRecords(ctx)
}

func (q *Queue) bindRecords(ctx context.Context) (err error) {
	if q.records, err = q.js.ObjectStore(ctx, recordsBucket); err != nil {
		return fmt.Errorf("bind the records: %w", err)
	}
	return nil
}

// bucketStream is the stream behind a bucket, as the client library makes it, but
// without direct gets: the server answers those on a path that reads its options
// without their lock, while enrolling a runner on an embedded server replaces them.
func (q *Queue) bucketStream(b bucket) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: "KV_" + b.name, Description: b.text, Subjects: []string{"$KV." + b.name + ".>"},
		Storage: b.storage, Replicas: q.replicas(), MaxMsgsPerSubject: 1, Discard: jetstream.DiscardNew,
		MaxMsgs: -1, MaxBytes: -1, MaxMsgSize: -1, MaxConsumers: -1, Duplicates: 2 * time.Minute,
		AllowRollup: true, DenyDelete: true,
	}
}

// findStreams binds to what another process has made.
func (q *Queue) findStreams(ctx context.Context) (err error) {
	if q.hooks, err = q.js.Stream(ctx, hooksStream); err != nil {
		return fmt.Errorf("find stream %s: %w", hooksStream, err)
	}
	if q.samples, err = q.js.Stream(ctx, samplesStream); err != nil {
		return fmt.Errorf("find stream %s: %w", samplesStream, err)
	}
	for _, b := range q.buckets() {
		if *b.kv, err = q.js.KeyValue(ctx, b.name); err != nil {
			return fmt.Errorf("find bucket %s: %w", b.name, err)
		}
	}
	return q.bindRecords(ctx)
}
