package tracing

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Transport makes a span of every request to the API server that is sent within another span, and tells the server which one.
// Requests that belong to no reconcile, such as watches and the renewal of the lease, pass through it untouched.
func Transport(next http.RoundTripper) http.RoundTripper { return &transport{next: next} }

// Outside makes a span of every request that is sent within another span to a server at an address that a user gave. The
// server is told nothing of the trace, because it is somebody else's. Of the URL, a span has the host, and the path without that of
// the address: the address itself may hold a secret, and so may what follows a "?". What such a server or a proxy says of a request
// that failed is left out too.
func Outside(next http.RoundTripper, address string) http.RoundTripper {
	outside := &transport{next: next, outside: true}
	if base, err := url.Parse(address); err == nil {
		outside.hidden = strings.TrimSuffix(base.Path, "/")
	}
	return outside
}

type transport struct {
	next    http.RoundTripper
	outside bool
	// hidden is what no span has of a path.
	hidden string
}

// RoundTrip sends the request.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	on := tracer.Load()
	if on == nil || !trace.SpanFromContext(request.Context()).IsRecording() {
		return t.next.RoundTrip(request)
	}
	ctx, span := (*on).Start(request.Context(), request.Method, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		attribute.String("http.request.method", request.Method),
		attribute.String("server.address", request.URL.Hostname()),
		attribute.String("url.path", strings.Replace(request.URL.Path, t.hidden, "", 1))))
	defer span.End()
	if !t.outside {
		request = request.Clone(ctx) // a transport may not change the request that it is given
		propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(request.Header))
	}
	response, err := t.next.RoundTrip(request)
	if err != nil {
		span.SetStatus(codes.Error, t.describe(err))
		return response, err
	}
	span.SetAttributes(attribute.Int("http.response.status_code", response.StatusCode))
	if response.StatusCode >= http.StatusBadRequest {
		span.SetStatus(codes.Error, http.StatusText(response.StatusCode))
	}
	return response, nil
}

// describe says why a request got no answer.
func (t *transport) describe(err error) string {
	if !t.outside {
		return bounded(err.Error())
	}
	var timed net.Error
	switch {
	case errors.Is(err, context.Canceled):
		return "it was canceled"
	case errors.As(err, &timed) && timed.Timeout():
		return "no answer in time"
	default:
		return "no answer"
	}
}

// CloseIdleConnections is what http.Client's calls.
func (t *transport) CloseIdleConnections() {
	if closing, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		closing.CloseIdleConnections()
	}
}

// WrappedRoundTripper returns the transport that is traced, for those who look for its settings.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }
