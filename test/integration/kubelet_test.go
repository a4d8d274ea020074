package integration

import (
	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

// unplayed is a behavior that no simulated node knows: the pods wait for what the spec has one of them play.
const unplayed = "unplayed"

// podOf waits for the pod of a service that has a node.
func podOf(service *aiv1.InferenceService) *corev1.Pod {
	ginkgo.GinkgoHelper()
	var found *corev1.Pod
	Eventually(func(g Gomega) {
		pods := &corev1.PodList{}
		g.Expect(k8s.List(suiteCtx, pods, client.InNamespace(service.Namespace),
			client.MatchingLabels{aiv1.LabelInferenceService: service.Name})).To(Succeed())
		g.Expect(pods.Items).To(HaveLen(1))
		found = &pods.Items[0]
		g.Expect(found.Spec.NodeName).NotTo(BeEmpty())
	}).Should(Succeed())
	return found
}

// plays makes the simulated node play a behavior on the pod of a service, and on no other that takes its place.
func plays(behavior, reason, message string) func(*aiv1.InferenceService) {
	return func(service *aiv1.InferenceService) {
		ginkgo.GinkgoHelper()
		pod := podOf(service)
		edit(pod, func() {
			pod.Annotations["localkube.dev/behavior"] = behavior
			pod.Annotations["localkube.dev/reason"], pod.Annotations["localkube.dev/message"] = reason, message
		})
	}
}

// lastSeenRunning writes what the kubelet of a node wrote before it was gone. Nothing plays the pods of such a node.
func lastSeenRunning(service *aiv1.InferenceService) {
	ginkgo.GinkgoHelper()
	pod := podOf(service)
	before := pod.DeepCopy()
	pod.Status.Phase = corev1.PodRunning
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "server", Image: image, ImageID: image, Ready: true,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}}}
	for kind, is := range map[corev1.PodConditionType]corev1.ConditionStatus{
		corev1.ContainersReady: corev1.ConditionTrue, corev1.PodReady: corev1.ConditionFalse,
	} {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: kind, Status: is, LastTransitionTime: metav1.Now()})
	}
	Expect(k8s.Status().Patch(suiteCtx, pod, client.MergeFrom(before))).To(Succeed())
}
