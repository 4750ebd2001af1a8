package queue

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"unicode/utf8"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/prbench/prbench/internal/job"
)

// Sizes in bytes of a sample record as JSON. A record over maxPart is split;
// what is beyond maxSample is refused.
const (
	maxPart   = 512 << 10
	maxSample = maxPart + 4<<10
	maxParts  = 256

	shortLog    = 16 << 10 // what is left of the log of a record that is too large
	shortQuoted = 4        // and of its quotes
	shortQuote  = 1 << 10
)

// sampleSubject is where the records of a try are. The runner's key is in it:
// nobody who did not hold the lease has a subject that is read.
func sampleSubject(runner string, id job.ID, try int) string {
	return fmt.Sprintf("%s.%s.%s.%d", samplesStream, runner, id, try)
}

// process names one process run of a try.
type process struct {
	suite, kase string
	side        job.SideName
	pair        int
	position    int
}

func processOf(r job.Run) process {
	return process{r.Suite, r.Case, r.Side, r.Pair, r.Position}
}

// sampleID makes a record that is sent again recognisable to the server.
func sampleID(runner string, id job.ID, try int, r job.Run) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s %s %d %q %q %q %d %d %d", runner, id, try, r.Suite, r.Case, r.Side, r.Pair, r.Position, r.Part)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// sample keeps a record that the holder of the lease sends.
func (d *desk) sample(ctx context.Context, who Runner, r request) answer {
	if r.Run == nil || r.Run.Parts < 0 || r.Run.Parts > maxParts || r.Run.Part < 0 || r.Run.Part > 0 && r.Run.Part >= r.Run.Parts {
		return failed(codeInvalid, "want a sample record")
	}
	if _, err := d.held(ctx, who, r); err != nil {
		return d.fault(askSample, r, err)
	}
	b, err := json.Marshal(r.Run)
	if err != nil || len(b) > maxSample {
		return failed(codeInvalid, fmt.Sprintf("want a sample record of at most %d bytes, got %d", maxSample, len(b)))
	}
	try := lent{r.ID, who.Key, r.Try}
	if !d.hasRoom(try, len(b)) {
		return failed(codeInvalid, fmt.Sprintf("this try has sent all that is kept of one: %d records or %d bytes", d.most.records, d.most.bytes))
	}
	ack, err := d.q.js.Publish(ctx, sampleSubject(who.Key, r.ID, r.Try), b,
		jetstream.WithMsgID(sampleID(who.Key, r.ID, r.Try, *r.Run)), jetstream.WithExpectStream(samplesStream))
	if err != nil {
		return d.fault(askSample, r, storeError(err))
	}
	if !ack.Duplicate {
		d.mu.Lock()
		had := d.kept[try]
		d.kept[try] = quota{had.records + 1, had.bytes + int64(len(b))}
		d.mu.Unlock()
	}
	return answer{}
}

// quota counts sample records, and their bytes as JSON.
type quota struct{ records, bytes int64 }

// mostSamples is what is kept of one try: the store drops the oldest samples when
// it is full, and no runner shall drive those of all others out of it. Each serve
// counts what it has kept itself.
var mostSamples = quota{records: 2_000_000, bytes: 2 << 30}

func (d *desk) hasRoom(try lent, size int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	had := d.kept[try]
	return had.records < d.most.records && had.bytes+int64(size) <= d.most.bytes
}

// Runs reads the records of one try in the order in which they were kept, each
// process run once, those that were split put together again. A record of which
// a part is missing is left out: its runner did not finish sending it. After an
// error nothing more comes.
func (q *Queue) Runs(ctx context.Context, runner string, id job.ID, try int) iter.Seq2[job.Run, error] {
	return func(yield func(job.Run, error) bool) {
		got := map[process]*parts{}
		subject := sampleSubject(runner, id, try)
		for seq := uint64(1); ; {
			m, err := q.samples.GetMsg(ctx, seq, jetstream.WithGetMsgSubject(subject))
			if errors.Is(err, jetstream.ErrMsgNotFound) {
				return
			}
			var r job.Run
			if err == nil {
				seq = m.Sequence + 1
				err = json.Unmarshal(m.Data, &r)
			}
			if err != nil {
				yield(job.Run{}, fmt.Errorf("read the samples of try %d of job %s: %w", try, id, err))
				return
			}
			p := got[processOf(r)]
			if p == nil {
				p = &parts{}
				got[processOf(r)] = p
			}
			if whole, ok := p.add(r); ok && !yield(whole, nil) {
				return
			}
		}
	}
}

