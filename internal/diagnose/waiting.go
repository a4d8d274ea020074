package diagnose

import (
	"fmt"
	"regexp"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// volumeMountFailed and sandboxFailed tell of a pod that has a node and no container yet. Only events say why.
func volumeMountFailed(f *Facts, pod *corev1.Pod) *Finding {
	if _, waiting := waitsOnNode(pod); !waiting {
		return nil
	}
	event := latest(f.Events[pod.UID], "FailedAttachVolume", "FailedMapVolume")
	if event == nil {
		// Its summary, "timed out waiting for the condition", comes by the same reason, and later than the cause.
		event = mostTelling(f.Events[pod.UID])
	}
	if event == nil {
		return nil
	}
	return &Finding{Message: "a volume cannot be mounted: " + stableFor(pod, event.Message)}
}

// timedOut is the kubelet's summary of mounts that do not come about.
var timedOut = regexp.MustCompile(`timed out waiting|context deadline exceeded|unmounted volumes=`)

// mostTelling is the failed mount that tells a cause, or any when none does.
func mostTelling(events []Event) *Event {
	var causes, all []Event
	for _, event := range events {
		if event.Reason != "FailedMount" {
			continue
		}
		all = append(all, event)
		if !timedOut.MatchString(event.Message) {
			causes = append(causes, event)
		}
	}
	if len(causes) > 0 {
		all = causes
	}
	return latest(all, "FailedMount")
}

func sandboxFailed(f *Facts, pod *corev1.Pod) *Finding {
	if _, waiting := waitsOnNode(pod); !waiting || podConditionHolds(pod, corev1.PodReadyToStartContainers) {
		return nil
	}
	event := latest(f.Events[pod.UID], "FailedCreatePodSandBox")
	if event == nil {
		return nil
	}
	return &Finding{Message: fmt.Sprintf("the node cannot set up a replica: %s", stableFor(pod, event.Message))}
}

// waitsOnNode says since when a pod has a node, and none of its containers has begun.
func waitsOnNode(pod *corev1.Pod) (time.Time, bool) {
	scheduled := podCondition(pod, corev1.PodScheduled)
	if scheduled == nil || scheduled.Status != corev1.ConditionTrue || pod.Status.Phase == corev1.PodFailed {
		return time.Time{}, false
	}
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range statuses {
			waiting := statuses[i].State.Waiting
			if waiting == nil || (waiting.Reason != "ContainerCreating" && waiting.Reason != "PodInitializing" && waiting.Reason != "") {
				return time.Time{}, false
			}
		}
	}
	return scheduled.LastTransitionTime.Time, true
}
