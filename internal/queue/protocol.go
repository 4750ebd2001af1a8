package queue

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prbench/prbench/internal/job"
)

// Protocol is the version of the runners' protocol that this build speaks. Serve
// answers it and the one before it.
const Protocol = 1

const oldestProtocol = max(Protocol-1, 1)

// What a runner can ask; the last token of the subject R.<key>.<what>.
const (
	askClaim   = "claim"
	askLeave   = "leave" // a claim that waits is no longer wanted; no answer
	askBeat    = "beat"
	askToken   = "token"
	askFetched = "fetched"
	askSample  = "sample"
	askDone    = "done"

	askCalibration = "calibration" // not about a job
)

// request is what a runner asks, in JSON. The runner's identity is not in it: it
// is the subject's second token, which the server lets nobody else use.
type request struct {
	Version int    `json:"v"`
	ID      job.ID `json:"id,omitempty"`
	Try     int    `json:"try,omitempty"`

	Host     *job.Host     `json:"host,omitempty"`    // claim
	WaitMS   int64         `json:"wait_ms,omitempty"` // claim
	Progress *job.Progress `json:"progress,omitempty"`
	Run      *job.Run      `json:"run,omitempty"`
	Outcome  *job.Outcome  `json:"outcome,omitempty"`
	Tokens   []string      `json:"tokens,omitempty"` // fetched: those to revoke

	Calibration *job.Calibration `json:"calibration,omitempty"`
}

// answer is what serve answers, in JSON.
type answer struct {
	Version int        `json:"v"`
	Error   *wireError `json:"error,omitempty"`

	Job     *job.Job    `json:"job,omitempty"`      // claim; none: nothing to do
	LeaseMS int64       `json:"lease_ms,omitempty"` // claim, beat: what is left of it
	Cancel  *job.Cancel `json:"cancel,omitempty"`   // beat
	Token   *wireToken  `json:"token,omitempty"`
}

type wireError struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

type wireToken struct {
	Value    string    `json:"value"`
	Username string    `json:"username,omitempty"`
	Expires  time.Time `json:"expires,omitzero"`
}

// The codes of a wireError.
const (
	codeStale   = "stale"   // the asker does not hold this try of this job
	codeVersion = "version" // the protocol's version is not spoken here
	codeRefused = "refused" // the asker is not enrolled
	codeInvalid = "invalid" // the request makes no sense
	codeAgain   = "again"   // something failed here; ask again later
	codeToken   = "token"   // no clone token could be made
)

// Errors that a runner's calls can end with, beside those of the context.
var (
	// ErrStale: this try is lost, or was never this runner's. Its work is void.
	ErrStale = errors.New("the lease of this try is not held")
	// ErrVersion: serve does not speak this build's protocol.
	ErrVersion = errors.New("serve does not speak this version of the runners' protocol")
	// ErrRefused: the runner's key is not enrolled, or no longer.
	ErrRefused = errors.New("this runner is not enrolled")
	// ErrAway: no serve answered.
	ErrAway = errors.New("serve does not answer")
	// ErrInvalid: serve could make no sense of the request.
	ErrInvalid = errors.New("serve refuses the request as invalid")
	// ErrNoToken: serve could not make a clone token.
	ErrNoToken = errors.New("serve could not make a clone token")

	// errAgain: serve failed and says to ask again.
	errAgain = errors.New("serve failed")
)

var errorOfCode = map[string]error{
	codeStale: ErrStale, codeVersion: ErrVersion, codeRefused: ErrRefused,
	codeInvalid: ErrInvalid, codeAgain: errAgain, codeToken: ErrNoToken,
}

func (e *wireError) err() error {
	if known, ok := errorOfCode[e.Code]; ok {
		return fmt.Errorf("%w: %s", known, e.Text)
	}
	return fmt.Errorf("serve answers %s: %s", e.Code, e.Text)
}

// Token opens one repository for one fetch. Printing, logging or encoding one
// shows no secret.
type Token struct {
	Value    string    // the secret; empty: none is needed
	Username string    // to go with it, empty: the forge's usual one
	Expires  time.Time // zero: unknown
}

const redacted = "[token]"

func (t Token) String() string { return redacted }

// GoString hides the value from %#v.
func (t Token) GoString() string { return redacted }

// LogValue hides the value from slog.
func (t Token) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText hides the value from JSON and other encodings.
func (t Token) MarshalText() ([]byte, error) { return []byte(redacted), nil }
