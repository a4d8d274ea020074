package integration

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	collectortrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/api/v1alpha1"
	"github.com/aimodel-operator/aimodel-operator/internal/tracing"
	"github.com/aimodel-operator/aimodel-operator/test/process"
)

// collector is an OpenTelemetry collector, and what came out at its other end.
type collector struct {
	grpc, http string

	mu       sync.Mutex
	raw      strings.Builder
	received []*tracev1.ResourceSpans
}

// collectorConfig lets what is received through as it comes: when the sender has its answer, the spans are there.
const collectorConfig = `
receivers:
  otlp: {protocols: {grpc: {endpoint: %q}, http: {endpoint: %q}}}
exporters:
  otlp_http: {endpoint: %q, compression: none, sending_queue: {enabled: false}, retry_on_failure: {enabled: false}}
service:
  pipelines: {traces: {receivers: [otlp], exporters: [otlp_http]}}
`

// startCollector runs a collector that ends with the spec.
func startCollector() *collector {
	ginkgo.GinkgoHelper()
	binary, err := process.Binary("otelcol")
	Expect(err).NotTo(HaveOccurred(), "`make otelcol` builds it")
	c := &collector{}
	behind := httptest.NewServer(c)
	ginkgo.DeferCleanup(behind.Close)
	for _, address := range []*string{&c.grpc, &c.http} {
		*address, err = process.FreeAddress(suiteCtx)
		Expect(err).NotTo(HaveOccurred())
	}
	dir := ginkgo.GinkgoT().TempDir()
	config := filepath.Join(dir, "config.yaml")
	Expect(os.WriteFile(config, fmt.Appendf(nil, collectorConfig, c.grpc, c.http, behind.URL), 0o600)).To(Succeed())
	running, err := process.Start(filepath.Join(dir, "log"), nil, binary, "--config", config)
	Expect(err).NotTo(HaveOccurred())
	ginkgo.DeferCleanup(func() { Expect(running.Stop(soon)).To(Succeed()) })
	for _, address := range []string{c.grpc, c.http} {
		Eventually(func() error {
			connection, err := new(net.Dialer).DialContext(suiteCtx, "tcp", address)
			if err != nil {
				if ended := running.Running(); ended != nil {
					return StopTrying(ended.Error())
				}
				return err
			}
			return connection.Close()
		}).Should(Succeed())
	}
	return c
}

// ServeHTTP takes what the collector sends on.
func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(r.Body)
	got := &collectortrace.ExportTraceServiceRequest{}
	if err = errors.Join(err, proto.Unmarshal(data, got)); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw.Write(data)
	c.received = append(c.received, got.ResourceSpans...)
}

// span is a span as it arrived, with its attributes and those below it in the order in which they began.
type span struct {
	*tracev1.Span
	attributes map[string]string
	below      []*span
}

// traces gives the spans that are below no other, in the order in which they began.
func (c *collector) traces() []*span {
	ginkgo.GinkgoHelper()
	c.mu.Lock()
	defer c.mu.Unlock()
	known := map[string]*span{}
	var all []*span
	for _, from := range c.received {
		Expect(attributesOf(from.Resource.Attributes)).To(HaveKeyWithValue("service.name", "aimodel-operator"))
		for _, scope := range from.ScopeSpans {
			for _, s := range scope.Spans {
				arrived := &span{Span: s, attributes: attributesOf(s.Attributes)}
				known[string(s.SpanId)] = arrived
				all = append(all, arrived)
			}
		}
	}
	slices.SortFunc(all, func(a, b *span) int { return cmp.Compare(a.StartTimeUnixNano, b.StartTimeUnixNano) })
	var roots []*span
	for _, s := range all {
		if len(s.ParentSpanId) == 0 {
			roots = append(roots, s)
			continue
		}
		above := known[string(s.ParentSpanId)]
		Expect(above).NotTo(BeNil(), "what is above %s did not arrive", s.Name)
		Expect(s.TraceId).To(Equal(above.TraceId), s.Name)
		above.below = append(above.below, s)
	}
	return roots
}

func attributesOf(pairs []*commonv1.KeyValue) map[string]string {
	attributes := map[string]string{}
	for _, pair := range pairs {
		attributes[pair.Key] = pair.Value.GetStringValue()
	}
	return attributes
}

// tree writes down what is below a span: "apply(POST deployments)" is a step that created something.
func (s *span) tree() []string {
	var lines []string
	for _, step := range s.below {
		var requests []string
		for _, request := range step.below {
			_, path, _ := strings.Cut(request.attributes["url.path"], "/v1/")
			if within, ok := strings.CutPrefix(path, "namespaces/"); ok {
				_, path, _ = strings.Cut(within, "/")
			}
			requests = append(requests, request.Name+" "+path)
		}
		lines = append(lines, step.Name+"("+strings.Join(requests, ", ")+")")
	}
	return lines
}

// of gives the first span of an object's reconciles that ended with Ready, or Registered, for that reason, and with one of the
// outcomes if any are given.
func of(traces []*span, object client.Object, reason string, outcomes ...string) *span {
	ginkgo.GinkgoHelper()
	for _, trace := range traces {
		if trace.attributes["aimodel_operator.name"] == object.GetName() && trace.attributes["aimodel_operator.reason"] == reason &&
			(len(outcomes) == 0 || slices.Contains(outcomes, trace.attributes["aimodel_operator.outcome"])) {
			Expect(trace.attributes).To(HaveKeyWithValue("k8s.namespace.name", object.GetNamespace()))
			Expect(trace.attributes["aimodel_operator.reconcile_id"]).NotTo(BeEmpty())
			return trace
		}
	}
	ginkgo.Fail("no trace of " + object.GetName() + " tells of " + reason)
	return nil
}

