package integration

import (
	"time"

	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

// atOnce is for what a watch tells of.
const atOnce = 3 * time.Second

var _ = ginkgo.Describe("An InferenceService", func() {
	var namespace string
	ginkgo.BeforeEach(func() {
		needSimulatedPods()
		namespace = newNamespace()
	})

	resolved := func(service *aiv1.InferenceService) func() metav1.ConditionStatus {
		return func() metav1.ConditionStatus {
			_ = refresh(service)
			return condition(service, aiv1.ConditionResolved).Status
		}
	}

	ginkgo.It("waits for its model and wakes at once when it appears", func() {
		service := newService(namespace, "s", "m")
		create(service)
		expectReason(service, aiv1.ReasonModelNotFound, `"m"`, namespace)
		Expect(children(service)).To(BeEmpty())
		expectConsistent(service)
		create(newModel(namespace, "m"))
		Eventually(resolved(service)).WithTimeout(atOnce).Should(Equal(metav1.ConditionTrue))
		expectReady(service)
		Expect(children(service)).To(ConsistOf("Deployment/s-server", "Service/s-server", "ServiceAccount/s-server"))
	})

	ginkgo.It("follows its model when that changes", func() {
		model := newModel(namespace, "m", func(spec *aiv1.AIModelSpec) { spec.Endpoint = "/v1" })
		first, second := newService(namespace, "first", "m"), newService(namespace, "second", "m")
		create(model, first, second)
		expectReady(first, second)
		edit(model, func() { model.Spec.ModelVersion, model.Spec.Endpoint = "2", "/v2" })
		for _, service := range []*aiv1.InferenceService{first, second} {
			Eventually(func(g Gomega) {
				deployment := deploymentOf(namespace, service.Name+"-server")
				g.Expect(refresh(deployment)).To(Succeed())
				g.Expect(environmentOf(deployment.Spec.Template.Spec.Containers[0])).To(HaveKeyWithValue("MODEL_VERSION", "2"))
				g.Expect(refresh(service)).To(Succeed())
				g.Expect(service.Status.URL).To(HaveSuffix("/v2"))
			}).WithTimeout(atOnce).Should(Succeed())
			expectReady(service)
		}
	})

	ginkgo.It("says so, and goes on serving, when its model moves elsewhere or goes", func() {
		model := newModel(namespace, "m")
		service := newService(namespace, "s", "m")
		create(model, service)
		expectReady(service)
		edit(model, func() { model.Spec.Endpoint = "https://api.example.org" })
		expectReason(service, aiv1.ReasonModelServedElsewhere, "https://api.example.org")
		Expect(condition(service, aiv1.ConditionAvailable).Status).To(Equal(metav1.ConditionTrue))
		edit(model, func() { model.Spec.Endpoint = "" })
		expectReady(service)

		remove(model)
		expectReason(service, aiv1.ReasonModelNotFound, `"m"`)
		Expect(children(service)).To(HaveLen(3))
		Expect(recorded(service)).To(Equal(children(service)))
		Expect(service.Status.AvailableReplicas).To(BeEquivalentTo(1))
		Expect(condition(service, aiv1.ConditionAvailable).Status).To(Equal(metav1.ConditionTrue))
	})

	ginkgo.It("may change to another model", func() {
		service := newService(namespace, "s", "a")
		create(newModel(namespace, "a"), newModel(namespace, "b"), service)
		expectReady(service)
		edit(service, func() { service.Spec.ModelRef.Name = "b" })
		expectReady(service)
		Expect(live(deploymentOf(namespace, "s-server")).Labels).To(HaveKeyWithValue(aiv1.LabelAIModel, "b"))
	})

	ginkgo.It("has an autoscaler and a disruption budget while it asks for them", func() {
		service := newService(namespace, "s", "m")
		create(newModel(namespace, "m"), service)
		expectReady(service)
		plain := children(service)

		edit(service, func() { service.Spec.Autoscaling = &aiv1.Autoscaling{MinReplicas: ptr.To[int32](2), MaxReplicas: 3} })
		live(autoscalerOf(namespace, "s-server"))
		live(budgetOf(namespace, "s-server"))
		Eventually(func() []string { _ = refresh(service); return recorded(service) }).Should(
			ConsistOf(append(plain, "HorizontalPodAutoscaler/s-server", "PodDisruptionBudget/s-server")))

		// One after the other: for as long as there is an autoscaler, it may write the number of replicas.
		edit(service, func() { service.Spec.Autoscaling = nil })
		expectGone(autoscalerOf(namespace, "s-server"))
		edit(service, func() { service.Spec.Replicas = ptr.To[int32](1) })
		expectGone(budgetOf(namespace, "s-server"))
		expectReady(service)
		Expect(children(service)).To(Equal(plain))
		Expect(recorded(service)).To(Equal(plain))
	})

	ginkgo.It("hands its placement, resources and disruption on", func() {
		service := newService(namespace, "s", "m", withGPUs(2), func(spec *aiv1.InferenceServiceSpec) {
			spec.Placement = &aiv1.Placement{NodeSelector: map[string]string{"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"},
				Tolerations: []corev1.Toleration{{Key: "team", Operator: corev1.TolerationOpEqual, Value: "a", Effect: corev1.TaintEffectNoSchedule}}}
			spec.Disruption = &aiv1.Disruption{MinAvailable: ptr.To(intstr.FromString("50%"))}
		})
		create(newModel(namespace, "m"), service)
		expectReady(service)
		pod := live(deploymentOf(namespace, "s-server")).Spec.Template.Spec
		Expect(pod.NodeSelector).To(Equal(service.Spec.Placement.NodeSelector))
		Expect(pod.Tolerations).To(ContainElements(service.Spec.Placement.Tolerations[0],
			corev1.Toleration{Key: "nvidia.com/gpu", Operator: corev1.TolerationOpExists}))
		Expect(live(budgetOf(namespace, "s-server")).Spec.MinAvailable).To(Equal(service.Spec.Disruption.MinAvailable))
	})

	ginkgo.Describe("with chartValues", func() {
		ginkgo.It("lays them over the chart's", func() {
			service := newService(namespace, "s", "m",
				withValues("{podLabels: {team: a}, drain: {seconds: 3}, service: {annotations: {note: '12'}}}"))
			create(newModel(namespace, "m"), service)
			expectReady(service)
			template := live(deploymentOf(namespace, "s-server")).Spec.Template
			Expect(template.Labels).To(HaveKeyWithValue("team", "a"))
			Expect(template.Spec.Containers[0].Lifecycle.PreStop.Sleep.Seconds).To(BeEquivalentTo(3))
			Expect(live(serviceOf(namespace, "s-server")).Annotations).To(HaveKeyWithValue("note", "12"))
		})

		ginkgo.It("names the value that does not fit, leaves it at that, and goes on when it is mended", func() {
			create(newModel(namespace, "m"))
			for values, words := range map[string][]string{
				"{drain: {seconds: soon}}":    {"drain", "seconds", "integer"},
				"{nonsense: 1}":               {"nonsense"},
				"{replicas: 3}":               {"replicas", "spec.replicas"},
				"{extraVolumes: [{nam: x}]}":  {"extraVolumes", "nam"},
				"{podAnnotations: {a: true}}": {"podAnnotations", "string"},
			} {
				service := newService(namespace, "s", "m", withValues(values))
				create(service)
				expectReason(service, aiv1.ReasonInvalidChartValues, words...)
				Expect(condition(service, aiv1.ConditionApplied).Reason).To(Equal(aiv1.ReasonInvalidChartValues))
				Expect(children(service)).To(BeEmpty())
				remove(service)
			}
			service := newService(namespace, "mended", "m", withValues("{drain: {seconds: soon}}"))
			create(service)
			expectReason(service, aiv1.ReasonInvalidChartValues)
			edit(service, func() { withValues("{drain: {seconds: 1}}")(&service.Spec) })
			expectReady(service)
			edit(service, func() { withValues("{drain: {seconds: later}}")(&service.Spec) })
			expectReason(service, aiv1.ReasonInvalidChartValues)
			Expect(children(service)).To(HaveLen(3))
			Expect(condition(service, aiv1.ConditionAvailable).Status).To(Equal(metav1.ConditionTrue))
			edit(service, func() { service.Spec.ChartValues = nil })
			expectReady(service)
		})
	})

	ginkgo.It("says what its runtime cannot read or load", func() {
		vllm := func(spec *aiv1.InferenceServiceSpec) { spec.Runtime = aiv1.Runtime{Name: aiv1.RuntimeVLLM} }
		model := newModel(namespace, "m", func(spec *aiv1.AIModelSpec) { spec.Source = &aiv1.ModelSource{URI: "s3://bucket/weights"} })
		service := newService(namespace, "s", "m", vllm)
		create(model, service)
		expectReason(service, aiv1.ReasonSourceNotSupported, "vllm", "s3://")
		edit(model, func() {
			model.Spec.Source.URI, model.Spec.Format = "hf://org/model", &aiv1.ModelFormat{Name: "tensorflow"}
		})
		expectReason(service, aiv1.ReasonFormatNotSupported, "vllm", "tensorflow")
		edit(model, func() { model.Spec.Format = nil })
		expectReady(service)
	})
})
