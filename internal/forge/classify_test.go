package forge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prbench/prbench/internal/forge"
)

// recorded is one recorded answer of testdata.
type recorded struct {
	Req     string            `json:"req"`
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Body    json.RawMessage   `json:"body"`
}

func recording(t *testing.T, name string) []recorded {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var out []recorded
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// replay is a forge that gives the answers one after another, and then the
// last one again and again.
type replay struct {
	*forge.Client
	forge *forge.Forge
	clock *handClock
	asked atomic.Int32
}

func newReplay(t *testing.T, answers ...recorded) *replay {
	t.Helper()
	r := &replay{clock: newHandClock()}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		io.Copy(io.Discard, req.Body)
		n := int(r.asked.Add(1)) - 1
		a := answers[min(n, len(answers)-1)]
		for key, value := range a.Headers {
			w.Header().Set(key, value)
		}
		w.WriteHeader(a.Status)
		w.Write(a.Body)
	}))
	t.Cleanup(server.Close)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	f, err := forge.New(forge.Config{URL: server.URL, Token: "ghp_0123456789012345678901234567890123456789", Transport: transport, Clock: r.clock})
	if err != nil {
		t.Fatal(err)
	}
	r.forge, r.Client = f, f.Installation(0)
	return r
}

var engine = forge.Repo{Owner: "acme", Name: "engine"}

func (r *replay) post() error {
	_, err := r.CreateComment(context.Background(), engine, 42, "text")
	return err
}

func said(words string) json.RawMessage {
	b, _ := json.Marshal(map[string]string{"message": words})
	return b
}

