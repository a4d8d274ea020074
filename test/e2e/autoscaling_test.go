package e2e

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

// pending is the metric that the autoscaler reads: requests that wait or are being answered, over all pods.
const pending = "modelserver-requests-pending"

// external is where the autoscaler looks for metrics that are not of pods.
var external = schema.GroupVersion{Group: "external.metrics.k8s.io", Version: "v1beta1"}

var _ = ginkgo.Describe("The autoscaler", func() {
	ginkgo.It("starts pods for a load, and ends them after it", func() {
		namespace := newNamespace()
		// One pod answers one request at a time, and takes half a second for it.
		model := newModel(namespace, "entry", asEntry, withParameters(parameters{"concurrency": 1, "requestDelay": "500ms"}))
		service := newService(model, "elastic", withValues(`{drain: {seconds: 1}}`), func(spec *aiv1.InferenceServiceSpec) {
			spec.Autoscaling = &aiv1.Autoscaling{
				MinReplicas: ptr.To[int32](1),
				MaxReplicas: 3,
				Metrics: []autoscalingv2.MetricSpec{{
					Type: autoscalingv2.ExternalMetricSourceType,
					External: &autoscalingv2.ExternalMetricSource{
						Metric: autoscalingv2.MetricIdentifier{Name: pending},
						Target: autoscalingv2.MetricTarget{
							Type: autoscalingv2.AverageValueMetricType, AverageValue: ptr.To(resource.MustParse("2")),
						},
					},
				}},
				Behavior: &autoscalingv2.HorizontalPodAutoscalerBehavior{
					ScaleDown: &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: ptr.To[int32](0)},
				},
			}
		})
		publishPending(namespace)
		create(model, service)
		expectReady(service, aiv1.ReasonReady)
		expectPods(service, 1)

		load := startTraffic(service, 6)
		expectPods(service, 3)
		expectReady(service, aiv1.ReasonReady)
		Expect(service.Spec.Replicas).To(HaveValue(BeEquivalentTo(3)), "the autoscaler scales the InferenceService itself")
		expectAnswersFrom(service, 3)
		load.stop()
		Expect(load.failed()).To(BeEmpty())

		expectPods(service, 1)
		expectReady(service, aiv1.ReasonReady)
		Expect(service.Spec.Replicas).To(HaveValue(BeEquivalentTo(1)))
		expectAnswers(service)
	})
})

// publishPending serves the metric, until the spec ends. What the autoscaler asks the API of external metrics is a list of
// objects, so a custom resource can play that API. Its only object holds what the pods of the namespace themselves say.
func publishPending(namespace string) {
	ginkgo.GinkgoHelper()
	installMetricsAPI()
	value := &unstructured.Unstructured{Object: map[string]any{"metricName": pending, "metricLabels": map[string]any{}}}
	value.SetGroupVersionKind(external.WithKind("ExternalMetricValue"))
	value.SetNamespace(namespace)
	value.SetName("all-pods")
	write := func(count int) error {
		value.Object["timestamp"] = metav1.Now().UTC().Format(time.RFC3339)
		value.Object["value"] = strconv.Itoa(count)
		if value.GetResourceVersion() == "" {
			return k8s.Create(suiteCtx, value)
		}
		return k8s.Update(suiteCtx, value)
	}
	Eventually(func() error { return write(0) }).Should(Succeed())

	ctx, cancel := context.WithCancel(suiteCtx)
	ended := make(chan error, 1)
	go func() {
		next := time.NewTicker(time.Second)
		defer next.Stop()
		for {
			select {
			case <-ctx.Done():
				ended <- nil
				return
			case <-next.C:
			}
			if err := write(pendingRequests(ctx, namespace)); err != nil {
				ended <- err
				return
			}
		}
	}()
	ginkgo.DeferCleanup(func() {
		cancel()
		Eventually(ended).Should(Receive(Succeed()))
	})
}

func installMetricsAPI() {
	ginkgo.GinkgoHelper()
	crd := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{
			"group": external.Group,
			"scope": "Namespaced",
			"names": map[string]any{
				"kind": "ExternalMetricValue", "listKind": "ExternalMetricValueList",
				"plural": pending, "singular": "externalmetricvalue",
			},
			"versions": []any{map[string]any{
				"name": external.Version, "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object", "x-kubernetes-preserve-unknown-fields": true,
				}},
			}},
		},
	}}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	crd.SetName(pending + "." + external.Group)
	// The API server wants to know who approved a kind in a group of Kubernetes' own.
	crd.SetAnnotations(map[string]string{"api-approved.kubernetes.io": "unapproved, it stands in for a metrics server in a test"})
	installCRD(crd)
}

// pendingRequests adds up what the pods of a namespace say. A pod that does not answer has nothing pending.
func pendingRequests(ctx context.Context, namespace string) int {
	pods := &corev1.PodList{}
	if err := k8s.List(ctx, pods, client.InNamespace(namespace)); err != nil {
		return 0
	}
	total := 0
	for i := range pods.Items {
		text, err := get(ctx, viaPod(namespace, pods.Items[i].Name, 8080, "/metrics"))
		if err != nil {
			continue
		}
		for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
			var count int
			for _, gauge := range []string{"modelserver_requests_waiting", "modelserver_requests_in_flight"} {
				if strings.HasPrefix(lines.Text(), gauge+" ") {
					_, _ = fmt.Sscanf(lines.Text(), gauge+" %d", &count)
				}
			}
			total += count
		}
	}
	return total
}
