package connections

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/aimodel-operator/aimodel-operator/api/v1alpha1"
	"github.com/aimodel-operator/aimodel-operator/internal/registry"
	"github.com/aimodel-operator/aimodel-operator/internal/registry/backends"
	"github.com/aimodel-operator/aimodel-operator/internal/tracing"
)

// secrets are what the operator knows of a registry and nobody else may.
var secrets = map[string][]byte{
	v1alpha1.SecretKeyUsername: []byte("the-user"), v1alpha1.SecretKeyPassword: []byte("the-password"),
	v1alpha1.SecretKeySigningKey: []byte("whsec_dGhlLXNpZ25pbmcta2V5LW9mLXRoZS10ZXN0"),
}

// traced opens a registry at an address, and gives what tells of the spans that have ended.
func traced(t *testing.T, kind v1alpha1.RegistryType, address string) (*Connection, *tracetest.InMemoryExporter) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	live := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "keys"}, Data: secrets}).Build()
	of := &v1alpha1.ModelRegistry{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "main", UID: "a"}}
	of.Spec.Type, of.Spec.URL, of.Spec.Auth = kind, address, &v1alpha1.RegistryAuth{SecretName: "keys"}
	connection, err := (&Connections{Live: live, New: backends.New, Cluster: "c"}).Open(t.Context(), of, false)
	if err != nil {
		t.Fatal(err)
	}
	memory := tracetest.NewInMemoryExporter()
	tracing.Use(sdktrace.NewTracerProvider(sdktrace.WithSyncer(memory)))
	t.Cleanup(func() { tracing.Use(nil) })
	return connection, memory
}

func TestSpansOfRequestsToARegistryTellWhatWasAskedAndNoSecret(t *testing.T) {
	for kind, address := range map[v1alpha1.RegistryType]string{
		v1alpha1.RegistryMLflow: "/the-path", v1alpha1.RegistryKubeflow: "/the-path/", v1alpha1.RegistryOCI: "/the-path",
		v1alpha1.RegistryWebhook: "/the-path?token=the-query",
	} {
		t.Run(string(kind), func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				for name := range r.Header {
					if strings.HasPrefix(strings.ToLower(name), "trace") {
						t.Errorf("the registry is told the header %s", name)
					}
				}
				w.WriteHeader(http.StatusServiceUnavailable)
			}))
			defer server.Close()
			connection, memory := traced(t, kind, server.URL+address)
			ctx, step := tracing.Step(t.Context(), "register")
			what := registry.Registration{Owner: registry.Owner{Cluster: "c", Namespace: "team", Name: "m", UID: "u"}, Key: "k", Name: "m", Version: "1"}
			if _, err := connection.Register(ctx, types.NamespacedName{Name: "m"}, what); err == nil {
				t.Error("it succeeded")
			}
			step.End(nil)
			spans := memory.GetSpans()
			above := spans[len(spans)-1]
			requests := spans[:len(spans)-1]
			if len(requests) == 0 {
				t.Fatal("no request is told of")
			}
			for i := range requests {
				span := &requests[i]
				said := map[string]string{}
				for _, pair := range span.Attributes {
					said[string(pair.Key)] = pair.Value.String()
				}
				if span.Parent.SpanID() != above.SpanContext.SpanID() || span.SpanKind != trace.SpanKindClient || span.Name != said["http.request.method"] ||
					said["server.address"] != "127.0.0.1" || said["http.response.status_code"] != "503" || span.Status.Description != "Service Unavailable" {
					t.Errorf("span %q, status %v, attributes %v", span.Name, span.Status, said)
				}
				if kind != v1alpha1.RegistryWebhook && !strings.HasPrefix(said["url.path"], "/api") && !strings.HasPrefix(said["url.path"], "/v2/") {
					t.Errorf("it asked for %q", said["url.path"])
				}
			}
			tellsNo(t, spans, "the-path", "the-query", "the-user", "the-password")
		})
	}
}

func TestASpanOfARequestWithoutAnAnswerRepeatsNothingThatItWasToldInstead(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		connection, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, password, _ := r.BasicAuth()
		fmt.Fprintf(connection, "you are %s of %s?\r\n\r\n", password, r.URL.RawQuery)
		if err := connection.Close(); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	connection, memory := traced(t, v1alpha1.RegistryWebhook, server.URL+"/the-path?token="+url.QueryEscape("the-query"))
	ctx, step := tracing.Step(t.Context(), "check")
	err := connection.Check(ctx)
	step.End(err)
	spans := memory.GetSpans()
	if err == nil || len(spans) != 2 || spans[0].Status.Description != "no answer" {
		t.Fatalf("error %v, spans %+v", err, spans)
	}
	tellsNo(t, spans, "the-path", "the-query", "the-password")
}

func tellsNo(t *testing.T, spans tracetest.SpanStubs, secrets ...string) {
	t.Helper()
	all := fmt.Sprintf("%+v", spans)
	for _, secret := range secrets {
		if strings.Contains(all, secret) {
			t.Errorf("the spans tell %q: %s", secret, all)
		}
	}
}
