// Package webhook is the first half of a request's way: it takes GitHub's
// deliveries, checks their signature, keeps them durably, reads the commands in
// comments, asks who may do what, pins both commits and makes the job.
package webhook

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prbench/prbench/internal/job"
)

// MaxBody is the largest delivery that GitHub sends; larger bodies are refused
// before they are read.
const MaxBody = 25 << 20

// maxHeld bounds the bytes of all bodies in hand at once: anybody can send them,
// since the signature is over the whole body.
const maxHeld = 128 << 20

// publishTimeout bounds how long an answer to GitHub may wait for the store.
// GitHub gives up after ten seconds.
const publishTimeout = 8 * time.Second

// Publish stores an event durably. It reports whether the event's delivery is
// already known, and returns only when the event is on disk.
type Publish func(ctx context.Context, e job.Event) (duplicate bool, err error)

// Intake is the HTTP handler of the webhook's address.
type Intake struct {
	secrets [][]byte
	publish Publish
	log     *slog.Logger
	now     func() time.Time
	held    atomic.Int64 // bytes of the bodies in hand
	most    int64        // of these
	// Observe, where set, is told of each delivery's event and outcome
	// ("accepted", "duplicate", "ignored", "unsigned", "too-large", "malformed", "unavailable").
	Observe func(event, outcome string)
}

// NewIntake makes the handler. Several secrets allow a secret to be changed
// without losing deliveries; none, or an empty one, is refused.
func NewIntake(secrets []string, publish Publish, log *slog.Logger) (*Intake, error) {
	if len(secrets) == 0 {
		return nil, errors.New("webhook secret: none given; GitHub's deliveries could not be told from anybody's")
	}
	in := &Intake{publish: publish, log: log, now: time.Now, most: maxHeld}
	for _, s := range secrets {
		if strings.TrimSpace(s) == "" {
			return nil, errors.New("webhook secret: it is empty; GitHub's deliveries could not be told from anybody's")
		}
		in.secrets = append(in.secrets, []byte(s))
	}
	return in, nil
}

// ServeHTTP answers 202 when the delivery is kept (or has no effect for us),
// 200 when it is known, 401 without a good SHA-256 signature, 413 beyond
// MaxBody, 400 for a body that is no payload, 503 when it could not be stored or
// too much else is being read.
func (in *Intake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "deliveries are POSTed", http.StatusMethodNotAllowed)
		return
	}
	kind := eventName(r.Header.Get("X-GitHub-Event"))
	status, outcome, say := in.take(w, r, kind)
	if in.Observe != nil {
		in.Observe(KnownEvent(kind), outcome)
	}
	if status >= 400 {
		in.log.Warn("delivery refused", "event", kind, "delivery", deliveryID(r), "status", status, "why", say)
		http.Error(w, say, status)
		return
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, say+"\n") // the sender may have gone; the event is kept
}

