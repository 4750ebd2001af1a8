package forgetest

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"
)

// Delivery is one attempt to deliver a webhook.
type Delivery struct {
	ID             int64
	GUID           string
	App            *App
	Event, Action  string
	InstallationID int64
	RepositoryID   int64
	Redelivery     bool
	At             time.Time
	// Payload is the JSON, also where the request is form-encoded.
	Payload []byte

	// What follows is set once the attempt is Done.
	Done       bool
	Status     string // "OK", or what failed
	StatusCode int    // 0: no answer
	Duration   time.Duration
	Header     http.Header
	Response   []byte
}

// DeliveryMode says how webhooks are delivered. They always go out one after
// another, in the order of what caused them.
type DeliveryMode struct {
	// Sync makes every method that acts as a person return only after its
	// webhooks were answered.
	Sync bool
	// Twice delivers everything a second time, as a redelivery.
	Twice bool
	// Form encodes as application/x-www-form-urlencoded.
	Form bool
	// Lost records deliveries as failed without making a request.
	Lost bool
}

// SetDeliveryMode changes how webhooks are delivered from now on.
func (s *Server) SetDeliveryMode(m DeliveryMode) {
	s.hooks.mu.Lock()
	defer s.hooks.mu.Unlock()
	s.hooks.mode = m
}

// Deliveries are all attempts so far, oldest first.
func (s *Server) Deliveries() []Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Delivery, len(s.deliveries))
	for i, d := range s.deliveries {
		out[i] = *d
	}
	return out
}

// Settle waits until every webhook that was due has been answered or failed.
func (s *Server) Settle(ctx context.Context) error { return s.hooks.wait(ctx) }

// hookQueue delivers webhooks in order, in one goroutine.
type hookQueue struct {
	server *Server
	client *http.Client
	stop   context.CancelFunc
	ended  chan struct{}

	mu      sync.Mutex
	changed *sync.Cond
	mode    DeliveryMode
	queue   []*Delivery
	busy    bool
	closed  bool
}

func newHookQueue(s *Server) *hookQueue {
	ctx, stop := context.WithCancel(context.Background())
	q := &hookQueue{
		server: s, stop: stop, ended: make(chan struct{}),
		client: &http.Client{
			Timeout: 10 * time.Second, Transport: &http.Transport{},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	q.changed = sync.NewCond(&q.mu)
	go q.run(ctx)
	return q
}

func (q *hookQueue) close() {
	q.mu.Lock()
	q.closed = true
	q.changed.Broadcast()
	q.mu.Unlock()
	q.stop()
	<-q.ended
	q.client.CloseIdleConnections()
}

func (q *hookQueue) add(d *Delivery) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.queue = append(q.queue, d)
	q.changed.Broadcast()
}

// settle waits for the queue when the mode asks for it.
func (q *hookQueue) settle() {
	q.mu.Lock()
	sync := q.mode.Sync
	q.mu.Unlock()
	if sync {
		q.wait(context.Background())
	}
}

func (q *hookQueue) wait(ctx context.Context) error {
	wake := context.AfterFunc(ctx, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.changed.Broadcast()
	})
	defer wake()
	q.mu.Lock()
	defer q.mu.Unlock()
	for (len(q.queue) > 0 || q.busy) && !q.closed {
		if err := ctx.Err(); err != nil {
			return err
		}
		q.changed.Wait()
	}
	return nil
}

func (q *hookQueue) run(ctx context.Context) {
	defer close(q.ended)
	for {
		q.mu.Lock()
		for len(q.queue) == 0 && !q.closed {
			q.changed.Wait()
		}
		if q.closed {
			q.mu.Unlock()
			return
		}
		d, mode := q.queue[0], q.mode
		q.queue, q.busy = q.queue[1:], true
		q.mu.Unlock()

		q.deliver(ctx, d, mode)
		if mode.Twice && !d.Redelivery {
			q.deliver(ctx, q.server.again(d), mode)
		}

		q.mu.Lock()
		q.busy = false
		q.changed.Broadcast()
		q.mu.Unlock()
	}
}

