package forge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/bradleyfalzon/ghinstallation/v2"
	"github.com/google/go-github/v60/github"
)

// Kind names why a request failed.
type Kind string

// The kinds of failure. Only what a caller decides differently on has its own.
const (
	// Unclassified is an error that this package did not make.
	Unclassified Kind = "unclassified"
	// Unauthorized: the credential itself was refused (401).
	Unauthorized Kind = "unauthorized"
	// NoPermission: the credential is good but may not do this (403).
	NoPermission Kind = "no permission"
	// Suspended: the installation or the account is suspended.
	Suspended Kind = "suspended"
	// Uninstalled: the installation does not exist (any more).
	Uninstalled Kind = "uninstalled"
	// NotFound: the thing does not exist, or may not be seen (404).
	NotFound Kind = "not found"
	// Gone: it was deleted, disabled or withdrawn for good (410, 451).
	Gone Kind = "gone"
	// Locked: the conversation is locked.
	Locked Kind = "locked"
	// Archived: the repository is read-only.
	Archived Kind = "archived"
	// Conflict: the state changed below the request (409).
	Conflict Kind = "conflict"
	// Unprocessable: the request itself is wrong (400, 413, 422).
	Unprocessable Kind = "unprocessable"
	// PrimaryLimit: the hourly budget is spent; RetryAfter leads to its reset.
	PrimaryLimit Kind = "rate limit"
	// SecondaryLimit: too much in a short time; RetryAfter is at least 60 s.
	SecondaryLimit Kind = "secondary rate limit"
	// TooManyRequests: a 429 that says no more than that.
	TooManyRequests Kind = "too many requests"
	// NotReady: the forge accepted to compute the answer; ask again (202).
	NotReady Kind = "not ready"
	// ServerFault: the forge failed (5xx, 408).
	ServerFault Kind = "server fault"
	// Network: no answer arrived.
	Network Kind = "network"
	// BadAnswer: an answer arrived that is not what the interface describes.
	BadAnswer Kind = "bad answer"
	// Refused: this package refused to send the request.
	Refused Kind = "refused"
	// Dropped: progress that was not sent, to leave room for reports.
	Dropped Kind = "dropped"
	// Cancelled: the caller's context ended.
	Cancelled Kind = "cancelled"
)

// Class is the one reading of a failure.
type Class struct {
	Kind Kind
	// RetryAfter is the least time to wait before the next attempt; only set
	// where Retryable.
	RetryAfter time.Duration
	// Retryable: the same request may succeed later without anybody's help.
	Retryable bool
	// Unclear: the request may have taken effect although it failed. Look
	// before trying again.
	Unclear bool
}

// minSecondaryWait is GitHub's advice for a secondary limit that names no time.
const minSecondaryWait = 60 * time.Second

// Classify reads an error of this package, of go-github or of ghinstallation.
// It gives the zero Class for nil, and Unclassified for what it does not know.
func Classify(err error) Class {
	var own *Error
	if errors.As(err, &own) {
		return own.Class
	}
	if err == nil {
		return Class{}
	}
	class, _, _ := classify(err, time.Now(), false)
	return class
}

// IsNotFound reports whether the thing asked for does not exist or may not be
// seen; Gone counts.
func IsNotFound(err error) bool {
	kind := Classify(err).Kind
	return kind == NotFound || kind == Gone
}

// answer is what the classifier knows of a failed request.
type answer struct {
	status  int
	message string
	docs    string
	header  http.Header
	method  string
	minting bool // it was the request for an installation's token that failed
}

// classify reads an error. A request is a mutation when the caller says so or
// when the error names its method.
func classify(err error, now time.Time, mutation bool) (Class, int, string) {
	if a, ok := answerOf(err); ok {
		c := classifyAnswer(a, now)
		changes := mutation || (a.method != "" && a.method != http.MethodGet && a.method != http.MethodHead)
		c.Unclear = c.Kind == ServerFault && changes && !a.minting
		return c, a.status, a.message
	}
	var accepted *github.AcceptedError
	if errors.As(err, &accepted) {
		return Class{Kind: NotReady, Retryable: true, RetryAfter: 2 * time.Second}, http.StatusAccepted, ""
	}
	return classifyNoAnswer(err, mutation)
}

