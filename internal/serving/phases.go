package serving

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/diagnose"
	"github.com/aimodel-operator/aimodel-operator/internal/metrics"
)

// phasesOf tells how long the first pod of the current revision that is ready took. Nil: none is.
func phasesOf(known diagnose.Facts) *aiv1.Phases {
	var first *corev1.Pod
	for i := range known.Pods {
		pod := &known.Pods[i]
		if known.Revision != "" && pod.Labels[diagnose.TemplateHash] != known.Revision {
			continue
		}
		if ready := since(pod, corev1.PodReady); !ready.IsZero() && (first == nil || ready.Before(since(first, corev1.PodReady))) {
			first = pod
		}
	}
	if first == nil {
		return nil
	}
	created, ready := first.CreationTimestamp.Time, since(first, corev1.PodReady)
	scheduled, prepared := since(first, corev1.PodScheduled), since(first, corev1.PodReadyToStartContainers)
	if len(first.Spec.InitContainers) > 0 || prepared.IsZero() {
		prepared = since(first, corev1.PodInitialized)
	}
	started, once := serverStart(first)
	weights := weightsSeconds(known.Deployment, first)
	phases := &aiv1.Phases{
		SchedulingSeconds: seconds(created, scheduled),
		PreparingSeconds:  seconds(scheduled, prepared),
		WeightsSeconds:    weights,
		StartSeconds:      seconds(started, ready),
		ReadySeconds:      ptr.Deref(seconds(created, ready), 0),
	}
	if phases.PreparingSeconds != nil && weights != nil {
		*phases.PreparingSeconds = max(*phases.PreparingSeconds-*weights, 0)
	}
	if once {
		phases.ImagePullSeconds = seconds(prepared, started)
	}
	return phases
}

// since is when a condition of the pod became true. Zero when it is not.
func since(pod *corev1.Pod, kind corev1.PodConditionType) time.Time {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == kind && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

// serverStart is when the server, which is the first container, was started last, and whether that was the first time.
func serverStart(pod *corev1.Pod) (at time.Time, once bool) {
	if len(pod.Spec.Containers) == 0 {
		return time.Time{}, false
	}
	for i := range pod.Status.ContainerStatuses {
		status := &pod.Status.ContainerStatuses[i]
		if status.Name == pod.Spec.Containers[0].Name && status.State.Running != nil {
			return status.State.Running.StartedAt.Time, status.RestartCount == 0
		}
	}
	return time.Time{}, false
}

// seconds is the time between two moments. Nil when one of them is not known. The clocks of a node and of the control plane
// differ, and what they round to a second too.
func seconds(from, to time.Time) *int64 {
	if from.IsZero() || to.IsZero() {
		return nil
	}
	return ptr.To(max(int64(to.Sub(from)/time.Second), 0))
}

// observe adds the phases to the metrics.
func observe(kind string, phases *aiv1.Phases) {
	for phase, length := range map[string]*int64{
		metrics.PhaseScheduling: phases.SchedulingSeconds,
		metrics.PhasePreparing:  phases.PreparingSeconds,
		metrics.PhaseWeights:    phases.WeightsSeconds,
		metrics.PhaseImagePull:  phases.ImagePullSeconds,
		metrics.PhaseStart:      phases.StartSeconds,
		metrics.PhaseReady:      &phases.ReadySeconds,
	} {
		if length != nil {
			metrics.ObservePhase(kind, phase, time.Duration(*length)*time.Second)
		}
	}
}