func (q *hookQueue) deliver(ctx context.Context, d *Delivery, mode DeliveryMode) {
	s := q.server
	s.mu.Lock()
	target, secret := d.App.hookURL, d.App.hookSecret
	body, contentType := d.Payload, "application/json"
	s.mu.Unlock()
	if mode.Form {
		body, contentType = []byte("payload="+url.QueryEscape(string(d.Payload))), "application/x-www-form-urlencoded"
	}
	header := d.header(body, contentType, secret)
	begin := time.Now()
	status, code, answer := "Couldn't connect to server", 0, []byte(nil)
	if !mode.Lost {
		status, code, answer = q.post(ctx, target, header, body)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	d.Status, d.StatusCode, d.Response, d.Header = status, code, answer, header
	d.Duration, d.Done = time.Since(begin), true
	logExchange(exchange{Kind: "webhook", Event: d.Event, Body: string(d.Payload)})
}

func (q *hookQueue) post(ctx context.Context, target string, header http.Header, body []byte) (string, int, []byte) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return "Invalid URL", 0, nil
	}
	req.Header = header.Clone()
	resp, err := q.client.Do(req)
	if err != nil {
		return "Couldn't connect to server", 0, nil
	}
	defer resp.Body.Close()
	answer, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if resp.StatusCode >= 200 && resp.StatusCode <= 299 {
		return "OK", resp.StatusCode, answer
	}
	return fmt.Sprintf("Invalid HTTP Response: %d", resp.StatusCode), resp.StatusCode, answer
}

func (d *Delivery) header(body []byte, contentType, secret string) http.Header {
	h := http.Header{}
	h.Set("Accept", "*/*")
	h.Set("User-Agent", "GitHub-Hookshot/forgetest")
	h.Set("Content-Type", contentType)
	h.Set("X-GitHub-Delivery", d.GUID)
	h.Set("X-GitHub-Event", d.Event)
	h.Set("X-GitHub-Hook-ID", fmt.Sprint(d.App.hookID))
	h.Set("X-GitHub-Hook-Installation-Target-ID", fmt.Sprint(d.App.ID))
	h.Set("X-GitHub-Hook-Installation-Target-Type", "integration")
	if secret != "" {
		h.Set("X-Hub-Signature", "sha1="+sign(sha1.New, secret, body))
		h.Set("X-Hub-Signature-256", "sha256="+sign(sha256.New, secret, body))
	}
	return h
}

func sign(fn func() hash.Hash, secret string, body []byte) string {
	mac := hmac.New(fn, []byte(secret))
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

// again records another attempt of a delivery.
func (s *Server) again(d *Delivery) *Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := &Delivery{
		ID: s.id(), GUID: d.GUID, App: d.App, Event: d.Event, Action: d.Action, InstallationID: d.InstallationID,
		RepositoryID: d.RepositoryID, Redelivery: true, At: s.stamp(), Payload: d.Payload,
	}
	s.deliveries = append(s.deliveries, next)
	return next
}

// Redeliver delivers a webhook once more, as the button in the App's settings
// does.
func (s *Server) Redeliver(id int64) error {
	s.mu.Lock()
	i := slices.IndexFunc(s.deliveries, func(d *Delivery) bool { return d.ID == id })
	if i < 0 {
		s.mu.Unlock()
		return fmt.Errorf("redeliver: no delivery %d", id)
	}
	d := s.deliveries[i]
	s.mu.Unlock()
	s.hooks.add(s.again(d))
	s.hooks.settle()
	return nil
}

// emit queues an event for every App that is installed on the repository and
// listens to it; the caller holds mu.
func (s *Server) emit(event, action string, r *Repo, sender *User, payload object) {
	for _, i := range s.sortedInstallations() {
		if i.covers(r) && i.suspended.IsZero() && slices.Contains(i.App.events, event) {
			s.emitTo(i, event, action, r, sender, payload)
		}
	}
}

// emitTo queues an event for one installation; the caller holds mu.
func (s *Server) emitTo(i *Installation, event, action string, r *Repo, sender *User, payload object) {
	if i.App.hookURL == "" {
		return
	}
	whole := object{"sender": s.userJSON(sender), "installation": object{"id": i.ID, "node_id": nodeID("IN", i.ID)}}
	if action != "" {
		whole["action"] = action
	}
	d := &Delivery{ID: s.id(), GUID: newGUID(), App: i.App, Event: event, Action: action, InstallationID: i.ID, At: s.stamp()}
	if r != nil {
		whole["repository"] = s.repoJSON(r)
		d.RepositoryID = r.ID
	}
	if i.Account.Type == "Organization" {
		whole["organization"] = s.orgJSON(i.Account)
	}
	for key, value := range payload {
		whole[key] = value
	}
	d.Payload = encode(whole)
	s.deliveries = append(s.deliveries, d)
	s.hooks.add(d)
}

func (s *Server) sortedInstallations() []*Installation {
	var all []*Installation
	for _, i := range s.installations {
		all = append(all, i)
	}
	slices.SortFunc(all, func(a, b *Installation) int { return int(a.ID - b.ID) })
	return all
}

// encode is JSON as GitHub writes it, without escapes for HTML.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // only values of this package's own making come here
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

func newGUID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

const textAlphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// randomText is n random letters and digits.
func randomText(n int) string {
	b := make([]byte, n)
	rand.Read(b)
	for i := range b {
		b[i] = textAlphabet[int(b[i])%len(textAlphabet)]
	}
	return string(b)
}
