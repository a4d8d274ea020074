package tracing

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"k8s.io/apimachinery/pkg/types"
)

var object = types.NamespacedName{Namespace: "team-a", Name: "llama"}

// recordSpans turns tracing on and gives what tells of the spans that have ended.
func recordSpans(t *testing.T) *tracetest.InMemoryExporter {
	t.Helper()
	memory := tracetest.NewInMemoryExporter()
	Use(sdktrace.NewTracerProvider(sdktrace.WithSyncer(memory)))
	t.Cleanup(func() { Use(nil) })
	return memory
}

// told are the attributes of a span.
func told(span *tracetest.SpanStub) map[string]string {
	attributes := map[string]string{}
	for _, pair := range span.Attributes {
		attributes[string(pair.Key)] = pair.Value.String()
	}
	return attributes
}

func TestSpansOfAReconcile(t *testing.T) {
	memory := recordSpans(t)
	ctx, reconcile := Reconcile(t.Context(), "AIModel", object)
	_, step := Step(ctx, "apply")
	step.End(errors.New(strings.Repeat("é", maxError)))
	reconcile.Outcome("transient")
	reconcile.Ready("False", "ApplyFailed")
	reconcile.End(nil)

	spans := memory.GetSpans()
	if len(spans) != 2 {
		t.Fatalf("%d spans", len(spans))
	}
	if spans[0].Name != "apply" || spans[1].Name != "reconcile AIModel" || spans[0].Parent.SpanID() != spans[1].SpanContext.SpanID() {
		t.Errorf("spans %q, of %q", spans[0].Name, spans[1].Name)
	}
	if status := spans[0].Status; status.Code != codes.Error || len(status.Description) > maxError+3 || !strings.HasSuffix(status.Description, "é...") {
		t.Errorf("the step's status is %v, with %d bytes", status.Code, len(status.Description))
	}
	if spans[1].Status.Code != codes.Unset {
		t.Errorf("the reconcile's status is %v", spans[1].Status)
	}
	want := map[string]string{
		"aimodel_operator.kind": "AIModel", "k8s.namespace.name": "team-a", "aimodel_operator.name": "llama",
		"aimodel_operator.reconcile_id": "", "aimodel_operator.outcome": "transient",
		"aimodel_operator.ready": "False", "aimodel_operator.reason": "ApplyFailed",
	}
	if diff := cmp.Diff(want, told(&spans[1])); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
}

func TestSpansOfRequests(t *testing.T) {
	var traceparent string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		traceparent = r.Header.Get("traceparent")
		if r.Method == http.MethodPatch {
			w.WriteHeader(http.StatusConflict)
		}
	}))
	defer server.Close()
	const path = "/api/v1/namespaces/team-a/services/llama"
	for name, tc := range map[string]struct {
		method, address string
		within          bool
		wantSpan        bool
		wantStatus      codes.Code
		wantErr         bool
	}{
		"a write of a reconcile":        {method: "POST", address: server.URL, within: true, wantSpan: true},
		"a write that conflicts":        {method: "PATCH", address: server.URL, within: true, wantSpan: true, wantStatus: codes.Error},
		"a server that is not there":    {method: "POST", address: "http://127.0.0.1:1", within: true, wantSpan: true, wantStatus: codes.Error, wantErr: true},
		"a request outside a reconcile": {method: "GET", address: server.URL},
	} {
		t.Run(name, func(t *testing.T) {
			memory := recordSpans(t)
			traceparent = ""
			ctx := t.Context()
			var span Span
			if tc.within {
				ctx, span = Step(ctx, "apply")
			}
			request, err := http.NewRequestWithContext(ctx, tc.method, tc.address+path+"?token=secret", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			response, err := Transport(http.DefaultTransport).RoundTrip(request)
			if (err != nil) != tc.wantErr {
				t.Fatal(err)
			}
			if err == nil {
				if err := response.Body.Close(); err != nil {
					t.Error(err)
				}
			}
			if request.Header.Get("traceparent") != "" {
				t.Error("the caller's request was changed")
			}
			spans := memory.GetSpans()
			if !tc.wantSpan {
				if len(spans) != 0 || traceparent != "" {
					t.Errorf("%d spans, traceparent %q", len(spans), traceparent)
				}
				return
			}
			if len(spans) != 1 || spans[0].Name != tc.method || spans[0].Status.Code != tc.wantStatus || spans[0].Parent.SpanID() != span.span.SpanContext().SpanID() {
				t.Fatalf("spans = %+v", spans)
			}
			if attributes := told(&spans[0]); attributes["url.path"] != path || attributes["http.request.method"] != tc.method {
				t.Errorf("attributes = %v", attributes)
			}
			if !tc.wantErr && !strings.Contains(traceparent, spans[0].SpanContext.SpanID().String()) {
				t.Errorf("the server is told %q", traceparent)
			}
		})
	}
}

// pass is what a reconcile asks of this package.
func pass(ctx context.Context) {
	ctx, span := Reconcile(ctx, "AIModel", object)
	for _, name := range []string{"resolve", "render", "apply", "observe", "status"} {
		_, step := Step(ctx, name)
		step.End(nil)
	}
	span.Ready("True", "Ready")
	span.Outcome("ok")
	span.End(nil)
}

func TestTracingThatIsOffCostsNothing(t *testing.T) {
	if allocs := testing.AllocsPerRun(100, func() { pass(t.Context()) }); allocs != 0 {
		t.Errorf("%v allocations a pass", allocs)
	}
	ctx, span := Reconcile(t.Context(), "AIModel", object)
	if ctx != t.Context() || span != (Span{}) {
		t.Error("something is made")
	}
}

func BenchmarkPass(b *testing.B) {
	b.Run("off", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			pass(b.Context())
		}
	})
	b.Run("on", func(b *testing.B) {
		Use(sdktrace.NewTracerProvider(sdktrace.WithBatcher(tracetest.NewNoopExporter())))
		defer Use(nil)
		b.ReportAllocs()
		for b.Loop() {
			pass(b.Context())
		}
	})
}
