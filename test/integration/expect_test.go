package integration

import (
	"fmt"
	"slices"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

// expectReady waits until the current generation of each owner is ready.
func expectReady(owners ...owner) {
	ginkgo.GinkgoHelper()
	for _, object := range owners {
		expectState(object, metav1.ConditionTrue, Not(BeEmpty()))
	}
}

// expectReadyFor waits until an owner is ready for that reason.
func expectReadyFor(object owner, reason string) {
	ginkgo.GinkgoHelper()
	expectState(object, metav1.ConditionTrue, Equal(reason))
}

// expectReason waits until an owner is not ready for that reason, with a message that has all the words.
func expectReason(object owner, reason string, words ...string) {
	ginkgo.GinkgoHelper()
	expectState(object, metav1.ConditionFalse, Equal(reason), words...)
}

func expectState(object owner, status metav1.ConditionStatus, reason gomegatypes.GomegaMatcher, words ...string) {
	ginkgo.GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(refresh(object)).To(Succeed())
		ready := condition(object, aiv1.ConditionReady)
		story := fmt.Sprintf("%s says %s: %s", object.GetName(), ready.Reason, ready.Message)
		g.Expect(ready.Status).To(Equal(status), story)
		g.Expect(ready.Reason).To(reason, story)
		g.Expect(ready.ObservedGeneration).To(Equal(object.GetGeneration()), story)
		for _, word := range words {
			g.Expect(ready.Message).To(ContainSubstring(word))
		}
	}).WithTimeout(healing).Should(Succeed())
}

// expectGone waits until there is no such object.
func expectGone(objects ...client.Object) {
	ginkgo.GinkgoHelper()
	for _, object := range objects {
		Eventually(func() bool { return apierrors.IsNotFound(refresh(object)) }).Should(BeTrue(),
			"%T %s is still there", object, object.GetName())
	}
}

// expectUntouched holds that nobody changes an object but the cluster's own controllers, which report in it what they see.
func expectUntouched(object client.Object, meanwhile func()) {
	ginkgo.GinkgoHelper()
	before := touched(object)
	meanwhile()
	Expect(cmp.Diff(before, touched(object))).To(BeEmpty(), "%T %s was changed", object, object.GetName())
}

// touched is what the API server has of an object, without what a controller of the cluster writes whenever it gets to it:
// the status and, into a Deployment, the number of its revision.
func touched(object client.Object) map[string]any {
	ginkgo.GinkgoHelper()
	Expect(refresh(object)).To(Succeed())
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	Expect(err).NotTo(HaveOccurred())
	delete(content, "status")
	unstructured.RemoveNestedField(content, "metadata", "resourceVersion")
	unstructured.RemoveNestedField(content, "metadata", "annotations", "deployment.kubernetes.io/revision")
	if annotations, _, _ := unstructured.NestedMap(content, "metadata", "annotations"); len(annotations) == 0 {
		unstructured.RemoveNestedField(content, "metadata", "annotations")
	}
	managers, _, err := unstructured.NestedSlice(content, "metadata", "managedFields")
	Expect(err).NotTo(HaveOccurred())
	managers = slices.DeleteFunc(managers, func(entry any) bool {
		return entry.(map[string]any)["manager"] == "kube-controller-manager"
	})
	Expect(unstructured.SetNestedSlice(content, managers, "metadata", "managedFields")).To(Succeed())
	return content
}

// expectConsistent holds the marks of every status that may be relied on.
func expectConsistent(object owner) {
	ginkgo.GinkgoHelper()
	kinds := map[string]bool{}
	for _, c := range object.GetConditions() {
		kinds[c.Type] = true
		Expect(c.ObservedGeneration).To(Equal(object.GetGeneration()), "condition %s", c.Type)
		Expect(c.Reason).NotTo(BeEmpty(), "condition %s", c.Type)
	}
	for _, kind := range []string{aiv1.ConditionReady, aiv1.ConditionResolved, aiv1.ConditionApplied,
		aiv1.ConditionAvailable, aiv1.ConditionProgressing} {
		Expect(kinds).To(HaveKey(kind))
	}
	Expect(object.GetServingStatus().ObservedGeneration).To(Equal(object.GetGeneration()))
}