func classifyNoAnswer(err error, mutation bool) (Class, int, string) {
	var (
		mint   *ghinstallation.HTTPError
		failed *url.Error
		syntax *json.SyntaxError
		typed  *json.UnmarshalTypeError
		refuse refusal
	)
	minting := errors.As(err, &mint)
	if errors.As(err, &failed) {
		mutation = mutation || !strings.EqualFold(failed.Op, "get")
	}
	unclear := mutation && !minting && !neverSent(err)
	switch {
	case errors.As(err, &refuse):
		return Class{Kind: Refused}, 0, refuse.Error()
	case errors.Is(err, context.Canceled):
		return Class{Kind: Cancelled, Unclear: unclear}, 0, "cancelled"
	case errors.As(err, &syntax), errors.As(err, &typed):
		return Class{Kind: BadAnswer, Unclear: mutation}, 0, err.Error()
	case failed != nil, minting, errors.Is(err, context.DeadlineExceeded),
		errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return Class{Kind: Network, Retryable: true, RetryAfter: time.Second, Unclear: unclear}, 0, err.Error()
	}
	var netErr net.Error
	if errors.As(err, &netErr) {
		return Class{Kind: Network, Retryable: true, RetryAfter: time.Second, Unclear: unclear}, 0, err.Error()
	}
	return Class{Kind: Unclassified, Unclear: mutation}, 0, err.Error()
}

// neverSent reports whether the connection failed before any request left.
func neverSent(err error) bool {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return true
	}
	var dns *net.DNSError
	return errors.As(err, &dns)
}

// answerOf takes the answer out of the error types of go-github v60 and
// ghinstallation. Their own reading of it is not used: go-github calls any 403
// a primary limit when the budget's last request happens to be refused, and
// knows a secondary limit only by its documentation link.
func answerOf(err error) (answer, bool) {
	var (
		rate   *github.RateLimitError
		abuse  *github.AbuseRateLimitError
		factor *github.TwoFactorAuthError
		plain  *github.ErrorResponse
		mint   *ghinstallation.HTTPError
	)
	switch {
	case errors.As(err, &rate) && rate.Response != nil:
		return fromResponse(rate.Response, rate.Message, ""), true
	case errors.As(err, &abuse) && abuse.Response != nil:
		a := fromResponse(abuse.Response, abuse.Message, "")
		a.docs = "secondary-rate-limits"
		return a, true
	case errors.As(err, &factor) && factor.Response != nil:
		return fromResponse(factor.Response, factor.Message, factor.DocumentationURL), true
	case errors.As(err, &plain) && plain.Response != nil:
		a := fromResponse(plain.Response, plain.Message, plain.DocumentationURL)
		for _, detail := range plain.Errors {
			a.message += "; " + strings.TrimSpace(strings.Join([]string{detail.Resource, detail.Field, detail.Code, detail.Message}, " "))
		}
		return a, true
	case errors.As(err, &mint) && mint.Response != nil:
		message, docs := readMessage(mint.Response)
		a := fromResponse(mint.Response, message, docs)
		a.minting = true
		return a, true
	}
	return answer{}, false
}

func fromResponse(r *http.Response, message, docs string) answer {
	a := answer{status: r.StatusCode, message: message, docs: docs, header: r.Header}
	if r.Request != nil {
		a.method = r.Request.Method
	}
	return a
}

// readMessage reads the body that ghinstallation left open, closes it, and
// puts a copy in its place so that a second reading finds the same.
func readMessage(r *http.Response) (message, docs string) {
	if r.Body == nil {
		return "", ""
	}
	data, _ := io.ReadAll(io.LimitReader(r.Body, 64<<10))
	r.Body.Close()
	r.Body = io.NopCloser(bytes.NewReader(data))
	var body struct {
		Message string `json:"message"`
		Docs    string `json:"documentation_url"`
	}
	json.Unmarshal(data, &body)
	return body.Message, body.Docs
}

