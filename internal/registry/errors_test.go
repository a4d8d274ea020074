package registry

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestFromStatus(t *testing.T) {
	for status, want := range map[int]Reason{
		401: Unauthorized, 403: Unauthorized, 429: RateLimited, 202: InProgress, 409: Conflict, 405: DeleteUnsupported,
		501: DeleteUnsupported, 400: Invalid, 413: Invalid, 422: Invalid,
		404: Unreachable, 500: Unreachable, 502: Unreachable, 503: Unreachable, 504: Unreachable, 302: Unreachable,
	} {
		err := FromStatus("create the version", status, http.Header{"Retry-After": {"7"}}, "no\n\tway\x00")
		if err.Reason != want || err.RetryAfter != 7*time.Second {
			t.Errorf("%d: %s after %s, want %s", status, err.Reason, err.RetryAfter, want)
		}
		if text := fmt.Sprintf("create the version: the registry answered %d: no way", status); err.Error() != text {
			t.Errorf("%d: %q", status, err)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "5": 5 * time.Second, " 5 ": 5 * time.Second, "0": 0, "-3": 0, "soon": 0, "99999999999": MaxRetryAfter,
		"Thu, 01 Jan 2026 00:02:00 GMT": 2 * time.Minute, "Wed, 31 Dec 2025 00:00:00 GMT": 0,
	} {
		header := http.Header{}
		header.Set("Retry-After", value)
		if got := RetryAfter(header, now); got != want {
			t.Errorf("%q: %s, want %s", value, got, want)
		}
	}
}

func TestTransportErrorsAreStableAndQuoteNoAddress(t *testing.T) {
	broken := &net.OpError{Op: "read", Net: "tcp", Err: errors.New("connection reset by peer"),
		Source: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 40123}}
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"deadline":     {fmt.Errorf("call: %w", context.DeadlineExceeded), "the registry did not answer in time"},
		"broken":       {&url.Error{Op: "Get", URL: "http://user:secret@x", Err: broken}, "the connection to the registry broke: connection reset by peer"},
		"unknown host": {&url.Error{Op: "Get", URL: "http://x/?token=secret", Err: errors.New("no such host")}, "the registry cannot be reached: no such host"},
	} {
		t.Run(name, func(t *testing.T) {
			got := AsError(tc.err)
			if got.Reason != Unreachable || got.Error() != tc.want {
				t.Errorf("%s %q, want %q", got.Reason, got, tc.want)
			}
		})
	}
}

func TestAsErrorKeepsReasonAndText(t *testing.T) {
	if AsError(nil) != nil {
		t.Error("nil is an error")
	}
	inner := FromStatus("delete", 429, http.Header{"Retry-After": {"3"}}, "")
	got := AsError(fmt.Errorf("unregister: %w", inner))
	if got.Reason != RateLimited || got.RetryAfter != 3*time.Second || got.Error() != "unregister: delete: the registry answered 429" {
		t.Errorf("%+v %q", got, got)
	}
	if !got.Passes() || Errorf(Conflict, "x").Passes() {
		t.Error("what passes by itself is mistaken")
	}
}

func TestOneLineIsBounded(t *testing.T) {
	if got := OneLine(strings.Repeat("ä", 500)); len(got) > maxLine || !strings.HasSuffix(got, "...") {
		t.Errorf("%d bytes: %q", len(got), got)
	}
	if got := OneLine("\xff\xfe a  b "); got != "a b" {
		t.Errorf("%q", got)
	}
}
