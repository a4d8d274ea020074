package integration

import (
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"

	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionapi "k8s.io/api/admission/v1"
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

	ginkgo.It("for a webhook of somebody else's is told in its words, and also that it does not answer", func() {
		needNearAPIServer()
		server := httptest.NewTLSServer(http.HandlerFunc(denyAll))
		ginkgo.DeferCleanup(server.Close)
		webhook := podWebhook(namespace, server)
		create(webhook)
		ginkgo.DeferCleanup(func() { Expect(client.IgnoreNotFound(k8s.Delete(suiteCtx, webhook))).To(Succeed()) })
		probe := &corev1.Pod{ObjectMeta: objectMeta(namespace, "probe"), Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: image}}}}
		Eventually(func() error { return k8s.Create(suiteCtx, probe.DeepCopy(), client.DryRunAll) }).ShouldNot(Succeed())

		denied := newModel(namespace, "denied", withImage)
		create(denied)
		expectReason(denied, aiv1.ReasonAdmissionRefused, `"pods.policy.example"`, "images must come from registry.internal")
		Expect(denied.Status.Failure.Reason).To(Equal(aiv1.ReasonAdmissionRefused))
		server.Close()
		unanswered := newModel(namespace, "unanswered", withImage)
		create(unanswered)
		expectReason(unanswered, aiv1.ReasonAdmissionRefused, `failed calling webhook "pods.policy.example"`)
		remove(webhook)
		expectReady(denied, unanswered)
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

// denyAll answers as an admission webhook that lets nothing through.
func denyAll(w http.ResponseWriter, r *http.Request) {
	review := &admissionapi.AdmissionReview{}
	if err := json.NewDecoder(r.Body).Decode(review); err != nil || review.Request == nil {
		http.Error(w, "not a review", http.StatusBadRequest)
		return
	}
	review.Response = &admissionapi.AdmissionResponse{UID: review.Request.UID,
		Result: &metav1.Status{Message: "images must come from registry.internal"}}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review) // whoever does not get the answer refuses as well
}

// podWebhook asks a server about the pods of a namespace.
func podWebhook(namespace string, server *httptest.Server) *admissionv1.ValidatingWebhookConfiguration {
	none, fail := admissionv1.SideEffectClassNone, admissionv1.Fail
	return &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: "pods.policy.example", SideEffects: &none, FailurePolicy: &fail, AdmissionReviewVersions: []string{"v1"},
			ClientConfig: admissionv1.WebhookClientConfig{URL: &server.URL,
				CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
			Rules: []admissionv1.RuleWithOperations{{Operations: []admissionv1.OperationType{admissionv1.Create},
				Rule: admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}}}},
		}},
	}
}

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