// parts gathers a record.
type parts struct {
	complete bool
	have     map[int]job.Run
}

// add gives the record when r completes it.
func (p *parts) add(r job.Run) (job.Run, bool) {
	if p.complete {
		return job.Run{}, false // sent again
	}
	if r.Parts <= 1 {
		p.complete, p.have = true, nil
		r.Part, r.Parts = 0, 0
		return r, true
	}
	if p.have == nil {
		p.have = map[int]job.Run{}
	}
	p.have[r.Part] = r
	for i := range r.Parts {
		if _, ok := p.have[i]; !ok {
			return job.Run{}, false
		}
	}
	whole := p.have[0]
	for i := 1; i < r.Parts; i++ {
		whole.Samples = append(whole.Samples, p.have[i].Samples...)
	}
	whole.Part, whole.Parts = 0, 0
	p.complete, p.have = true, nil
	return whole, true
}

// split makes records of at most maxPart bytes of one. The log is cut first, to
// its end, and the quotes; samples are never cut, but divided among the parts.
func split(r job.Run) ([]job.Run, error) {
	r.Part, r.Parts = 0, 0
	size, err := encodedSize(r)
	if err != nil || size <= maxPart {
		return []job.Run{r}, err
	}
	r.Log = tail(r.Log, shortLog)
	if len(r.Quoted) > shortQuoted {
		r.Quoted = r.Quoted[:shortQuoted]
	}
	quoted := make([]string, len(r.Quoted))
	for i, s := range r.Quoted {
		quoted[i] = head(s, shortQuote)
	}
	r.Quoted = quoted
	if size, err = encodedSize(r); err != nil || size <= maxPart {
		return []job.Run{r}, err
	}
	// Part numbers are not known yet; they take no more than this.
	const numbers = 64
	first := r
	first.Samples = nil
	// Later parts say which process they belong to, and no more.
	rest := job.Run{Suite: r.Suite, Case: r.Case, Side: r.Side, Pair: r.Pair, Position: r.Position, Started: r.Started}
	all := []job.Run{first}
	room, err := roomIn(first, numbers)
	for i := 0; i < len(r.Samples) && err == nil; i++ {
		var n int
		if n, err = encodedSize(r.Samples[i]); err != nil {
			break
		}
		n++ // the comma
		if n > room {
			all = append(all, rest)
			if room, err = roomIn(rest, numbers); err == nil && n > room {
				err = fmt.Errorf("one sample is too large (%d bytes, %d fit)", n, room)
			}
		}
		room -= n
		last := &all[len(all)-1]
		last.Samples = append(last.Samples, r.Samples[i])
	}
	if err == nil && len(all) > maxParts {
		err = fmt.Errorf("the record is too large (%d parts, %d are taken)", len(all), maxParts)
	}
	if err != nil {
		return nil, err
	}
	for i := range all {
		all[i].Part, all[i].Parts = i, len(all)
	}
	return all, nil
}

func roomIn(r job.Run, reserve int) (int, error) {
	n, err := encodedSize(r)
	return maxPart - n - reserve, err
}

func encodedSize(v any) (int, error) {
	b, err := json.Marshal(v)
	return len(b), err
}

// tail and head cut a text to n bytes, not within a character.
func tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	s = s[len(s)-n:]
	for i := 0; i < len(s) && i < utf8.UTFMax; i++ {
		if utf8.RuneStart(s[i]) {
			return s[i:]
		}
	}
	return s
}

func head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := n; i > n-utf8.UTFMax && i > 0; i-- {
		if utf8.RuneStart(s[i]) {
			return s[:i]
		}
	}
	return s[:n]
}
