package runner

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/prbench/prbench/internal/job"
)

// spool keeps finished runs on disk until they are delivered. Adding one takes
// microseconds whatever the network does, so that nothing slow stands between
// two benchmark runs; and memory stays flat while serve is away.
type spool struct {
	mu     sync.Mutex
	file   *os.File
	added  int
	closed bool
	err    error         // of the delivery
	more   chan struct{} // holds one token when something has changed
	done   chan struct{} // closed when the delivery has ended
}

// newSpool starts to deliver what is added, in order, by calling deliver for
// each record. deliver retries by itself; its error ends the delivery.
func newSpool(ctx context.Context, path string, deliver func(context.Context, job.Run) error) (*spool, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("make the spool of records: %w", err)
	}
	in, err := os.Open(path)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read the spool of records: %w", err), f.Close())
	}
	s := &spool{file: f, more: make(chan struct{}, 1), done: make(chan struct{})}
	go s.deliver(ctx, in, deliver)
	return s, nil
}

// add keeps a record.
func (s *spool) add(r job.Run) error {
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("keep a record: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	if _, err := s.file.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("keep a record: %w", err)
	}
	s.added++
	s.wake()
	return nil
}

func (s *spool) wake() {
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// state gives how many records there are, and whether no more will come.
func (s *spool) state() (added int, closed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.added, s.closed
}

func (s *spool) deliver(ctx context.Context, in *os.File, deliver func(context.Context, job.Run) error) {
	defer close(s.done)
	err := s.deliverAll(ctx, bufio.NewReader(in), deliver)
	s.mu.Lock()
	s.err = errors.Join(err, in.Close())
	s.mu.Unlock()
}

func (s *spool) deliverAll(ctx context.Context, in *bufio.Reader, deliver func(context.Context, job.Run) error) error {
	for delivered := 0; ; {
		added, closed := s.state()
		if delivered == added {
			if closed {
				return nil
			}
			select {
			case <-s.more:
				continue
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		// The count says that the whole line is there.
		line, err := in.ReadBytes('\n')
		if err != nil {
			return fmt.Errorf("read a record back: %w", err)
		}
		var r job.Run
		if err := json.Unmarshal(line, &r); err != nil {
			return fmt.Errorf("read a record back: %w", err)
		}
		if err := deliver(ctx, r); err != nil {
			return err
		}
		delivered++
	}
}

// close takes no more records and waits until all are delivered, or the
// delivery has failed or its context ended.
func (s *spool) close() error {
	s.mu.Lock()
	s.closed = true
	s.wake()
	s.mu.Unlock()
	<-s.done
	return errors.Join(s.err, s.file.Close())
}
