package integration

import (
	"os/exec"

	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

var _ = ginkgo.Describe("An AIModel", func() {
	var namespace string
	ginkgo.BeforeEach(func() {
		needSimulatedPods()
		namespace = newNamespace()
	})

	ginkgo.It("with an image is served", func() {
		model := newModel(namespace, "sentiment", withImage, withReplicas(2), func(spec *aiv1.AIModelSpec) { spec.Endpoint = "/v1/x" })
		create(model)
		expectReadyFor(model, aiv1.ReasonReady)
		Expect(model.Status.InferenceURL).To(Equal("http://sentiment." + namespace + ".svc.cluster.local:80/v1/x"))
		Expect(model.Status.Replicas).To(BeEquivalentTo(2))
		Expect(model.Status.ReadyReplicas).To(BeEquivalentTo(2))
		Expect(model.Status.AvailableReplicas).To(BeEquivalentTo(2))
		Expect(children(model)).To(ConsistOf("Deployment/sentiment", "Service/sentiment", "ServiceAccount/sentiment",
			"PodDisruptionBudget/sentiment"))
		Expect(recorded(model)).To(Equal(children(model)))
		expectConsistent(model)
	})

	ginkgo.It("without image and URL is an entry of the catalogue", func() {
		model := newModel(namespace, "entry")
		create(model)
		expectReadyFor(model, aiv1.ReasonCatalogued)
		Expect(children(model)).To(BeEmpty())
		Expect(recorded(model)).To(BeEmpty())
		Expect(model.Status.InferenceURL).To(BeEmpty())
		expectConsistent(model)
	})

	ginkgo.It("loses its children with its image, and gets them back with it", func() {
		model := newModel(namespace, "moving", withImage, withReplicas(2))
		create(model)
		expectReady(model)

		edit(model, func() { model.Spec.Image, model.Spec.Endpoint = "", "https://api.example.org/v1" })
		expectReadyFor(model, aiv1.ReasonServedElsewhere)
		Eventually(children).WithArguments(model).Should(BeEmpty())
		expectReady(model)
		Expect(model.Status.InferenceURL).To(BeEmpty())
		Expect(model.Status.ModelEndpoint).To(Equal("https://api.example.org/v1"))
		Expect(recorded(model)).To(BeEmpty())
		Eventually(func() int32 { _ = refresh(model); return model.Status.Replicas }).Should(BeZero())

		edit(model, func() { model.Spec.Image, model.Spec.Endpoint = image, "/v1" })
		expectReadyFor(model, aiv1.ReasonReady)
		Expect(model.Status.ModelEndpoint).To(BeEmpty())
		Expect(model.Status.InferenceURL).To(HaveSuffix("/v1"))
		Expect(children(model)).To(HaveLen(4))
	})

	ginkgo.It("pulls its image with a docker-config Secret and gives the keys of any other to the server", func() {
		create(
			&corev1.Secret{ObjectMeta: objectMeta(namespace, "pull"), Type: corev1.SecretTypeDockerConfigJson,
				StringData: map[string]string{".dockerconfigjson": `{"auths":{}}`}},
			&corev1.Secret{ObjectMeta: objectMeta(namespace, "keys"), StringData: map[string]string{"AWS_ACCESS_KEY_ID": "x"}})
		pulls := newModel(namespace, "pulls", withImage, withSecret("pull", ""))
		reads := newModel(namespace, "reads", withImage, withSecret("keys", namespace))
		create(pulls, reads)
		expectReady(pulls, reads)

		pod := live(deploymentOf(namespace, "pulls")).Spec.Template.Spec
		Expect(pod.ImagePullSecrets).To(ConsistOf(corev1.LocalObjectReference{Name: "pull"}))
		Expect(pod.Containers[0].EnvFrom).To(BeEmpty())
		pod = live(deploymentOf(namespace, "reads")).Spec.Template.Spec
		Expect(pod.ImagePullSecrets).To(BeEmpty())
		Expect(pod.Containers[0].EnvFrom).To(HaveLen(1))
		Expect(pod.Containers[0].EnvFrom[0].SecretRef.Name).To(Equal("keys"))
	})

	ginkgo.It("may not use a Secret of another namespace", func() {
		model := newModel(namespace, "thief", withImage, withSecret("keys", "kube-system"))
		create(model)
		expectReason(model, aiv1.ReasonSecretNamespace, "kube-system", namespace)
		Expect(condition(model, aiv1.ConditionResolved).Reason).To(Equal(aiv1.ReasonSecretNamespace))
		Expect(children(model)).To(BeEmpty())
		expectConsistent(model)

		edit(model, func() { model.Spec.CredentialsRef = nil })
		expectReady(model)
	})

	ginkgo.It("waits for its Secret and goes on when it appears", func() {
		model := newModel(namespace, "early", withImage, withSecret("late", ""))
		service := newService(namespace, "early", "early")
		create(model, service)
		expectReason(model, aiv1.ReasonSecretNotFound, `"late"`)
		expectReason(service, aiv1.ReasonModelNotResolved, `"early"`, `"late"`)
		Expect(children(model)).To(BeEmpty())
		create(&corev1.Secret{ObjectMeta: objectMeta(namespace, "late"), StringData: map[string]string{"KEY": "x"}})
		expectReady(model, service)
	})

	ginkgo.It("is scaled through its scale subresource", func() {
		model := newModel(namespace, "scaled", withImage)
		create(model)
		expectReady(model)

		scale := &autoscalingv1.Scale{}
		Expect(k8s.SubResource("scale").Get(suiteCtx, model, scale)).To(Succeed())
		Expect(scale.Spec.Replicas).To(BeEquivalentTo(1))
		Expect(scale.Status.Replicas).To(BeEquivalentTo(1))
		expectPods(namespace, scale.Status.Selector, 1)

		scale.Spec.Replicas = 3
		Expect(k8s.SubResource("scale").Update(suiteCtx, model, client.WithSubResourceBody(scale))).To(Succeed())
		expectReady(model)
		Expect(model.Status.AvailableReplicas).To(BeEquivalentTo(3))
		Expect(k8s.SubResource("scale").Get(suiteCtx, model, scale)).To(Succeed())
		Expect(scale.Status.Replicas).To(BeEquivalentTo(3))
		expectPods(namespace, scale.Status.Selector, 3)
		Expect(children(model)).To(ContainElement("PodDisruptionBudget/scaled"))

		kubectl("-n", namespace, "scale", "aim/scaled", "--replicas=0")
		expectReadyFor(model, aiv1.ReasonScaledToZero)
		Expect(model.Status.Replicas).To(BeZero())
		Expect(condition(model, aiv1.ConditionAvailable).Reason).To(Equal(aiv1.ReasonScaledToZero))
		Expect(children(model)).NotTo(ContainElement("PodDisruptionBudget/scaled"))
		expectConsistent(model)
	})

	ginkgo.It("rolls out what changes and reports no success before it is there", func() {
		model := newModel(namespace, "rolling", withImage)
		create(model)
		expectReady(model)
		for _, version := range []string{"2", "3"} {
			edit(model, func() { model.Spec.ModelVersion = version })
			expectReady(model)
			deployment := live(deploymentOf(namespace, "rolling"))
			Expect(environmentOf(deployment.Spec.Template.Spec.Containers[0])).To(HaveKeyWithValue("MODEL_VERSION", version))
			Expect(deployment.Status.ObservedGeneration).To(Equal(deployment.Generation))
			Expect(deployment.Status.UpdatedReplicas).To(BeEquivalentTo(1))
		}
	})
})

// withSecret refers to a Secret. The namespace may be left empty.
func withSecret(name, namespace string) func(*aiv1.AIModelSpec) {
	return func(spec *aiv1.AIModelSpec) {
		spec.CredentialsRef = &corev1.SecretReference{Name: name, Namespace: namespace}
	}
}

// expectPods waits until as many pods match a selector in text.
func expectPods(namespace, selector string, count int) {
	ginkgo.GinkgoHelper()
	parsed := parseSelector(selector)
	Eventually(func() ([]corev1.Pod, error) {
		pods := &corev1.PodList{}
		err := k8s.List(suiteCtx, pods, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: parsed})
		return pods.Items, err
	}).Should(HaveLen(count))
}

// parseSelector reads a selector that selects something in particular.
func parseSelector(selector string) labels.Selector {
	ginkgo.GinkgoHelper()
	parsed, err := labels.Parse(selector)
	Expect(err).NotTo(HaveOccurred())
	Expect(parsed.Empty()).To(BeFalse())
	return parsed
}

// kubectl runs kubectl on the cluster and returns what it prints.
func kubectl(args ...string) string {
	ginkgo.GinkgoHelper()
	command := exec.CommandContext(suiteCtx, kube.Kubectl, append([]string{"--kubeconfig", kube.Kubeconfig}, args...)...)
	output, err := command.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(output))
	return string(output)
}
