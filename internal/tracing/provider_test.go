package tracing

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	collectortrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// clearEnvironment makes a test independent of the environment that it runs in.
func clearEnvironment(t *testing.T) {
	t.Helper()
	for _, pair := range os.Environ() {
		if name, _, _ := strings.Cut(pair, "="); strings.HasPrefix(name, "OTEL_") {
			t.Setenv(name, "")
			if err := os.Unsetenv(name); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestTheEnvironmentTurnsTracingOn(t *testing.T) {
	const endpoint = "http://127.0.0.1:1"
	for name, tc := range map[string]struct {
		env     map[string]string
		want    bool
		wantErr string
	}{
		"nothing is set":                     {},
		"an endpoint":                        {env: map[string]string{envEndpoint: endpoint}, want: true},
		"an endpoint of traces":              {env: map[string]string{envTracesEndpoint: endpoint}, want: true},
		"the exporter, to the usual address": {env: map[string]string{envExporter: "otlp"}, want: true},
		"another protocol":                   {env: map[string]string{envEndpoint: endpoint, envProtocol: "grpc"}, want: true},
		"the protocol of traces wins":        {env: map[string]string{envEndpoint: endpoint, envProtocol: "x", envTracesProtocol: "http/protobuf"}, want: true},
		"an endpoint, and traces are off":    {env: map[string]string{envEndpoint: endpoint, envExporter: "none"}},
		"an endpoint, and everything is off": {env: map[string]string{envEndpoint: endpoint, envDisabled: "TRUE"}},
		"an exporter that there is not":      {env: map[string]string{envExporter: "zipkin"}, wantErr: `OTEL_TRACES_EXPORTER must be otlp or none, not "zipkin"`},
		"a protocol that there is not":       {env: map[string]string{envExporter: "otlp", envProtocol: "http/json"}, wantErr: `OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf or grpc, not "http/json"`},
		"attributes that are none":           {env: map[string]string{envExporter: "otlp", "OTEL_RESOURCE_ATTRIBUTES": "nonsense"}, wantErr: "OTEL_RESOURCE_ATTRIBUTES: "},
	} {
		t.Run(name, func(t *testing.T) {
			clearEnvironment(t)
			for key, value := range tc.env {
				t.Setenv(key, value)
			}
			stop, err := Start(t.Context(), "1.2.3", logr.Discard())
			if (err != nil) != (tc.wantErr != "") || (err != nil && !strings.HasPrefix(err.Error(), tc.wantErr)) {
				t.Errorf("error = %v, want %q", err, tc.wantErr)
			}
			if on := tracer.Load() != nil; on != tc.want {
				t.Errorf("on = %v", on)
			}
			if err := stop(t.Context()); err != nil {
				t.Error(err)
			}
			if tracer.Load() != nil {
				t.Error("it is on after the end")
			}
		})
	}
}

// receiver is a server that takes OTLP over HTTP.
type receiver struct {
	mu       sync.Mutex
	requests []*collectortrace.ExportTraceServiceRequest
	headers  http.Header
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body := io.Reader(request.Body)
	if request.Header.Get("Content-Encoding") == "gzip" {
		var err error
		if body, err = gzip.NewReader(body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	data, err := io.ReadAll(body)
	got := &collectortrace.ExportTraceServiceRequest{}
	if err = errors.Join(err, proto.Unmarshal(data, got)); err != nil || request.URL.Path != "/v1/traces" {
		http.Error(w, "not a request for traces", http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests = append(r.requests, got)
	r.headers = request.Header
}

func TestTheLastSpansAreSent(t *testing.T) {
	clearEnvironment(t)
	r := &receiver{}
	server := httptest.NewServer(r)
	defer server.Close()
	t.Setenv(envEndpoint, server.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "team=a")
	t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
	t.Setenv("OTEL_SERVICE_NAME", "ours")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "cluster=blue,service.version=overridden")
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "3600000") // nothing is sent before the end
	stop, err := Start(t.Context(), "1.2.3", logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	pass(t.Context())
	if err := stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	pass(t.Context()) // too late
	if len(r.requests) != 1 || r.headers.Get("team") != "a" {
		t.Fatalf("%d requests, headers %v", len(r.requests), r.headers)
	}
	spans := r.requests[0].ResourceSpans[0]
	var resource, names []string
	for _, pair := range spans.Resource.Attributes {
		resource = append(resource, pair.Key+"="+pair.Value.GetStringValue())
	}
	for _, want := range []string{"service.name=ours", "cluster=blue", "service.version=overridden", "telemetry.sdk.language=go"} {
		if !slices.Contains(resource, want) {
			t.Errorf("%v lacks %s", resource, want)
		}
	}
	for _, span := range spans.ScopeSpans[0].Spans {
		names = append(names, span.Name)
	}
	if want := []string{"resolve", "render", "apply", "observe", "status", "reconcile AIModel"}; !slices.Equal(names, want) {
		t.Errorf("spans = %v, want %v", names, want)
	}
}

func TestTheSamplerIsTheEnvironments(t *testing.T) {
	clearEnvironment(t)
	r := &receiver{}
	server := httptest.NewServer(r)
	defer server.Close()
	t.Setenv(envEndpoint, server.URL)
	t.Setenv("OTEL_TRACES_SAMPLER", "always_off")
	stop, err := Start(t.Context(), "1.2.3", logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	pass(t.Context())
	if err := stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(r.requests) != 0 {
		t.Errorf("%d requests", len(r.requests))
	}
}

func TestSomebodyIsToldOfACollectorThatIsGone(t *testing.T) {
	clearEnvironment(t)
	server := httptest.NewServer(http.NotFoundHandler())
	t.Setenv(envEndpoint, server.URL)
	server.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "200")
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "10")
	var mu sync.Mutex
	var lines []string
	log := funcr.New(func(_, line string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, line)
	}, funcr.Options{})
	stop, err := Start(t.Context(), "1.2.3", log)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		pass(t.Context())
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	err = stop(ctx)
	mu.Lock()
	defer mu.Unlock()
	if err == nil && len(lines) == 0 {
		t.Error("nobody is told")
	}
}

func TestFailuresAreToldOfOnceInAWhile(t *testing.T) {
	var lines []string
	handler := &failures{log: funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{})}
	for range 3 {
		handler.Handle(errors.New("cut off"))
	}
	handler.told = time.Now().Add(-2 * quiet)
	handler.Handle(errors.New("cut off again"))
	handler.told = time.Now().Add(-2 * quiet)
	handler.Handle(context.Canceled)
	if len(lines) != 2 || !strings.Contains(lines[1], "cut off again") {
		t.Errorf("log = %q", lines)
	}
}