func (in *Intake) take(w http.ResponseWriter, r *http.Request, kind string) (status int, outcome, say string) {
	if r.ContentLength > MaxBody {
		// The rest is not read: the connection ends with the answer.
		w.Header().Set("Connection", "close")
		return http.StatusRequestEntityTooLarge, "too-large", "the body is over 25 MiB"
	}
	signature := r.Header.Get("X-Hub-Signature-256")
	if signature == "" {
		return http.StatusUnauthorized, "unsigned", "X-Hub-Signature-256 is missing"
	}
	reader := &heldReader{from: http.MaxBytesReader(w, r.Body, MaxBody), in: in}
	defer reader.release()
	body, err := io.ReadAll(reader)
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return http.StatusRequestEntityTooLarge, "too-large", "the body is over 25 MiB"
	case errors.Is(err, errHeld):
		w.Header().Set("Connection", "close")
		return http.StatusServiceUnavailable, "unavailable", "too many deliveries at once; please redeliver it"
	case err != nil:
		return http.StatusBadRequest, "malformed", "the body could not be read"
	}
	if !in.signed(body, signature) {
		return http.StatusUnauthorized, "unsigned", "X-Hub-Signature-256 does not fit the body"
	}
	id := deliveryID(r)
	if id == "" {
		return http.StatusBadRequest, "malformed", "X-GitHub-Delivery is missing or too long"
	}
	payload, err := payloadOf(r.Header.Get("Content-Type"), body)
	if err != nil {
		return http.StatusBadRequest, "malformed", err.Error()
	}
	event, acts, err := Reduce(kind, id, in.now(), payload)
	if err != nil {
		return http.StatusBadRequest, "malformed", err.Error()
	}
	if !acts {
		return http.StatusAccepted, "ignored", "no effect"
	}
	ctx, stop := context.WithTimeout(r.Context(), publishTimeout)
	defer stop()
	duplicate, err := in.publish(ctx, event)
	switch {
	case err != nil:
		in.log.Error("delivery not stored", "event", kind, "delivery", id, "err", err)
		return http.StatusServiceUnavailable, "unavailable", "the delivery could not be stored; please redeliver it"
	case duplicate:
		return http.StatusOK, "duplicate", "known"
	default:
		in.log.Info("delivery accepted", "event", kind, "action", event.Action, "delivery", id,
			"repository", event.Repository.FullName(), "pr", event.PR)
		return http.StatusAccepted, "accepted", "accepted"
	}
}

// errHeld ends the reading of a body for which there is no room.
var errHeld = errors.New("too many bytes in hand")

// heldReader counts a body as it comes. What was announced counts for nothing:
// whoever only announces must not keep others out.
type heldReader struct {
	from io.Reader
	in   *Intake
	n    int64
}

func (h *heldReader) Read(p []byte) (int, error) {
	n, err := h.from.Read(p)
	h.n += int64(n)
	if h.in.held.Add(int64(n)) > h.in.most {
		return n, errHeld
	}
	return n, err
}

func (h *heldReader) release() { h.in.held.Add(-h.n) }

// signed compares in constant time, and tries every secret, so that the time
// taken tells nothing.
func (in *Intake) signed(body []byte, header string) bool {
	given, ok := strings.CutPrefix(header, "sha256=")
	if !ok {
		return false
	}
	mac, err := hex.DecodeString(given)
	if err != nil {
		return false
	}
	good := false
	for _, s := range in.secrets {
		h := hmac.New(sha256.New, s)
		h.Write(body)
		if hmac.Equal(h.Sum(nil), mac) {
			good = true
		}
	}
	return good
}

// payloadOf gives the JSON of a delivery, which GitHub sends bare or as the
// form field "payload". The signature covers the raw body in both.
func payloadOf(contentType string, body []byte) ([]byte, error) {
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		media = "application/json" // as a proxy may leave it
	}
	switch media {
	case "application/x-www-form-urlencoded":
		form, err := url.ParseQuery(string(body))
		if err != nil || form.Get("payload") == "" {
			return nil, errors.New("the form has no readable field \"payload\"")
		}
		return []byte(form.Get("payload")), nil
	case "application/json":
		return body, nil
	default:
		return nil, errors.New("want application/json or application/x-www-form-urlencoded")
	}
}

// deliveryID is the delivery's GUID, or "" where the header cannot be one.
func deliveryID(r *http.Request) string {
	id := r.Header.Get("X-GitHub-Delivery")
	if len(id) > 128 || strings.ContainsFunc(id, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return ""
	}
	return id
}

// KnownEvent bounds the names that a metric can get from anybody's requests: an
// event that this program does not know is "other".
func KnownEvent(kind string) string {
	if _, ok := actions[kind]; ok || kind == "ping" {
		return kind
	}
	return "other"
}

// eventName keeps the header fit for a log line.
func eventName(s string) string {
	if len(s) > 64 || s == "" || strings.ContainsFunc(s, func(c rune) bool { return (c < 'a' || c > 'z') && c != '_' }) {
		return "unknown"
	}
	return s
}
