package tracing

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// The standard environment variables that are read here. The OpenTelemetry libraries read the rest themselves.
const (
	envDisabled       = "OTEL_SDK_DISABLED"
	envExporter       = "OTEL_TRACES_EXPORTER"
	envEndpoint       = "OTEL_EXPORTER_OTLP_ENDPOINT"
	envTracesEndpoint = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	envProtocol       = "OTEL_EXPORTER_OTLP_PROTOCOL"
	envTracesProtocol = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
)

// Start turns tracing on if the environment asks for it, and returns what sends the last spans and turns it off again. Without
// an OTEL_* variable nothing is made, and nothing is sent. A collector that is not there is no error: spans are then lost.
func Start(ctx context.Context, version string, log logr.Logger) (stop func(context.Context) error, err error) {
	nothing := func(context.Context) error { return nil }
	wanted, err := isWanted()
	if err != nil || !wanted {
		return nothing, err
	}
	described, err := describe(ctx, version)
	if err != nil {
		return nothing, err
	}
	exporter, err := newExporter(ctx)
	if err != nil {
		return nothing, err
	}
	otel.SetLogger(log)
	otel.SetErrorHandler(&failures{log: log})
	// The sampler, the limits and the batches are as OTEL_TRACES_SAMPLER, OTEL_SPAN_* and OTEL_BSP_* say.
	started := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(described))
	Use(started)
	return func(ctx context.Context) error {
		Use(nil)
		if err := started.Shutdown(ctx); err != nil {
			return fmt.Errorf("send the last spans: %w", err)
		}
		return nil
	}, nil
}

// isWanted says whether the environment asks for traces.
func isWanted() (bool, error) {
	if strings.EqualFold(os.Getenv(envDisabled), "true") {
		return false, nil
	}
	switch exporter := os.Getenv(envExporter); exporter {
	case "otlp":
		return true, nil
	case "":
		return os.Getenv(envEndpoint) != "" || os.Getenv(envTracesEndpoint) != "", nil
	case "none":
		return false, nil
	default:
		return false, fmt.Errorf("%s must be otlp or none, not %q", envExporter, exporter)
	}
}

// describe says who sends the spans: OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES win over what the operator calls itself.
func describe(ctx context.Context, version string) (*resource.Resource, error) {
	own := []attribute.KeyValue{attribute.String("service.name", "aimodel-operator"), attribute.String("service.version", version)}
	if host, err := os.Hostname(); err == nil { // in a pod, its name
		own = append(own, attribute.String("service.instance.id", host))
	}
	described, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(own...), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	return described, nil
}

func newExporter(ctx context.Context) (sdktrace.SpanExporter, error) {
	protocol := os.Getenv(envTracesProtocol)
	if protocol == "" {
		protocol = os.Getenv(envProtocol)
	}
	switch protocol {
	case "", "http/protobuf":
		return otlptracehttp.New(ctx)
	case "grpc":
		return otlptracegrpc.New(ctx)
	default:
		return nil, fmt.Errorf("%s must be http/protobuf or grpc, not %q", envProtocol, protocol)
	}
}

// quiet is how long the log says nothing more of failures to send.
const quiet = time.Minute

// failures tells of spans that could not be sent, once in a while: a batch is sent every few seconds.
type failures struct {
	log logr.Logger

	mu   sync.Mutex
	told time.Time
}

// Handle logs an error.
func (f *failures) Handle(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if errors.Is(err, context.Canceled) || time.Since(f.told) < quiet {
		return
	}
	f.told = time.Now()
	f.log.Error(err, "Send traces")
}
