package forge

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"

	"github.com/google/go-github/v60/github"
)

// ErrorFromAnswer gives the error that an answer of a mutation becomes.
func ErrorFromAnswer(status int, words string) error {
	body, _ := json.Marshal(map[string]string{"message": words})
	resp := &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(body))}
	c := &Client{forge: &Forge{clock: systemClock{}}, pace: &pacer{clock: systemClock{}}}
	return c.fail(context.Background(), "create comment on acme/engine#1", true, github.CheckResponse(resp))
}