func TestEveryAnswerHasOneReading(t *testing.T) {
	in := func(d time.Duration) string { return fmt.Sprint(time.Now().Add(d).Unix()) }
	doc := func(words, docs string) json.RawMessage {
		b, _ := json.Marshal(map[string]string{"message": words, "documentation_url": docs})
		return b
	}
	const (
		secondaryDocs = "https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits"
		abuseDocs     = "https://developer.github.com/v3/#abuse-rate-limits"
	)
	cases := []struct {
		name    string
		status  int
		headers map[string]string
		body    json.RawMessage
		want    forge.Kind
		atLeast time.Duration
		atMost  time.Duration
	}{
		{"a bad credential", 401, nil, said("Bad credentials"), forge.Unauthorized, 0, 0},
		{"a second factor wanted", 401, map[string]string{"X-GitHub-OTP": "required; app"}, said("Must specify two-factor authentication OTP code."), forge.Unauthorized, 0, 0},
		{"no permission", 403, nil, said("Resource not accessible by integration"), forge.NoPermission, 0, 0},
		{"an address that the organisation does not allow", 403, nil, said("Although you appear to have the correct authorization credentials, the `acme` organization has an IP allow list enabled"), forge.NoPermission, 0, 0},
		{"a repository that is blocked", 403, nil, said("Repository access blocked"), forge.NoPermission, 0, 0},
		{"a locked conversation", 403, nil, said("Unable to create comment because issue is locked."), forge.Locked, 0, 0},
		{"a locked conversation on the budget's last request", 403, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": in(time.Hour)}, said("Unable to create comment because issue is locked."), forge.Locked, 0, 0},
		{"an archived repository", 403, nil, said("Repository was archived so is read-only."), forge.Archived, 0, 0},
		{"a suspended installation", 403, nil, said("This installation has been suspended"), forge.Suspended, 0, 0},
		{"a suspended account", 403, nil, said("Sorry. Your account was suspended."), forge.Suspended, 0, 0},
		{"not found", 404, nil, said("Not Found"), forge.NotFound, 0, 0},
		{"deleted for good", 410, nil, said("This issue was deleted"), forge.Gone, 0, 0},
		{"taken down", 451, nil, said("Repository access blocked"), forge.Gone, 0, 0},
		{"a changed state", 409, nil, said("Git Repository is empty."), forge.Conflict, time.Second, time.Second},
		{"too long a comment", 422, nil, said("Validation Failed"), forge.Unprocessable, 0, 0},
		{"broken JSON", 400, nil, said("Problems parsing JSON"), forge.Unprocessable, 0, 0},
		{"an empty hour", 403, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": in(10 * time.Minute)}, said("API rate limit exceeded for installation ID 7."), forge.PrimaryLimit, 9 * time.Minute, 11 * time.Minute},
		{"an empty hour as 429", 429, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": in(10 * time.Minute)}, said("API rate limit exceeded for user ID 7."), forge.PrimaryLimit, 9 * time.Minute, 11 * time.Minute},
		{"an empty hour with a reset that a wrong clock calls past", 403, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": in(-time.Minute)}, said("API rate limit exceeded"), forge.PrimaryLimit, time.Second, time.Second},
		{"an empty hour with a reset in ten years", 403, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": in(87600 * time.Hour)}, said("API rate limit exceeded"), forge.PrimaryLimit, 24 * time.Hour, 25 * time.Hour},
		{"a secondary limit by its words", 403, nil, said("You have exceeded a secondary rate limit."), forge.SecondaryLimit, time.Minute, time.Minute},
		{"a secondary limit by its link", 403, nil, doc("Slow down", secondaryDocs), forge.SecondaryLimit, time.Minute, time.Minute},
		{"a secondary limit with an empty hour", 403, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": in(-time.Hour)}, said("You have exceeded a secondary rate limit. Please wait a few minutes before you try again."), forge.SecondaryLimit, time.Minute, time.Minute},
		{"a secondary limit as 429", 429, map[string]string{"Retry-After": "90"}, said("You have exceeded a secondary rate limit."), forge.SecondaryLimit, 90 * time.Second, 90 * time.Second},
		{"a secondary limit that names less than a minute", 403, map[string]string{"Retry-After": "3"}, said("You have exceeded a secondary rate limit."), forge.SecondaryLimit, time.Minute, time.Minute},
		{"a secondary limit until a date", 403, map[string]string{"Retry-After": time.Now().Add(5 * time.Minute).UTC().Format(http.TimeFormat)}, said("You have exceeded a secondary rate limit."), forge.SecondaryLimit, 4 * time.Minute, 5 * time.Minute},
		{"a secondary limit that names nonsense", 403, map[string]string{"Retry-After": "soon"}, said("You have exceeded a secondary rate limit."), forge.SecondaryLimit, time.Minute, time.Minute},
		{"a secondary limit that names a year", 403, map[string]string{"Retry-After": "31536000"}, said("You have exceeded a secondary rate limit."), forge.SecondaryLimit, 24 * time.Hour, 24 * time.Hour},
		{"too much content", 403, nil, said("You have exceeded a secondary rate limit and have been temporarily blocked from content creation. Please retry your request again later."), forge.SecondaryLimit, time.Minute, time.Minute},
		{"the old name of the secondary limit", 403, nil, doc("You have triggered an abuse detection mechanism.", abuseDocs), forge.SecondaryLimit, time.Minute, time.Minute},
		{"content too quickly", 422, nil, json.RawMessage(`{"message":"Validation Failed","errors":[{"resource":"IssueComment","code":"custom","field":"body","message":"was submitted too quickly"}]}`), forge.SecondaryLimit, time.Minute, time.Minute},
		{"a 403 that only says when to come back", 403, map[string]string{"Retry-After": "120"}, said("Forbidden"), forge.SecondaryLimit, 2 * time.Minute, 2 * time.Minute},
		{"a bare 429", 429, nil, nil, forge.TooManyRequests, time.Minute, time.Minute},
		{"a failing server", 500, nil, nil, forge.ServerFault, time.Second, time.Second},
		{"a proxy's page", 502, nil, json.RawMessage("<html>Unicorn!</html>"), forge.ServerFault, time.Second, time.Second},
		{"a server in maintenance", 503, map[string]string{"Retry-After": "30"}, nil, forge.ServerFault, 30 * time.Second, 30 * time.Second},
		{"a server that gave up waiting", 408, nil, nil, forge.ServerFault, time.Second, time.Second},
		{"an answer that is no JSON", 201, nil, json.RawMessage("<html>Welcome to the hotel's network</html>"), forge.BadAnswer, 0, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := newReplay(t, recorded{Status: c.status, Headers: c.headers, Body: c.body})
			r.clock.now = time.Now()
			err := r.post()
			got := forge.Classify(err)
			if got.Kind != c.want {
				t.Fatalf("%v is %q, want %q", err, got.Kind, c.want)
			}
			if got.RetryAfter < c.atLeast || got.RetryAfter > c.atMost {
				t.Errorf("waits %v, want between %v and %v", got.RetryAfter, c.atLeast, c.atMost)
			}
			if got.Retryable != (c.atLeast > 0) {
				t.Errorf("retryable: %v", got.Retryable)
			}
			if want := c.want == forge.ServerFault || c.want == forge.BadAnswer; got.Unclear != want {
				t.Errorf("unclear: %v, want %v", got.Unclear, want)
			}
			if wrapped := fmt.Errorf("publish: %w", err); forge.Classify(wrapped) != got {
				t.Errorf("a wrapped error reads %+v", forge.Classify(wrapped))
			}
		})
	}
}

// A commenter of a secondary limit must wait a minute each time, and post once.
func TestASecondaryLimitIsWaitedFor(t *testing.T) {
	answers := recording(t, "secondary-limit-without-and-with-retry-after.json")
	r := newReplay(t, answers...)
	for range len(answers) - 1 {
		err := r.post()
		got := forge.Classify(err)
		if got.Kind != forge.SecondaryLimit || got.RetryAfter < time.Minute || !got.Retryable || got.Unclear {
			t.Fatalf("%v reads %+v", err, got)
		}
		asked := r.asked.Load()
		if early := forge.Classify(r.post()); early.Kind != forge.SecondaryLimit || early.RetryAfter <= 0 {
			t.Fatalf("too early an attempt reads %+v", early)
		}
		if r.asked.Load() != asked {
			t.Fatal("too early an attempt was sent")
		}
		if err := r.clock.Sleep(context.Background(), got.RetryAfter); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.post(); err != nil {
		t.Fatal(err)
	}
	if got := int(r.asked.Load()); got != len(answers) {
		t.Fatalf("%d requests, want %d", got, len(answers))
	}
}

func TestALockedPullRequestIsNotTriedAgain(t *testing.T) {
	r := newReplay(t, recording(t, "locked-pull-request.json")...)
	if got := forge.Classify(r.post()); got != (forge.Class{Kind: forge.Locked}) {
		t.Fatalf("reads %+v", got)
	}
}

func TestTheEditOfADeletedCommentIsNotFound(t *testing.T) {
	r := newReplay(t, recording(t, "edit-of-a-deleted-comment.json")...)
	_, err := r.EditComment(context.Background(), engine, 555, "text")
	if got := forge.Classify(err); got != (forge.Class{Kind: forge.NotFound}) {
		t.Fatalf("reads %+v", got)
	}
}

func TestACutConnectionIsUnclearOnlyForAMutation(t *testing.T) {
	w := newWorld(t)
	w.Fail(cut("POST", "/repos/acme/engine/issues/1/comments"))
	_, err := w.gh.CreateComment(w.ctx, w.name, 1, "text <!-- mark -->")
	if got := w.is(err, forge.Network); !got.Unclear || !got.Retryable {
		t.Fatalf("reads %+v", got)
	}
	// Looking before trying again finds what had its effect.
	if _, found, err := w.gh.FindComment(w.ctx, w.name, 1, "<!-- mark -->"); err != nil || !found {
		t.Fatalf("the comment is not found: %v", err)
	}
	gone := cut("GET", "/repos/acme/engine/pulls/1")
	gone.Times = -1 // the transport itself tries a GET again on a fresh connection
	w.Fail(gone)
	_, err = w.gh.PullRequest(w.ctx, w.name, 1)
	if got := w.is(err, forge.Network); got.Unclear {
		t.Fatalf("reads %+v", got)
	}
}

func TestARequestThatNeverLeftIsNotUnclear(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + ln.Addr().String()
	ln.Close()
	f, err := forge.New(forge.Config{URL: address, Token: "ghp_token"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Installation(0).CreateComment(context.Background(), engine, 1, "text")
	if got := forge.Classify(err); got.Kind != forge.Network || got.Unclear || !got.Retryable {
		t.Fatalf("%v reads %+v", err, got)
	}
}

func TestACallersEndIsKeptApartFromTheForgesSilence(t *testing.T) {
	hang := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { <-hang }))
	defer server.Close()
	defer close(hang)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	f, err := forge.New(forge.Config{URL: server.URL, Token: "ghp_token", Timeout: 20 * time.Millisecond, Transport: transport})
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Installation(0).CreateComment(context.Background(), engine, 1, "text")
	if got := forge.Classify(err); got.Kind != forge.Network || !got.Unclear || errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("silence: %v reads %+v", err, got)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = f.Installation(0).CreateComment(ctx, engine, 1, "text")
	if got := forge.Classify(err); got.Kind != forge.Cancelled || got.Unclear || !errors.Is(err, context.Canceled) {
		t.Fatalf("a cancelled caller: %v reads %+v", err, got)
	}
}

func TestErrorsNeverHoldASecret(t *testing.T) {
	secrets := []string{
		"ghs_16C7e42F292c6912E7710c838347Ae178B4a", "ghp_16C7e42F292c6912E7710c838347Ae178B4a", "github_pat_11ABCDEFG0abcdefghij_klmnopqrst",
		"eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiIxIn0.c2lnbmF0dXJl", "hunter2hunter2hunter2",
		"-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA\n-----END RSA PRIVATE KEY-----",
	}
	quoted := secrets[0] + " and " + secrets[1] + " and " + secrets[2] + "\nAuthorization: Bearer " + secrets[3] +
		" https://x-access-token:" + secrets[4] + "@github.com/a/b " + secrets[5]
	r := newReplay(t, recorded{Status: 403, Body: said(quoted)})
	err := r.post()
	for _, text := range []string{err.Error(), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", err), fmt.Sprint(r.forge), fmt.Sprintf("%#v", r.forge)} {
		for _, secret := range append(secrets, "MIIEowIBAAKCAQEA", "ghp_0123456789") {
			if strings.Contains(text, secret) {
				t.Errorf("%q holds %q", text, secret)
			}
		}
	}
	if strings.ContainsAny(err.Error(), "\n\r") {
		t.Errorf("%q is not one line", err)
	}
}

func FuzzAnErrorIsOneBoundedLine(f *testing.F) {
	f.Add("Not Found", 404)
	f.Add("ghs_16C7e42F292c6912E7710c838347Ae178B4a\x00\x1b[31m\r\n", 403)
	f.Add(strings.Repeat("é", 5000), 422)
	f.Fuzz(func(t *testing.T, words string, status int) {
		if status < 300 || status > 599 {
			return
		}
		err := forge.ErrorFromAnswer(status, words)
		text := err.Error()
		if len(text) > 600 || strings.ContainsAny(text, "\n\r\x1b\x00") || strings.Contains(text, "ghs_16C7e42F292c6912E7710c838347Ae178B4a") {
			t.Fatalf("%q", text)
		}
	})
}
