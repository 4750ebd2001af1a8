package pages

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// sealer signs what a browser keeps for us. Its key is drawn from the client's
// secret, so that every serve has the same and a new secret ends all sessions.
type sealer struct{ key []byte }

func newSealer(secret string) (sealer, error) {
	key, err := hkdf.Key(sha256.New, []byte(secret), nil, "prbench result pages", sha256.Size)
	if err != nil {
		return sealer{}, fmt.Errorf("draw the key of sessions: %w", err)
	}
	return sealer{key}, nil
}

// sum is a MAC over a text that serves one purpose.
func (s sealer) sum(purpose, text string) []byte {
	h := hmac.New(sha256.New, s.key)
	h.Write([]byte(purpose + "\x00" + text))
	return h.Sum(nil)
}

// seal writes a value with its MAC.
func (s sealer) seal(purpose string, v any) (string, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("seal a cookie: %w", err)
	}
	text := base64.RawURLEncoding.EncodeToString(raw)
	return text + "." + base64.RawURLEncoding.EncodeToString(s.sum(purpose, text)), nil
}

// longestSealed bounds, in bytes, what is looked at of a cookie.
const longestSealed = 2048

// open reads what seal wrote for the same purpose, and nothing else.
func (s sealer) open(purpose, sealed string, v any) bool {
	text, mac, found := strings.Cut(sealed, ".")
	if !found || len(sealed) > longestSealed {
		return false
	}
	given, err := base64.RawURLEncoding.DecodeString(mac)
	if err != nil || !hmac.Equal(given, s.sum(purpose, text)) {
		return false
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	return err == nil && json.Unmarshal(raw, v) == nil
}

// The purposes of what is signed.
const (
	forSignIn   = "sign-in"
	forSession  = "session"
	forVerifier = "verifier"
)

// begun is a sign-in under way: the state that GitHub gives back, and the page
// that asked for it.
type begun struct {
	State string    `json:"s"`
	Page  string    `json:"p"`
	Until time.Time `json:"u"`
}

// session says that a person was seen to be allowed to read a repository.
type session struct {
	User       int64     `json:"u"`
	Repository int64     `json:"r"`
	Until      time.Time `json:"e"`
}

// How long they are good for.
const (
	signInTime  = 10 * time.Minute
	sessionTime = 8 * time.Hour
)

// newState is a text that nobody guesses.
func newState() string { return rand.Text() }

// verifier is PKCE's secret of a sign-in. It is drawn from the state, and never
// leaves this process but to GitHub.
func (s sealer) verifier(state string) string {
	return base64.RawURLEncoding.EncodeToString(s.sum(forVerifier, state))
}
