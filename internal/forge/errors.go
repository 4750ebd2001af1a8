package forge

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// Error is what every method of this package returns when a request failed.
// It holds no request, no response and no credential.
type Error struct {
	// Op says what was being done, such as "create comment on acme/engine#42".
	Op string
	// Class is the one reading of the failure that callers decide by.
	Class Class
	// Status is the answer's HTTP status; 0 when there was none.
	Status int
	// Message is the forge's own words, masked and cut.
	Message string

	cause error
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("forge: ")
	if e.Op != "" {
		b.WriteString(e.Op + ": ")
	}
	b.WriteString(string(e.Class.Kind))
	if e.Status != 0 {
		fmt.Fprintf(&b, " (HTTP %d)", e.Status)
	}
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	return b.String()
}

// Unwrap gives the context's error where the context ended the request, and a
// sentinel of this package where there is one; nothing else is kept.
func (e *Error) Unwrap() error { return e.cause }

// fail turns what go-github returned into an *Error, and lets the pacer learn
// from it.
func (c *Client) fail(ctx context.Context, op string, mutation bool, err error) error {
	if err == nil {
		return nil
	}
	var own *Error
	if errors.As(err, &own) {
		e := *own
		if e.Op == "" {
			e.Op = op
		}
		return &e
	}
	if ended := ctx.Err(); ended != nil && errors.Is(err, ended) {
		class := Class{Kind: Cancelled, Unclear: mutation && !neverSent(err)}
		return &Error{Op: op, Class: class, Message: ended.Error(), cause: ended}
	}
	class, status, message := classify(err, c.forge.clock.Now(), mutation)
	c.pace.learn(class)
	return &Error{Op: op, Class: class, Status: status, Message: cleanMessage(message)}
}

// secretShapes are GitHub's tokens, JSON web tokens, private keys, and
// credentials in a URL or a header.
var secretShapes = regexp.MustCompile(`(?s)gh[opsur]_[A-Za-z0-9_]{10,}|github_pat_[A-Za-z0-9_]{10,}` +
	`|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)?` +
	`|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|$)` +
	`|(?i:(?:bearer|token|basic)[ :=]+)[A-Za-z0-9+/_.=-]{16,}` +
	`|://[^/\s@]+@`)

// maxMessage bounds the forge's words in an error, in bytes.
const maxMessage = 400

// cleanMessage makes foreign words fit for a log line: one line, printable,
// bounded, and without anything that looks like a credential.
func cleanMessage(s string) string {
	if len(s) > 8*maxMessage {
		s = s[:8*maxMessage]
	}
	s = secretShapes.ReplaceAllStringFunc(s, func(m string) string {
		if strings.HasPrefix(m, "://") {
			return "://***@"
		}
		return "***"
	})
	s = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > maxMessage {
		s = strings.ToValidUTF8(s[:maxMessage], "") + "…"
	}
	return s
}