// takingRegistry takes every event that a webhook is sent.
type takingRegistry struct {
	*httptest.Server

	mu      sync.Mutex
	headers []string
}

// newTakingRegistry starts one that ends with the spec.
func newTakingRegistry() *takingRegistry {
	r := &takingRegistry{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		r.mu.Lock()
		defer r.mu.Unlock()
		for name := range request.Header {
			r.headers = append(r.headers, name)
		}
	}))
	ginkgo.DeferCleanup(r.Close)
	return r
}

// told are the headers that it was sent which tell of a trace.
func (r *takingRegistry) told() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.headers), func(name string) bool {
		return !strings.HasPrefix(name, "Trace") && name != "Baggage"
	})
}

var _ = describeOwnOperators("Traces", func() {
	ginkgo.DescribeTable("reach an OpenTelemetry collector", func(protocol string, address func(*collector) string) {
		needSimulatedPods()
		sink := startCollector()
		for _, variable := range os.Environ() {
			if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "OTEL_") {
				ginkgo.GinkgoT().Setenv(name, "")
			}
		}
		ginkgo.GinkgoT().Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+address(sink))
		ginkgo.GinkgoT().Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
		stop, err := tracing.Start(suiteCtx, "1.2.3", logr.Discard())
		Expect(err).NotTo(HaveOccurred())

		namespace := newNamespace()
		operator := runOperator(operatorSettings{namespaces: []string{namespace}})
		const token = "a-token-that-nobody-may-see"
		create(&corev1.Secret{ObjectMeta: objectMeta(namespace, "keys"), StringData: map[string]string{"token": token}})
		served := newModel(namespace, "served", withImage, withSecret("keys", ""))
		served.Spec.Parameters = &runtime.RawExtension{Raw: []byte(`{"systemPrompt": "` + token + `"}`)}
		waits := newModel(namespace, "waits", withImage, withSecret("missing", ""))
		full := newService(namespace, "full", "served", withGPUs(16))
		registries := newTakingRegistry()
		main, entry := newRegistry(namespace, "main"), newModel(namespace, "entry", registered())
		main.Spec.URL, main.Spec.Auth = registries.URL+"/a-path-that-nobody-may-see", &v1alpha1.RegistryAuth{SecretName: "keys"}
		create(main, served, waits, full, entry)
		expectRegistered(entry)
		remove(entry)
		remove(main)
		expectReady(served)
		expectReason(waits, aiv1.ReasonSecretNotFound)
		expectReason(full, aiv1.ReasonUnschedulable)
		operator.stop()
		Expect(stop(suiteCtx)).To(Succeed())

		traces := sink.traces()
		first := traces[slices.IndexFunc(traces, func(s *span) bool { return s.attributes["aimodel_operator.name"] == "served" })]
		Expect(first.Name).To(Equal("reconcile AIModel"))
		Expect(first.tree()).To(Equal([]string{"resolve(GET secrets/keys)", "render()",
			"apply(POST serviceaccounts, POST deployments, POST services)", "observe()", "status(PATCH aimodels/served/status)"}))
		ready := of(traces, served, aiv1.ReasonReady)
		Expect(ready.attributes).To(And(HaveKeyWithValue("aimodel_operator.ready", "True"), HaveKeyWithValue("aimodel_operator.outcome", "ok")))

		refused := of(traces, waits, aiv1.ReasonSecretNotFound)
		Expect(refused.attributes).To(HaveKeyWithValue("aimodel_operator.outcome", "waiting"))
		Expect(refused.tree()).To(Equal([]string{"resolve(GET secrets/missing)", "observe()", "status(PATCH aimodels/waits/status)"}))
		Expect(refused.below[0].Status.GetMessage()).To(ContainSubstring(`"missing"`))

		Expect(of(traces, full, aiv1.ReasonUnschedulable).tree()).To(ContainElement("observe(GET nodes)"))

		Expect(of(traces, entry, aiv1.ReasonRegistered).tree()).To(ContainElement(And(HavePrefix("register("), HaveSuffix("POST )"))))
		gone := of(traces, entry, aiv1.ReasonRegistered, "deleted")
		Expect(gone.Name).To(Equal("reconcile AIModel registration"))
		Expect(gone.tree()).To(HaveExactElements(And(HavePrefix("clean up("), HaveSuffix("POST )")), Equal("finalizer(PATCH aimodels/entry)")))
		requests := gone.below[0].below
		Expect(requests[len(requests)-1].attributes).To(And(HaveKeyWithValue("server.address", "127.0.0.1"), HaveKeyWithValue("url.path", "")))
		Expect(of(traces, main, v1alpha1.ReasonAccepted).tree()).To(ContainElement(HavePrefix("check(")))
		Expect(registries.told()).To(BeEmpty(), "the registry is told of the trace")

		sink.mu.Lock()
		defer sink.mu.Unlock()
		Expect(sink.raw.String()).NotTo(Or(ContainSubstring(token), ContainSubstring("a-path-that-nobody-may-see")))
	},
		ginkgo.Entry("over HTTP", "http/protobuf", func(c *collector) string { return c.http }),
		ginkgo.Entry("over gRPC", "grpc", func(c *collector) string { return c.grpc }),
	)
})
