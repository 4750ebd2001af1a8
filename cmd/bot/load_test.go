package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prbench/prbench/internal/forgetest"
	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/internal/queue"
)

// parcel is one signed delivery of a load.
type parcel struct {
	guid, event string
	body        []byte
	signature   string
	forged      bool  // its signature is of another secret
	comment     int64 // of a command; 0: none
}

// Shares of a load's deliveries. A quarter of the rest are pull requests that are
// opened, which are kept, as commands are: they cost a write to the disk before the
// answer, and more when they are handled. The others are talk without a command.
const (
	shareCommands   = 0.01
	shareForged     = 0.02
	shareDuplicates = 0.05
)

// load is a server under many deliveries.
type load struct {
	*world
	parcels  []parcel
	commands map[int64]bool // by comment: asked for with a good signature
	answers  []time.Duration
	mu       sync.Mutex
	again    int // deliveries that were sent once more, not being answered
}

// newLoad prepares n deliveries to a serve that does not run yet.
func newLoad(t testing.TB, n int) *load {
	l := &load{world: newWorld(t, worldSpec{}), commands: map[int64]bool{}}
	l.ok(l.Settle(t.Context()))
	l.SetDeliveryMode(forgetest.DeliveryMode{Lost: true}) // the load delivers in GitHub's place
	// Serve sees the head when it starts, and the commands are to be later.
	l.ahead.Add(int64(time.Hour))
	made := len(l.Deliveries())
	for i := range int(float64(n) * (shareCommands + shareForged)) {
		_, err := l.Comment("writer", l.pull, fmt.Sprintf("/benchmark --runs %d", 2+i%50))
		l.ok(err)
	}
	_, err := l.Comment("writer", l.pull, "I like it.")
	l.ok(err)
	l.ahead.Add(-int64(time.Hour))
	l.ok(l.Settle(t.Context()))
	comments := slices.DeleteFunc(l.Deliveries()[made:], func(d forgetest.Delivery) bool { return d.Event != "issue_comment" })
	talk := comments[len(comments)-1]
	i := slices.IndexFunc(l.Deliveries(), func(d forgetest.Delivery) bool { return d.Action == "opened" })
	opened := l.Deliveries()[i]
	for i, d := range comments[:len(comments)-1] {
		p := pack(d.GUID, d.Event, d.Payload, i >= int(float64(n)*shareCommands))
		p.comment = commentOf(t, d.Payload)
		if !p.forged {
			l.commands[p.comment] = true
		}
		l.parcels = append(l.parcels, p)
	}
	for i := len(l.parcels); i < int(float64(n)*(1-shareDuplicates)); i++ {
		d := talk
		if i%4 == 0 {
			d = opened
		}
		l.parcels = append(l.parcels, pack(fmt.Sprintf("00000000-0000-4000-8000-%012d", i), d.Event, numbered(t, d.Payload, i), false))
	}
	for len(l.parcels) < n {
		if p := l.parcels[rand.IntN(len(l.parcels))]; !p.forged {
			l.parcels = append(l.parcels, p)
		}
	}
	rand.Shuffle(n, func(i, k int) { l.parcels[i], l.parcels[k] = l.parcels[k], l.parcels[i] })
	return l
}

func pack(guid, event string, body []byte, forged bool) parcel {
	secret := hookSecret
	if forged {
		secret = "not-" + hookSecret
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return parcel{guid: guid, event: event, body: body, forged: forged, signature: "sha256=" + hex.EncodeToString(mac.Sum(nil))}
}

func commentOf(t testing.TB, payload []byte) int64 {
	t.Helper()
	var p struct{ Comment struct{ ID int64 } }
	if err := json.Unmarshal(payload, &p); err != nil || p.Comment.ID == 0 {
		t.Fatalf("a payload without a comment: %v", err)
	}
	return p.Comment.ID
}

// numbered is the payload as of another pull request and another comment.
func numbered(t testing.TB, payload []byte, n int) []byte {
	t.Helper()
	var p map[string]any
	if err := json.Unmarshal(payload, &p); err != nil {
		t.Fatal(err)
	}
	if pr, ok := p["pull_request"].(map[string]any); ok {
		pr["number"] = 1000 + n
	}
	if c, ok := p["comment"].(map[string]any); ok {
		c["id"] = 1_000_000_000 + n
	}
	out, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// send offers the deliveries at so many a second (0: as fast as they are taken, a
// few at a time), and again what was not acknowledged, until all are. sent is
// told how many have been offered.
func (l *load) send(ctx context.Context, rate float64, sent func(int)) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: 30 * time.Second}
	defer client.CloseIdleConnections()
	few := make(chan struct{}, 8)
	var wg sync.WaitGroup
	begin := time.Now()
	for i, p := range l.parcels {
		if rate > 0 {
			time.Sleep(time.Until(begin.Add(time.Duration(float64(i) / rate * float64(time.Second)))))
		} else {
			few <- struct{}{}
		}
		wg.Go(func() {
			l.deliver(ctx, client, p)
			if rate <= 0 {
				<-few
			}
		})
		sent(i + 1)
	}
	wg.Wait()
}

