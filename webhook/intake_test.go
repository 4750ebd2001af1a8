package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/prbench/prbench/internal/job"
)

const secret = "It-is-a-demo-secret"

// kept is a store of events in memory, with the store's dedupe.
type kept struct {
	mu     sync.Mutex
	events []job.Event
	fail   error
}

func (k *kept) publish(_ context.Context, e job.Event) (bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.fail != nil {
		return false, k.fail
	}
	for _, old := range k.events {
		if old.Delivery == e.Delivery {
			return true, nil
		}
	}
	k.events = append(k.events, e)
	return false, nil
}

func startIntake(t *testing.T, k *kept) string {
	t.Helper()
	in, err := NewIntake([]string{secret}, k.publish, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(in)
	t.Cleanup(server.Close)
	return server.URL
}

func sign(body []byte) string {
	h := hmac.New(sha256.New, []byte(secret))
	h.Write(body)
	return "sha256=" + hex.EncodeToString(h.Sum(nil))
}

func deliver(t *testing.T, to string, body []byte, headers map[string]string) (int, string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-GitHub-Delivery", "00000000-0000-4000-8000-000000000001")
	for k, v := range headers {
		req.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	said, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(said)
}

func TestADeliveryIsAnsweredByWhatItIs(t *testing.T) {
	comment := read(t, "trailing-crlf.json")
	issue := []byte(`{"action":"created","issue":{"number":1},"comment":{"id":1,"body":"/benchmark"},"repository":{"id":1,"full_name":"a/b"}}`)
	old := hmac.New(sha1.New, []byte(secret))
	old.Write(comment)
	for name, c := range map[string]struct {
		body    []byte
		headers map[string]string
		status  int
		kept    int
	}{
		"a command":                    {comment, map[string]string{"X-GitHub-Event": "issue_comment", "X-Hub-Signature-256": sign(comment)}, 202, 1},
		"no signature":                 {comment, map[string]string{"X-GitHub-Event": "issue_comment"}, 401, 0},
		"a signature of another body":  {comment, map[string]string{"X-GitHub-Event": "issue_comment", "X-Hub-Signature-256": sign(issue)}, 401, 0},
		"a signature that is no hex":   {comment, map[string]string{"X-GitHub-Event": "issue_comment", "X-Hub-Signature-256": "sha256=zz"}, 401, 0},
		"only the old SHA-1 signature": {comment, map[string]string{"X-GitHub-Event": "issue_comment", "X-Hub-Signature": "sha1=" + hex.EncodeToString(old.Sum(nil))}, 401, 0},
		"an unknown event":             {[]byte(`{}`), map[string]string{"X-GitHub-Event": "sponsorship", "X-Hub-Signature-256": sign([]byte(`{}`))}, 202, 0},
		"a ping":                       {[]byte(`{"zen":"x"}`), map[string]string{"X-GitHub-Event": "ping", "X-Hub-Signature-256": sign([]byte(`{"zen":"x"}`))}, 202, 0},
		"a comment on a plain issue":   {issue, map[string]string{"X-GitHub-Event": "issue_comment", "X-Hub-Signature-256": sign(issue)}, 202, 0},
		"no JSON":                      {[]byte(`{`), map[string]string{"X-GitHub-Event": "issue_comment", "X-Hub-Signature-256": sign([]byte(`{`))}, 400, 0},
		"no delivery id":               {comment, map[string]string{"X-GitHub-Event": "issue_comment", "X-Hub-Signature-256": sign(comment), "X-GitHub-Delivery": ""}, 400, 0},
		"another content type":         {comment, map[string]string{"X-GitHub-Event": "issue_comment", "X-Hub-Signature-256": sign(comment), "Content-Type": "text/xml"}, 400, 0},
	} {
		k := &kept{}
		status, said := deliver(t, startIntake(t, k), c.body, c.headers)
		if status != c.status || len(k.events) != c.kept {
			t.Errorf("%s: answered %d (%s) and kept %d, want %d and %d", name, status, strings.TrimSpace(said), len(k.events), c.status, c.kept)
		}
	}
}

func TestAKnownDeliveryIsAnswered200AndAFullStore503(t *testing.T) {
	body := read(t, "trailing-crlf.json")
	headers := map[string]string{"X-GitHub-Event": "issue_comment", "X-Hub-Signature-256": sign(body)}
	k := &kept{}
	at := startIntake(t, k)
	for _, want := range []int{202, 200, 200} {
		if status, _ := deliver(t, at, body, headers); status != want {
			t.Errorf("answered %d, want %d", status, want)
		}
	}
	if len(k.events) != 1 {
		t.Errorf("kept %d events, want 1", len(k.events))
	}
	k.fail = errors.New("the stream is full")
	if status, _ := deliver(t, at, body, headers); status != 503 {
		t.Errorf("with a full store: answered %d, want 503, so that GitHub records a failure", status)
	}
}

func TestTwoMegabytesAreTakenAndTwentySixAreNotEvenRead(t *testing.T) {
	k := &kept{}
	at := startIntake(t, k)
	big := []byte(`{"action":"x","pad":"` + strings.Repeat("a", 2<<20) + `"}`)
	if status, said := deliver(t, at, big, map[string]string{"X-GitHub-Event": "issue_comment", "X-Hub-Signature-256": sign(big)}); status != 202 {
		t.Errorf("2 MiB: answered %d (%s), want 202", status, said)
	}
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	// Only the headers are sent: an answer proves that the body was not waited for.
	conn, err := net.Dial("tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_, err = fmt.Fprintf(conn, "POST /webhook HTTP/1.1\r\nHost: x\r\nX-GitHub-Event: ping\r\nX-Hub-Signature-256: sha256=00\r\nContent-Length: %d\r\n\r\n", 26<<20)
	if err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 64)
	n, err := conn.Read(answer)
	if err != nil || !strings.HasPrefix(string(answer[:n]), "HTTP/1.1 413") {
		t.Errorf("26 MiB announced: got %q, %v; want 413", answer[:n], err)
	}
}

func TestABodyWithoutALengthIsCutAtTheLimit(t *testing.T) {
	k := &kept{}
	req, err := http.NewRequest(http.MethodPost, startIntake(t, k), io.LimitReader(zeros{}, 26<<20))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-GitHub-Event", "ping")
	req.Header.Set("X-Hub-Signature-256", "sha256=00")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return // the server closed the connection while we wrote: refused as well
	}
	_ = resp.Body.Close()
	if resp.StatusCode != 413 {
		t.Errorf("answered %d, want 413", resp.StatusCode)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

func TestAFormEncodedDeliveryIsReadAsSignedRaw(t *testing.T) {
	k := &kept{}
	body := read(t, "form-encoded.body")
	headers := map[string]string{}
	for line := range strings.Lines(string(read(t, "form-encoded.headers"))) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && !strings.HasPrefix(line, "#") {
			headers[name] = value
		}
	}
	if status, said := deliver(t, startIntake(t, k), body, headers); status != 202 || len(k.events) != 1 {
		t.Fatalf("answered %d (%s) and kept %d events", status, said, len(k.events))
	}
	if got := strings.TrimSpace(k.events[0].Comment.Body); got != "/benchmark http & fs=1+1" {
		t.Errorf("the comment reads %q", got)
	}
}

func TestALabelOnADeletedForkIsReduced(t *testing.T) {
	e, acts, err := Reduce("pull_request", "d", testTime, read(t, "label-on-deleted-fork.json"))
	if err != nil || !acts {
		t.Fatalf("acts %v, %v", acts, err)
	}
	if e.Label != "benchmark" || e.HeadSHA != strings.Repeat("a1", 20) || e.Sender.Login != "dev-a" || e.PR != 42 {
		t.Errorf("got %+v", e)
	}
}

func TestEventsThatWeDoNotUseHaveNoEffect(t *testing.T) {
	for range 3 {
		if _, acts, err := Reduce("workflow_job", "d", testTime, []byte(`{"action":"completed"}`)); acts || err != nil {
			t.Errorf("acts %v, %v", acts, err)
		}
	}
}

func TestAnEmptySecretRefusesToStart(t *testing.T) {
	for _, secrets := range [][]string{nil, {""}, {"good", " "}} {
		if _, err := NewIntake(secrets, (&kept{}).publish, slog.Default()); err == nil {
			t.Errorf("secrets %q were taken", secrets)
		}
	}
}

func FuzzReduce(f *testing.F) {
	for kind, file := range map[string]string{"issue_comment": "edit-below-the-command.json", "pull_request": "label-on-deleted-fork.json"} {
		raw, err := os.ReadFile("testdata/" + file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(kind, raw)
	}
	f.Add("installation", []byte(`{"action":"created","installation":{"id":1}}`))
	f.Add("check_run", []byte(`{"action":"requested_action","check_run":{"id":1,"external_id":"5.1.1","app":{"id":1}},`+
		`"requested_action":{"identifier":"run-again"},"repository":{"id":5,"full_name":"acme/engine"}}`))
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		e, acts, err := Reduce(kind, "d", testTime, body)
		if acts && err != nil {
			t.Errorf("an event that acts has the error %v", err)
		}
		if acts && kind == "pull_request" && !isSHA(e.HeadSHA) {
			t.Errorf("the head %q would become an argument of git", e.HeadSHA)
		}
		if acts && kind == "check_run" && (!e.CheckRun.Job.Valid() || e.PR <= 0) {
			t.Errorf("the check run of %q would become a key", e.CheckRun.Job)
		}
	})
}
