// Package diagnose finds out from pods and their Deployment why a model is not up, as one reason and one message.
//
// The same cause gives the same message on every pass and for every replica: it names no pod, counts nothing that moves,
// and quotes only what stays. It reads nothing but what it is given.
package diagnose

import (
	"fmt"
	"regexp"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

// Finding is why something is not up.
type Finding struct {
	// Reason is one of the pod reasons of package api/v1.
	Reason string
	// Message says it in a sentence, with the words of whoever refused.
	Message string
}

// rank orders the reasons: what stands earlier is told when pods disagree. A crash is worth more than a pod that waits
// for a node, because the crash will meet that pod too.
var rank = []string{
	aiv1.ReasonOOMKilled,
	aiv1.ReasonCrashLoop,
	aiv1.ReasonContainerConfig,
	aiv1.ReasonImagePull,
	aiv1.ReasonUnschedulable,
}

// Workload gives the most telling finding about a Deployment and its pods. Nil means that nothing is known to be wrong.
func Workload(deployment *appsv1.Deployment, pods []corev1.Pod) *Finding {
	found := map[string]*Finding{}
	for i := range pods {
		if finding := Pod(&pods[i]); finding != nil {
			// Of one reason the smallest message is told, so that the order of the pods does not matter.
			if first := found[finding.Reason]; first == nil || finding.Message < first.Message {
				found[finding.Reason] = finding
			}
		}
	}
	for _, reason := range rank {
		if finding := found[reason]; finding != nil {
			return finding
		}
	}
	return refusedPods(deployment)
}

// Pod gives the reason why a pod is not ready. Nil means that it is ready, on its way, or leaving.
func Pod(pod *corev1.Pod) *Finding {
	if !pod.DeletionTimestamp.IsZero() || podConditionIs(pod, corev1.PodReady, corev1.ConditionTrue) {
		return nil
	}
	// A pod that was evicted, or went down with its node, stays on record, and another has its place.
	if pod.Status.Phase == corev1.PodFailed {
		return nil
	}
	statuses := append(append([]corev1.ContainerStatus{}, pod.Status.InitContainerStatuses...), pod.Status.ContainerStatuses...)
	for i := range statuses {
		if finding := container(pod, &statuses[i]); finding != nil {
			return finding
		}
	}
	return unschedulable(pod)
}

// preemption is where the scheduler repeats its counts for preemption, which helps nobody.
var preemption = regexp.MustCompile(`(?s)( no new claims to deallocate,)? preemption:.*`)

func unschedulable(pod *corev1.Pod) *Finding {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse &&
			condition.Reason == corev1.PodReasonUnschedulable {
			return &Finding{aiv1.ReasonUnschedulable,
				"no node can take a replica: " + stable(preemption.ReplaceAllString(condition.Message, ""))}
		}
	}
	return nil
}

func container(pod *corev1.Pod, status *corev1.ContainerStatus) *Finding {
	if waiting := status.State.Waiting; waiting != nil {
		switch waiting.Reason {
		case "ErrImagePull", "ImagePullBackOff", "ImageInspectError", "ErrImageNeverPull", "InvalidImageName",
			"RegistryUnavailable", "SignatureValidationFailed":
			return &Finding{aiv1.ReasonImagePull, imageMessage(status.Image, containerSpec(pod, status.Name).Image, waiting)}
		case "CreateContainerConfigError", "CreateContainerError":
			return &Finding{aiv1.ReasonContainerConfig,
				fmt.Sprintf("container %q cannot be set up: %s", status.Name, stable(waiting.Message))}
		}
	}
	ended := status.LastTerminationState.Terminated
	if status.State.Terminated != nil {
		ended = status.State.Terminated
	}
	if ended == nil || (ended.ExitCode == 0 && ended.Reason == "Completed" && isInit(pod, status.Name)) {
		return nil
	}
	if ended.Reason == "OOMKilled" {
		return &Finding{aiv1.ReasonOOMKilled, oomMessage(pod, status.Name)}
	}
	return &Finding{aiv1.ReasonCrashLoop, crashMessage(status.Name, ended)}
}

