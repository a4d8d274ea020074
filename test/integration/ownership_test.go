package integration

import (
	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

var _ = ginkgo.Describe("Ownership", func() {
	var namespace string
	ginkgo.BeforeEach(func() {
		needSimulatedPods()
		namespace = newNamespace()
	})

	ginkgo.It("leaves objects of others alone, names them, and goes on when they go", func() {
		foreign := map[string]client.Object{
			"Deployment":     foreignDeployment(namespace, "has-deployment"),
			"Service":        &corev1.Service{ObjectMeta: objectMeta(namespace, "has-service"), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}},
			"ServiceAccount": accountOf(namespace, "has-account"),
			// One that bears the operator's label, and that nobody controls.
			"PodDisruptionBudget": budgetOf(namespace, "has-budget"),
		}
		foreign["PodDisruptionBudget"].SetLabels(map[string]string{aiv1.LabelManagedBy: aiv1.ManagedBy})
		models := map[string]*aiv1.AIModel{}
		for kind, object := range foreign {
			create(object)
			models[kind] = newModel(namespace, object.GetName(), withImage, withReplicas(2))
		}
		for kind, object := range foreign {
			expectUntouched(object, func() {
				create(models[kind])
				expectReason(models[kind], aiv1.ReasonConflict, kind+` "`+object.GetName()+`"`, namespace)
				expectConsistent(models[kind])
				Expect(children(models[kind])).NotTo(ContainElement(kind + "/" + object.GetName()))
			})
		}
		for _, object := range foreign {
			Expect(k8s.Delete(suiteCtx, object)).To(Succeed())
		}
		for kind, model := range models {
			expectReady(model)
			Expect(children(model)).To(ContainElement(kind + "/" + model.Name))
		}
	})

	ginkgo.It("leaves a foreign object alone when its owner is deleted", func() {
		object := accountOf(namespace, "m")
		create(object)
		model := newModel(namespace, "m", withImage)
		create(model)
		expectUntouched(object, func() {
			expectReason(model, aiv1.ReasonConflict)
			remove(model)
			Consistently(refresh).WithArguments(object).WithTimeout(atOnce).Should(Succeed())
		})
	})

	ginkgo.It("mends what somebody deletes or edits", func() {
		model := newModel(namespace, "m", withImage, withReplicas(2))
		create(model)
		expectReady(model)
		for _, child := range []client.Object{accountOf(namespace, "m"), serviceOf(namespace, "m"), budgetOf(namespace, "m"), deploymentOf(namespace, "m")} {
			Expect(refresh(child)).To(Succeed())
			uid := child.GetUID()
			Expect(k8s.Delete(suiteCtx, child)).To(Succeed())
			Eventually(func(g Gomega) {
				g.Expect(refresh(child)).To(Succeed())
				g.Expect(child.GetUID()).NotTo(Equal(uid))
			}).Should(Succeed(), "%T was not made anew", child)
		}
		expectReady(model)

		deployment := live(deploymentOf(namespace, "m"))
		edit(deployment, func() {
			deployment.Spec.Replicas = new(int32)
			deployment.Spec.Template.Spec.Containers[0].Image = "evil:1"
			deployment.Labels[aiv1.LabelAIModel] = "other"
		})
		service := live(serviceOf(namespace, "m"))
		edit(service, func() { service.Spec.Selector = map[string]string{"app": "other"} })
		Eventually(func(g Gomega) {
			g.Expect(refresh(deployment)).To(Succeed())
			g.Expect(*deployment.Spec.Replicas).To(BeEquivalentTo(2))
			g.Expect(deployment.Spec.Template.Spec.Containers[0].Image).To(Equal(image))
			g.Expect(deployment.Labels).To(HaveKeyWithValue(aiv1.LabelAIModel, "m"))
			g.Expect(refresh(service)).To(Succeed())
			g.Expect(service.Spec.Selector).To(Equal(deployment.Spec.Selector.MatchLabels))
		}).Should(Succeed())
		expectReady(model)
	})

	ginkgo.It("sees an object again that lost the operator's label", func() {
		model := newModel(namespace, "m", withImage)
		create(model)
		expectReady(model)
		service := live(serviceOf(namespace, "m"))
		edit(service, func() { delete(service.Labels, aiv1.LabelManagedBy) })
		Eventually(func() map[string]string { _ = refresh(service); return service.Labels }).Should(
			HaveKeyWithValue(aiv1.LabelManagedBy, aiv1.ManagedBy))
		expectReady(model)
	})

	ginkgo.It("keeps what others add to its objects", func() {
		model := newModel(namespace, "m", withImage)
		create(model)
		expectReady(model)
		deployment := live(deploymentOf(namespace, "m"))
		add := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apps/v1", "kind": "Deployment",
			"metadata": map[string]any{"name": "m", "namespace": namespace,
				"labels": map[string]any{"team": "a"}, "annotations": map[string]any{"note": "b"}},
			"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{
				map[string]any{"name": "server", "env": []any{map[string]any{"name": "TRACE", "value": "1"}}},
				map[string]any{"name": "proxy", "image": "proxy:1"}}}}},
		}}
		Expect(k8s.Apply(suiteCtx, client.ApplyConfigurationFromUnstructured(add), client.FieldOwner("mesh"))).To(Succeed())
		kubectl("-n", namespace, "rollout", "restart", "deployment/m")

		kept := func(version string) {
			expectReady(model)
			Expect(refresh(deployment)).To(Succeed())
			template := deployment.Spec.Template
			Expect(deployment.Labels).To(HaveKeyWithValue("team", "a"))
			Expect(deployment.Annotations).To(HaveKeyWithValue("note", "b"))
			Expect(template.Annotations).To(HaveKey("kubectl.kubernetes.io/restartedAt"))
			Expect(template.Spec.Containers).To(HaveLen(2))
			Expect(environmentOf(template.Spec.Containers[0])).To(And(HaveKeyWithValue("TRACE", "1"), HaveKeyWithValue("MODEL_VERSION", version)))
		}
		kept("1")
		for _, version := range []string{"2", "3"} {
			edit(model, func() { model.Spec.ModelVersion = version })
			kept(version)
		}
	})

	ginkgo.It("takes away what the spec no longer says, at the first change and at every later one", func() {
		service := newService(namespace, "s", "m", func(spec *aiv1.InferenceServiceSpec) {
			spec.Runtime.Env = []corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "B", Value: "1"}, {Name: "C", Value: "1"}}
			spec.Runtime.Args = []string{"--x"}
		})
		create(newModel(namespace, "m"), service)
		expectReady(service)
		server := func() corev1.Container {
			return live(deploymentOf(namespace, "s-server")).Spec.Template.Spec.Containers[0]
		}

		edit(service, func() { service.Spec.Runtime.Env, service.Spec.Runtime.Args = service.Spec.Runtime.Env[1:], nil })
		expectReady(service)
		Expect(environmentOf(server())).To(And(Not(HaveKey("A")), HaveKey("B"), HaveKey("C")))
		Expect(server().Args).To(BeEmpty())

		edit(service, func() { service.Spec.Runtime.Env = service.Spec.Runtime.Env[1:] })
		expectReady(service)
		Expect(environmentOf(server())).To(And(Not(HaveKey("A")), Not(HaveKey("B")), HaveKey("C")))

		edit(service, func() { withGPUs(1)(&service.Spec) })
		expectReady(service)
		edit(service, func() { service.Spec.Accelerator = nil })
		expectReady(service)
		Expect(server().Resources.Limits).NotTo(HaveKey(corev1.ResourceName("nvidia.com/gpu")))
		Expect(live(deploymentOf(namespace, "s-server")).Spec.Template.Spec.Tolerations).To(BeEmpty())
	})

	ginkgo.It("keeps an AIModel and an InferenceService of one name apart", func() {
		model, service := newModel(namespace, "same", withImage), newService(namespace, "same", "same")
		create(model, service)
		expectReady(model, service)
		Expect(children(model)).To(HaveLen(3))
		Expect(children(service)).To(HaveLen(3))
		expectPods(namespace, model.Status.Selector, 1)
		expectPods(namespace, service.Status.Selector, 1)
		remove(service)
		Expect(children(model)).To(HaveLen(3))
		expectReady(model)
	})
})

// foreignDeployment is one that nobody controls and that runs nothing.
func foreignDeployment(namespace, name string) *appsv1.Deployment {
	deployment := deploymentOf(namespace, name)
	marks := map[string]string{"app": name}
	deployment.Spec.Replicas = new(int32)
	deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: marks}
	deployment.Spec.Template.Labels = marks
	deployment.Spec.Template.Spec.Containers = []corev1.Container{{Name: "other", Image: "other:1"}}
	return deployment
}
