package webhook

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// slowBody gives some bytes and does not end until it is let go.
type slowBody struct {
	bytes   int
	reading chan<- struct{}
	release <-chan struct{}
}

func (b *slowBody) Read(p []byte) (int, error) {
	if b.bytes > 0 {
		n := min(b.bytes, len(p))
		b.bytes -= n
		return n, nil
	}
	b.reading <- struct{}{}
	<-b.release
	return 0, io.EOF
}

func TestBodiesThatAreReadAtOnceAreBoundedInAll(t *testing.T) {
	k := &kept{}
	in, err := NewIntake([]string{secret}, k.publish, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	in.most = 10_000
	send := func(body io.Reader) int {
		r := httptest.NewRequest(http.MethodPost, "/webhook", body)
		r.Header.Set("X-Hub-Signature-256", "sha256=00")
		w := httptest.NewRecorder()
		in.ServeHTTP(w, r)
		return w.Code
	}
	reading, release, answers := make(chan struct{}), make(chan struct{}), make(chan int)
	const slow = 3
	for range slow {
		go func() { answers <- send(&slowBody{3000, reading, release}) }()
	}
	for range slow {
		<-reading
	}
	if code := send(strings.NewReader(strings.Repeat("x", 1001))); code != http.StatusServiceUnavailable {
		t.Errorf("one more is answered %d, want 503", code)
	}
	if code := send(strings.NewReader(strings.Repeat("x", 1000))); code != http.StatusUnauthorized {
		t.Errorf("a small one beside them is answered %d, want 401", code)
	}
	close(release)
	for range slow {
		if code := <-answers; code != http.StatusUnauthorized {
			t.Errorf("answered %d, want 401", code)
		}
	}
	if n := in.held.Load(); n != 0 {
		t.Errorf("%d bytes are held after all", n)
	}
}
