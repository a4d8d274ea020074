// Package follow tells of each transition of objects while they happen: of a model and its pods, or of any custom resource
// that the cluster has. It reads the cluster and changes nothing.
package follow

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// fact is something about an object that may change.
type fact struct {
	name, value string
	// message explains the value. It is told, and does not count as a change.
	message string
}

// factsOf gives what is worth telling about an object.
func factsOf(u *unstructured.Unstructured) []fact {
	var facts []fact
	if u.GetDeletionTimestamp() != nil {
		waits := ""
		if finalizers := u.GetFinalizers(); len(finalizers) > 0 {
			waits = "it waits for " + strings.Join(finalizers, ", ")
		}
		facts = append(facts, fact{"deletion", "asked for", waits})
	}
	if u.GroupVersionKind().GroupKind() == corev1.SchemeGroupVersion.WithKind("Pod").GroupKind() {
		return append(facts, podFacts(u)...)
	}
	for _, name := range []string{"phase", "state"} {
		if value, found, _ := unstructured.NestedString(u.Object, "status", name); found && value != "" {
			facts = append(facts, fact{name: name, value: value})
		}
	}
	facts = append(facts, replicaFacts(u)...)
	return append(facts, conditionFacts(u)...)
}

func replicaFacts(u *unstructured.Unstructured) []fact {
	total, found, _ := unstructured.NestedInt64(u.Object, "status", "replicas")
	if !found {
		return nil
	}
	available, known, _ := unstructured.NestedInt64(u.Object, "status", "availableReplicas")
	if !known {
		available, _, _ = unstructured.NestedInt64(u.Object, "status", "readyReplicas")
	}
	wanted := ""
	if want, found, _ := unstructured.NestedInt64(u.Object, "spec", "replicas"); found {
		wanted = fmt.Sprintf(", %d wanted", want)
	}
	return []fact{{name: "replicas", value: fmt.Sprintf("%d of %d available%s", available, total, wanted)}}
}

func conditionFacts(u *unstructured.Unstructured) []fact {
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	var facts []fact
	for _, entry := range conditions {
		fields, ok := entry.(map[string]any)
		if !ok {
			continue
		}
		kind, _ := fields["type"].(string)
		status, _ := fields["status"].(string)
		reason, _ := fields["reason"].(string)
		message, _ := fields["message"].(string)
		if kind != "" {
			facts = append(facts, fact{kind, strings.TrimSpace(status + " " + reason), message})
		}
	}
	slices.SortStableFunc(facts, func(a, b fact) int { return cmp.Compare(a.name, b.name) })
	return facts
}

// podFacts tells of a pod what happens to it, in one word each.
func podFacts(u *unstructured.Unstructured) []fact {
	pod := &corev1.Pod{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, pod); err != nil {
		return nil
	}
	facts := []fact{{"phase", string(pod.Status.Phase), pod.Status.Message}}
	if pod.Spec.NodeName != "" {
		facts = append(facts, fact{name: "node", value: pod.Spec.NodeName})
	}
	for _, condition := range pod.Status.Conditions {
		switch {
		case condition.Type == corev1.PodReady:
			facts = append(facts, fact{"ready", string(condition.Status), ""})
		case condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse:
			facts = append(facts, fact{"scheduled", condition.Reason, condition.Message})
		}
	}
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if status.RestartCount > 0 {
			facts = append(facts, fact{name: "restarts of " + status.Name, value: fmt.Sprint(status.RestartCount)})
		}
		if state, message := containerState(&status); state != "" {
			facts = append(facts, fact{"container " + status.Name, state, message})
		}
	}
	return facts
}

func containerState(status *corev1.ContainerStatus) (state, message string) {
	switch s := status.State; {
	case s.Waiting != nil:
		return s.Waiting.Reason, s.Waiting.Message
	case s.Running != nil:
		return "running", ""
	case s.Terminated != nil:
		return fmt.Sprintf("ended with exit code %d %s", s.Terminated.ExitCode, s.Terminated.Reason), s.Terminated.Message
	}
	return "", ""
}