func isInit(pod *corev1.Pod, name string) bool {
	for _, status := range pod.Status.InitContainerStatuses {
		if status.Name == name {
			return true
		}
	}
	return false
}

// containerSpec is what was asked for under that name. It is empty when the pod does not say.
func containerSpec(pod *corev1.Pod, name string) *corev1.Container {
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			if containers[i].Name == name {
				return &containers[i]
			}
		}
	}
	return &corev1.Container{}
}

// backOff is the kubelet's frame around the cause of a failed pull while it waits for the next.
var backOff = regexp.MustCompile(`^Back-off pulling image "[^"]*"(: \w+: )?`)

// imageMessage names the image as the user wrote it, and the cause without the kubelet's frame around it: that frame
// changes between a failed pull and the pause before the next.
func imageMessage(reported, written string, waiting *corev1.ContainerStateWaiting) string {
	image := written
	if image == "" {
		image = reported
	}
	cause := backOff.ReplaceAllString(waiting.Message, "")
	if cause == "" {
		return fmt.Sprintf("image %q cannot be pulled", image)
	}
	return fmt.Sprintf("image %q cannot be pulled: %s", image, stable(cause))
}

func oomMessage(pod *corev1.Pod, name string) string {
	if limit, ok := containerSpec(pod, name).Resources.Limits[corev1.ResourceMemory]; ok {
		return fmt.Sprintf("container %q was killed for using more memory than its limit of %s", name, limit.String())
	}
	return fmt.Sprintf("container %q was killed for want of memory on its node", name)
}

func crashMessage(name string, ended *corev1.ContainerStateTerminated) string {
	message := fmt.Sprintf("container %q ended with exit code %d", name, ended.ExitCode)
	if ended.Reason != "" && ended.Reason != "Error" && ended.Reason != "Completed" {
		message += " (" + ended.Reason + ")"
	}
	lines := strings.Split(strings.TrimSpace(ended.Message), "\n")
	if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
		message += ": " + stable(last)
	}
	return message
}

// podName is the name of a pod that was never made, which differs with every try.
var podName = regexp.MustCompile(`(pods|Pod) "[^"]*" is (forbidden|invalid): `)

// refusedPods tells of pods that the API server refuses to create.
func refusedPods(deployment *appsv1.Deployment) *Finding {
	if deployment == nil {
		return nil
	}
	for _, condition := range deployment.Status.Conditions {
		if condition.Type != appsv1.DeploymentReplicaFailure || condition.Status != corev1.ConditionTrue {
			continue
		}
		reason := aiv1.ReasonPodsRefused
		if strings.Contains(condition.Message, "exceeded quota") {
			reason = aiv1.ReasonQuotaExceeded
		}
		return &Finding{reason, "pods are refused: " + stable(podName.ReplaceAllString(condition.Message, ""))}
	}
	return nil
}

func podConditionIs(pod *corev1.Pod, kind corev1.PodConditionType, status corev1.ConditionStatus) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == kind {
			return condition.Status == status
		}
	}
	return false
}

var (
	// moving is what differs from one try to the next: local ports and the ids of containers and requests.
	moving = regexp.MustCompile(`(\d+\.\d+\.\d+\.\d+|\[[0-9a-f:]+\]):\d+->|\b[0-9a-f]{64}\b`)
	// whichPod is where the kubelet tells which pod it speaks of.
	whichPod = regexp.MustCompile(` \(pod: "[^"]*", container: [^)]*\)`)
	space    = regexp.MustCompile(`\s+`)
)

// maxMessage keeps a long story out of status; the pod's own events have the rest.
const maxMessage = 700

// stable takes out of somebody else's message what moves, and bounds its length.
func stable(message string) string {
	message = whichPod.ReplaceAllString(message, "")
	message = moving.ReplaceAllStringFunc(message, func(match string) string {
		if strings.HasSuffix(match, "->") {
			return "->"
		}
		return match[:12]
	})
	message = strings.TrimSpace(space.ReplaceAllString(message, " "))
	if len(message) > maxMessage {
		message = strings.ToValidUTF8(message[:maxMessage], "") + "..."
	}
	return message
}
