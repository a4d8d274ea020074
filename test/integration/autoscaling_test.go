package integration

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

// podMetricsCRD stands in for a metrics server: the specs write what it would measure.
const podMetricsCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: pods.metrics.k8s.io
  annotations: {api-approved.kubernetes.io: "unapproved, for tests only"}
spec:
  group: metrics.k8s.io
  scope: Namespaced
  names: {plural: pods, singular: pod, kind: PodMetrics, listKind: PodMetricsList}
  versions:
  - name: v1beta1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

var podMetrics = schema.GroupVersionKind{Group: "metrics.k8s.io", Version: "v1beta1", Kind: "PodMetrics"}

var _ = ginkgo.Describe("The autoscaler", func() {
	ginkgo.BeforeEach(func() {
		needSimulatedPods()
		crd := &unstructured.Unstructured{Object: decode(podMetricsCRD)}
		if err := k8s.List(suiteCtx, metricsList(), client.InNamespace("default")); err == nil {
			ginkgo.Skip("SKIPPED: this cluster measures its pods already, and the spec needs to say what is measured")
		}
		create(crd)
		ginkgo.DeferCleanup(func() { remove(crd) })
		Eventually(func() error { return k8s.List(suiteCtx, metricsList(), client.InNamespace("default")) }).Should(Succeed())
	})

	ginkgo.It("scales the service through its scale subresource, up and down, and nobody else writes replicas", func() {
		namespace := newNamespace()
		create(newModel(namespace, "m"))
		service := newService(namespace, "s", "m", func(spec *aiv1.InferenceServiceSpec) {
			spec.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}}
			spec.Autoscaling = scaleOnCPU(3)
		})
		manifest := manifestOf(service)
		kubectl("apply", "-f", manifest)
		expectReady(service)
		Expect(*service.Spec.Replicas).To(BeEquivalentTo(1))

		// measured reports a load of each pod until the service has as many replicas.
		measured := func(cpu string, replicas int) {
			ginkgo.GinkgoHelper()
			Eventually(func(g Gomega) {
				measure(g, namespace, service.Status.Selector, cpu)
				g.Expect(refresh(service)).To(Succeed())
				g.Expect(*service.Spec.Replicas).To(BeEquivalentTo(replicas))
				g.Expect(service.Status.AvailableReplicas).To(BeEquivalentTo(replicas))
			}).WithTimeout(2*healing).WithPolling(time.Second).Should(Succeed(), "%s of CPU", cpu)
			Expect(*live(deploymentOf(namespace, "s-server")).Spec.Replicas).To(BeEquivalentTo(replicas))
			expectReady(service)
		}
		measured("2", 3)
		expectReplicasWrittenBy(service, "kube-controller-manager")

		// Neither applying the same manifest again, in either way, nor a change elsewhere in it resets the number.
		kubectl("apply", "-f", manifest)
		kubectl("apply", "--server-side", "--force-conflicts", "-f", manifest)
		edit(service, func() { service.Spec.Runtime.Args = []string{"--more"} })
		expectReady(service)
		Expect(*service.Spec.Replicas).To(BeEquivalentTo(3))
		Expect(*live(deploymentOf(namespace, "s-server")).Spec.Replicas).To(BeEquivalentTo(3))
		expectReplicasWrittenBy(service, "kube-controller-manager")

		measured("100m", 1)
		autoscaler := live(autoscalerOf(namespace, "s-server"))
		for _, c := range autoscaler.Status.Conditions {
			if c.Type == autoscalingv2.AbleToScale || c.Type == autoscalingv2.ScalingActive {
				Expect(c.Status).To(Equal(corev1.ConditionTrue), c.Message)
			}
		}
	})
})

func metricsList() *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(podMetrics)
	return list
}

// scaleOnCPU aims at half the CPU that is asked for, and acts at once.
func scaleOnCPU(most int32) *aiv1.Autoscaling {
	at := ptr.To[int32](0)
	policies := []autoscalingv2.HPAScalingPolicy{{Type: autoscalingv2.PodsScalingPolicy, Value: 10, PeriodSeconds: 1}}
	return &aiv1.Autoscaling{
		MaxReplicas: most,
		Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
			Name:   corev1.ResourceCPU,
			Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: ptr.To[int32](50)},
		}}},
		Behavior: &autoscalingv2.HorizontalPodAutoscalerBehavior{
			ScaleUp:   &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: at, Policies: policies},
			ScaleDown: &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: at, Policies: policies},
		},
	}
}

// measure reports that every pod uses that much CPU.
func measure(g Gomega, namespace, selector, cpu string) {
	pods := &corev1.PodList{}
	g.Expect(k8s.List(suiteCtx, pods, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: parseSelector(selector)})).To(Succeed())
	for i := range pods.Items {
		metrics := &unstructured.Unstructured{Object: map[string]any{
			"timestamp": time.Now().UTC().Format(time.RFC3339),
			"window":    "1s",
			"containers": []any{map[string]any{
				"name": "server", "usage": map[string]any{"cpu": cpu, "memory": "1Mi"}}},
		}}
		metrics.SetGroupVersionKind(podMetrics)
		metrics.SetNamespace(namespace)
		metrics.SetName(pods.Items[i].Name)
		metrics.SetLabels(pods.Items[i].Labels)
		g.Expect(k8s.Apply(suiteCtx, client.ApplyConfigurationFromUnstructured(metrics), client.FieldOwner("meter"), client.ForceOwnership)).To(Succeed())
	}
}

// manifestOf writes an object to a file, without replicas, as a user would keep it.
func manifestOf(service *aiv1.InferenceService) string {
	ginkgo.GinkgoHelper()
	service.SetGroupVersionKind(aiv1.GroupVersion.WithKind("InferenceService"))
	data, err := yaml.Marshal(service)
	Expect(err).NotTo(HaveOccurred())
	object := &unstructured.Unstructured{Object: decode(string(data))}
	unstructured.RemoveNestedField(object.Object, "status")
	unstructured.RemoveNestedField(object.Object, "metadata", "creationTimestamp")
	Expect(object.Object["spec"]).NotTo(HaveKey("replicas"))
	file := filepath.Join(ginkgo.GinkgoT().TempDir(), "service.yaml")
	writeFile(file, object.Object)
	return file
}

// expectReplicasWrittenBy holds that only one client owns spec.replicas, and that the operator owns nothing but status.
func expectReplicasWrittenBy(service *aiv1.InferenceService, writer string) {
	ginkgo.GinkgoHelper()
	Expect(refresh(service)).To(Succeed())
	var writers []string
	for _, entry := range service.ManagedFields {
		fields := decode(entry.FieldsV1.GetRawString())
		if _, found, _ := unstructured.NestedFieldNoCopy(fields, "f:spec", "f:replicas"); found {
			writers = append(writers, entry.Manager)
		}
		if entry.Manager == aiv1.ManagedBy {
			Expect(entry.Subresource).To(Equal("status"), fmt.Sprint(fields))
			Expect(fields).To(HaveLen(1))
		}
	}
	Expect(writers).To(ConsistOf(writer))
}
