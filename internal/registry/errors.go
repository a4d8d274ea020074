package registry

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Reason says what kind of error it is, and with that who can do something about it.
type Reason string

// The reasons. Those that pass by themselves are tried again with a growing pause; the others wait for somebody to act.
const (
	// Conflict: the entry belongs to another owner.
	Conflict Reason = "Conflict"
	// AdoptionRequired: the entry exists, is nobody's, and the adoption policy does not take it.
	AdoptionRequired Reason = "AdoptionRequired"
	// Unauthorized: the registry refuses the credentials, or they may not do this.
	Unauthorized Reason = "Unauthorized"
	// Unreachable: there is no answer, or not one of the registry that can be understood. It passes by itself.
	Unreachable Reason = "Unreachable"
	// RateLimited: the registry asks for fewer requests. It passes by itself.
	RateLimited Reason = "RateLimited"
	// InProgress: the registry works on it; ask again. It passes by itself.
	InProgress Reason = "InProgress"
	// DeleteUnsupported: the registry does not delete, or not archive, what it shall.
	DeleteUnsupported Reason = "DeleteUnsupported"
	// Invalid: the registry refuses what it shall store, or the configuration is wrong.
	Invalid Reason = "Invalid"
	// OtherIncarnation: the entry is registered for another object of the same name. FoundUID is its UID.
	OtherIncarnation Reason = "OtherIncarnation"
)

// Error is an error of a registry. Its text may be shown to users: it holds no secret and no URL with credentials.
type Error struct {
	Reason Reason
	// RetryAfter is how long the registry asks to be left alone, or 0.
	RetryAfter time.Duration
	// FoundUID is set with OtherIncarnation.
	FoundUID types.UID
	Err      error
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Passes says whether the error may pass by itself.
func (e *Error) Passes() bool {
	return e.Reason == Unreachable || e.Reason == RateLimited || e.Reason == InProgress
}

// Errorf makes an error with a reason; the rest is as in fmt.Errorf.
func Errorf(reason Reason, format string, args ...any) *Error {
	return &Error{Reason: reason, Err: fmt.Errorf(format, args...)}
}

// AsError returns err as an *Error: itself or one that it wraps, with all of its text, or else an Unreachable one.
// It returns nil for nil.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	if same, ok := err.(*Error); ok { //nolint:errorlint // a wrapped one is looked for below, and keeps the text around it
		return same
	}
	var inner *Error
	if errors.As(err, &inner) {
		return &Error{Reason: inner.Reason, RetryAfter: inner.RetryAfter, FoundUID: inner.FoundUID, Err: err}
	}
	return FromTransport(err)
}

// FromTransport is the Unreachable error of a request that got no answer. It leaves out the URL, which may hold what is
// not for everybody to see, and the number of the local port, which differs each time.
func FromTransport(err error) *Error {
	var inURL *url.Error
	if errors.As(err, &inURL) {
		err = inURL.Err
	}
	var inDial *net.OpError
	switch {
	case errors.Is(err, context.DeadlineExceeded) || isTimeout(err):
		return &Error{Reason: Unreachable, Err: errors.New("the registry did not answer in time")}
	case errors.As(err, &inDial) && inDial.Op != "dial":
		return &Error{Reason: Unreachable, Err: fmt.Errorf("the connection to the registry broke: %w", inDial.Err)}
	}
	return &Error{Reason: Unreachable, Err: fmt.Errorf("the registry cannot be reached: %w", err)}
}

func isTimeout(err error) bool {
	var timed interface{ Timeout() bool }
	return errors.As(err, &timed) && timed.Timeout()
}

// FromStatus is the error of an HTTP answer that no rule of the backend explains better. What names the request ("create
// the model version"), said is what the registry wrote, which is cut to a line of bounded length. A 404 is Unreachable here: only
// a backend can tell its registry's "no such entry" from the 404 of something in between.
func FromStatus(what string, status int, header http.Header, said string) *Error {
	reason := Unreachable
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		reason = Unauthorized
	case http.StatusTooManyRequests:
		reason = RateLimited
	case http.StatusAccepted:
		reason = InProgress
	case http.StatusConflict:
		reason = Conflict
	case http.StatusMethodNotAllowed, http.StatusNotImplemented:
		reason = DeleteUnsupported
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		reason = Invalid
	}
	text := fmt.Sprintf("%s: the registry answered %d", what, status)
	if said = OneLine(said); said != "" {
		text += ": " + said
	}
	return &Error{Reason: reason, RetryAfter: RetryAfter(header, time.Now()), Err: errors.New(text)}
}

// MaxRetryAfter is the longest pause that a registry can ask for.
const MaxRetryAfter = time.Hour

// RetryAfter returns the pause that the header of an answer asks for, in seconds or as a date, up to MaxRetryAfter; or 0.
func RetryAfter(header http.Header, now time.Time) time.Duration {
	value := strings.TrimSpace(header.Get("Retry-After"))
	if value == "" {
		return 0
	}
	var pause time.Duration
	if seconds, err := strconv.ParseInt(value, 10, 64); err == nil {
		pause = time.Duration(min(max(seconds, 0), int64(MaxRetryAfter/time.Second))) * time.Second
	} else if date, err := http.ParseTime(value); err == nil {
		pause = date.Sub(now)
	}
	return min(max(pause, 0), MaxRetryAfter)
}

const maxLine = 256

// OneLine makes what a registry said fit for a status or an event: printable, one line, at most 256 bytes.
func OneLine(said string) string {
	line := strings.Join(strings.FieldsFunc(strings.ToValidUTF8(said, ""), func(r rune) bool {
		return r < ' ' || r == 0x7f || r == ' '
	}), " ")
	if len(line) > maxLine {
		line = strings.ToValidUTF8(line[:maxLine-3], "") + "..."
	}
	return line
}
