package diagnose

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// evicted tells of a pod that its node threw out. It stays on record while another has its place, so it tells only for a while.
func evicted(f *Facts, pod *corev1.Pod) *Finding {
	if pod.Status.Phase != corev1.PodFailed || pod.Status.Reason != "Evicted" || !f.recent(overSince(pod)) {
		return nil
	}
	// What follows are amounts, which differ each time.
	cause, _, _ := strings.Cut(pod.Status.Message, " Threshold quantity")
	if index := strings.Index(cause, ". "); index > 0 {
		cause = cause[:index+1]
	}
	return &Finding{Message: "a replica was evicted: " + stableFor(pod, cause)}
}

// refusedAccelerators tells of a pod that had a node with enough accelerators by the scheduler's count, none of which
// could be had there.
func refusedAccelerators(f *Facts, pod *corev1.Pod) *Finding {
	if !rejected(f, pod) || (pod.Status.Reason != "UnexpectedAdmissionError" && !strings.Contains(pod.Status.Message, "Allocate failed")) {
		return nil
	}
	return &Finding{Message: "the device plugin does not hand out the accelerators of a node: " + rejection(pod)}
}

func acceleratorUnhealthy(f *Facts, pod *corev1.Pod) *Finding {
	if finding := refusedAccelerators(f, pod); finding != nil {
		return finding
	}
	return brokenAccelerators(f, pod)
}

// nodeRefused tells of a pod that the kubelet did not take: what it has and what the scheduler believes are two things.
func nodeRefused(f *Facts, pod *corev1.Pod) *Finding {
	if !rejected(f, pod) {
		return nil
	}
	return &Finding{Message: fmt.Sprintf("a node refused a replica (%s): %s", pod.Status.Reason, rejection(pod))}
}

// rejected says whether the kubelet refused the pod: then no container of it ever was.
func rejected(f *Facts, pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed && pod.Status.Reason != "" && pod.Status.Reason != "Evicted" &&
		pod.Status.Reason != "NodeLost" && len(pod.Status.ContainerStatuses) == 0 && f.recent(overSince(pod))
}

func rejection(pod *corev1.Pod) string {
	return stableFor(pod, strings.TrimPrefix(pod.Status.Message, "Pod was rejected: "))
}

// overSince is when a pod ended, at the latest.
func overSince(pod *corev1.Pod) time.Time {
	at := pod.CreationTimestamp.Time
	for i := range pod.Status.Conditions {
		if changed := pod.Status.Conditions[i].LastTransitionTime.Time; changed.After(at) {
			at = changed
		}
	}
	return at
}

// newNode is how long a node may be unknown because it is newer than what is known of the nodes.
const newNode = 2 * time.Minute

func scheduledAt(pod *corev1.Pod) time.Time {
	if scheduled := podCondition(pod, corev1.PodScheduled); scheduled != nil {
		return scheduled.LastTransitionTime.Time
	}
	return time.Time{}
}

// nodeLost tells of a pod whose containers were fine when its node was last heard of.
func nodeLost(f *Facts, pod *corev1.Pod) *Finding {
	if pod.Spec.NodeName == "" || (pod.Status.Phase == corev1.PodFailed && pod.Status.Reason != "NodeLost") {
		return nil
	}
	object := Object{"Node", pod.Spec.NodeName}
	if f.Nodes != nil {
		index := slices.IndexFunc(f.Nodes, func(node Node) bool { return node.Name == pod.Spec.NodeName })
		switch {
		case index < 0 && (leftBehind(pod) || f.lasted(scheduledAt(pod), newNode)):
			return &Finding{Message: fmt.Sprintf("the node %q of a replica does not exist any more", pod.Spec.NodeName), Object: object}
		case index >= 0 && !f.Nodes[index].Ready:
			return &Finding{Message: fmt.Sprintf("the node %q of a replica is not ready", pod.Spec.NodeName), Object: object}
		}
		return nil
	}
	if pod.Status.Reason == "NodeLost" || leftBehind(pod) {
		return &Finding{Message: fmt.Sprintf("the node %q of a replica does not report any more", pod.Spec.NodeName), Object: object}
	}
	return nil
}

// leftBehind recognises a pod that was marked by the node controller: the kubelet itself calls a pod unready only when a
// container is, or when a readiness gate is closed.
func leftBehind(pod *corev1.Pod) bool {
	ready := podCondition(pod, corev1.PodReady)
	return ready != nil && ready.Status == corev1.ConditionFalse && ready.Reason != "ReadinessGatesNotReady" &&
		podConditionHolds(pod, corev1.ContainersReady)
}
