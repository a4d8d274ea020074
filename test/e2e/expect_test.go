package e2e

import (
	"fmt"
	"time"

	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

// expectReady waits until the current generation of an owner is ready for that reason.
func expectReady(object owner, reason string) {
	ginkgo.GinkgoHelper()
	expectState(object, metav1.ConditionTrue, reason)
}

// expectReason waits until an owner is not ready for that reason, with a message that has all the words.
func expectReason(object owner, reason string, words ...string) {
	ginkgo.GinkgoHelper()
	expectState(object, metav1.ConditionFalse, reason)
	var matchers []gomegatypes.GomegaMatcher
	for _, word := range words {
		matchers = append(matchers, ContainSubstring(word))
	}
	Expect(condition(object, aiv1.ConditionReady).Message).To(And(matchers...))
}

func expectState(object owner, status metav1.ConditionStatus, reason string) {
	ginkgo.GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(refresh(object)).To(Succeed())
		ready := condition(object, aiv1.ConditionReady)
		g.Expect(ready.Reason).To(Equal(reason), story(object))
		g.Expect(ready.Status).To(Equal(status), story(object))
		g.Expect(ready.ObservedGeneration).To(Equal(object.GetGeneration()), story(object))
	}).WithTimeout(starting).Should(Succeed())
}

func story(object owner) string {
	ready := condition(object, aiv1.ConditionReady)
	return fmt.Sprintf("%s is Ready=%s, %s: %s", object.GetName(), ready.Status, ready.Reason, ready.Message)
}

// expectPods waits until an owner has that many pods, all of them ready and none leaving, and gives them.
func expectPods(of owner, count int) []corev1.Pod {
	ginkgo.GinkgoHelper()
	var pods []corev1.Pod
	Eventually(func(g Gomega) {
		pods = podsOf(g, of)
		g.Expect(pods).To(HaveLen(count), story(of))
		for i := range pods {
			g.Expect(pods[i].DeletionTimestamp).To(BeNil())
			g.Expect(pods[i].Status.Conditions).To(ContainElement(And(
				HaveField("Type", corev1.PodReady), HaveField("Status", corev1.ConditionTrue))), pods[i].Name)
		}
	}).WithTimeout(starting).Should(Succeed())
	return pods
}

// expectStill holds that nothing is written to an object for a while.
func expectStill(object client.Object, duration time.Duration) {
	ginkgo.GinkgoHelper()
	Expect(refresh(object)).To(Succeed())
	before := object.DeepCopyObject()
	version := object.GetResourceVersion()
	Consistently(func(g Gomega) {
		g.Expect(refresh(object)).To(Succeed())
		g.Expect(object.GetResourceVersion()).To(Equal(version), "it was %s", before)
	}).WithTimeout(duration).Should(Succeed())
}

// expectEvent waits for an event about an owner.
func expectEvent(of owner, reason string) {
	ginkgo.GinkgoHelper()
	Eventually(func(g Gomega) {
		events := &corev1.EventList{}
		g.Expect(k8s.List(suiteCtx, events, client.InNamespace(of.GetNamespace()))).To(Succeed())
		g.Expect(events.Items).To(ContainElement(And(
			HaveField("Reason", reason), HaveField("InvolvedObject.UID", of.GetUID()))))
	}).Should(Succeed())
}
