package tracing

import (
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Transport makes a span of every request that is sent within another span, and tells the server which one. Requests that
// belong to no reconcile, such as watches and the renewal of the lease, pass through it untouched.
func Transport(next http.RoundTripper) http.RoundTripper { return &transport{next} }

type transport struct{ next http.RoundTripper }

// RoundTrip sends the request.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	on := tracer.Load()
	if on == nil || !trace.SpanFromContext(request.Context()).IsRecording() {
		return t.next.RoundTrip(request)
	}
	ctx, span := (*on).Start(request.Context(), request.Method, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		attribute.String("http.request.method", request.Method),
		attribute.String("server.address", request.URL.Hostname()),
		attribute.String("url.path", request.URL.Path)))
	defer span.End()
	request = request.Clone(ctx) // a transport may not change the request that it is given
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(request.Header))
	response, err := t.next.RoundTrip(request)
	if err != nil {
		span.SetStatus(codes.Error, bounded(err.Error()))
		return response, err
	}
	span.SetAttributes(attribute.Int("http.response.status_code", response.StatusCode))
	if response.StatusCode >= http.StatusBadRequest {
		span.SetStatus(codes.Error, http.StatusText(response.StatusCode))
	}
	return response, nil
}

// WrappedRoundTripper returns the transport that is traced, for those who look for its settings.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }
