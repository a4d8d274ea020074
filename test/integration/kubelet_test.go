package integration

import (
	"slices"
	"time"

	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

// unplayed is a behavior that no simulated node knows: it leaves the pods to the spec, which then says what a kubelet would.
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

// kubeletTells writes what a kubelet would write into the status of a pod.
func kubeletTells(pod *corev1.Pod, change func(*corev1.PodStatus)) {
	ginkgo.GinkgoHelper()
	before := pod.DeepCopy()
	change(&pod.Status)
	Expect(k8s.Status().Patch(suiteCtx, pod, client.MergeFrom(before))).To(Succeed())
}

// inState tells of the server container, with a pod that is not ready.
func inState(phase corev1.PodPhase, server corev1.ContainerStatus) func(*corev1.PodStatus) {
	return func(status *corev1.PodStatus) {
		server.Name, server.Image, server.ImageID = "server", image, image
		status.Phase = phase
		status.ContainerStatuses = []corev1.ContainerStatus{server}
		setPodCondition(status, corev1.ContainersReady, corev1.ConditionFalse)
		setPodCondition(status, corev1.PodReady, corev1.ConditionFalse)
	}
}

// waiting is inState for a container that waits.
func waiting(reason, message string) func(*corev1.PodStatus) {
	return inState(corev1.PodPending, corev1.ContainerStatus{
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}})
}

// ended is inState for a container that ended, and waits to be started again.
func ended(code int32, reason, message string) func(*corev1.PodStatus) {
	now := metav1.Now()
	return inState(corev1.PodRunning, corev1.ContainerStatus{
		RestartCount: 1,
		State:        corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, Message: message,
			StartedAt: metav1.NewTime(now.Add(-time.Minute)), FinishedAt: now}}})
}

// over tells of a pod that will never run.
func over(reason, message string) func(*corev1.PodStatus) {
	return func(status *corev1.PodStatus) {
		status.Phase, status.Reason, status.Message = corev1.PodFailed, reason, message
	}
}

func setPodCondition(status *corev1.PodStatus, kind corev1.PodConditionType, is corev1.ConditionStatus) {
	status.Conditions = slices.DeleteFunc(status.Conditions, func(c corev1.PodCondition) bool { return c.Type == kind })
	status.Conditions = append(status.Conditions, corev1.PodCondition{Type: kind, Status: is, LastTransitionTime: metav1.Now()})
}

// report sends an event about an object, as a kubelet or a controller does.
func report(about client.Object, kind, reason, message string) {
	ginkgo.GinkgoHelper()
	now := metav1.Now()
	create(&corev1.Event{
		ObjectMeta: metav1.ObjectMeta{GenerateName: about.GetName() + "-", Namespace: about.GetNamespace()},
		InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: kind, Namespace: about.GetNamespace(), Name: about.GetName(),
			UID: about.GetUID()},
		Type: corev1.EventTypeWarning, Reason: reason, Message: message, Count: 1, FirstTimestamp: now, LastTimestamp: now,
	})
}