func classifyAnswer(a answer, now time.Time) Class {
	says := strings.ToLower(a.message)
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(says, w) {
				return true
			}
		}
		return false
	}
	if class, ok := classifyLimit(a, has, now); ok {
		return class
	}
	switch {
	case a.status == http.StatusUnauthorized:
		return Class{Kind: Unauthorized}
	case a.status == http.StatusForbidden && has("suspended"):
		return Class{Kind: Suspended}
	case a.status == http.StatusForbidden && has("archived"):
		return Class{Kind: Archived}
	case a.status == http.StatusForbidden && has("locked") && !has("blocked"):
		return Class{Kind: Locked}
	case a.status == http.StatusForbidden:
		return Class{Kind: NoPermission}
	case a.status == http.StatusNotFound && a.minting:
		return Class{Kind: Uninstalled}
	case a.status == http.StatusNotFound:
		return Class{Kind: NotFound}
	case a.status == http.StatusGone, a.status == http.StatusUnavailableForLegalReasons:
		return Class{Kind: Gone}
	case a.status == http.StatusConflict:
		return Class{Kind: Conflict, Retryable: true, RetryAfter: time.Second}
	case a.status >= 500, a.status == http.StatusRequestTimeout:
		wait, _ := retryAfter(a.header, now)
		return Class{Kind: ServerFault, Retryable: true, RetryAfter: max(wait, time.Second)}
	case a.status >= 400:
		return Class{Kind: Unprocessable}
	}
	return Class{Kind: BadAnswer}
}

// classifyLimit knows the spellings of GitHub's limits. The secondary limit
// comes as 403 or 429, with or without Retry-After, with or without its
// documentation link, under its old name (abuse detection), and as 422 "was
// submitted too quickly"; a budget that is left or a reset that is past says
// nothing about it.
func classifyLimit(a answer, has func(...string) bool, now time.Time) (Class, bool) {
	wait, waitNamed := retryAfter(a.header, now)
	docs := strings.ToLower(a.docs)
	refused := a.status == http.StatusForbidden || a.status == http.StatusTooManyRequests
	secondary := refused && (has("secondary rate limit", "abuse detection", "temporarily blocked from content creation") ||
		strings.Contains(docs, "secondary-rate-limits") || strings.Contains(docs, "abuse-rate-limits")) ||
		a.status == http.StatusUnprocessableEntity && has("submitted too quickly")
	primary := refused && has("rate limit exceeded", "api rate limit of")
	switch {
	case secondary:
		return Class{Kind: SecondaryLimit, Retryable: true, RetryAfter: max(wait, minSecondaryWait)}, true
	case primary:
		if reset, ok := resetTime(a.header); ok {
			wait = max(wait, reset.Sub(now))
		} else if !waitNamed {
			wait = minSecondaryWait
		}
		// The reset is in whole seconds, and clocks differ.
		return Class{Kind: PrimaryLimit, Retryable: true, RetryAfter: min(max(wait, 0), maxWait) + time.Second}, true
	case a.status == http.StatusTooManyRequests:
		return Class{Kind: TooManyRequests, Retryable: true, RetryAfter: max(wait, minSecondaryWait)}, true
	case a.status == http.StatusForbidden && waitNamed:
		return Class{Kind: SecondaryLimit, Retryable: true, RetryAfter: max(wait, minSecondaryWait)}, true
	}
	return Class{}, false
}

// retryAfter reads Retry-After, which is a number of seconds or a date.
func retryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	v := strings.TrimSpace(h.Get("Retry-After"))
	if v == "" {
		return 0, false
	}
	if n, err := strconv.ParseInt(v, 10, 32); err == nil && n >= 0 {
		return min(time.Duration(n)*time.Second, maxWait), true
	}
	if at, err := http.ParseTime(v); err == nil {
		return min(max(at.Sub(now), 0), maxWait), true
	}
	return 0, true
}

// maxWait bounds what a header can make the product wait.
const maxWait = 24 * time.Hour

func resetTime(h http.Header) (time.Time, bool) {
	n, err := strconv.ParseInt(h.Get("X-RateLimit-Reset"), 10, 64)
	if err != nil || n <= 0 {
		return time.Time{}, false
	}
	return time.Unix(n, 0), true
}
