package integration

import (
	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

var _ = ginkgo.Describe("What the API server refuses", func() {
	var namespace string
	ginkgo.BeforeEach(func() {
		needSimulatedPods()
		namespace = newNamespace()
	})

	// quota is in force when it returns.
	quota := func(what corev1.ResourceName) *corev1.ResourceQuota {
		ginkgo.GinkgoHelper()
		hard := corev1.ResourceList{what: resource.MustParse("0")}
		object := &corev1.ResourceQuota{ObjectMeta: objectMeta(namespace, "little"), Spec: corev1.ResourceQuotaSpec{Hard: hard}}
		create(object)
		Eventually(func() corev1.ResourceList { _ = refresh(object); return object.Status.Used }).Should(HaveKey(what))
		return object
	}

	ginkgo.It("for a quota on Deployments is told, and goes on when the quota goes", func() {
		object := quota("count/deployments.apps")
		model := newModel(namespace, "m", withImage)
		create(model)
		expectReason(model, aiv1.ReasonQuotaExceeded, `Deployment "m"`, "exceeded quota: little")
		expectConsistent(model)
		Expect(condition(model, aiv1.ConditionApplied).Reason).To(Equal(aiv1.ReasonQuotaExceeded))
		Expect(children(model)).To(ConsistOf("ServiceAccount/m"))
		Expect(recorded(model)).To(ContainElements(children(model)))
		remove(object)
		expectReady(model)
		expectEvents(model, corev1.EventTypeWarning, aiv1.ReasonQuotaExceeded)
	})

	ginkgo.It("for a quota on pods is told, and goes on when the quota goes", func() {
		object := quota(corev1.ResourcePods)
		model := newModel(namespace, "m", withImage)
		create(model)
		expectReason(model, aiv1.ReasonQuotaExceeded, "pods are refused", "exceeded quota: little")
		Expect(condition(model, aiv1.ConditionApplied).Status).To(Equal(metav1.ConditionTrue))
		Expect(condition(model, aiv1.ConditionProgressing).Reason).To(Equal(aiv1.ReasonQuotaExceeded))
		remove(object)
		expectReady(model)
	})

	ginkgo.It("for a policy is told in the policy's words, and goes on when the policy goes", func() {
		policy, binding := denyImages(namespace, "evil")
		create(policy, binding)
		probe := foreignDeployment(namespace, "probe")
		probe.Spec.Template.Spec.Containers[0].Image = "evil:1"
		Eventually(func() error { return k8s.Create(suiteCtx, probe.DeepCopy(), client.DryRunAll) }).ShouldNot(Succeed())

		first := newModel(namespace, "first", func(spec *aiv1.AIModelSpec) { spec.Image = "evil:1" })
		second := newModel(namespace, "second", withImage)
		create(first, second)
		expectReason(first, aiv1.ReasonRefused, `Deployment "first"`, "no evil images here")
		expectReady(second)
		// What runs is left running when its change is refused.
		edit(second, func() { second.Spec.Image = "evil:2" })
		expectReason(second, aiv1.ReasonRefused, "no evil images here")
		Expect(condition(second, aiv1.ConditionAvailable).Status).To(Equal(metav1.ConditionTrue))
		remove(binding)
		expectReady(first, second)
	})

	ginkgo.It("as invalid is told with the field", func() {
		service := newService(namespace, "s", "m", func(spec *aiv1.InferenceServiceSpec) {
			spec.Placement = &aiv1.Placement{NodeSelector: map[string]string{"not a label": "x"}}
		})
		create(newModel(namespace, "m"), service)
		expectReason(service, aiv1.ReasonInvalid, "nodeSelector", "not a label")
		edit(service, func() { service.Spec.Placement = nil })
		expectReady(service)
	})
})

// denyImages refuses Deployments of the namespace with an image of that name.
func denyImages(namespace, name string) (*admissionv1.ValidatingAdmissionPolicy, *admissionv1.ValidatingAdmissionPolicyBinding) {
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
					Rule:       admissionv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"}},
				},
			}}},
			Validations: []admissionv1.Validation{{
				Expression: "object.spec.template.spec.containers.all(c, !c.image.startsWith('" + name + ":'))",
				Message:    "no " + name + " images here",
			}},
		},
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName:        policy.Name,
			ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
			MatchResources: &admissionv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{
				MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}}},
		},
	}
	ginkgo.DeferCleanup(func() {
		for _, object := range []client.Object{binding, policy} {
			Expect(client.IgnoreNotFound(k8s.Delete(suiteCtx, object))).To(Succeed())
		}
	})
	return policy, binding
}