// deliver sends one delivery until it is acknowledged or refused for good.
func (l *load) deliver(ctx context.Context, client *http.Client, p parcel) {
	for ctx.Err() == nil {
		begin := time.Now()
		status := l.post(ctx, client, p)
		took := time.Since(begin)
		good := status == http.StatusAccepted || status == http.StatusOK
		l.mu.Lock()
		if status != 0 {
			l.answers = append(l.answers, took)
		}
		if good != !p.forged && status == http.StatusUnauthorized || good && p.forged {
			l.t.Errorf("delivery %s (forged: %v) is answered %d", p.guid, p.forged, status)
		}
		done := good || status == http.StatusUnauthorized
		if !done {
			l.again++
		}
		l.mu.Unlock()
		if done {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// post gives the answer's status, 0 where there was none.
func (l *load) post(ctx context.Context, client *http.Client, p parcel) int {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+l.listen+"/webhook", bytes.NewReader(p.body))
	if err != nil {
		l.t.Error(err)
		return 0
	}
	for k, v := range map[string]string{"Content-Type": "application/json", "X-GitHub-Event": p.event, "X-GitHub-Delivery": p.guid, "X-Hub-Signature-256": p.signature} {
		req.Header.Set(k, v)
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	return resp.StatusCode
}

// run sends everything, killing serve and starting it again so many times
// meanwhile, and gives the time that it took.
func (l *load) run(rate float64, kills int) time.Duration {
	ctx, stop := context.WithCancel(l.t.Context())
	defer stop()
	serve := l.serve()
	serve.says(`"msg":"open pull requests read"`)
	reached := make(chan int, len(l.parcels))
	var wg sync.WaitGroup
	defer wg.Wait()
	begin := time.Now()
	var took time.Duration
	wg.Go(func() {
		l.send(ctx, rate, func(n int) {
			if kills > 0 && n%(len(l.parcels)/(kills+1)) == 0 {
				reached <- n
			}
		})
		took = time.Since(begin)
	})
	for range kills {
		<-reached
		serve.kill()
		serve = l.serve()
	}
	wg.Wait()
	return took
}

// eachCommandIsOneJob waits until every kept event is handled, and compares.
func (l *load) eachCommandIsOneJob() {
	l.t.Helper()
	eventually(l.t, "all events are handled", func() bool { return strings.Contains(l.metrics(), "\nprbench_events_left 0\n") })
	q, err := queue.Attach(l.t.Context(), queue.Options{Dir: filepath.Join(l.dir, "state")})
	l.ok(err)
	defer q.Close()
	jobs, err := q.ByState(l.t.Context())
	l.ok(err)
	made := map[int64]int{}
	for _, j := range jobs {
		made[j.Wish.CommentID]++
	}
	for comment := range l.commands {
		if made[comment] != 1 {
			l.t.Errorf("the command of comment %d is %d jobs, want 1", comment, made[comment])
		}
	}
	if len(jobs) != len(l.commands) {
		l.t.Errorf("%d jobs of %d commands", len(jobs), len(l.commands))
	}
	if i := slices.IndexFunc(jobs, func(j job.Job) bool { return j.State != job.Queued }); i >= 0 {
		l.t.Errorf("job %s is %s, and no runner was there", jobs[i].ID, jobs[i].State)
	}
}

func TestEveryAcknowledgedCommandIsOneJobThoughServeIsKilled(t *testing.T) {
	t.Parallel()
	l := newLoad(t, 1000)
	l.run(0, 3)
	l.eachCommandIsOneJob()
	if l.again == 0 {
		t.Error("no delivery was without an answer: the kills killed nothing")
	}
}

// BenchmarkDeliveries is GitHub on a bad day. Its figures are of the time from a
// delivery's first byte to its answer, at the load of the machine that it names.
func BenchmarkDeliveries(b *testing.B) {
	const n, rate = 20_000, 500
	for _, c := range []struct {
		name  string
		kills int
	}{{"steady", 0}, {"killed-three-times", 3}} {
		b.Run(c.name, func(b *testing.B) {
			for range b.N {
				l := newLoad(b, n)
				before := loadAverage(b)
				took := l.run(rate, c.kills)
				after := loadAverage(b)
				l.eachCommandIsOneJob()
				slices.Sort(l.answers)
				ms := func(q float64) float64 {
					return l.answers[int(q*float64(len(l.answers)-1))].Seconds() * 1000
				}
				b.ReportMetric(float64(n)/took.Seconds(), "deliveries/s")
				b.ReportMetric(ms(0.5), "p50-ms")
				b.ReportMetric(ms(0.99), "p99-ms")
				b.ReportMetric(float64(len(l.commands)), "jobs")
				b.ReportMetric(float64(l.again), "redelivered")
				b.ReportMetric(before, "load-before")
				b.ReportMetric(after, "load-after")
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}

// loadAverage is the machine's over the last minute.
func loadAverage(b *testing.B) (load float64) {
	b.Helper()
	text, err := os.ReadFile("/proc/loadavg")
	if err == nil {
		_, err = fmt.Sscan(string(text), &load)
	}
	if err != nil {
		b.Fatal(err)
	}
	return load
}
